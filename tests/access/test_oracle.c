/* SPDX-License-Identifier: Apache-2.0 */
/* The analysis against a naive evaluator, on random kernels: whatever a launch writes or
 * reads lies in what was claimed, and every byte claimed to be exact is touched. So it is in
 * allocations, each between neighbours (places.h).
 *
 * REPRISE_TEST_SEED and REPRISE_TEST_COUNT try other kernels, one a seed; REPRISE_TEST_LAUNCHES
 * launches each of them as often, in other geometries and with other numbers. REPRISE_TEST_CONTENTS
 * says with how many contents of memory a launch is run at most that claims too much: few show less
 * of what depends on data, and more of it seems lost. With REPRISE_TEST_SHOW each launch is printed
 * whose claim the analysis has lost. */
#include "cuda/access/memo.h"
#include "tests/access/generate.h"
#include "tests/access/places.h"
#include "tests/access/tally.h"
#include "tests/bench/figures.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIRST_CONTENTS 8 /* of memory: where these make no difference, none does */
#define ENOUGH 500 /* kernels, for shares */
#define MOST_LOST 0.05 /* of all launches: claimed to write more than their arguments make them */
#define MOST_SEEM_LOST 0.07 /* with fewer contents */
#define OVER_CONSERVATIVE_PUBLISHED 0.1854 /* of launches: Picker, arXiv 2410.23661 */
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
        return lo - (access->root - ROOT_REACH) <= 2 * ROOT_REACH && hi - lo <= ROOT_REACH;
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

/* What a proof says without a launch is no worse than any launch's. */
static bool check_best(const struct rp_proof *proof, const struct rp_access_set *set,
                       char message[160])
{
    bool good = (set->reads == RP_VERDICT_NONE || rp_proof_reads(proof) != RP_VERDICT_NONE) &&
                (set->writes == RP_VERDICT_NONE || rp_proof_writes(proof) != RP_VERDICT_NONE);
    if (!good)
        snprintf(message, 160, "was said to touch no memory, whatever the launch");
    return good;
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
    struct rp_ptx_module *module;
    const struct rp_ptx_function *entry;
    struct rp_proof *proof;
    struct rp_memo *memo;
};

static struct scalar_memory memory_of(const struct generated *made, uint64_t seed)
{
    struct scalar_memory memory = {.seed = seed};
    for (int i = 0; i < SCALAR_TABLES; i++) {
        memory.tables[i].address = made->tables[i].address;
        memcpy(memory.tables[i].bytes, made->tables[i].words, sizeof memory.tables[i].bytes);
    }
    return memory;
}

/* One run with what `seed` says is in memory; false when something was not claimed. */
static bool check_run(const struct kernel *kernel, const struct rp_launch *launch, uint64_t seed,
                      const struct rp_access_set *set, struct scalar_trace *trace, bool *ended)
{
    char message[160];
    const struct scalar_memory memory = memory_of(&kernel->made, seed);
    enum scalar_result result = scalar_run(kernel->module, kernel->entry, launch, &memory, trace);
    if (result == SCALAR_UNKNOWN)
        fail_msg("seed %llu: %s", (unsigned long long)kernel->seed, trace->message);
    *ended = result != SCALAR_ENDLESS;
    bool good = !*ended || (check_best(kernel->proof, set, message) &&
                            check_inside(&trace->found, set, RP_READ, message) &&
                            check_inside(&trace->writes, set, RP_WRITE, message) &&
                            check_exact(&trace->reads, set, RP_READ, message) &&
                            check_exact(&trace->writes, set, RP_WRITE, message));
    if (!good)
        print_case(kernel->seed, &kernel->made, set, message);
    return good;
}

/* What else the launch may write where memory holds something else. */
static bool check_contents(const struct kernel *kernel, const struct rp_launch *launch,
                           uint64_t seed, const struct rp_access_set *set,
                           struct tally_runs *runs)
{
    bool good = true, ended;
    uint64_t most = number_from("REPRISE_TEST_CONTENTS", TALLY_CONTENTS);
    struct scalar_trace trace = {.adrift = runs->adrift};
    for (unsigned i = 1; good && i < most && !tally_depends_on_data(set, runs) &&
                         (runs->differ || i <= FIRST_CONTENTS); i++) {
        good = check_run(kernel, launch, seed + i * UINT64_C(0x9000000001), set, &trace, &ended);
        runs->differ |= ended && !scalar_equal(&trace.writes, &runs->first);
        runs->adrift = trace.adrift;
        scalar_unite(&runs->all, &trace.writes);
    }
    scalar_trace_release(&trace);
    return good;
}

static bool check_places(const struct kernel *kernel, const struct rp_launch *launch,
                         uint64_t seed, const struct rp_access_set *set,
                         const struct scalar_trace *trace)
{
    char message[160];
    places_make(&kernel->made, seed);
    bool good = places_check(kernel->proof, kernel->memo, launch, trace, message);
    places_clear();
    if (!good)
        print_case(kernel->seed, &kernel->made, set, message);
    return good;
}

static bool check_launch(const struct kernel *kernel, uint64_t launch_seed, struct tally *tally)
{
    const struct generated *made = &kernel->made;
    struct rp_access_set set = {0};
    struct tally_runs runs = {0};
    struct scalar_trace trace = {0};
    struct rp_launch launch = {.params = made->params, .param_bytes = sizeof(made->params),
                               .known = generated_known,
                               .known_ctx = (void *)(uintptr_t)made};
    bool ended;
    memcpy(launch.grid, made->grid, sizeof(launch.grid));
    memcpy(launch.block, made->block, sizeof(launch.block));
    assert_int_equal(rp_proof_evaluate(kernel->proof, &launch, NULL, NULL, &set), RP_OK);
    bool good = check_run(kernel, &launch, launch_seed, &set, &trace, &ended);
    tally->launches++;
    tally->endless += !ended;
    good = good && (!ended || check_places(kernel, &launch, launch_seed, &set, &trace));
    if (good && ended) {
        runs.adrift = trace.adrift;
        scalar_unite(&runs.first, &trace.writes);
        scalar_unite(&runs.all, &runs.first);
        if (tally_is_over(&set, &runs.first))
            good = check_contents(kernel, &launch, launch_seed, &set, &runs);
        if (tally_count(tally, &set, &runs) && getenv("REPRISE_TEST_SHOW"))
            print_case(kernel->seed, made, &set, set.reason ? set.reason : "lost");
    }
    scalar_trace_release(&trace);
    scalar_release(&runs.first);
    scalar_release(&runs.all);
    rp_access_set_release(&set);
    return good;
}

static bool check_kernel(uint64_t seed, unsigned launches,
                         struct tally tallies[GENERATED_KINDS])
{
    struct kernel kernel = {.seed = seed};
    char message[160];
    bool good = true;
    generate(seed, &kernel.made);
    struct tally *tally = &tallies[kernel.made.kind];
    const char *text = kernel.made.text;
    if (rp_ptx_parse(text, strlen(text), &kernel.module, message, sizeof(message)) != RP_OK)
        fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, message, text);
    kernel.entry = rp_ptx_find(kernel.module, "k");
    assert_int_equal(rp_proof_build(kernel.module, kernel.entry, &kernel.proof), RP_OK);
    assert_int_equal(rp_memo_create(kernel.proof, &kernel.memo), RP_OK);
    const struct tally before = *tally;
    for (unsigned i = 0; i < launches && good; i++) {
        if (i)
            generate_launch(seed + i * UINT64_C(1000000007), &kernel.made);
        good = check_launch(&kernel, seed + i, tally);
    }
    tally_kernel(tally, &before, &kernel.made);
    rp_memo_destroy(kernel.memo);
    rp_proof_destroy(kernel.proof);
    rp_ptx_destroy(kernel.module);
    free(kernel.made.text);
    return good;
}

static const char *const kind_names[GENERATED_KINDS] = {
    [GENERATED_PLAIN] = "plain", [GENERATED_POINTERS] = "roundabout", [GENERATED_OTHER] = "other"};

static unsigned ranged(const struct tally *tally)
{
    const unsigned *writes = tally->verdicts[1];
    return writes[RP_VERDICT_NONE] + writes[RP_VERDICT_EXACT] + writes[RP_VERDICT_BOUNDED];
}

static void keep_share(const char *name, unsigned lost, unsigned launches, const char *goal)
{
    const double part = (double)lost / launches;
    figure_write(&(struct figure){.name = name, .unit = "ratio", .goal = goal, .value = part,
                                  .low = part, .high = part, .runs = launches,
                                  .published = OVER_CONSERVATIVE_PUBLISHED});
}

/* For tools/dev bench. The generator makes more detours than any program has: with and without. */
static void keep_shares(const struct tally tallies[GENERATED_KINDS])
{
    unsigned lost = 0, launches = 0;
    for (int kind = 0; kind < GENERATED_KINDS; kind++) {
        lost += tally_sum(tallies[kind].lost);
        launches += tallies[kind].launches - tallies[kind].endless;
    }
    const struct tally *roundabout = &tallies[GENERATED_POINTERS];
    const unsigned lost_there = tally_sum(roundabout->lost);
    const unsigned launches_there = roundabout->launches - roundabout->endless;
    keep_share("access.generated-over-conservative", lost, launches, "<= 0.05");
    keep_share("access.detours-over-conservative", lost_there, launches_there, NULL);
    keep_share("access.no-detours-over-conservative", lost - lost_there,
               launches - launches_there, "<= 0.05");
}

/* Saying "everything" of all kernels would be right as well: but it is not the point. */
static void expect_much(const struct tally tallies[GENERATED_KINDS])
{
    const struct tally *plain = &tallies[GENERATED_PLAIN], *other = &tallies[GENERATED_OTHER];
    const struct tally *roundabout = &tallies[GENERATED_POINTERS];
    unsigned lost = tally_sum(plain->lost) + tally_sum(other->lost);
    unsigned launches = plain->launches + other->launches;
    print_message("of all %u launches of plain and other kernels the analysis lost %u (%.2f %%)\n",
                  launches, lost, 100.0 * lost / launches);
    assert_true(other->verdicts[1][RP_VERDICT_EXACT] >= other->launches / 8);
    assert_true(other->endless < other->launches / 4);
    assert_true(ranged(roundabout) >= roundabout->launches / 2);
    bool few = number_from("REPRISE_TEST_CONTENTS", TALLY_CONTENTS) < TALLY_CONTENTS;
    assert_true(lost <= (few ? MOST_SEEM_LOST : MOST_LOST) * launches);
}

static void claims_hold_on_random_kernels(void **state)
{
    (void)state;
    uint64_t first = number_from("REPRISE_TEST_SEED", 1);
    unsigned count = (unsigned)number_from("REPRISE_TEST_COUNT", 500), wrong = 0;
    unsigned launches = (unsigned)number_from("REPRISE_TEST_LAUNCHES", 1);
    struct tally tallies[GENERATED_KINDS] = {0};
    print_message("seeds %llu to %llu\n", (unsigned long long)first,
                  (unsigned long long)(first + count - 1));
    for (unsigned i = 0; i < count && wrong < 3; i++)
        wrong += !check_kernel(first + i, launches, tallies);
    for (int kind = 0; kind < GENERATED_KINDS; kind++) {
        tally_print(&tallies[kind], kind_names[kind]);
        free(tallies[kind].ratios);
    }
    assert_int_equal(wrong, 0);
    if (count < ENOUGH)
        return;
    keep_shares(tallies);
    expect_much(tallies);
}

/* A row of stores that leads down to address 0 and goes on behind the last one. */
static void what_a_launch_wrote_ends_with_the_addresses(void **state)
{
    (void)state;
    struct scalar_ranges ranges = {0};
    scalar_add(&ranges, 0, 1);
    scalar_add(&ranges, UINT64_MAX, 0);
    scalar_add(&ranges, 0, 4);
    scalar_add(&ranges, UINT64_MAX - 2, 2);
    scalar_tidy(&ranges);
    assert_true(scalar_covers(&ranges, 0, 4));
    assert_true(scalar_covers(&ranges, UINT64_MAX - 2, UINT64_MAX));
    assert_false(scalar_covers(&ranges, 0, 5));
    scalar_release(&ranges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_launch_wrote_ends_with_the_addresses),
        cmocka_unit_test(claims_hold_on_random_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
