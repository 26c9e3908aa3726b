/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/planner/milp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const programs[] = {"glpsol", "cbc"};

const char *milp_name(enum milp_solver solver)
{
    return programs[solver];
}

bool milp_is_installed(enum milp_solver solver)
{
    char command[64];

    snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", programs[solver]);
    return system(command) == 0;
}

/* ---- the program, in CPLEX's LP format ---------------------------------------- */

static const struct rp_cost *cost_of(const struct rp_profile *profile, size_t k, int c)
{
    return &rp_profile_segment(profile, k)->costs[c];
}

static void write_objective(FILE *out, const struct rp_profile *profile)
{
    fprintf(out, "Minimize\n time:");
    for (size_t k = 0; k < rp_profile_count(profile); k++)
        for (int c = 0; c < RP_CHOICE_COUNT; c++)
            fprintf(out, " + %llu x%zu_%d\n",
                    (unsigned long long)cost_of(profile, k, c)->time, k, c);
}

static void write_rows(FILE *out, const struct rp_profile *profile, uint64_t room, uint64_t unit)
{
    size_t count = rp_profile_count(profile);

    fprintf(out, "Subject To\n");
    for (size_t k = 0; k < count; k++)
        fprintf(out, " one%zu: x%zu_0 + x%zu_1 + x%zu_2 = 1\n", k, k, k, k);
    for (size_t k = 0; k < count; k++) {
        bool is_empty = true;
        for (size_t i = 0; i <= k; i++)
            for (int c = 0; c < RP_CHOICE_COUNT; c++) {
                const struct rp_cost *cost = cost_of(profile, i, c);
                uint64_t bytes = i < k ? cost->hold : cost->peak;
                if (bytes == 0)
                    continue;
                if (is_empty)
                    fprintf(out, " peak%zu:", k);
                fprintf(out, " + %llu x%zu_%d\n", (unsigned long long)(bytes / unit), i, c);
                is_empty = false;
            }
        if (!is_empty)
            fprintf(out, " <= %llu\n", (unsigned long long)(room / unit));
    }
}

static void write_bounds(FILE *out, const struct rp_profile *profile)
{
    fprintf(out, "Bounds\n");
    for (size_t k = 0; k < rp_profile_count(profile); k++)
        for (int c = 0; c < RP_CHOICE_COUNT; c++)
            if (!cost_of(profile, k, c)->allowed)
                fprintf(out, " x%zu_%d = 0\n", k, c);
    fprintf(out, "Binary\n");
    for (size_t k = 0; k < rp_profile_count(profile); k++)
        for (int c = 0; c < RP_CHOICE_COUNT; c++)
            if (cost_of(profile, k, c)->allowed)
                fprintf(out, " x%zu_%d\n", k, c);
    fprintf(out, "End\n");
}

/* ---- solutions ---------------------------------------------------------------- */

/* "j COLUMN VALUE"; the columns are numbered as in the objective, from 1, choices first. */
static size_t read_glpk(FILE *in, size_t count, enum rp_choice *choices)
{
    char line[256];
    size_t found = 0, column;
    double value;

    while (fgets(line, sizeof(line), in) != NULL) {
        if (sscanf(line, "j %zu %lf", &column, &value) != 2 || value < 0.5 ||
            column > count * RP_CHOICE_COUNT)
            continue;
        choices[(column - 1) / RP_CHOICE_COUNT] =
            (enum rp_choice)((column - 1) % RP_CHOICE_COUNT);
        found++;
    }
    return found;
}

/* "INDEX NAME VALUE COST", for what is not 0. */
static size_t read_cbc(FILE *in, enum rp_choice *choices)
{
    char line[256];
    size_t found = 0, k, index;
    int c;
    double value;

    if (fgets(line, sizeof(line), in) == NULL || strncmp(line, "Optimal", 7) != 0)
        return 0;
    while (fgets(line, sizeof(line), in) != NULL) {
        if (sscanf(line, " %zu x%zu_%d %lf", &index, &k, &c, &value) != 4 || value < 0.5)
            continue;
        choices[k] = (enum rp_choice)c;
        found++;
    }
    return found;
}

/* ---- solving ------------------------------------------------------------------ */

static double in_seconds(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

double milp_children_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

static bool write_program(const char *path, enum rp_model model, const struct rp_profile *profile,
                          uint64_t budget, uint64_t unit)
{
    FILE *out = fopen(path, "w");

    if (out == NULL)
        return false;
    bool good = true;
    if (model == RP_MODEL_SHARED) {
        good = milp_write_shared(out, profile, budget);
    } else {
        write_objective(out, profile);
        write_rows(out, profile, budget - rp_profile_base(profile), unit);
    }
    write_bounds(out, profile);
    return fclose(out) == 0 && good;
}

static bool run(enum milp_solver solver, const char *folder, int seconds)
{
    char command[512];

    if (solver == MILP_GLPK)
        snprintf(command, sizeof(command),
                 "timeout %d glpsol --lp %s/p.lp --mipgap 0 -w %s/s.txt >/dev/null 2>&1", seconds,
                 folder, folder);
    else
        snprintf(command, sizeof(command),
                 "timeout %d cbc %s/p.lp ratioGap 0 allowableGap 0 solve solution %s/s.txt "
                 ">/dev/null 2>&1",
                 seconds, folder, folder);
    return system(command) == 0;
}

bool milp_solve(enum milp_solver solver, enum rp_model model, const struct rp_profile *profile,
                uint64_t budget, uint64_t unit, int seconds, enum rp_choice *choices,
                double *seconds_taken)
{
    char folder[] = "/tmp/reprise-milp-XXXXXX", path[64];
    size_t found = 0;

    if (budget < rp_profile_base(profile) || mkdtemp(folder) == NULL)
        return false;
    snprintf(path, sizeof(path), "%s/p.lp", folder);
    if (write_program(path, model, profile, budget, unit)) {
        double start = milp_children_seconds();
        bool ran = run(solver, folder, seconds);
        if (seconds_taken != NULL)
            *seconds_taken = milp_children_seconds() - start;
        unlink(path);
        snprintf(path, sizeof(path), "%s/s.txt", folder);
        FILE *in = ran ? fopen(path, "r") : NULL;
        if (in != NULL) {
            found = solver == MILP_GLPK ? read_glpk(in, rp_profile_count(profile), choices)
                                        : read_cbc(in, choices);
            fclose(in);
        }
    }
    unlink(path);
    rmdir(folder);
    return found > 0 && found == rp_profile_count(profile);
}
