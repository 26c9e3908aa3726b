/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis against a naive evaluator, on random kernels: whatever a launch writes or
 * reads lies in what was claimed, and every byte claimed to be exact is touched.
 *
 * REPRISE_TEST_SEED and REPRISE_TEST_COUNT try other kernels, one a seed; REPRISE_TEST_LAUNCHES
 * launches each of them as often, in other geometries and with other numbers. REPRISE_TEST_CONTENTS
 * says with how many contents of memory a launch is run at most that claims too much. */
#include "tests/access/generate.h"
#include "tests/access/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIRST_CONTENTS 8 /* of memory: where these make no difference, none does */
#define MOST_LOST 0.07 /* of all launches: claimed to write more than their arguments make them */
#define ROOT_REACH (UINT64_C(1) << 55) /* what counts as the allocation of a root, either way */

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
    print_error("seed %llu: %s\n", (unsigned long long)seed, message);
    fputs(made->text, stderr); /* cmocka prints no more than a kilobyte at a time */
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

struct kernel {
    uint64_t seed;
    struct generated made;
    const struct rp_ptx_function *entry;
    struct rp_proof *proof;
};

/* One run with what `seed` says is in memory; false when something was not claimed. */
static bool check_run(const struct kernel *kernel, const struct rp_launch *launch, uint64_t seed,
                      const struct rp_access_set *set, struct scalar_ranges *writes,
                      struct scalar_adrift *adrift, bool *ended)
{
    struct scalar_ranges reads = {0}, found = {0};
    char message[160];
    enum scalar_result result = scalar_run(kernel->entry, launch, seed, &reads, &found, writes,
                                           adrift, message);
    if (result == SCALAR_UNKNOWN)
        fail_msg("seed %llu: %s", (unsigned long long)kernel->seed, message);
    *ended = result != SCALAR_ENDLESS;
    bool good = !*ended || (check_inside(&found, set, RP_READ, message) &&
                            check_inside(writes, set, RP_WRITE, message) &&
                            check_exact(&reads, set, RP_READ, message) &&
                            check_exact(writes, set, RP_WRITE, message));
    if (!good)
        print_case(kernel->seed, &kernel->made, set, message);
    scalar_release(&reads);
    scalar_release(&found);
    return good;
}

/* What else the launch may write where memory holds something else. */
static bool check_contents(const struct kernel *kernel, const struct rp_launch *launch,
                           uint64_t seed, const struct rp_access_set *set,
                           struct tally_runs *runs)
{
    bool good = true, ended;
    uint64_t most = number_from("REPRISE_TEST_CONTENTS", TALLY_CONTENTS);
    for (unsigned i = 1; good && i < most && !tally_depends_on_data(set, runs) &&
                         (runs->differ || i <= FIRST_CONTENTS); i++) {
        struct scalar_ranges writes = {0};
        good = check_run(kernel, launch, seed + i * UINT64_C(0x9000000001), set, &writes,
                         &runs->adrift, &ended);
        runs->differ |= ended && !scalar_equal(&writes, &runs->first);
        scalar_unite(&runs->all, &writes);
        scalar_release(&writes);
    }
    return good;
}

static bool check_launch(const struct kernel *kernel, uint64_t launch_seed, struct tally *tally)
{
    const struct generated *made = &kernel->made;
    struct rp_access_set set = {0};
    struct tally_runs runs = {0};
    struct rp_launch launch = {.params = made->params, .param_bytes = sizeof(made->params)};
    bool ended;
    memcpy(launch.grid, made->grid, sizeof(launch.grid));
    memcpy(launch.block, made->block, sizeof(launch.block));
    assert_int_equal(rp_proof_evaluate(kernel->proof, &launch, NULL, NULL, &set), RP_OK);
    bool good = check_run(kernel, &launch, launch_seed, &set, &runs.first, &runs.adrift, &ended);
    tally->launches++;
    tally->endless += !ended;
    if (good && ended) {
        scalar_unite(&runs.all, &runs.first);
        if (tally_is_over(&set, &runs.first))
            good = check_contents(kernel, &launch, launch_seed, &set, &runs);
        tally_count(tally, &set, &runs);
    }
    scalar_release(&runs.first);
    scalar_release(&runs.all);
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
    const struct tally before = *tally;
    for (unsigned i = 0; i < launches && good; i++) {
        if (i)
            generate_launch(seed + i * UINT64_C(1000000007), &kernel.made);
        good = check_launch(&kernel, seed + i, tally);
    }
    tally_kernel(tally, &before);
    rp_proof_destroy(kernel.proof);
    rp_ptx_destroy(module);
    free(kernel.made.text);
    return good;
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
    tally_print(&tallies[0], "plain");
    tally_print(&tallies[1], "other");
    unsigned lost = tally_sum(tallies[0].lost) + tally_sum(tallies[1].lost);
    unsigned launches_in_all = tallies[0].launches + tallies[1].launches;
    print_message("of all %u launches the analysis lost %u (%.2f %%)\n", launches_in_all, lost,
                  100.0 * lost / launches_in_all);
    free(tallies[0].ratios);
    free(tallies[1].ratios);
    assert_int_equal(wrong, 0);
    /* Saying "everything" of all kernels would be right as well: but it is not the point. */
    if (count >= 500) {
        assert_true(tallies[1].verdicts[1][RP_VERDICT_EXACT] >= tallies[1].launches / 8);
        assert_true(tallies[1].endless < tallies[1].launches / 4);
        assert_true(lost <= MOST_LOST * launches_in_all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_hold_on_random_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
