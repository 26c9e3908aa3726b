/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores: every width and pattern of addresses, every space. */
#include "tests/soft/simt/entry.h"
#include "tests/soft/simt/rig.h"
#include "tests/soft/simt/values.h"

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

/* ---- asynchronous copies ---------------------------------------------------- */

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
        cmocka_unit_test(test_asynchronous_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
