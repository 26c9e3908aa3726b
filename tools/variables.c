/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/variables.h"

#include "tools/options.h"
#include "tools/say.h"
#include "tracker/contract.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

#define PREFIX "REPRISE_"

/* Variables that are no option of a command. The last block is set by `reprise run`. */
static const struct {
    const char *name, *help;
} others[] = {
    {"REPRISE_DRIVER", "the real driver's file, an absolute path"},
    {"REPRISE_PAGER", "before PAGER; \"cat\" for none"},
    {"REPRISE_SOFT_MEMORY", "device memory of the software device, such as 2GiB"},
    {"REPRISE_SOFT_SCHEDULE", "seed that picks a legal order of its work"},
    {"REPRISE_SOFT_DEVICES", "how many software devices there are"},
    {"REPRISE_SOFT_CAPABILITY", "their compute capability, such as 8.0"},
    {"REPRISE_SOFT_WORKERS", "threads that run kernels"},
    {"REPRISE_SOFT_GRANULARITY", "unit of mapped memory"},
    {"REPRISE_SOFT_TIMEOUT", "milliseconds until a kernel counts as hung"},
    {"REPRISE_SOFT_CLOCK", "a GPU whose times it tells: h200, h100nl, rtx4090"},
    {"REPRISE_SOFT_ORACLE", "file for the bytes that each launch touched"},
    {"REPRISE_SOFT_RACES", "1, or a file, for pairs of calls that nothing orders"},
    {"REPRISE_SOFT_ISA", "instructions it uses: baseline, avx2, avx512"},
    {"REPRISE_PLAN", "set by run: the plan in force, an absolute path"},
    {"REPRISE_PROFILE", "set by run: an earlier run's, an absolute path"},
    {"REPRISE_JOB", "set by run: the command line, for profiles and plans"},
    {"REPRISE_TIMES", "cupti: profiles by the profiler's records"},
    {"REPRISE_TRACE", "set by run: 1 with a trace, 0 without"},
    {"REPRISE_SHELTER", "set by run: where unwritten events outlive a crash"},
    {"REPRISE_STRICT", "set by run: 1 where the job never runs unguarded"},
};

enum { OTHERS = sizeof(others) / sizeof(others[0]), MOST = OTHERS + RP_OPT_COUNT };

static void print_variable(FILE *out, const char *name, const char *help)
{
    const char *value = getenv(name);
    if (value && *value)
        fprintf(out, "  %-25s %s\n  %-25s   now: %s\n", name, help, "", value);
    else
        fprintf(out, "  %-25s %s\n", name, help);
}

void rp_variables_print(FILE *out)
{
    fputs("Options of `reprise run` that can be set by the environment; the command line\n"
          "comes before it, the contract after it:\n",
          out);
    for (int i = 0; i < RP_OPT_COUNT; i++) {
        char name[64];
        if (!rp_option_table[i].environment)
            continue;
        rp_option_variable(&rp_option_table[i], name, sizeof(name));
        print_variable(out, name, rp_option_table[i].help);
    }
    fputs("\nOthers:\n", out);
    for (size_t i = 0; i < OTHERS; i++)
        print_variable(out, others[i].name, others[i].help);
}

static size_t known_names(char (*store)[64], const char **names)
{
    size_t count = 0;
    for (int i = 0; i < RP_OPT_COUNT; i++) {
        if (!rp_option_table[i].environment)
            continue;
        rp_option_variable(&rp_option_table[i], store[count], sizeof(store[count]));
        names[count] = store[count];
        count++;
    }
    for (size_t i = 0; i < OTHERS; i++)
        names[count++] = others[i].name;
    return count;
}

void rp_variables_check(void)
{
    char store[RP_OPT_COUNT][64], name[128];
    const char *names[MOST];
    size_t count = known_names(store, names);

    for (char **entry = environ; entry && *entry; entry++) {
        if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entry, "="), *entry);
        bool known = strncmp(name, "REPRISE_TEST_", 13) == 0;
        for (size_t i = 0; i < count && !known; i++)
            known = strcmp(name, names[i]) == 0;
        const char *near = known ? NULL : rp_nearest(name, names, count);
        if (!known)
            rp_say("%s means nothing%s%s%s", name, near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : "");
    }
}
