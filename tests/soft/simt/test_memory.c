/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and atomics: every width and pattern of addresses, and what is refused. */
#include "tests/soft/simt/rig.h"
#include "tests/soft/simt/values.h"

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define REGISTERS                                                                               \
    ".reg .pred %p<10>; .reg .b16 %h<10>; .reg .b32 %r<40>, %i; .reg .b64 %x, %y, %d<20>;\n"

/* ---- patterns ----------------------------------------------------------------- */

/* How lane i's element is chosen: one, consecutive, two halves, strided, backwards, random. */
static u32 place(int pattern, u32 i)
{
    switch (pattern) {
    case 0: return 5;
    case 1: return i;
    case 2: return i < 16 ? i : 100 + i;
    case 3: return i / 16 * 40 + 3;
    case 4: return 3 * i;
    case 5: return 63 - i;
    case 6: return i + (i == 31);
    default: return i * 37 % 64;
    }
}
enum { PATTERNS = 8, ELEMENTS = 256 };

static const struct form { const char *type; int bytes, vector, width; bool sign; } forms[] = {
    {"u8", 1, 1, 16, false},  {"s8", 1, 1, 16, true},   {"u8", 1, 1, 32, false},
    {"s8", 1, 1, 32, true},   {"u8", 1, 1, 64, false},  {"s8", 1, 1, 64, true},
    {"b16", 2, 1, 16, false}, {"u16", 2, 1, 32, false}, {"s16", 2, 1, 32, true},
    {"u16", 2, 1, 64, false}, {"s16", 2, 1, 64, true},  {"f32", 4, 1, 32, false},
    {"u32", 4, 1, 64, false}, {"s32", 4, 1, 64, true},  {"f64", 8, 1, 64, false},
    {"u8", 1, 2, 16, false},  {"u8", 1, 4, 32, false},  {"s8", 1, 4, 16, true},
    {"b16", 2, 2, 16, false}, {"b16", 2, 4, 16, false}, {"s16", 2, 2, 32, true},
    {"f32", 4, 2, 32, false}, {"f32", 4, 4, 32, false}, {"b64", 8, 2, 64, false},
    {"b32", 4, 8, 32, false}, {"b64", 8, 4, 64, false},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static const char *const spaces[] = {".global", "", ".shared", ".global.nc.L1::no_allocate",
                                     ".volatile.global", ".relaxed.gpu.global"};
enum { SPACES = sizeof spaces / sizeof spaces[0], SHARED_SPACE = 2, VARIANTS = FORMS * SPACES * 2 };

static void add_list(struct text *text, const struct form *form)
{
    add(text, form->vector > 1 ? "{" : "");
    for (int k = 0; k < form->vector; k++)
        add(text, "%s%%v%d", k ? ", " : "", k);
    add(text, form->vector > 1 ? "}" : "");
}

/* The input goes to shared memory first, byte by byte; %r8 becomes the element's address. */
static void add_filling(struct text *text, int bytes)
{
    add(text, "mov.u32 %%r5, arena; mov.u32 %%r6, 0;\n"
              "FILL: cvt.u64.u32 %%d5, %%r6; add.u64 %%d5, %%d5, %%y; ld.global.u8 %%h1, [%%d5];\n"
              "add.u32 %%r7, %%r5, %%r6; st.shared.u8 [%%r7], %%h1; add.u32 %%r6, %%r6, 1;\n"
              "setp.lt.u32 %%p2, %%r6, %d; @%%p2 bra FILL;\nmad.lo.u32 %%r8, %%r0, %d, %%r5;\n",
        ELEMENTS * bytes, bytes);
}

/* out[i] = in[places[i]] by one load and one store of the form, with a guard that keeps
 * every lane out whose bit 2 is clear. */
static void add_copy(struct text *text, int variant)
{
    const struct form *form = &forms[variant % FORMS];
    const int space = variant / FORMS % SPACES, bytes = form->bytes * form->vector;
    const char *guard = variant / FORMS / SPACES ? "@%p1 " : "";
    char vector[16] = "";
    if (form->vector > 1)
        snprintf(vector, sizeof vector, ".v%d", form->vector);
    add(text, ".visible .entry k%d(.param .u64 out, .param .u64 in, .param .u64 places)\n{\n%s"
              ".reg .b%d %%v<8>; .shared .align 64 .b8 arena[%d];\n"
              "mov.u32 %%i, %%tid.x; and.b32 %%r1, %%i, 4; setp.ne.u32 %%p1, %%r1, 0;\n"
              "ld.param.u64 %%x, [out]; ld.param.u64 %%y, [in]; ld.param.u64 %%d0, [places];\n"
              "mad.wide.u32 %%d0, %%i, 4, %%d0; ld.global.u32 %%r0, [%%d0];\n",
        variant, REGISTERS, form->width, ELEMENTS * 32);
    if (space == SHARED_SPACE)
        add_filling(text, bytes);
    else
        add(text, "mad.wide.u32 %%y, %%r0, %d, %%y;\n", bytes);
    for (int k = 0; k < form->vector; k++)
        add(text, "mov.b%d %%v%d, 0;\n", form->width, k);
    add(text, "%sld%s%s.%s ", guard, spaces[space], vector, form->type);
    add_list(text, form);
    add(text, ", [%s];\nmad.wide.u32 %%x, %%i, %d, %%x;\n%sst.global%s.b%d [%%x], ",
        space == SHARED_SPACE ? "%r8" : "%y", form->width / 8 * form->vector, guard, vector,
        form->width);
    add_list(text, form);
    add(text, ";\nret;\n}\n");
}

static u64 wanted_element(const struct form *form, const unsigned char *in, u32 from, int k,
                          bool skipped)
{
    u64 value = 0;
    memcpy(&value, in + (from * (u32)form->vector + (u32)k) * (u32)form->bytes,
           (size_t)form->bytes);
    if (form->sign && value >> (8 * form->bytes - 1))
        value |= ~(u64)0 << 8 * form->bytes;
    if (skipped)
        value = UINT64_C(0xa5a5a5a5a5a5a5a5);
    return form->width < 64 ? value & (((u64)1 << form->width) - 1) : value;
}

static void check_copy(struct rig *rig, int variant, int pattern, unsigned char *out,
                       unsigned char *in, u32 *places)
{
    const struct form *form = &forms[variant % FORMS];
    const bool guarded = variant / FORMS / SPACES;
    const u32 width = (u32)form->width / 8;
    char name[16];
    snprintf(name, sizeof name, "k%d", variant);
    for (u32 i = 0; i < 32; i++)
        places[i] = place(pattern, i);
    memset(out, 0xa5, 32 * 32);
    rig_run(rig, name, RIG_X(1), RIG_X(32), RIG_ARGS(&out, &in, &places));
    for (u32 i = 0; i < 32; i++) {
        for (int k = 0; k < form->vector; k++) {
            u64 is = 0;
            memcpy(&is, out + (i * (u32)form->vector + (u32)k) * width, width);
            const u64 wanted = wanted_element(form, in, places[i], k, guarded && !(i & 4));
            if (is != wanted)
                fail_msg("ld%s.v%d.%s, pattern %d, lane %u, element %d: %#llx, not %#llx",
                         spaces[variant / FORMS % SPACES], form->vector, form->type, pattern, i, k,
                         (unsigned long long)is, (unsigned long long)wanted);
        }
    }
}

static void test_every_form(void **state)
{
    (void)state;
    struct text text = {0};
    struct rig rig;
    add(&text, HEAD);
    for (int variant = 0; variant < VARIANTS; variant++)
        add_copy(&text, variant);
    rig_open(&rig, text.at, 1);
    free(text.at);
    unsigned char *out = rig_buffer(&rig, 32 * 32), *in = rig_buffer(&rig, ELEMENTS * 32);
    u32 *places = rig_buffer(&rig, 128);
    for (int i = 0; i < ELEMENTS * 32; i++)
        in[i] = (unsigned char)random64();
    for (int variant = 0; variant < VARIANTS; variant++) {
        const bool shared = variant / FORMS % SPACES == SHARED_SPACE;
        for (int pattern = 0; pattern < (shared ? 3 : PATTERNS); pattern++)
            check_copy(&rig, variant, pattern, out, in, places);
    }
    rig_close(&rig);
}

/* ---- stores ------------------------------------------------------------------- */

#define KERNEL(name) ".visible .entry " name "(.param .u64 out, .param .u64 in)\n{\n" REGISTERS \
    "mov.u32 %i, %tid.x; ld.param.u64 %x, [out]; ld.param.u64 %y, [in];\n"

/* Scattered stores of every size; where lanes collide the highest one wins. */
static void test_scattered_stores(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, HEAD
             KERNEL("bytes") "mul.lo.u32 %r1, %i, 7; and.b32 %r1, %r1, 63; cvt.u64.u32 %d1, %r1;\n"
             "add.u64 %x, %x, %d1; st.global.u8 [%x], %i; ret;\n}\n"
             KERNEL("pairs") "shr.u32 %r1, %i, 1; mad.wide.u32 %x, %r1, 8, %x;\n"
             "st.global.v2.u32 [%x], {%i, %r1}; ret;\n}\n"
             KERNEL("one") "st.global.u32 [%x+4], %i; ret;\n}\n", 1);
    unsigned char *bytes = rig_buffer(&rig, 64);
    u32 *words = rig_buffer(&rig, 256);
    void *in = words;
    rig_run(&rig, "bytes", RIG_X(1), RIG_X(32), RIG_ARGS(&bytes, &in));
    for (u32 i = 0; i < 32; i++)
        assert_int_equal(bytes[i * 7 % 64], i);
    rig_run(&rig, "pairs", RIG_X(1), RIG_X(32), RIG_ARGS(&words, &in));
    for (u32 i = 0; i < 16; i++) {
        assert_int_equal(words[2 * i], 2 * i + 1);
        assert_int_equal(words[2 * i + 1], i);
    }
    rig_run(&rig, "one", RIG_X(1), RIG_X(32), RIG_ARGS(&words, &in));
    assert_int_equal(words[1], 31);
    assert_int_equal(words[0], 1);
    rig_close(&rig);
}

/* ---- variables, spaces and parameters ----------------------------------------- */

static void test_variables(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig,
             HEAD
             ".const .align 4 .b32 table[4] = {10, 20, 30, 40};\n"
             ".global .align 8 .u64 pointer = generic(value)+4;\n.global .align 4 .u32 value[2] = "
             "{7, 9};\n"
             ".global .f32 real = 0f3FC00000;\n.extern .shared .align 16 .b8 dynamic[];\n"
             ".shared .align 8 .b32 fixed[3];\n" KERNEL(
                 "k") "and.b32 %r1, %i, 3; mov.u64 %d1, table; mad.wide.u32 %d1, %r1, 4, %d1;\n"
                      "ld.const.u32 %r2, [%d1]; ld.global.u64 %d2, [pointer]; ld.u32 %r3, [%d2];\n"
                      "ld.const.u32 %r4, [table+8]; ld.global.f32 %r5, [real]; cvta.const.u64 %d3, "
                      "%d1;\n"
                      "ld.u32 %r6, [%d3]; setp.ne.u32 %p1, %r6, %r2; @%p1 trap;\n"
                      "mov.u32 %r7, dynamic; mov.u32 %r8, fixed; sub.u32 %r9, %r7, %r8;\n"
                      "st.shared.u32 [dynamic+124], %r2; mov.u64 %d4, dynamic; cvta.shared.u64 "
                      "%d5, %d4;\n"
                      "ld.u32 %r10, [%d5+124]; setp.ne.u32 %p2, %r10, 40;\n"
                      "mov.u32 %r11, %dynamic_smem_size; mov.u32 %r12, %total_smem_size;\n"
                      "mad.wide.u32 %x, %i, 32, %x; st.global.v4.u32 [%x], {%r2, %r3, %r4, %r5};\n"
                      "st.global.v4.u32 [%x+16], {%r9, %r10, %r11, %r12}; ret;\n}\n",
             1);
    u32 (*out)[8] = rig_buffer(&rig, 32 * 32);
    void *in = out;
    rig.options.dynamic_shared_bytes = 128;
    rig_run(&rig, "k", RIG_X(1), RIG_X(32), RIG_ARGS(&out, &in));
    for (u32 i = 0; i < 32; i++) {
        const u32 wanted[8] = {10 + 10 * (i & 3), 9, 30, 0x3fc00000, 16, 40, 128, 144};
        assert_memory_equal(out[i], wanted, sizeof wanted);
    }
    *(u32 *)rig_global(&rig, "table") = 11;
    rig_run(&rig, "k", RIG_X(1), RIG_X(32), RIG_ARGS(&out, &in));
    assert_int_equal(out[0][0], 11);
    rig_close(&rig);
}

/* A module that declares no shared variable addresses its dynamic shared memory from 0 on. */
static void test_shared_from_zero(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(
        &rig,
        HEAD KERNEL("k") "mul.wide.u32 %d1, %i, 4; st.shared.u32 [%d1], %i; bar.sync 0;\n"
                         "mov.u32 %r1, 64; atom.shared.add.u32 %r2, [%r1+128], 5; bar.sync 0;\n"
                         "ld.shared.u32 %r3, [192]; ld.shared.u32 %r4, [%d1];\n"
                         "mad.wide.u32 %x, %i, 8, %x; st.global.v2.u32 [%x], {%r3, %r4}; ret;\n}\n",
        1);
    u32 (*out)[2] = rig_buffer(&rig, 64 * 8);
    rig.options.dynamic_shared_bytes = 256;
    rig_run(&rig, "k", RIG_X(1), RIG_X(64), RIG_ARGS(&out, &out));
    const u32 sum = 48 + 64 * 5; /* word 48 was thread 48's own */
    for (u32 i = 0; i < 64; i++) {
        assert_int_equal(out[i][0], sum);
        assert_int_equal(out[i][1], i == 48 ? sum : i);
    }
    rig_close(&rig);
}

static void test_spaces(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, HEAD KERNEL("k") ".shared .align 8 .b64 s; .local .align 8 .b64 l;\n"
             "mov.u64 %d0, s; mov.u64 %d1, l; cvta.local.u64 %d1, %d1;\n"
             "isspacep.shared %p0, %d0; isspacep.global %p1, %d0; isspacep.local %p2, %d1;\n"
             "isspacep.shared %p3, %d1; isspacep.global %p4, %x; isspacep.local %p5, %x;\n"
             "selp.b32 %r0, 1, 0, %p0; selp.b32 %r1, 2, 0, %p1; selp.b32 %r2, 4, 0, %p2;\n"
             "selp.b32 %r3, 8, 0, %p3; selp.b32 %r4, 16, 0, %p4; selp.b32 %r5, 32, 0, %p5;\n"
             "add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2; add.u32 %r0, %r0, %r3;\n"
             "add.u32 %r0, %r0, %r4; add.u32 %r0, %r0, %r5;\n"
             /* every thread has its own local memory */
             "cvt.u64.u32 %d2, %i; st.local.u64 [l], %d2; bar.sync 0; ld.u64 %d3, [%d1];\n"
             "setp.ne.u64 %p6, %d3, %d2; @%p6 mov.u32 %r0, 999;\n"
             "mad.wide.u32 %x, %i, 4, %x; st.global.u32 [%x], %r0; ret;\n}\n", 1);
    u32 *out = rig_buffer(&rig, 1024);
    rig_run(&rig, "k", RIG_X(1), RIG_X(256), RIG_ARGS(&out, &out));
    for (u32 i = 0; i < 256; i++)
        assert_int_equal(out[i], 1 + 4 + 16);
    rig_close(&rig);
}

/* Parameters of every kind: narrow, structures by value, indexed, by address. */
static void test_parameters(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(
        &rig,
        HEAD
        ".visible .entry k(.param .u64 out, .param .s8 a, .param .align 4 .b8 b[12], "
        ".param .f64 c, .param .u16 d)\n{\n" REGISTERS
        "ld.param.u64 %x, [out]; mov.u32 %i, %tid.x; ld.param.s8 %r0, [a]; ld.param.u8 %h1, [a];\n"
        "cvt.u32.u16 %r1, %h1; rem.u32 %r2, %i, 3; mov.b64 %d1, b; mad.wide.u32 %d1, %r2, 4, %d1;\n"
        "ld.param.u32 %r3, [%d1]; ld.param.v2.u16 {%h2, %h3}, [b+8]; cvt.u32.u16 %r4, %h3;\n"
        "ld.param.f64 %d2, [c]; cvt.rzi.s32.f64 %r5, %d2; ld.param.u16 %r6, [d];\n"
        "mad.wide.u32 %x, %i, 24, %x; st.global.v2.u32 [%x], {%r0, %r1};\n"
        "st.global.v2.u32 [%x+8], {%r3, %r4}; st.global.v2.u32 [%x+16], {%r5, %r6}; ret;\n}\n",
        1);
    u32 (*out)[6] = rig_buffer(&rig, 32 * 24);
    const s8 a = -3;
    const u32 b[3] = {100, 200, 0x00050007};
    const double c = -12.75;
    const u16 d = 65000;
    rig_run(&rig, "k", RIG_X(1), RIG_X(32), RIG_ARGS(&out, &a, b, &c, &d));
    for (u32 i = 0; i < 32; i++) {
        const u32 wanted[6] = {(u32)-3, 253, b[i % 3], 5, (u32)-12, 65000};
        assert_memory_equal(out[i], wanted, sizeof wanted);
    }
    rig_close(&rig);
}

/* ---- atomics ------------------------------------------------------------------ */

static u64 after(const char *op, const char *type, u64 old, u64 b, u64 c)
{
    const bool is_signed = type[0] == 's', wide = !strcmp(type + 1, "64");
    const I x = wide ? is_signed ? (I)(s64)old : (I)old : is_signed ? (I)(s32)old : (I)(u32)old;
    const I y = wide ? is_signed ? (I)(s64)b : (I)b : is_signed ? (I)(s32)b : (I)(u32)b;
    if (!strcmp(op, "add")) return (u64)(x + y);
    if (!strcmp(op, "min")) return (u64)(x < y ? x : y);
    if (!strcmp(op, "max")) return (u64)(x > y ? x : y);
    if (!strcmp(op, "and")) return old & b;
    if (!strcmp(op, "or")) return old | b;
    if (!strcmp(op, "xor")) return old ^ b;
    if (!strcmp(op, "exch")) return b;
    if (!strcmp(op, "inc")) return x >= y ? 0 : (u64)(x + 1);
    if (!strcmp(op, "dec")) return x == 0 || x > y ? (u64)y : (u64)(x - 1);
    return old == b ? c : old; /* cas */
}

/* Every operation and type in global, shared and generic memory, lane after lane. */
static void test_atomics(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"add", "u32"}, {"add", "s32"}, {"add", "u64"}, {"min", "u32"}, {"min", "s32"},
        {"min", "u64"}, {"min", "s64"}, {"max", "u32"}, {"max", "s32"}, {"max", "u64"},
        {"max", "s64"}, {"and", "b32"}, {"and", "b64"}, {"or", "b32"},  {"or", "b64"},
        {"xor", "b32"}, {"xor", "b64"}, {"exch", "b32"}, {"exch", "b64"}, {"inc", "u32"},
        {"dec", "u32"}, {"cas", "b32"}, {"cas", "b64"}};
    static const char *const where[] = {".global", ".shared", "", ".relaxed.gpu.global",
                                        ".acq_rel.cta.shared::cta"};
    enum { ROWS = sizeof rows / sizeof rows[0], WHERE = sizeof where / sizeof where[0] };
    struct text text = {0};
    struct rig rig;
    add(&text, HEAD);
    for (int n = 0; n < ROWS * WHERE; n++) {
        const char *op = rows[n % ROWS][0], *type = rows[n % ROWS][1];
        const bool shared = strstr(where[n / ROWS], "shared") != NULL;
        const int bits = atoi(type + 1);
        add(&text,
            ".visible .entry k%d(.param .u64 out, .param .u64 in)\n{\n%s.reg .b%d %%v<6>;\n"
            ".shared .align 8 .b64 cell; mov.u32 %%i, %%tid.x; ld.param.u64 %%x, [out];\n"
            "ld.param.u64 %%y, [in]; mov.u64 %%d3, %%x; mov.u64 %%d2, cell;\n"
            "ld.global.b%d %%v4, [%%x]; st.shared.b%d [cell], %%v4;\n"
            "mad.wide.u32 %%y, %%i, %d, %%y; ld.global.b%d %%v0, [%%y]; ld.global.b%d %%v1, "
            "[%%y+8];\n"
            "atom%s.%s.%s %%v2, [%s], %%v0%s;\n"
            "mad.wide.u32 %%d4, %%i, 8, %%x; st.global.b%d [%%d4+8], %%v2;\n",
            n, REGISTERS, bits, bits, bits, 8, bits, bits, where[n / ROWS], op, type,
            shared ? "%d2" : "%d3", strcmp(op, "cas") ? "" : ", %v1", bits);
        add(&text,
            shared ? "ld.shared.b%d %%v3, [cell]; st.global.b%d [%%x], %%v3; ret;\n}\n"
                   : "ret;\n}\n",
            bits, bits);
    }
    rig_open(&rig, text.at, 1);
    free(text.at);
    u64 *out = rig_buffer(&rig, 33 * 8), *in = rig_buffer(&rig, 40 * 8);
    for (int n = 0; n < ROWS * WHERE; n++) {
        const char *op = rows[n % ROWS][0], *type = rows[n % ROWS][1];
        const u64 keep = strstr(type, "64") ? ~(u64)0 : 0xffffffffu;
        char name[16];
        snprintf(name, sizeof name, "k%d", n);
        memset(out, 0, 33 * 8);
        u64 cell = out[0] = random64() & keep;
        for (int i = 0; i < 34; i++)
            in[i] = random64() % 3 ? random64() & keep : cell + random64() % 3;
        if (!strcmp(op, "cas"))
            in[3] = cell;
        rig_run(&rig, name, RIG_X(1), RIG_X(32), RIG_ARGS(&out, &in));
        for (int i = 0; i < 32; i++) {
            assert_int_equal(out[1 + i], cell);
            cell = after(op, type, cell, in[i] & keep, in[i + 1] & keep) & keep;
        }
        assert_int_equal(out[0], cell);
    }
    rig_close(&rig);
}

static void test_float_atomics(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(
        &rig,
        HEAD
            KERNEL("f32") "red.global.add.f32 [%x], 0f3FC00000; atom.add.f32 %r1, [%x+4], "
                          "0fBF800000;\n"
                          "red.relaxed.sys.global.add.u32 [%x+8], 3; ret;\n}\n" KERNEL(
                              "f64") "red.global.add.f64 [%x], 0d3FF8000000000000; "
                                     "ret;\n}\n" KERNEL("halves") "mov.b16 %h1, 0x3c00; mov.b32 "
                                                                  "%r1, 0x40003c00; mov.b16 %h2, "
                                                                  "0x3f80;\n"
                                                                  "mov.b32 %r2, 0x40003f80; "
                                                                  "atom.global.add.noftz.f16 %h3, "
                                                                  "[%x], %h1;\n"
                                                                  "atom.global.add.noftz.f16x2 "
                                                                  "%r3, [%x+4], %r1; "
                                                                  "red.global.add.noftz.bf16 "
                                                                  "[%x+8], %h2;\n"
                                                                  "red.global.add.noftz.bf16x2 "
                                                                  "[%x+12], %r2; ret;\n}\n" KERNEL(
                                                                      "subnormal") ".shared .align "
                                                                                   "4 .b32 cell; "
                                                                                   "st.shared.u32 "
                                                                                   "[cell], 1;\n"
                                                                                   "red.shared.add."
                                                                                   "f32 [cell], "
                                                                                   "0f00000001; "
                                                                                   "ld.shared.u32 "
                                                                                   "%r1, [cell];\n"
                                                                                   "st.global.u32 "
                                                                                   "[%x], 1; "
                                                                                   "red.global.add."
                                                                                   "f32 [%x], "
                                                                                   "0f00000001; "
                                                                                   "st.global.u32 "
                                                                                   "[%x+4], %r1;\n"
                                                                                   "ret;\n}\n",
        2);
    float *sum = rig_buffer(&rig, 16);
    double *wide = rig_buffer(&rig, 8);
    u16 *halves = rig_buffer(&rig, 16);
    u32 *bits = rig_buffer(&rig, 8);
    rig_run(&rig, "f32", RIG_X(10), RIG_X(100), RIG_ARGS(&sum, &sum));
    assert_true(sum[0] == 1500.0f && sum[1] == -1000.0f);
    assert_int_equal(((u32 *)(void *)sum)[2], 3000);
    rig_run(&rig, "f64", RIG_X(10), RIG_X(100), RIG_ARGS(&wide, &wide));
    assert_true(*wide == 1500.0);
    rig_run(&rig, "halves", RIG_X(1), RIG_X(64), RIG_ARGS(&halves, &halves));
    assert_int_equal(halves[0], 0x5400);
    assert_int_equal(halves[2], 0x5400);
    assert_int_equal(halves[3], 0x5800);
    assert_int_equal(halves[4], 0x4280);
    assert_int_equal(halves[6], 0x4280);
    assert_int_equal(halves[7], 0x4300);
    /* Global memory flushes subnormals, shared memory keeps them. */
    rig_run(&rig, "subnormal", RIG_X(1), RIG_X(1), RIG_ARGS(&bits, &bits));
    assert_int_equal(bits[0], 0);
    assert_int_equal(bits[1], 2);
    rig_close(&rig);
}

/* cp.async copies at once and zeroes what the source size leaves out. */
static void test_asynchronous_copies(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(
        &rig,
        HEAD KERNEL(
            "k") ".shared .align 16 .b8 stage[1024]; mov.u32 %r1, stage;\n"
                 "mad.lo.u32 %r1, %i, 16, %r1; mad.wide.u32 %y, %i, 16, %y; and.b32 %r2, %i, 15;\n"
                 "st.shared.v4.u32 [%r1], {%i, %i, %i, %i};\n"
                 "cp.async.ca.shared.global [%r1], [%y], 16, %r2; cp.async.commit_group;\n"
                 "cp.async.wait_group 0; setp.eq.u32 %p1, %i, 5;\n"
                 "@%p1 cp.async.cg.shared.global.L2::128B [%r1], [%y+16], 16; cp.async.wait_all;\n"
                 "ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [%r1];\n"
                 "mad.wide.u32 %x, %i, 16, %x; st.global.v4.u32 [%x], {%r3, %r4, %r5, %r6}; "
                 "ret;\n}\n",
        1);
    unsigned char *out = rig_buffer(&rig, 512), *in = rig_buffer(&rig, 528);
    for (int i = 0; i < 528; i++)
        in[i] = (unsigned char)random64();
    rig_run(&rig, "k", RIG_X(1), RIG_X(32), RIG_ARGS(&out, &in));
    for (u32 i = 0; i < 512; i++) {
        const u32 lane = i / 16, byte = i % 16;
        const unsigned char wanted = lane == 5 ? in[i + 16] : byte < (lane & 15) ? in[i] : 0;
        assert_int_equal(out[i], wanted);
    }
    rig_close(&rig);
}

/* ---- faults ------------------------------------------------------------------- */

/* `body` must fault with this kind in thread `lane` of block 1, at this offset from `out`. */
static void expect_fault(const char *body, enum simt_fault_kind kind, u32 lane, bool is_write)
{
    struct rig rig;
    char ptx[4096];
    snprintf(
        ptx, sizeof ptx, "%s%s\n%s\nret;\n}\n", HEAD KERNEL("k"),
        "mov.u32 %r0, %ctaid.x; setp.ne.u32 %p9, %r0, 1; @%p9 exit; .local .align 8 .b8 depot[16];"
        " .shared .align 8 .b8 pool[16]; mad.wide.u32 %d0, %i, 4, %x;",
        body);
    rig_open(&rig, ptx, 1);
    u32 *out = rig_buffer(&rig, 64 * 4);
    assert_int_equal(rig_try(&rig, "k", RIG_X(3), RIG_X(64), RIG_ARGS(&out, &out)), RP_OK);
    if (rig.fault.kind != kind || rig.fault.thread[0] != lane || rig.fault.block[0] != 1 ||
        rig.fault.is_write != is_write || rig.fault.line != 9)
        fail_msg("%s: fault %d of thread %u in block %u at line %u, address %#llx, write %d", body,
                 (int)rig.fault.kind, rig.fault.thread[0], rig.fault.block[0], rig.fault.line,
                 (unsigned long long)rig.fault.address, rig.fault.is_write);
    rig_close(&rig);
}

static void test_faults(void **state)
{
    (void)state;
    const enum simt_fault_kind bounds = SIMT_FAULT_ADDRESS, odd = SIMT_FAULT_MISALIGNED;
    expect_fault("ld.global.u32 %r1, [0];", bounds, 0, false);
    expect_fault("st.global.u32 [%d0+4], %r1;", bounds, 63, true);
    expect_fault("ld.global.u32 %r1, [%d0-4];", bounds, 0, false);
    expect_fault("ld.global.u32 %r1, [%d0+128];", bounds, 32, false);
    expect_fault("st.global.v4.u32 [%x+256], {%r1, %r1, %r1, %r1};", bounds, 0, true);
    expect_fault("ld.global.u32 %r1, [%x+2];", odd, 0, false);
    expect_fault("st.global.u64 [%x+4], %d1;", odd, 0, true);
    expect_fault("st.global.u32 [%d0+254], %r1;", odd, 0, true); /* and outside */
    expect_fault("ld.u16 %r1, [7];", odd, 0, false);
    expect_fault("ld.u32 %r1, [-4];", bounds, 0, false);
    expect_fault("ld.u8 %r1, [-1];", bounds, 0, false);
    expect_fault("ld.global.u64 %d1, [0x7fffffffffffff8];", bounds, 0, false);
    expect_fault("atom.global.add.u32 %r1, [%d0+128], 1;", bounds, 32, true);
    expect_fault("red.global.add.u64 [%d0], 1;", odd, 1, true);
    expect_fault("ld.shared.u32 %r1, [pool+16];", bounds, 0, false);
    expect_fault("st.shared.u8 [pool-1], %r1;", bounds, 0, true);
    expect_fault("st.shared.u64 [pool+4], %d1;", odd, 0, true);
    expect_fault("st.local.u32 [depot+1000000], %r1;", bounds, 0, true);
    expect_fault("setp.eq.u32 %p1, %i, 37; @%p1 ld.global.u32 %r1, [16];", bounds, 37, false);
    expect_fault("setp.eq.u32 %p1, %i, 37; @%p1 trap;", SIMT_FAULT_TRAP, 37, false);
    expect_fault("mov.u64 %d1, 5; call %d1, (); ", bounds, 0, false);
    expect_fault("bar.sync 16;", SIMT_FAULT_BARRIER, 0, false);
    expect_fault("bar.sync 1, 33;", SIMT_FAULT_BARRIER, 0, false);
    expect_fault("cp.async.ca.shared.global [pool], [%x+256], 4;", bounds, 0, false);
    expect_fault("cp.async.ca.shared.global [pool+16], [%x], 4;", bounds, 0, true);
}

/* A fault in one lane leaves what the whole instruction would have written alone. */
static void test_faults_write_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, HEAD KERNEL("k") "mad.wide.u32 %x, %i, 4, %x; st.global.u32 [%x], 7; ret;\n}\n",
             1);
    u32 *out = rig_buffer(&rig, 31 * 4);
    assert_int_equal(rig_try(&rig, "k", RIG_X(1), RIG_X(32), RIG_ARGS(&out, &out)), RP_OK);
    assert_int_equal(rig.fault.kind, SIMT_FAULT_ADDRESS);
    assert_int_equal(rig.fault.address, (uintptr_t)(out + 31));
    for (int i = 0; i < 31; i++)
        assert_int_equal(out[i], 0);
    rig_close(&rig);
}

/* Recursion without end is a fault, not a crash. */
static void test_stack_overflow(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig,
             HEAD ".func deep(.param .b32 n)\n{\n.local .align 8 .b8 space[64]; .reg .b32 %a;\n"
                  "ld.param.b32 %a, [n]; { .param .b32 m; st.param.b32 [m], %a; call deep, (m); } "
                  "ret;\n}\n" KERNEL(
                      "k") "{ .param .b32 m; st.param.b32 [m], 1; call deep, (m); } ret;\n}\n",
             1);
    u32 *out = rig_buffer(&rig, 4);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rig_try(&rig, "k", RIG_X(1), RIG_X(32), RIG_ARGS(&out, &out)), RP_OK);
        assert_int_equal(rig.fault.kind, SIMT_FAULT_STACK);
    }
    rig_close(&rig);
}

/* ---- the oracle --------------------------------------------------------------- */

struct log { struct simt_touch at[100]; size_t count; };

static void record(void *ctx, const struct simt_touch *touches, size_t count)
{
    struct log *log = ctx;
    assert_true(log->count + count <= 100);
    memcpy(&log->at[log->count], touches, count * sizeof *touches);
    log->count += count;
}

static void expect_log(const struct log *log, size_t n, const void *address, u64 bytes, bool write)
{
    assert_true(n < log->count);
    assert_int_equal(log->at[n].address, (uintptr_t)address);
    assert_int_equal(log->at[n].bytes, bytes);
    assert_int_equal(log->at[n].is_write, write);
}

static void test_oracle(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(
        &rig,
        HEAD KERNEL(
            "k") ".shared .align 4 .b32 s[32]; mad.wide.u32 %d0, %i, 4, %y;\n"
                 "ld.global.u32 %r1, [%d0]; ld.global.u32 %r2, [%y+400]; st.shared.u32 [s], %r1;\n"
                 "shr.u32 %r3, %i, 4; mad.wide.u32 %d1, %r3, 100, %d0; ld.u32 %r4, [%d1];\n"
                 "setp.lt.u32 %p1, %i, 3; @%p1 st.global.v2.u32 [%x+8], {%r1, %r1};\n"
                 "mad.wide.u32 %d2, %i, 8, %x; setp.lt.u32 %p2, %i, 2; @%p2 atom.global.add.u32 "
                 "%r5, [%d2], 1;\n"
                 "ret;\n}\n",
        1);
    char *out = rig_buffer(&rig, 512), *in = rig_buffer(&rig, 512);
    struct log log = {0};
    rig.options.oracle = record;
    rig.options.oracle_ctx = &log;
    rig_run(&rig, "k", RIG_X(1), RIG_X(32), RIG_ARGS(&out, &in));
    expect_log(&log, 0, in, 128, false);
    expect_log(&log, 1, in + 400, 4, false);
    expect_log(&log, 2, in, 64, false);
    expect_log(&log, 3, in + 164, 64, false);
    expect_log(&log, 4, out + 8, 8, true);
    expect_log(&log, 5, out, 4, false);
    expect_log(&log, 6, out + 8, 4, false);
    expect_log(&log, 7, out, 4, true);
    expect_log(&log, 8, out + 8, 4, true);
    assert_int_equal(log.count, 9);
    rig_close(&rig);
}

int main(int argc, char **argv)
{
    random_state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    print_message("seed %llu\n", (unsigned long long)random_state);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form),
        cmocka_unit_test(test_scattered_stores),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_shared_from_zero),
        cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_atomics),
        cmocka_unit_test(test_float_atomics),
        cmocka_unit_test(test_asynchronous_copies),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_faults_write_nothing),
        cmocka_unit_test(test_stack_overflow),
        cmocka_unit_test(test_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
