/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered of a launch is what would have been found again: random kernels, each
 * launched with pointers and numbers that change from launch to launch. */
#include "cuda/access/memo.h"
#include "cuda/access/walk.h"
#include "cuda/ptx/ptx.h"
#include "tests/access/generate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct made {
    struct generated kernel;
    struct rp_ptx_module *module;
    struct rp_proof *proof;
    struct rp_memo *memo;
};

static void prove(struct made *made)
{
    char message[160];
    assert_int_equal(rp_ptx_parse(made->kernel.text, strlen(made->kernel.text), &made->module,
                                  message, sizeof message), RP_OK);
    assert_int_equal(rp_proof_build(made->module, rp_ptx_find(made->module, "k"), &made->proof),
                     RP_OK);
    assert_int_equal(rp_memo_create(made->proof, &made->memo), RP_OK);
}

static void make(uint64_t seed, struct made *made)
{
    generate(seed, &made->kernel);
    prove(made);
}

static void unmake(struct made *made)
{
    rp_memo_destroy(made->memo);
    rp_proof_destroy(made->proof);
    rp_ptx_destroy(made->module);
    free(made->kernel.text);
}

static uint32_t random_;

static uint32_t below(uint32_t limit)
{
    random_ = random_ * 1664525u + 1013904223u;
    return (random_ >> 8) % limit;
}

/* Moves some pointers (also to nowhere, and to the end of the address space), or changes a
 * number or the geometry. */
static void vary(struct generated *kernel)
{
    static const uint64_t places[] = {0, 64, UINT64_C(0x3ffffffffffffff0), UINT64_MAX - 100};
    for (unsigned i = 0; i < GENERATED_PARAM_BYTES / 8; i++) {
        uint64_t word;
        memcpy(&word, kernel->params + i * 8, 8);
        if (word >> 32 == 0 || below(3))
            continue;
        word = below(12) ? word + ((uint64_t)below(1000) << (4 + below(24))) : places[below(4)];
        memcpy(kernel->params + i * 8, &word, 8);
    }
    for (int i = 0; i < GENERATED_TABLES; i++) /* a table says something else, or is elsewhere */
        if (below(3) == 0)
            kernel->tables[i].words[below(GENERATED_WORDS)] += 64;
    if (!below(4))
        memcpy(&kernel->tables[0].address, kernel->params + GENERATED_TABLE_OFFSET, 8);
    if (!below(4))
        kernel->params[24 + below(12)] ^= (unsigned char)below(8);
    if (!below(8))
        kernel->grid[0] = 1 + below(5);
}

static bool is_same_item(const struct rp_access *a, const struct rp_access *b)
{
    return a->lo == b->lo && a->hi == b->hi && a->root == b->root &&
           a->root_param == b->root_param && a->effect == b->effect &&
           a->verdict == b->verdict && a->exact == b->exact && a->atomic == b->atomic;
}

static bool is_same(const struct rp_access_set *a, const struct rp_access_set *b)
{
    bool same = a->count == b->count && a->reads == b->reads && a->writes == b->writes &&
                a->reason == b->reason;
    for (size_t i = 0; same && i < a->count; i++)
        same = is_same_item(&a->items[i], &b->items[i]);
    return same;
}

static bool covers(const struct rp_access *more, const struct rp_access *less)
{
    if (more->effect != less->effect || more->verdict < less->verdict)
        return false;
    if (more->verdict == RP_VERDICT_EVERYTHING)
        return true;
    if (more->verdict == RP_VERDICT_ROOT)
        return more->root == less->root && more->root_param == less->root_param;
    return more->lo <= less->lo && less->hi <= more->hi;
}

static bool claims_no_less(const struct rp_access_set *more, const struct rp_access_set *less)
{
    bool all = more->reads >= less->reads && more->writes >= less->writes;
    for (size_t i = 0; all && i < less->count; i++) {
        size_t j = 0;
        while (j < more->count && !covers(&more->items[j], &less->items[i]))
            j++;
        all = j < more->count;
    }
    return all;
}

/* Both walk in vain, or at length, no more often than this shows anything new. */
static bool has_walks(const struct made *made)
{
    return rp_memo_walked(made->memo) < RP_MEMO_WALKS / 8;
}

static void what_is_remembered_is_what_is_found(void **state)
{
    (void)state;
    const char *seed = getenv("REPRISE_TEST_SEED"), *count = getenv("REPRISE_TEST_COUNT");
    uint64_t first = seed ? strtoull(seed, NULL, 0) : 1, asked = 0, remembered = 0;
    uint64_t more = 0;
    unsigned kernels = count ? (unsigned)atoi(count) : 400;
    struct rp_access_set one = {0}, other = {0};
    random_ = (uint32_t)first;
    print_message("seeds %llu on, %u kernels\n", (unsigned long long)first, kernels);
    for (unsigned i = 0; i < kernels; i++) {
        struct made made;
        uint64_t here_asked, here_remembered;
        make(first + i, &made);
        for (int launch = 0; launch < RP_MEMO_PATIENCE && has_walks(&made); launch++) {
            struct rp_launch at = {.params = made.kernel.params,
                                   .param_bytes = sizeof made.kernel.params,
                                   .known = generated_known, .known_ctx = &made.kernel};
            memcpy(at.grid, made.kernel.grid, sizeof at.grid);
            memcpy(at.block, made.kernel.block, sizeof at.block);
            rp_memo_expect(made.memo);
            assert_int_equal(rp_memo_evaluate(made.memo, &at, NULL, NULL, &one), RP_OK);
            assert_int_equal(rp_proof_evaluate(made.proof, &at, NULL, NULL, &other), RP_OK);
            bool same = is_same(&one, &other);
            assert_true(same || claims_no_less(&one, &other));
            more += !same;
            vary(&made.kernel);
        }
        rp_memo_counts(made.memo, &here_asked, &here_remembered);
        asked += here_asked;
        remembered += here_remembered;
        unmake(&made);
    }
    print_message("%llu of %llu launches were remembered, %llu otherwise than found\n",
                  (unsigned long long)remembered, (unsigned long long)asked,
                  (unsigned long long)more);
    assert_true(remembered > asked / 4); /* or nothing was tested */
    /* Those of which a third stretch came to be known (memo.h) are few. */
    assert_true(kernels < 100 || more <= remembered / 1000);
    rp_access_set_release(&one);
    rp_access_set_release(&other);
}

/* ---- walks ------------------------------------------------------------------------ */

#define LAUNCHES 4000
#define TURNS 16 /* so often does a number come: patience with that never ends */

/* 16384 threads write at i * i % 97 + n, which nothing but a walk knows exactly. */
static const char scattering[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 A, .param .u32 n) {\n"
    ".reg .b32 %r<9>; .reg .b64 %rd<9>;\n"
    "ld.param.u64 %rd1, [A]; ld.param.u32 %r1, [n];\n"
    "mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.s32 %r4, %r3, 128, %r2;\n"
    "mul.lo.s32 %r5, %r4, %r4; rem.u32 %r6, %r5, 97; add.s32 %r7, %r6, %r1;\n"
    "mul.wide.s32 %rd2, %r7, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r4; ret; }\n";

struct scattered {
    uint64_t pointer;
    uint32_t n;
};

static enum rp_verdict scatter(struct made *made, uint32_t n, struct rp_access_set *set)
{
    struct scattered params = {UINT64_C(0x700000000000), n};
    struct rp_launch at = {.grid = {128, 1, 1}, .block = {128, 1, 1},
                           .params = (const unsigned char *)&params, .param_bytes = 12};
    assert_int_equal(rp_memo_evaluate(made->memo, &at, NULL, NULL, set), RP_OK);
    return set->writes;
}

/* A kernel that is given another number now and then is walked while the allowance lasts, and
 * bounded from then on: no job waits milliseconds for launch after launch. */
static void walks_are_rationed(void **state)
{
    (void)state;
    struct made made = {.kernel.text = strdup(scattering)};
    struct rp_access_set set = {0};
    prove(&made);
    assert_int_equal(scatter(&made, 0, &set), RP_VERDICT_EXACT);
    uint64_t each = rp_memo_walked(made.memo);
    assert_true(each > 100000 && each < RP_WALK_WORK);
    unsigned exact = 0;
    for (uint32_t i = TURNS; i < LAUNCHES; i++)
        exact += scatter(&made, i / TURNS, &set) == RP_VERDICT_EXACT && i % TURNS == 0;
    assert_int_equal(scatter(&made, LAUNCHES, &set), RP_VERDICT_BOUNDED);
    uint64_t allowed = RP_MEMO_WALKS + (uint64_t)LAUNCHES * RP_MEMO_WALKS_EACH;
    print_message("%u of %d numbers were walked, %llu operations\n", exact, LAUNCHES / TURNS,
                  (unsigned long long)rp_memo_walked(made.memo));
    assert_true(rp_memo_walked(made.memo) > RP_MEMO_WALKS / 2);
    assert_true(rp_memo_walked(made.memo) < allowed + each);
    rp_access_set_release(&set);
    unmake(&made);
}

/* ---- many parameters ---------------------------------------------------------------- */

enum { NUMBERS = 40, MOST_NUMBERS = 160, TEXT_BYTES = 20000 };

/* Writes at the sum of `count` numbers. Beside each lies another that does not matter, if not
 * `dense`: then the key has as many stretches. */
static char *write_sum(unsigned count, bool dense)
{
    char *text = malloc(TEXT_BYTES);
    FILE *out = text ? fmemopen(text, TEXT_BYTES, "w") : NULL;
    assert_non_null(out);
    fputs(".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 A", out);
    for (unsigned i = 0; i < count; i++)
        fprintf(out, dense ? ", .param .u32 n%u" : ", .param .u32 n%u, .param .u32 o%u", i, i);
    fputs(") {\n.reg .b32 %r<9>; .reg .b64 %rd<9>; mov.u32 %r1, 0;\n", out);
    for (unsigned i = 0; i < count; i++)
        fprintf(out, "ld.param.u32 %%r2, [n%u]; add.s32 %%r1, %%r1, %%r2;\n", i);
    fputs("ld.param.u64 %rd1, [A]; mul.wide.s32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;\n"
          "st.global.u32 [%rd3], %r1; ret; }\n", out);
    fclose(out);
    return text;
}

static void every_number_counts(unsigned count, bool dense)
{
    struct made made = {.kernel.text = write_sum(count, dense)};
    struct rp_access_set set = {0};
    uint32_t words[2 + 2 * MOST_NUMBERS] = {0, 0x7000};
    unsigned each = dense ? 1 : 2;
    struct rp_launch at = {.grid = {1, 1, 1}, .block = {1, 1, 1},
                           .params = (const unsigned char *)words,
                           .param_bytes = 8 + 4 * (size_t)count * each};
    prove(&made);
    for (unsigned i = 0; i < count; i++) {
        words[2 + i * each]++;
        assert_int_equal(rp_memo_evaluate(made.memo, &at, NULL, NULL, &set), RP_OK);
        assert_int_equal(set.count, 1);
        assert_int_equal(set.items[0].lo, UINT64_C(0x700000000000) + 4 * (i + 1));
    }
    rp_access_set_release(&set);
    unmake(&made);
}

static void numbers_count_however_many(void **state)
{
    (void)state;
    every_number_counts(NUMBERS, false); /* more stretches than a key has */
    every_number_counts(NUMBERS, true);
    every_number_counts(MOST_NUMBERS, true); /* more bytes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_remembered_is_what_is_found),
        cmocka_unit_test(walks_are_rationed),
        cmocka_unit_test(numbers_count_however_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
