/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers that kernels load: from tables in memory, as far as it is known what stands there, and
 * from parameters by an index. */
#include "cuda/access/memo.h"
#include "tests/access/claim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CLAIMS(...) ((const struct claim[]){__VA_ARGS__, {0}})
#define TABLES 3

/* What is known of memory: tables, of pointers by letters, at the places of letters. */
struct memory {
    struct {
        char at;
        const char *letters; /* '-': NULL */
    } tables[TABLES];
    unsigned asked;
};

static bool known(void *ctx, uint64_t address, uint64_t bytes, void *out)
{
    struct memory *memory = ctx;
    memory->asked++;
    for (int i = 0; i < TABLES && memory->tables[i].at; i++) {
        const char *letters = memory->tables[i].letters;
        uint64_t offset = address - claim_address(memory->tables[i].at);
        if (offset % 8 || offset > 8 * strlen(letters) || bytes > 8 * strlen(letters) - offset)
            continue;
        for (uint64_t at = 0; at < bytes; at += 8) {
            char letter = letters[(offset + at) / 8];
            uint64_t pointer = letter == '-' ? 0 : claim_address(letter);
            memcpy((char *)out + at, &pointer, 8);
        }
        return true;
    }
    return false;
}

/* Parameters: a table, two numbers, and a struct of 4 pointers and 8 bytes that count. %r3 is the
 * index of the thread, %r5 that of its block; %rd1 the table, %r1 and %r2 the numbers. */
#define HEAD                                                                                     \
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 table,"        \
    ".param .u32 n, .param .u32 m, .param .align 8 .b8 s[40])\n{\n.reg .b32 %r<99>;"             \
    ".reg .b64 %rd<99>; .reg .pred %p<9>; .reg .f32 %f<9>; .reg .b16 %rs<9>;\n"                  \
    "ld.param.u64 %rd1, [table]; ld.param.u32 %r1, [n]; ld.param.u32 %r2, [m];"                  \
    "mov.u32 %r4, %tid.x; mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ntid.x;"                          \
    "mad.lo.s32 %r3, %r5, %r6, %r4;\n"
/* %rd9 is the pointer of the table that `index` picks. */
#define PICK(index) "mul.wide.u32 %rd8, " index ", 8; add.s64 %rd7, %rd1, %rd8;" \
    "ld.global.u64 %rd9, [%rd7];\n"
/* Stores 4 bytes at `pointer`, by the index of the thread in its block. */
#define STORE(pointer) "mul.wide.u32 %rd90, %r4, 4; add.s64 %rd91, " pointer ", %rd90;" \
    "st.global.u32 [%rd91], 0;\n"

static void prove(const char *body, unsigned blocks, unsigned threads, const char *words,
                  struct memory *memory, const struct claim *expected)
{
    char text[8192], message[160];
    struct rp_ptx_module *module;
    snprintf(text, sizeof text, "%s%s\nret;\n}\n", HEAD, body);
    if (rp_ptx_parse(text, strlen(text), &module, message, sizeof message) != RP_OK)
        fail_msg("%s\n%s", message, text);
    claim_check_knowing(module, "k", (struct claim_size){blocks, 1, 1},
                        (struct claim_size){threads, 1, 1}, words, known, memory, expected);
    rp_ptx_destroy(module);
}

#define WORDS "T 20 7 A B C D 0"

/* ---- tables in memory --------------------------------------------------------- */

static void a_pointer_from_a_known_table_is_a_root(void **state)
{
    (void)state;
    struct memory memory = {.tables = {{'T', "ABCD"}}};
    prove("ld.global.u64 %rd9, [%rd1+8];" STORE("%rd9"), 1, 32, WORDS, &memory,
          CLAIMS(READS('T', 8, 16), WRITES('B', 0, 128)));
    /* one for each block, as in a batched product */
    prove(PICK("%r5") STORE("%rd9"), 3, 32, WORDS, &memory,
          CLAIMS(READS('T', 0, 24), WRITES('A', 0, 128), WRITES('B', 0, 128),
                 WRITES('C', 0, 128)));
    /* a number from the arguments picks it */
    prove(PICK("%r2") STORE("%rd9"), 1, 32, "T 20 3 A B C D 0", &memory,
          CLAIMS(READS('T', 24, 32), WRITES('D', 0, 128)));
    /* two of them, loaded at once */
    prove("ld.global.v2.u64 {%rd9, %rd10}, [%rd1+16];" STORE("%rd9") STORE("%rd10"), 1, 8, WORDS,
          &memory, CLAIMS(READS('T', 16, 32), WRITES('C', 0, 32), WRITES('D', 0, 32)));
}

static void a_table_may_lie_in_a_table(void **state)
{
    (void)state;
    struct memory memory = {.tables = {{'T', "UV"}, {'U', "AB"}, {'V', "CD"}}};
    prove("ld.global.u64 %rd10, [%rd1+8]; ld.global.u64 %rd9, [%rd10];" STORE("%rd9"), 1, 32, WORDS,
          &memory, CLAIMS(READS('T', 8, 16), READS('V', 0, 8), WRITES('C', 0, 128)));
}

static void one_of_many_is_any_of_them(void **state)
{
    (void)state;
    struct memory memory = {.tables = {{'T', "ABCDEFGHIJKLMNO"}}};
    const struct claim each[] = {
        MAY_WRITE('A', 0, 80), MAY_WRITE('B', 0, 80), MAY_WRITE('C', 0, 80),
        MAY_WRITE('D', 0, 80), MAY_WRITE('E', 0, 80), MAY_WRITE('F', 0, 80), MAY_WRITE('G', 0, 80),
        MAY_WRITE('H', 0, 80), MAY_WRITE('I', 0, 80), MAY_WRITE('J', 0, 80), MAY_WRITE('K', 0, 80),
        MAY_WRITE('L', 0, 80), MAY_WRITE('M', 0, 80), MAY_WRITE('N', 0, 80), MAY_WRITE('O', 0, 80),
        READS('T', 0, 120), {0}};
    struct claim all[sizeof each / sizeof *each];
    /* more blocks than a launch is cut into pieces, and more threads than are walked */
    const char *body = PICK("%r5") "setp.ge.u32 %p1, %r4, %r1; @%p1 ret;" STORE("%rd9");
    prove(body, 15, 1 << 16, WORDS, &memory, each);
    /* few threads are walked */
    memcpy(all, each, sizeof each);
    for (size_t i = 0; all[i].effect == RP_WRITE; i++)
        all[i].verdict = RP_VERDICT_EXACT;
    prove(body, 15, 32, WORDS, &memory, all);
    /* the distance of two is no number, though both come from one place */
    prove(PICK("%r5") "ld.global.u64 %rd10, [%rd7+8]; sub.s64 %rd11, %rd9, %rd10;"
          "add.s64 %rd12, %rd1, %rd11;" STORE("%rd12"), 14, 1 << 16, WORDS, &memory,
          CLAIMS(READS('T', 0, 120), WRITES_ANY));
}

static void what_is_not_known_is_data(void **state)
{
    (void)state;
    struct memory nothing = {.tables = {{0}}}, shorter = {.tables = {{'T', "ABC"}}};
    prove(PICK("%r5") STORE("%rd9"), 3, 32, WORDS, &nothing,
          CLAIMS(READS('T', 0, 24), WRITES_ANY));
    prove(PICK("%r5") STORE("%rd9"), 4, 32, WORDS, &shorter,
          CLAIMS(READS('T', 0, 32), WRITES_ANY));
    /* and so is what is no pointer: indices are asked for by nobody */
    struct memory table = {.tables = {{'T', "ABCD"}}};
    prove("ld.global.u32 %r9, [%rd1]; mul.wide.u32 %rd8, %r9, 4; add.s64 %rd9, %rd1, %rd8;"
          "st.global.u32 [%rd9+64], 0;", 1, 1, WORDS, &table,
          CLAIMS(READS('T', 0, 4), WRITES_IN('T')));
    assert_int_equal(table.asked, 0);
}

static void a_kernel_that_may_write_its_table_is_told_nothing(void **state)
{
    (void)state;
    struct memory memory = {.tables = {{'T', "ABTD"}}};
    /* by the table's own pointer, */
    prove("st.global.u64 [%rd1+8], %rd1;" PICK("%r5") STORE("%rd9"), 3, 32, WORDS, &memory,
          CLAIMS(READS('T', 0, 24), WRITES('T', 8, 16), WRITES_ANY));
    /* and by one that lies in it */
    prove(PICK("%r5") STORE("%rd9"), 3, 32, WORDS, &memory,
          CLAIMS(READS('T', 0, 24), WRITES_ANY));
    prove(PICK("%r5") STORE("%rd9"), 2, 32, WORDS, &memory,
          CLAIMS(READS('T', 0, 16), WRITES('A', 0, 128), WRITES('B', 0, 128)));
    /* at a place that is not known, it may as well */
    prove(PICK("%r5") "ld.global.u32 %r9, [%rd9]; mul.wide.u32 %rd10, %r9, 4;"
          "add.s64 %rd11, %rd9, %rd10; st.global.u32 [%rd11], 0;", 2, 1, WORDS, &memory,
          CLAIMS(READS('T', 0, 16), READS_ANY, WRITES_ANY));
}

/* ---- parameters by an index --------------------------------------------------- */

/* %rd9 is the pointer of s that `index` picks. */
#define FIELD(index) "mov.b64 %rd6, s; mul.wide.u32 %rd8, " index ", 8; add.s64 %rd7, %rd6, %rd8;" \
    "ld.param.u64 %rd9, [%rd7];\n"

static void an_index_picks_a_parameter(void **state)
{
    (void)state;
    struct memory nothing = {.tables = {{0}}};
    prove(FIELD("%r5") STORE("%rd9"), 4, 32, WORDS, &nothing,
          CLAIMS(WRITES('A', 0, 128), WRITES('B', 0, 128), WRITES('C', 0, 128),
                 WRITES('D', 0, 128)));
    /* in a loop over all of them */
    prove("mov.b64 %rd6, s; mov.u32 %r9, 0;\nL: mul.wide.u32 %rd8, %r9, 8;"
          "add.s64 %rd7, %rd6, %rd8; ld.param.u64 %rd9, [%rd7];" STORE("%rd9")
          "add.s32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 3; @%p1 bra L;", 1, 32, WORDS, &nothing,
          CLAIMS(WRITES('A', 0, 128), WRITES('B', 0, 128), WRITES('C', 0, 128)));
    /* a byte says which: block 0 has 2, block 1 has 1, as multi_tensor_apply of PyTorch does it */
    prove("mov.b64 %rd6, s; cvt.u64.u32 %rd5, %r5; add.s64 %rd7, %rd6, %rd5;"
          "ld.param.u8 %rs1, [%rd7+32]; cvt.u32.u16 %r9, %rs1;" FIELD("%r9") STORE("%rd9"), 2, 32,
          "T 20 7 A B C D 0x102", &nothing, CLAIMS(WRITES('B', 0, 128), WRITES('C', 0, 128)));
    /* by its address as any other */
    prove("mov.b64 %rd6, s; cvta.param.u64 %rd7, %rd6; ld.u64 %rd9, [%rd7+16];" STORE("%rd9"), 1,
          32, WORDS, &nothing, CLAIMS(WRITES('C', 0, 128)));
    assert_int_equal(nothing.asked, 0);
}

/* The struct lies at 4, and its pointers at 4 in it. */
static void pointers_need_not_lie_where_their_struct_begins(void **state)
{
    (void)state;
    static const char text[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u32 n,"
        ".param .align 4 .b8 s[20])\n{\n.reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
        "mov.b64 %rd1, s; mov.u32 %r1, %ctaid.x; and.b32 %r1, %r1, 1; mul.wide.u32 %rd2, %r1, 8;"
        "add.s64 %rd3, %rd1, %rd2; ld.param.u64 %rd4, [%rd3+4]; st.global.u32 [%rd4], %r1;"
        "ret;\n}\n";
    const uint64_t params[] = {5 | UINT64_C(7) << 32, claim_address('A'), claim_address('B')};
    char message[160];
    struct rp_ptx_module *module;
    assert_int_equal(rp_ptx_parse(text, strlen(text), &module, message, sizeof message), RP_OK);
    static const uint32_t blocks[] = {2, 1 << 20}; /* walked, and too many to be */
    for (int i = 0; i < 2; i++)
        claim_check_launch(module, "k", &(struct rp_launch){
            .grid = {blocks[i], 1, 1}, .block = {1, 1, 1}, .params = (const unsigned char *)params,
            .param_bytes = sizeof params}, CLAIMS(WRITES('A', 0, 4), WRITES('B', 0, 4)));
    rp_ptx_destroy(module);
}

static void an_index_past_the_parameter_is_not_followed(void **state)
{
    (void)state;
    struct memory nothing = {.tables = {{0}}};
    prove(FIELD("%r5") STORE("%rd9"), 6, 1 << 20, WORDS, &nothing, CLAIMS(WRITES_ANY));
    prove("mov.b64 %rd6, s; ld.param.u64 %rd9, [%rd6-8];" STORE("%rd9"), 1, 32, WORDS, &nothing,
          CLAIMS(WRITES_ANY));
    /* by data */
    prove("ld.global.u32 %r9, [%rd1];" FIELD("%r9") STORE("%rd9"), 1, 32, WORDS, &nothing,
          CLAIMS(READS('T', 0, 4), WRITES_ANY));
}

/* ---- tensor maps ------------------------------------------------------------------ */

/* The letter that a map begins with says where its tensor is. */
static bool find_tensor(const unsigned char *map, uint64_t *address)
{
    if (map[0] < 'A' || map[0] > 'Z')
        return false;
    *address = claim_address((char)map[0]);
    return true;
}

/* Two maps, and a pointer to one in memory. */
static void by_tensor_map(const char *body, const char *letters, const struct claim *expected)
{
    char text[4096], message[160];
    unsigned char params[264] = {0};
    struct rp_ptx_module *module;
    snprintf(text, sizeof text,
             ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .align 64 .b8"
             " m[128], .param .align 64 .b8 o[128], .param .u64 p)\n{\n.reg .b32 %%r<9>;"
             ".reg .b64 %%rd<9>; .shared .align 128 .b8 sh[256]; .shared .b64 bar;\n"
             "mov.b64 %%rd1, m; cvta.param.u64 %%rd2, %%rd1; mov.u32 %%r1, %%tid.x;"
             "ld.param.u64 %%rd3, [p];\n%s\nret;\n}\n", body);
    if (rp_ptx_parse(text, strlen(text), &module, message, sizeof message) != RP_OK)
        fail_msg("%s\n%s", message, text);
    params[0] = (unsigned char)letters[0];
    params[128] = (unsigned char)letters[1];
    claim_check_launch(module, "k", &(struct rp_launch){
        .grid = {2, 1, 1}, .block = {32, 1, 1}, .params = params, .param_bytes = sizeof params,
        .map = find_tensor}, expected);
    rp_ptx_destroy(module);
}

#define STORE_TENSOR                                                                             \
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd2, {%r1, %r1}], [sh];"

static void a_tensor_map_among_the_parameters_names_its_tensor(void **state)
{
    (void)state;
    by_tensor_map(STORE_TENSOR, "AB", CLAIMS(WRITES_IN('A')));
    by_tensor_map("mov.b64 %rd2, o;" STORE_TENSOR, "AB", CLAIMS(WRITES_IN('B')));
    by_tensor_map("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%rd2, {%r1}],"
                  "[sh];", "AB", CLAIMS(READS_IN('A'), WRITES_IN('A')));
    by_tensor_map("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
                  "[sh], [%rd2, {%r1}], [bar];", "AB", CLAIMS(READS_IN('A')));
    /* one that nobody has filled in, or that lies elsewhere, may be any */
    by_tensor_map(STORE_TENSOR, "?B", CLAIMS(READS_ANY, WRITES_ALL));
    by_tensor_map("mov.b64 %rd2, %rd3;" STORE_TENSOR, "AB", CLAIMS(READS_ANY, WRITES_ALL));
    by_tensor_map("add.s64 %rd2, %rd2, 192;" STORE_TENSOR, "AB", CLAIMS(READS_ANY, WRITES_ALL));
}

/* ---- many ----------------------------------------------------------------------- */

#define STEP (claim_address('B') - claim_address('A'))
enum { SLOTS = 9, MOST_BLOCKS = 30, MOST_THREADS = 48, SPACE = 1 << 12, MANY = 3000 };

/* Thread t of block b stores at p + 4 * (c t + d b), if t < n, where p is the pointer that
 * (a t + e b) % k picks, of the table or of s. */
struct random {
    uint32_t a, c, d, e, k, n, blocks, threads;
    bool by_param;
};

static uint32_t below(uint32_t limit)
{
    static uint32_t state = 1;
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % limit;
}

static struct random draw(void)
{
    struct random out = {.a = below(3), .c = below(3), .d = below(3), .e = below(3),
                         .n = below(60), .blocks = 1 + below(MOST_BLOCKS),
                         .threads = 1 + below(MOST_THREADS), .by_param = below(2)};
    out.k = 1 + below(out.by_param ? 4 : SLOTS);
    return out;
}

static void put_text(const struct random *of, char text[4096])
{
    const char *place = of->by_param ? "mov.b64 %rd3, s; add.s64 %rd4, %rd3, %rd2"
                                     : "add.s64 %rd4, %rd1, %rd2";
    snprintf(text, 4096,
             "%s setp.ge.u32 %%p1, %%r4, %u; @%%p1 ret; mul.lo.u32 %%r9, %%r4, %u;"
             "mad.lo.u32 %%r10, %%r5, %u, %%r9; rem.u32 %%r11, %%r10, %u;"
             "mul.lo.u32 %%r12, %%r4, %u; mad.lo.u32 %%r13, %%r5, %u, %%r12;"
             "mul.wide.u32 %%rd2, %%r11, 8; %s; ld.%s.u64 %%rd5, [%%rd4];"
             "mul.wide.u32 %%rd6, %%r13, 4; add.s64 %%rd7, %%rd5, %%rd6;"
             "st.global.u32 [%%rd7], 0; ret;\n}\n", HEAD, of->n, of->a, of->e, of->k, of->c, of->d,
             place, of->by_param ? "param" : "global");
}

/* What is written, by letter and byte. */
static void mark(const struct random *of, const char *letters,
                     unsigned char written[SLOTS][SPACE])
{
    memset(written, 0, SLOTS * SPACE);
    for (uint32_t b = 0; b < of->blocks; b++)
        for (uint32_t t = 0; t < of->threads && t < of->n; t++) {
            int letter = letters[(of->a * t + of->e * b) % of->k] - 'A';
            memset(&written[letter][4 * (of->c * t + of->d * b)], 1, 4);
        }
}

static bool is_claimed(const struct rp_access_set *set, uint64_t at)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i].effect == RP_WRITE && set->items[i].lo <= at && at < set->items[i].hi)
            return true;
    return false;
}

static void compare(const struct rp_access_set *set, unsigned char written[SLOTS][SPACE])
{
    assert_true(set->writes <= RP_VERDICT_BOUNDED);
    for (int letter = 0; letter < SLOTS; letter++)
        for (uint64_t at = 0; at < SPACE; at++)
            if (written[letter][at])
                assert_true(is_claimed(set, claim_address((char)('A' + letter)) + at));
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i].effect == RP_WRITE && set->items[i].exact)
            for (uint64_t at = set->items[i].lo; at < set->items[i].hi; at++) {
                uint64_t offset = at - claim_address('A');
                assert_true(offset / STEP < SLOTS && offset % STEP < SPACE);
                assert_true(written[offset / STEP][offset % STEP]);
            }
}

/* The claims of random launches against what each thread does. */
static void claims_hold_on_random_tables(void **state)
{
    (void)state;
    static unsigned char written[SLOTS][SPACE];
    unsigned exact = 0;
    for (int i = 0; i < MANY; i++) {
        const struct random of = draw();
        char text[4096], message[160], letters[SLOTS + 1] = "ABCDEFGHI";
        letters[below(of.k)] = letters[below(of.k)]; /* one of them twice, perhaps */
        struct memory memory = {.tables = {{'T', letters}}};
        struct rp_ptx_module *module;
        struct rp_proof *proof;
        struct rp_access_set set = {0};
        uint64_t params[8] = {claim_address('T')};
        for (int j = 0; j < 4; j++)
            params[2 + j] = claim_address(letters[j]);
        struct rp_launch launch = {.grid = {of.blocks, 1, 1}, .block = {of.threads, 1, 1},
                                   .params = (const unsigned char *)params,
                                   .param_bytes = sizeof params,
                                   .known = known, .known_ctx = &memory};
        put_text(&of, text);
        assert_int_equal(rp_ptx_parse(text, strlen(text), &module, message, sizeof message), RP_OK);
        assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &proof), RP_OK);
        assert_int_equal(rp_proof_evaluate(proof, &launch, NULL, NULL, &set), RP_OK);
        mark(&of, letters, written);
        compare(&set, written);
        exact += set.writes <= RP_VERDICT_EXACT;
        rp_access_set_release(&set);
        rp_proof_destroy(proof);
        rp_ptx_destroy(module);
    }
    print_message("%u of %d launches claim exactly what they write\n", exact, MANY);
    assert_true(exact > MANY / 10 * 9);
}

/* ---- memos ---------------------------------------------------------------------- */

static const char batched[] = HEAD PICK("%r5") STORE("%rd9") "ret;\n}\n";

struct remembering {
    struct rp_memo *memo;
    struct memory memory;
    struct { /* as the kernel's parameters lie */
        uint64_t table;
        uint32_t n, m;
        uint64_t pointers[4], bytes;
    } params;
};

/* Where the block of the launch writes, or 0 where that is not known. */
static uint64_t place(struct remembering *at)
{
    struct rp_access_set set = {0};
    struct rp_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1},
                               .params = (const unsigned char *)&at->params,
                               .param_bytes = sizeof at->params,
                               .known = known, .known_ctx = &at->memory};
    assert_int_equal(rp_memo_evaluate(at->memo, &launch, NULL, NULL, &set), RP_OK);
    uint64_t lo = 0;
    for (size_t i = 0; i < set.count; i++)
        if (set.items[i].effect == RP_WRITE && set.items[i].verdict == RP_VERDICT_EXACT)
            lo = set.items[i].lo;
    rp_access_set_release(&set);
    return lo;
}

static uint64_t remembered(const struct remembering *at)
{
    uint64_t asked, found;
    rp_memo_counts(at->memo, &asked, &found);
    return found;
}

static void what_was_told_is_asked_again(void **state)
{
    (void)state;
    char message[160];
    struct rp_ptx_module *module;
    struct rp_proof *proof;
    struct remembering at = {.memory = {.tables = {{'T', "A"}, {'U', "A"}}},
                             .params = {.table = claim_address('T')}};
    assert_int_equal(rp_ptx_parse(batched, strlen(batched), &module, message, sizeof message),
                     RP_OK);
    assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &proof), RP_OK);
    assert_int_equal(rp_memo_create(proof, &at.memo), RP_OK);
    assert_int_equal(place(&at), claim_address('A'));
    assert_int_equal(place(&at), claim_address('A'));
    assert_int_equal(remembered(&at), 1);
    at.params.table = claim_address('U'); /* another table, which says the same */
    assert_int_equal(place(&at), claim_address('A'));
    assert_int_equal(remembered(&at), 2);
    at.memory.tables[1].letters = "B"; /* and now something else */
    assert_int_equal(place(&at), claim_address('B'));
    assert_int_equal(remembered(&at), 2);
    at.memory.tables[1].at = 'X'; /* and nobody knows any more */
    assert_int_equal(place(&at), 0);
    at.params.table = claim_address('T');
    assert_int_equal(place(&at), claim_address('A'));
    at.params.table = claim_address('A'); /* a table that the kernel writes, by what it says */
    at.memory.tables[0].at = 'A';
    assert_int_equal(place(&at), 0);
    rp_memo_destroy(at.memo);
    rp_proof_destroy(proof);
    rp_ptx_destroy(module);
}

/* A table may be filled after the first launch with it, and the launches are to be told. */
static void what_was_not_known_is_asked_again(void **state)
{
    (void)state;
    char message[160];
    struct rp_ptx_module *module;
    struct rp_proof *proof;
    struct remembering at = {.params = {.table = claim_address('T')}};
    assert_int_equal(rp_ptx_parse(batched, strlen(batched), &module, message, sizeof message),
                     RP_OK);
    assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &proof), RP_OK);
    assert_int_equal(rp_memo_create(proof, &at.memo), RP_OK);
    assert_int_equal(place(&at), 0);
    at.memory.asked = 0;
    assert_int_equal(place(&at), 0);
    assert_int_equal(remembered(&at), 1); /* as long as nothing changes it is remembered */
    assert_int_equal(at.memory.asked, 1);
    at.memory.tables[0].at = 'T';
    at.memory.tables[0].letters = "A";
    assert_int_equal(place(&at), claim_address('A'));
    assert_int_equal(place(&at), claim_address('A'));
    assert_int_equal(remembered(&at), 2);
    at.memory.tables[0].at = 0;
    assert_int_equal(place(&at), 0);
    rp_memo_destroy(at.memo);
    rp_proof_destroy(proof);
    rp_ptx_destroy(module);
}

/* What is known of a table that the kernel writes is no use: that is remembered, too. */
static void a_table_of_its_own_is_asked_for_once(void **state)
{
    (void)state;
    char message[160];
    struct rp_ptx_module *module;
    struct rp_proof *proof;
    struct remembering at = {.memory = {.tables = {{'A', "A"}}},
                             .params = {.table = claim_address('A')}};
    assert_int_equal(rp_ptx_parse(batched, strlen(batched), &module, message, sizeof message),
                     RP_OK);
    assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &proof), RP_OK);
    assert_int_equal(rp_memo_create(proof, &at.memo), RP_OK);
    assert_int_equal(place(&at), 0);
    assert_int_equal(place(&at), 0);
    assert_int_equal(remembered(&at), 1);
    rp_memo_destroy(at.memo);
    rp_proof_destroy(proof);
    rp_ptx_destroy(module);
}

/* By the pointer of s as well as by the table's: what is alike at first need not stay so. */
static const char twice[] = HEAD "ld.param.u64 %rd2, [s]; ld.global.u64 %rd9, [%rd1];"
    "ld.global.u64 %rd10, [%rd2]; st.global.u32 [%rd9], 0; st.global.u32 [%rd10+64], 0; ret;\n}\n";

static bool writes(const struct rp_access_set *set, uint64_t lo)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i].effect == RP_WRITE && set->items[i].lo == lo)
            return true;
    return false;
}

static void two_pointers_to_one_table_are_two(void **state)
{
    (void)state;
    char message[160];
    struct rp_ptx_module *module;
    struct rp_proof *proof;
    struct rp_access_set set = {0};
    struct remembering at = {.memory = {.tables = {{'T', "A"}, {'U', "B"}}},
                             .params = {.table = claim_address('T'),
                                        .pointers[0] = claim_address('T')}};
    struct rp_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1},
                               .params = (const unsigned char *)&at.params,
                               .param_bytes = sizeof at.params,
                               .known = known, .known_ctx = &at.memory};
    assert_int_equal(rp_ptx_parse(twice, strlen(twice), &module, message, sizeof message), RP_OK);
    assert_int_equal(rp_proof_build(module, rp_ptx_find(module, "k"), &proof), RP_OK);
    assert_int_equal(rp_memo_create(proof, &at.memo), RP_OK);
    assert_int_equal(rp_memo_evaluate(at.memo, &launch, NULL, NULL, &set), RP_OK);
    assert_true(writes(&set, claim_address('A')) && writes(&set, claim_address('A') + 64));
    at.params.pointers[0] = claim_address('U');
    assert_int_equal(rp_memo_evaluate(at.memo, &launch, NULL, NULL, &set), RP_OK);
    assert_true(writes(&set, claim_address('A')) && writes(&set, claim_address('B') + 64));
    rp_access_set_release(&set);
    rp_memo_destroy(at.memo);
    rp_proof_destroy(proof);
    rp_ptx_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pointer_from_a_known_table_is_a_root),
        cmocka_unit_test(a_table_may_lie_in_a_table),
        cmocka_unit_test(one_of_many_is_any_of_them),
        cmocka_unit_test(what_is_not_known_is_data),
        cmocka_unit_test(a_kernel_that_may_write_its_table_is_told_nothing),
        cmocka_unit_test(an_index_picks_a_parameter),
        cmocka_unit_test(pointers_need_not_lie_where_their_struct_begins),
        cmocka_unit_test(an_index_past_the_parameter_is_not_followed),
        cmocka_unit_test(a_tensor_map_among_the_parameters_names_its_tensor),
        cmocka_unit_test(claims_hold_on_random_tables),
        cmocka_unit_test(what_was_told_is_asked_again),
        cmocka_unit_test(what_was_not_known_is_asked_again),
        cmocka_unit_test(a_table_of_its_own_is_asked_for_once),
        cmocka_unit_test(two_pointers_to_one_table_are_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
