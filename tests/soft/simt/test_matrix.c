/* SPDX-License-Identifier: Apache-2.0 */
/* mma, wmma, ldmatrix, stmatrix and movmatrix against plain products. Matrices are put into
 * registers as the PTX ISA's figures say, shape by shape; sums are those that matrix.h
 * promises, and where the values are whole numbers they are exact in any order. */
#include "tests/soft/simt/rig.h"
#include "tests/soft/simt/values.h"

enum element { F16, BF16, TF32, F32, F64, E4M3, E5M2, S8, U8, S4, U4, S32 };
static const struct { const char *name; int bits; } elements[] = {
    [F16] = {"f16", 16}, [BF16] = {"bf16", 16}, [TF32] = {"tf32", 32}, [F32] = {"f32", 32},
    [F64] = {"f64", 64}, [E4M3] = {"e4m3", 8},  [E5M2] = {"e5m2", 8},  [S8] = {"s8", 8},
    [U8] = {"u8", 8},    [S4] = {"s4", 4},      [U4] = {"u4", 4},      [S32] = {"s32", 32}};

struct product {
    int m, n, k;
    enum element a, b, c, d;
    bool saturates;
};

/* ---- elements ----------------------------------------------------------------- */

static double value_of(enum element element, u64 bits)
{
    f32 narrow;
    f64 wide;
    u32 word = (u32)bits;
    switch (element) {
    case F16: return (double)from_f16(word & 0xffff);
    case BF16: return (double)from_bf16(word & 0xffff);
    case TF32: word &= 0xffffe000u; /* fallthrough */
    case F32: memcpy(&narrow, &word, 4); return (double)narrow;
    case F64: memcpy(&wide, &bits, 8); return wide;
    case E4M3: return (double)from_fp8(word & 0xff, 4);
    case E5M2: return (double)from_fp8(word & 0xff, 5);
    case S8: return (s8)bits;
    case U8: return (u8)bits;
    case S4: return (int)(bits & 15) - (bits & 8 ? 16 : 0);
    case U4: return (int)(bits & 15);
    case S32: return (s32)bits;
    }
    return 0;
}

static u64 bits_of(enum element element, double x, bool saturates)
{
    u64 bits = 0;
    if (element == S32)
        return (u32)(saturates ? limit((I)x, INT32_MIN, INT32_MAX) : (I)x);
    if (element == F64) {
        memcpy(&bits, &x, 8);
        return isnan(x) ? UINT64_C(0xfff8000000000000) : bits;
    }
    bits = element == F16 ? encode((quad)x, 11, 5, NEAREST) : encode((quad)x, 24, 8, NEAREST);
    if (saturates && element == F16 && (bits & 0x7fff) == 0x7c00)
        bits--;
    return bits;
}

/* Bits that mean something, mostly of moderate size. */
static u64 random_bits(enum element element, bool whole)
{
    const int small = (int)(random64() % 15) - 7;
    switch ((int)element) {
    case F16:
        return whole            ? to_f16((f32)small)
               : random64() % 8 ? (random64() & 0x83ff) | (12 + random64() % 6) << 10
                                : PICK(f16_edges);
    case BF16:
        return whole            ? to_bf16((f32)small)
               : random64() % 8 ? (random64() & 0x807f) | (124 + random64() % 6) << 7
                                : PICK(bf16_edges);
    case TF32:
    case F32: {
        const f32 x = (f32)small;
        u32 bits;
        memcpy(&bits, &x, 4);
        return whole ? bits : value_of_kind(K_f32);
    }
    case F64: return whole ? bits_of(F64, small, false) : value_of_kind(K_f64);
    default: return random64() & (elements[element].bits == 32 ? 0xffffffff : 0xff);
    }
}

/* ---- where the ISA puts them -------------------------------------------------- */

struct place { int row, column; };

static struct place place_a(const struct product *p, int lane, int i)
{
    const int g = lane >> 2, t = lane & 3, bits = elements[p->a].bits;
    if (p->m == 8 && bits == 64) /* m8n8k4 */
        return (struct place){g, t};
    if (p->m == 8) /* m8n8k16, m8n8k32 */
        return (struct place){g, bits == 8 ? t * 4 + i : t * 8 + i};
    if (bits == 64) /* m16n8k4, k8, k16: even elements are in the upper half */
        return (struct place){i % 2 ? g + 8 : g, i / 2 * 4 + t};
    if (bits == 32)
        return (struct place){i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4};
    if (bits == 16)
        return (struct place){i < 2 || (i >= 4 && i < 6) ? g : g + 8,
                              t * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
    if (bits == 8)
        return (struct place){i < 4 || (i >= 8 && i < 12) ? g : g + 8,
                              t * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
    return (struct place){i < 8 || (i >= 16 && i < 24) ? g : g + 8,
                          t * 8 + (i & 7) + (i >= 16 ? 32 : 0)};
}

static struct place place_b(const struct product *p, int lane, int i)
{
    const int g = lane >> 2, t = lane & 3;
    switch (elements[p->b].bits) {
    case 64:
    case 32: return (struct place){t + 4 * i, g};
    case 16: return (struct place){t * 2 + (i & 1) + (i >= 2 ? 8 : 0), g};
    case 8: return (struct place){t * 4 + (i & 3) + (i >= 4 ? 16 : 0), g};
    default: return (struct place){t * 8 + (i & 7) + (i >= 8 ? 32 : 0), g};
    }
}

static struct place place_c(const struct product *p, int lane, int i)
{
    const int g = lane >> 2, t = lane & 3;
    return (struct place){p->m == 8 || i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

typedef struct place place_fn(const struct product *p, int lane, int i);

/* A matrix and the registers of all lanes that hold it. */
struct held {
    enum element element;
    int rows, columns, count; /* of registers a lane */
    u64 cells[16 * 64];
    u64 *registers; /* [lane][register] */
};

static void hold(struct rig *rig, struct held *held, enum element element, int rows, int columns)
{
    held->element = element;
    held->rows = rows;
    held->columns = columns;
    held->count = rows * columns * elements[element].bits / 32 / (element == F64 ? 64 : 32);
    held->registers = rig_buffer(rig, 32 * 8 * 8);
}

static void randomise(struct held *held, bool whole)
{
    for (int i = 0; i < held->rows * held->columns; i++)
        held->cells[i] = random_bits(held->element, whole);
}

static void spread(const struct product *p, struct held *held, place_fn *where)
{
    const int bits = elements[held->element].bits, each = bits == 64 ? 1 : 32 / bits;
    const u64 mask = bits == 64 ? ~(u64)0 : ((u64)1 << bits) - 1;
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < held->count * each; i++) {
            u64 *word = &held->registers[lane * 8 + i / each];
            const struct place at = where(p, lane, i);
            *word =
                (i % each ? *word : 0) | (held->cells[at.row * held->columns + at.column] & mask)
                                             << i % each * bits % 64;
        }
    }
}

/* ---- kernels ------------------------------------------------------------------ */

static void add_vector(struct text *text, char name, int count)
{
    for (int i = 0; i < count; i++)
        add(text, "%s%%%c%d", i ? ", " : "{", name, i);
    add(text, "}");
}

/* Loads a, b and c, multiplies, stores d; registers of 64 bits in memory. */
static void add_product(struct text *text, int number, const struct product *p,
                        const struct held held[4])
{
    static const char names[] = "dabc";
    add(text, ".visible .entry k%d(.param .u64 d, .param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
              ".reg .b32 %%i; .reg .b64 %%x, %%w;\n", number);
    for (int o = 0; o < 4; o++)
        add(text, ".reg .b%d %%%c<8>;\n", held[o].element == F64 ? 64 : 32, names[o]);
    add(text, "mov.u32 %%i, %%laneid;\n");
    for (int o = 1; o < 4; o++) {
        add(text, "ld.param.u64 %%x, [%c]; mad.wide.u32 %%x, %%i, 64, %%x;\n", names[o]);
        for (int i = 0; i < held[o].count; i++)
            add(text, "ld.global.b%d %%%c%d, [%%x+%d];\n", held[o].element == F64 ? 64 : 32,
                names[o], i, 8 * i);
    }
    add(text, "mma.sync.aligned.m%dn%dk%d.row.col%s.%s.%s.%s.%s ", p->m, p->n, p->k,
        p->saturates ? ".satfinite" : "", elements[p->d].name, elements[p->a].name,
        elements[p->b].name, elements[p->c].name);
    for (int o = 0; o < 4; o++) {
        add_vector(text, names[o], held[o].count);
        add(text, o < 3 ? ", " : ";\n");
    }
    add(text, "ld.param.u64 %%x, [d]; mad.wide.u32 %%x, %%i, 64, %%x;\n");
    for (int i = 0; i < held[0].count; i++)
        add(text, "st.global.b%d [%%x+%d], %%d%d;\n", held[0].element == F64 ? 64 : 32, 8 * i, i);
    add(text, "ret;\n}\n");
}

static const struct product products[] = {
#define REAL(k, a) {16, 8, k, a, a, F32, F32, false}
    REAL(8, F16), REAL(16, F16), REAL(8, BF16), REAL(16, BF16), REAL(4, TF32), REAL(8, TF32),
    {16, 8, 8, F16, F16, F16, F16, false}, {16, 8, 16, F16, F16, F16, F16, false},
    {16, 8, 32, E4M3, E4M3, F32, F32, false}, {16, 8, 32, E5M2, E4M3, F32, F32, false},
    {8, 8, 4, F64, F64, F64, F64, false}, {16, 8, 4, F64, F64, F64, F64, false},
    {16, 8, 8, F64, F64, F64, F64, false}, {16, 8, 16, F64, F64, F64, F64, false},
#define WHOLE(m, k, a, b) {m, 8, k, a, b, S32, S32, false}, {m, 8, k, a, b, S32, S32, true}
    WHOLE(8, 16, S8, S8), WHOLE(8, 16, U8, S8), WHOLE(16, 16, S8, U8), WHOLE(16, 16, U8, U8),
    WHOLE(16, 32, S8, S8), WHOLE(16, 32, U8, S8), WHOLE(8, 32, S4, S4), WHOLE(8, 32, U4, S4),
    WHOLE(16, 32, S4, U4), WHOLE(16, 64, S4, S4), WHOLE(16, 64, U4, U4)};
enum { PRODUCTS = sizeof products / sizeof products[0] };

static u64 wanted(const struct product *p, const struct held held[4], int row, int column)
{
    double sum = value_of(p->c, held[3].cells[row * p->n + column]);
    for (int l = 0; l < p->k; l++) {
        const double a = value_of(p->a, held[1].cells[row * p->k + l]);
        const double b = value_of(p->b, held[2].cells[l * p->n + column]);
        sum = p->d == F64 ? fma(a, b, sum) : sum + a * b;
    }
    return bits_of(p->d, sum, p->saturates);
}

static bool is_same(enum element element, u64 is, u64 should)
{
    const u64 quiet = UINT64_C(0x7ff8000000000000);
    return is == should || (element == F64 && (is & quiet) == quiet && (should & quiet) == quiet);
}

static int check(const struct product *p, const struct held held[4])
{
    const int bits = elements[p->d].bits, each = bits == 64 ? 1 : 32 / bits;
    const u64 mask = bits == 64 ? ~(u64)0 : ((u64)1 << bits) - 1;
    int wrong = 0;
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < held[0].count * each; i++) {
            const struct place at = place_c(p, lane, i);
            const u64 should = wanted(p, held, at.row, at.column);
            const u64 is = held[0].registers[lane * 8 + i / each] >> i % each * bits % 64 & mask;
            if (!is_same(p->d, is, should) && wrong++ < 3)
                print_error("m%dn%dk%d %s %s: (%d, %d) is %#llx, not %#llx\n", p->m, p->n, p->k,
                            elements[p->a].name, elements[p->d].name, at.row, at.column,
                            (unsigned long long)is, (unsigned long long)should);
        }
    }
    return wrong;
}

static void test_products(void **state)
{
    (void)state;
    struct rig rig;
    static struct held held[4];
    struct text text = {0};
    int wrong = 0;
    add(&text, ".version 8.4\n.target sm_90\n.address_size 64\n");
    for (int n = 0; n < PRODUCTS; n++) {
        const struct product *p = &products[n];
        const int size[4][2] = {{p->m, p->n}, {p->m, p->k}, {p->k, p->n}, {p->m, p->n}};
        const enum element kind[] = {p->d, p->a, p->b, p->c};
        for (int o = 0; o < 4; o++) {
            held[o].element = kind[o];
            held[o].count = size[o][0] * size[o][1] * elements[kind[o]].bits /
                            (kind[o] == F64 ? 2048 : 1024);
        }
        add_product(&text, n, p, held);
    }
    for (int n = 0; n < PRODUCTS; n++) {
        const struct product *p = &products[n];
        char name[16];
        rig_open(&rig, text.at, 1);
        snprintf(name, sizeof name, "k%d", n);
        hold(&rig, &held[0], p->d, p->m, p->n);
        hold(&rig, &held[1], p->a, p->m, p->k);
        hold(&rig, &held[2], p->b, p->k, p->n);
        hold(&rig, &held[3], p->c, p->m, p->n);
        for (int round = 0; round < 8; round++) {
            for (int o = 1; o < 4; o++)
                randomise(&held[o], round < 2);
            spread(p, &held[1], place_a);
            spread(p, &held[2], place_b);
            spread(p, &held[3], place_c);
            rig_run(&rig, name, RIG_X(1), RIG_X(32),
                    RIG_ARGS(&held[0].registers, &held[1].registers, &held[2].registers,
                             &held[3].registers));
            wrong += check(p, held);
        }
        rig_close(&rig);
    }
    free(text.at);
    assert_int_equal(wrong, 0);
}

/* ---- tiles -------------------------------------------------------------------- */

/* Stores two tiles from registers, loads them straight and transposed, turns one. */
static const char tiles_ptx[] =
    ".version 8.4\n.target sm_90\n.address_size 64\n"
    ".visible .entry tiles(.param .u64 out)\n{\n"
    ".shared .align 16 .b8 room[512]; .reg .b32 %i, %a, %r<16>; .reg .b64 %x; .reg .pred %p;\n"
    "ld.param.u64 %x, [out]; mov.u32 %i, %laneid; mad.wide.u32 %x, %i, 32, %x;\n"
    /* the number of a value is 8 times its row and its column; tile 1 has 100 more */
    "mul.lo.u32 %r0, %i, 0x20002; add.u32 %r0, %r0, 0x10000; add.u32 %r1, %r0, 0x640064;\n"
    "mov.u32 %a, room; shl.b32 %r2, %i, 4; add.u32 %a, %a, %r2;\n"
    /* half of the warp comes late */
    "and.b32 %r3, %i, 1; setp.ne.u32 %p, %r3, 0; @%p bra on; add.u32 %r3, %r3, 1;\non:\n"
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%a], {%r0, %r1};\n"
    "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4, %r5}, [%a];\n"
    "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r6, %r7}, [%a];\n"
    "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%a+256], {%r0};\n"
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r8}, [%a+256];\n"
    "movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r1;\n"
    "ld.shared.u16 %r10, [%a];\n"
    "st.global.v4.u32 [%x], {%r4, %r5, %r6, %r7}; st.global.v2.u32 [%x+16], {%r8, %r9};\n"
    "ret;\n}\n";

static u32 pair(int row, int column, int step, int base)
{
    return (u32)(8 * row + column + base) | (u32)(8 * row + column + base + step) << 16;
}

static void test_tiles(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, tiles_ptx, 1);
    u32 *out = rig_buffer(&rig, 32 * 32);
    rig_run(&rig, "tiles", RIG_X(1), RIG_X(32), RIG_ARGS(&out));
    for (int i = 0; i < 32; i++) {
        const u32 straight = pair(i / 4, i % 4 * 2, 1, 0), turned = pair(i % 4 * 2, i / 4, 8, 0);
        assert_int_equal(out[8 * i], straight);
        assert_int_equal(out[8 * i + 1], straight + 0x640064);
        assert_int_equal(out[8 * i + 2], turned);
        assert_int_equal(out[8 * i + 3], turned + 0x640064);
        assert_int_equal(out[8 * i + 4], turned);
        assert_int_equal(out[8 * i + 5], turned + 0x640064);
    }
    rig_close(&rig);
}

static void test_tiles_must_be_aligned(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, ".version 8.4\n.target sm_90\n.address_size 64\n"
                   ".visible .entry k()\n{\n.shared .align 16 .b8 room[512]; .reg .b32 %r<3>;\n"
                   "mov.u32 %r0, room;\n"
                   "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r0+8];\nret;\n}\n", 1);
    assert_int_equal(rig_try(&rig, "k", RIG_X(1), RIG_X(32), RIG_ARGS(NULL)), RP_OK);
    assert_int_equal(rig.fault.kind, SIMT_FAULT_MISALIGNED);
    assert_int_equal(rig.fault.line, 8);
    rig_close(&rig);
}

/* ---- wmma --------------------------------------------------------------------- */

struct wmma {
    int m, n, k;
    enum element ab, c;
    bool a_column, b_column, d_column;
};

static int registers_of(enum element element, int cells, bool is_ab)
{
    return is_ab && element == F16
               ? 8
               : cells * elements[element].bits / (element == F64 ? 2048 : 1024);
}

static void add_wmma(struct text *text, int number, const struct wmma *w)
{
    static const char *const layout[] = {"row", "col"};
    const char *ab = elements[w->ab].name, *c = elements[w->c].name;
    char shape[16];
    snprintf(shape, sizeof shape, "m%dn%dk%d", w->m, w->n, w->k);
    const int bits = w->ab == F64 ? 64 : 32, na = registers_of(w->ab, w->m * w->k, true);
    const int nb = registers_of(w->ab, w->k * w->n, true),
              nc = registers_of(w->c, w->m * w->n, false);
    add(text, ".visible .entry k%d(.param .u64 d, .param .u64 a, .param .u64 b, .param .u64 c)\n{\n"
              ".reg .b64 %%x<4>; .reg .b%d %%d<8>, %%a<8>, %%b<8>, %%c<8>; .reg .b32 %%s;\n"
              "ld.param.u64 %%x0, [d]; ld.param.u64 %%x1, [a]; ld.param.u64 %%x2, [b];"
              "ld.param.u64 %%x3, [c]; mov.u32 %%s, 40;\n", number, bits);
    add(text, "wmma.load.a.sync.aligned.%s.%s.global.%s ", layout[w->a_column], shape, ab);
    add_vector(text, 'a', na);
    add(text, ", [%%x1], 40;\nwmma.load.b.sync.aligned.%s.%s.%s ", layout[w->b_column], shape, ab);
    add_vector(text, 'b', nb);
    add(text, ", [%%x2], %%s;\nwmma.load.c.sync.aligned.row.%s.%s ", shape, c);
    add_vector(text, 'c', nc);
    add(text, ", [%%x3];\nwmma.mma.sync.aligned.%s.%s.%s.%s", layout[w->a_column],
        layout[w->b_column], shape, c);
    if (w->ab != F16)
        add(text, ".%s.%s", ab, ab);
    add(text, ".%s ", c);
    add_vector(text, 'd', nc);
    add(text, ", ");
    add_vector(text, 'a', na);
    add(text, ", ");
    add_vector(text, 'b', nb);
    add(text, ", ");
    add_vector(text, 'c', nc);
    add(text, ";\nwmma.store.d.sync.aligned.%s.%s.global.%s [%%x0], ", layout[w->d_column], shape,
        c);
    add_vector(text, 'd', nc);
    add(text, ", %%s;\nret;\n}\n");
}

static int add_all_wmma(struct text *text, struct wmma *list)
{
    static const struct wmma kinds[] = {
        {16, 16, 16, F16, F32, 0, 0, 0},  {8, 32, 16, F16, F32, 0, 0, 0},
        {32, 8, 16, F16, F16, 0, 0, 0},   {16, 16, 16, F16, F16, 0, 0, 0},
        {16, 16, 16, BF16, F32, 0, 0, 0}, {8, 32, 16, BF16, F32, 0, 0, 0},
        {32, 8, 16, BF16, F32, 0, 0, 0},  {16, 16, 8, TF32, F32, 0, 0, 0},
        {16, 16, 16, S8, S32, 0, 0, 0},   {8, 32, 16, U8, S32, 0, 0, 0},
        {32, 8, 16, S8, S32, 0, 0, 0},    {8, 8, 4, F64, F64, 0, 0, 0}};
    int count = 0;
    add(text, ".version 8.4\n.target sm_90\n.address_size 64\n");
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (int layouts = 0; layouts < 8; layouts++) {
            struct wmma w = kinds[i];
            w.a_column = layouts & 1;
            w.b_column = layouts & 2;
            w.d_column = layouts & 4;
            if (w.ab == F64 && (w.a_column || !w.b_column))
                continue;
            list[count] = w;
            add_wmma(text, count++, &w);
        }
    }
    return count;
}

static u64 read_cell(enum element element, const unsigned char *memory, int index)
{
    u64 bits = 0;
    const int bytes = elements[element].bits / 8;
    memcpy(&bits, memory + index * bytes, (size_t)bytes);
    return bits;
}

static void fill(enum element element, unsigned char *memory, int count)
{
    const int bytes = elements[element].bits / 8;
    for (int i = 0; i < count; i++) {
        const u64 bits = random_bits(element, i % 3 != 0);
        memcpy(memory + i * bytes, &bits, (size_t)bytes);
    }
}

static int check_wmma(const struct wmma *w, unsigned char *const memory[4])
{
    int wrong = 0;
    for (int row = 0; row < w->m; row++) {
        for (int column = 0; column < w->n; column++) {
            double sum = value_of(w->c, read_cell(w->c, memory[3], row * w->n + column));
            for (int l = 0; l < w->k; l++) {
                const int a = w->a_column ? l * 40 + row : row * 40 + l;
                const int b = w->b_column ? column * 40 + l : l * 40 + column;
                const double x = value_of(w->ab, read_cell(w->ab, memory[1], a));
                const double y = value_of(w->ab, read_cell(w->ab, memory[2], b));
                sum = w->c == F64 ? fma(x, y, sum) : sum + x * y;
            }
            const u64 should = bits_of(w->c, sum, false);
            const u64 is =
                read_cell(w->c, memory[0], w->d_column ? column * 40 + row : row * 40 + column);
            if (!is_same(w->c, is, should) && wrong++ < 3)
                print_error("wmma m%dn%dk%d %s %d%d%d: (%d, %d) is %#llx, not %#llx\n", w->m, w->n,
                            w->k, elements[w->ab].name, w->a_column, w->b_column, w->d_column, row,
                            column, (unsigned long long)is, (unsigned long long)should);
        }
    }
    return wrong;
}

static void test_wmma(void **state)
{
    (void)state;
    struct rig rig;
    struct text text = {0};
    static struct wmma list[128];
    unsigned char *memory[4];
    int wrong = 0;
    const int count = add_all_wmma(&text, list);
    rig_open(&rig, text.at, 1);
    for (int o = 0; o < 4; o++)
        memory[o] = rig_buffer(&rig, 8 * 40 * 40);
    for (int n = 0; n < count; n++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", n);
        fill(list[n].ab, memory[1], 1600);
        fill(list[n].ab, memory[2], 1600);
        fill(list[n].c, memory[3], 1024);
        rig_run(&rig, name, RIG_X(1), RIG_X(32),
                RIG_ARGS(&memory[0], &memory[1], &memory[2], &memory[3]));
        wrong += check_wmma(&list[n], memory);
    }
    rig_close(&rig);
    free(text.at);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products), cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_tiles_must_be_aligned), cmocka_unit_test(test_wmma)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
