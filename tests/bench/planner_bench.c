/* SPDX-License-Identifier: Apache-2.0 */
/* What the planner takes for chains of real sizes, beside GLPK and CBC on the same problem.
 *
 *   planner_bench [-s SEED] [-f FAMILY] [-r REPRISE] [-g] [-c] [N...]
 *
 * "seconds" is the search alone; "process" (-r) is `reprise plan` from its start to its end, with
 * what it has to read. -g and -c run the solvers too, whole process, with gap 0, as one does by
 * hand. Processes are measured in processor seconds, with those of the shell that starts them: what
 * else runs on the machine does not count. Each line is
 * one random instance with the budget halfway between the smallest feasible one and the eager
 * peak; where a solver finishes, its plan is walked and has to take the same time. */
#include "tests/planner/milp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define UNIT 512 /* the allocator's */
#define MIB ((uint64_t)1 << 20)
#define SOLVER_SECONDS 120

static uint64_t random_state = 1;

static uint64_t random_below(uint64_t limit)
{
    uint64_t z = random_state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % limit;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- instances ---------------------------------------------------------------- */

enum family { LOOSE, RELATED, TIGHT, LAYERS, FAMILY_COUNT };

static const char *const family_names[FAMILY_COUNT] = {
    "loose",   /* times have nothing to do with sizes */
    "related", /* times grow with sizes, and scatter */
    "tight",   /* times are sizes over a bandwidth */
    "layers",  /* three kinds of layer over and over */
};

static uint64_t rounded(uint64_t bytes)
{
    return bytes / UNIT * UNIT;
}

static uint64_t forward_time(enum family family, uint64_t activation)
{
    switch (family) {
    case LOOSE: return 100000 + random_below(10000000);
    case RELATED: return activation / 60 + random_below(1000000);
    case TIGHT:
    case LAYERS:
    case FAMILY_COUNT: break;
    }
    return activation / 60;
}

static void make_costs(enum family family, size_t k, struct rp_cost costs[RP_CHOICE_COUNT])
{
    uint64_t a = rounded(8 * MIB + random_below(504 * MIB)), w = rounded(random_below(64 * MIB));
    uint64_t whole = rounded(random_below(a / 2)), part = rounded(random_below(whole + 1));

    if (family == LAYERS) {
        a = (64 + 32 * (k % 3)) * MIB;
        w = a / 4;
        whole = a / 16;
        part = whole / 8;
    }
    uint64_t once = forward_time(family, a);
    costs[RP_CHOICE_RETAIN] =
        (struct rp_cost){.allowed = true, .hold = a, .peak = a + w, .time = 3 * once};
    costs[RP_CHOICE_WHOLE] = (struct rp_cost){.allowed = true,
                                              .hold = whole,
                                              .peak = 2 * whole + a + w,
                                              .time = 4 * once + whole / 500 * 4 + 20000};
    costs[RP_CHOICE_REGIONS] = (struct rp_cost){.allowed = true,
                                                .hold = part,
                                                .peak = 2 * part + a + w,
                                                .time = 4 * once + part / 400 * 4 + 60000};
}

static struct rp_profile *make_instance(enum family family, size_t count)
{
    struct rp_profile *profile;
    char name[24], message[200];

    if (rp_profile_create(&profile) != RP_OK)
        return NULL;
    for (size_t k = 0; k < count; k++) {
        struct rp_cost costs[RP_CHOICE_COUNT];
        make_costs(family, k, costs);
        snprintf(name, sizeof(name), "s%zu", k);
        if (rp_profile_add_row(profile, name, costs) != RP_OK)
            return NULL;
    }
    return rp_profile_close(profile, message, sizeof(message)) == RP_OK ? profile : NULL;
}

/* ---- measuring ---------------------------------------------------------------- */

static uint64_t halfway(const struct rp_profile *profile)
{
    struct rp_question question = rp_question_default(profile, 0);
    enum rp_choice *retain = calloc(rp_profile_count(profile) + 1, sizeof(*retain));
    uint64_t least = 0, most = 0, time;
    char message[200];

    (void)rp_planner_min_budget(&question, &least, NULL, message, sizeof(message));
    if (retain != NULL)
        (void)rp_planner_walk(profile, RP_MODEL_NESTED, retain, &most, &time, NULL, NULL);
    free(retain);
    return least + (most - least) / 2;
}

static struct rp_plan *measure(const struct rp_profile *profile, uint64_t budget, double *seconds)
{
    struct rp_question question = rp_question_default(profile, budget);
    struct rp_plan *plan = NULL;
    char message[200];

    *seconds = 1e9;
    for (int repeat = 0; repeat < 3; repeat++) {
        rp_plan_destroy(plan);
        double start = now();
        if (rp_planner_solve(&question, &plan, message, sizeof(message)) != RP_OK)
            return NULL;
        double taken = now() - start;
        if (taken < *seconds)
            *seconds = taken;
    }
    return plan;
}

/* The same by the command line, whole process; 0 when it says something else. */
static double time_process(const char *reprise, const struct rp_profile *profile,
                           const struct rp_plan *plan)
{
    char path[] = "/tmp/planner_bench.XXXXXX", command[4600], wanted[64], text[1 << 16];
    int file = mkstemp(path);

    if (file < 0 || rp_profile_save(profile, path, false) != RP_OK)
        return 0;
    close(file);
    snprintf(command, sizeof(command), "timeout %d '%s' plan -P %s -b %" PRIu64 " --json",
             SOLVER_SECONDS, reprise, path, plan->budget); /* as the solvers are run */
    snprintf(wanted, sizeof(wanted), "\"time_ns\": %" PRIu64, plan->time);
    double start = milp_children_seconds();
    FILE *out = popen(command, "r");
    size_t length = out != NULL ? fread(text, 1, sizeof(text) - 1, out) : 0;
    while (out != NULL && fgetc(out) != EOF) {
    }
    bool good = out != NULL && pclose(out) == 0;
    double taken = milp_children_seconds() - start;
    text[length] = '\0';
    unlink(path);
    return good && strstr(text, wanted) != NULL ? taken : 0;
}

/* Prints the solver's time, and what it says where that isn't the planner's answer. */
static bool print_solver(enum milp_solver solver, const struct rp_profile *profile,
                         const struct rp_plan *plan)
{
    enum rp_choice *choices = calloc(plan->count + 1, sizeof(*choices));
    uint64_t peak, time;
    double seconds = 0;
    bool same = true;

    bool solved =
        milp_solve(solver, RP_MODEL_NESTED, profile, plan->budget, UNIT, SOLVER_SECONDS, choices,
                   &seconds);
    printf(" %9.4f", seconds);
    if (solved &&
        rp_planner_walk(profile, RP_MODEL_NESTED, choices, &peak, &time, NULL, NULL) == RP_OK) {
        same = peak > plan->budget || time >= plan->time;
        if (time != plan->time)
            printf(" (%+" PRId64 " ns, %s)", (int64_t)(time - plan->time),
                   peak > plan->budget ? "over the budget" : same ? "worse" : "BETTER");
    } else {
        printf(" (gave up)");
    }
    free(choices);
    return same;
}

static bool run(enum family family, size_t count, const char *reprise, bool glpk, bool cbc)
{
    struct rp_profile *profile = make_instance(family, count);
    struct rusage usage;
    double seconds;
    bool good = true;

    if (profile == NULL)
        return false;
    struct rp_plan *plan = measure(profile, halfway(profile), &seconds);
    if (plan == NULL)
        return false;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-8s %5zu %10.6f %9" PRIu64 " %6ld  %-8s", family_names[family], count, seconds,
           plan->labels, usage.ru_maxrss / 1024, rp_answer_name(plan->answer));
    if (reprise != NULL) {
        double taken = time_process(reprise, profile, plan);
        printf(" %9.4f", taken);
        good &= taken > 0;
    }
    if (glpk)
        good &= print_solver(MILP_GLPK, profile, plan);
    if (cbc)
        good &= print_solver(MILP_CBC, profile, plan);
    printf("\n");
    fflush(stdout);
    rp_plan_destroy(plan);
    rp_profile_destroy(profile);
    return good;
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 40, 200, 400, 1000};
    const char *only = NULL, *reprise = NULL;
    bool glpk = false, cbc = false, good = true;
    int option;

    while ((option = getopt(argc, argv, "s:f:r:gc")) != -1) {
        if (option == 's')
            random_state = strtoull(optarg, NULL, 0);
        else if (option == 'f')
            only = optarg;
        else if (option == 'r')
            reprise = optarg;
        else if (option == 'g')
            glpk = true;
        else if (option == 'c')
            cbc = true;
        else
            return 2;
    }
    printf("%-8s %5s %10s %9s %6s  %-8s%s%s%s\n", "family", "n", "seconds", "labels", "MiB",
           "answer", reprise != NULL ? "   process" : "", glpk ? "    glpsol" : "",
           cbc ? "       cbc" : "");
    for (int f = 0; f < FAMILY_COUNT; f++) {
        if (only != NULL && strcmp(only, family_names[f]) != 0)
            continue;
        for (int i = optind; i < argc; i++)
            good &= run((enum family)f, strtoul(argv[i], NULL, 0), reprise, glpk, cbc);
        for (size_t i = 0; optind == argc && i < sizeof(sizes) / sizeof(*sizes); i++)
            good &= run((enum family)f, sizes[i], reprise, glpk, cbc);
    }
    return good ? 0 : 1;
}
