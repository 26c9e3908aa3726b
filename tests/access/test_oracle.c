/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis against a naive evaluator, on random kernels: whatever a launch writes or
 * reads lies in what was claimed, and every byte claimed to be exact is touched.
 *
 * REPRISE_TEST_SEED and REPRISE_TEST_COUNT try other kernels, one a seed; REPRISE_TEST_LAUNCHES
 * launches each of them as often, in other geometries and with other numbers. */
#include "tests/access/generate.h"
#include "tests/access/scalar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ROOT_REACH (UINT64_C(1) << 55) /* what counts as the allocation of a root, either way */

struct tally {
    unsigned launches, endless;
    unsigned verdicts[2][6];       /* reads and writes */
    unsigned more[6];              /* of each verdict on the writes: more claimed than written */
    uint64_t claimed[6], written[6]; /* bytes, of those that claim ranges */
};

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static bool allows(const struct rp_access *access, enum rp_effect effect, uint64_t lo,
                   uint64_t hi)
{
    if (access->effect != effect)
        return false;
    if (access->verdict >= RP_VERDICT_REACHABLE)
        return true;
    if (access->verdict == RP_VERDICT_ROOT)
        return lo >= access->root - ROOT_REACH && hi <= access->root + ROOT_REACH;
    return access->lo <= lo && hi <= access->hi;
}

/* Every byte that was touched is claimed. Claims may meet in the middle of a range. */
static bool check_inside(const struct scalar_ranges *touched, const struct rp_access_set *set,
                         enum rp_effect effect, char message[160])
{
    for (size_t i = 0; i < touched->count; i++)
        for (uint64_t at = touched->items[i].lo, next; at < touched->items[i].hi; at = next) {
            next = at;
            for (size_t j = 0; j < set->count && next == at; j++)
                if (allows(&set->items[j], effect, at, at + 1)) {
                    bool ranged = set->items[j].verdict < RP_VERDICT_ROOT;
                    next = ranged ? set->items[j].hi : touched->items[i].hi;
                }
            if (next == at) {
                snprintf(message, 160, "%s %#llx, which was not claimed",
                         effect == RP_WRITE ? "wrote" : "read", (unsigned long long)at);
                return false;
            }
        }
    return true;
}

static bool check_exact(const struct scalar_ranges *touched, const struct rp_access_set *set,
                        enum rp_effect effect, char message[160])
{
    for (size_t i = 0; i < set->count; i++) {
        const struct rp_access *access = &set->items[i];
        if (access->effect != effect || !access->exact)
            continue;
        if (access->verdict != RP_VERDICT_EXACT ||
            !scalar_covers(touched, access->lo, access->hi)) {
            snprintf(message, 160, "did not %s all of [%#llx, %#llx), claimed to be exact",
                     effect == RP_WRITE ? "write" : "read", (unsigned long long)access->lo,
                     (unsigned long long)access->hi);
            return false;
        }
    }
    return true;
}

static void print_case(uint64_t seed, const struct generated *made,
                       const struct rp_access_set *set, const char *message)
{
    print_error("seed %llu: %s\n%s", (unsigned long long)seed, message, made->text);
    print_error("grid %u %u %u block %u %u %u\n", made->grid[0], made->grid[1], made->grid[2],
                made->block[0], made->block[1], made->block[2]);
    for (size_t i = 0; i < set->count; i++)
        print_error("%s %s [%#llx, %#llx)\n", set->items[i].effect == RP_WRITE ? "W" : "R",
                    rp_verdict_name((enum rp_verdict)set->items[i].verdict),
                    (unsigned long long)set->items[i].lo, (unsigned long long)set->items[i].hi);
    uint32_t numbers[3];
    memcpy(numbers, made->params + 24, sizeof(numbers));
    print_error("n %d m %d s %d\n", (int)numbers[0], (int)numbers[1], (int)numbers[2]);
}

static void count_launch(struct tally *tally, const struct rp_access_set *set,
                         const struct scalar_ranges *writes)
{
    uint64_t claimed = 0, written = 0;
    bool more = set->writes >= RP_VERDICT_ROOT;
    for (size_t i = 0; i < set->count; i++) {
        const struct rp_access *access = &set->items[i];
        if (access->effect != RP_WRITE || access->verdict >= RP_VERDICT_ROOT)
            continue;
        claimed += access->hi - access->lo;
        more |= !scalar_covers(writes, access->lo, access->hi);
    }
    for (size_t i = 0; i < writes->count; i++)
        written += writes->items[i].hi - writes->items[i].lo;
    tally->verdicts[0][set->reads]++;
    tally->verdicts[1][set->writes]++;
    tally->more[set->writes] += more;
    tally->claimed[set->writes] += claimed;
    tally->written[set->writes] += written;
}

struct kernel {
    uint64_t seed;
    struct generated made;
    const struct rp_ptx_function *entry;
    struct rp_proof *proof;
};

static bool check_launch(const struct kernel *kernel, uint64_t launch_seed, struct tally *tally)
{
    const struct generated *made = &kernel->made;
    struct rp_access_set set = {0};
    struct scalar_ranges reads = {0}, writes = {0};
    char message[160];
    struct rp_launch launch = {.params = made->params, .param_bytes = sizeof(made->params)};
    memcpy(launch.grid, made->grid, sizeof(launch.grid));
    memcpy(launch.block, made->block, sizeof(launch.block));
    assert_int_equal(rp_proof_evaluate(kernel->proof, &launch, NULL, NULL, &set), RP_OK);
    enum scalar_result result = scalar_run(kernel->entry, &launch, launch_seed, &reads, &writes,
                                           message);
    if (result == SCALAR_UNKNOWN)
        fail_msg("seed %llu: %s", (unsigned long long)kernel->seed, message);
    bool good = result == SCALAR_ENDLESS ||
                (check_inside(&reads, &set, RP_READ, message) &&
                 check_inside(&writes, &set, RP_WRITE, message) &&
                 check_exact(&reads, &set, RP_READ, message) &&
                 check_exact(&writes, &set, RP_WRITE, message));
    if (!good)
        print_case(kernel->seed, made, &set, message);
    tally->launches++;
    tally->endless += result == SCALAR_ENDLESS;
    if (result != SCALAR_ENDLESS)
        count_launch(tally, &set, &writes);
    scalar_release(&reads);
    scalar_release(&writes);
    rp_access_set_release(&set);
    return good;
}

static bool check_kernel(uint64_t seed, unsigned launches, struct tally tallies[2])
{
    struct kernel kernel = {.seed = seed};
    struct rp_ptx_module *module;
    char message[160];
    bool good = true;
    generate(seed, &kernel.made);
    struct tally *tally = &tallies[!kernel.made.plain];
    const char *text = kernel.made.text;
    if (rp_ptx_parse(text, strlen(text), &module, message, sizeof(message)) != RP_OK)
        fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, message, text);
    kernel.entry = rp_ptx_find(module, "k");
    assert_int_equal(rp_proof_build(module, kernel.entry, &kernel.proof), RP_OK);
    for (unsigned i = 0; i < launches && good; i++) {
        if (i)
            generate_launch(seed + i * UINT64_C(1000000007), &kernel.made);
        good = check_launch(&kernel, seed + i, tally);
    }
    rp_proof_destroy(kernel.proof);
    rp_ptx_destroy(module);
    free(kernel.made.text);
    return good;
}

static unsigned over_conservative(const struct tally *tally)
{
    unsigned more = 0;
    for (int verdict = 0; verdict < 6; verdict++)
        more += tally->more[verdict];
    return more;
}

static void print_tally(const char *class_, const struct tally *tally)
{
    unsigned followed = tally->launches - tally->endless, more = over_conservative(tally);
    print_message("%s kernels: %u launches, %u of them too long to follow; %u claim more than they "
                  "write (%.1f %%)\n", class_, tally->launches, tally->endless, more,
                  100.0 * more / (followed ? followed : 1));
    print_message("%-12s %9s %9s %9s %12s %12s\n", "verdict", "reads", "writes", "claim more",
                  "bytes said", "written");
    for (int verdict = 0; verdict < 6; verdict++)
        print_message("%-12s %9u %9u %9u %12llu %12llu\n",
                      rp_verdict_name((enum rp_verdict)verdict), tally->verdicts[0][verdict],
                      tally->verdicts[1][verdict], tally->more[verdict],
                      (unsigned long long)tally->claimed[verdict],
                      (unsigned long long)tally->written[verdict]);
}

static void claims_hold_on_random_kernels(void **state)
{
    (void)state;
    uint64_t first = number_from("REPRISE_TEST_SEED", 1);
    unsigned count = (unsigned)number_from("REPRISE_TEST_COUNT", 500), wrong = 0;
    unsigned launches = (unsigned)number_from("REPRISE_TEST_LAUNCHES", 1);
    struct tally tallies[2] = {0}; /* of the plain ones, and of the others */
    print_message("seeds %llu to %llu\n", (unsigned long long)first,
                  (unsigned long long)(first + count - 1));
    for (unsigned i = 0; i < count && wrong < 3; i++)
        wrong += !check_kernel(first + i, launches, tallies);
    print_tally("plain", &tallies[0]);
    print_tally("other", &tallies[1]);
    assert_int_equal(wrong, 0);
    /* Saying "everything" of all kernels would be right as well: but it is not the point. */
    if (count >= 500) {
        assert_true(tallies[1].verdicts[1][RP_VERDICT_EXACT] >= tallies[1].launches / 8);
        assert_true(tallies[1].endless < tallies[1].launches / 4);
        assert_true(over_conservative(&tallies[0]) <= tallies[0].launches * 0.32);
        assert_true(over_conservative(&tallies[1]) <= tallies[1].launches * 0.54);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_hold_on_random_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
