/* SPDX-License-Identifier: Apache-2.0 */
/* reprise: the command line. One row a command; each has a file of its own, cmd_*.c. */
#include "tools/command.h"
#include "tools/config.h"
#include "tools/help.h"
#include "tools/list.h"
#include "tools/say.h"
#include "tracker/contract.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

const struct rp_command rp_commands[] = {
    {"run", "[OPTION...] [--] COMMAND [ARG...]",
     "Runs a job under the layer and records what it did", rp_cmd_run, RP_COMMAND_RUN,
     "Exit code: the job's; a signal that ended the job ends run too. 2 for a usage\n"
     "or contract error, 70 (or -e N) when the layer stopped the job, N of -e when\n"
     "there are hazards, 125 when run failed, 126 for a command that can't be\n"
     "executed, 127 for one that is not found.\n\n"
     "  reprise run -m check -c contract.json -- ./train --epochs 1\n"},
    {"dump", "[OPTION...] [DIR|TRACE]", "Shows a trace, one line a call", rp_cmd_dump,
     RP_COMMAND_DUMP,
     "Filters add up: what is shown has passed them all. `-` reads a trace from stdin.\n\n"
     "  reprise dump --kernel 'bn_*' --step 3\n"},
    {"info", "[OPTION...] [DIR|TRACE]",
     "Tells what ran: device, calls, kernels and their proofs, segments", rp_cmd_info,
     RP_COMMAND_INFO, "  reprise info --proof 'bn_*'\n"},
    {"check", "[OPTION...] [DIR|TRACE]",
     "Tells which replays went wrong: buffer, bytes, versions, writer", rp_cmd_check,
     RP_COMMAND_CHECK,
     "Exit code: 0 no hazards; 1 (or -e N) hazards, no replay to be checked, or\n"
     "nothing that passes the filters; 2 a run without a contract; 65 a damaged trace.\n"},
    {"plan", "[OPTION...] [DIR]",
     "Chooses for each segment whether to retain or to replay it", rp_cmd_plan, RP_COMMAND_PLAN,
     "Without a budget it prints a table over budgets. Exit code: 0 with a plan, 1\n"
     "when none fits the budget, 2 for a bad profile.\n"},
    {"discover", "[OPTION...] [DIR|TRACE]",
     "Proposes a contract for a job, with the evidence for each line", rp_cmd_discover,
     RP_COMMAND_DISCOVER,
     "Reads a run that was only observed. The evidence goes to stdout, to stderr with\n"
     "`-o -`. Exit code: 0 with a contract, 1 when no replay was found.\n\n"
     "  reprise run -- ./train --steps 5 && reprise discover -o contract.json\n"},
    {"report", "[OPTION...] [DIR|TRACE]",
     "Writes one page: timeline, memory, dirty maps, hazards, kernels", rp_cmd_report,
     RP_COMMAND_REPORT,
     "The page opens from a file and needs no network.\n\n"
     "  reprise report --diff reprise.data.old\n"},
    {"export", "--format FORMAT [OPTION...] [DIR|TRACE]",
     "Writes a run in the format of another tool", rp_cmd_export, RP_COMMAND_EXPORT,
     "chrome opens in ui.perfetto.dev, memviz in docs.pytorch.org/memory_viz, folded\n"
     "in speedscope or flamegraph.pl (device memory at its peak); csv is for SQL:\n\n"
     "  sqlite3 run.db '.import --csv reprise.csv events'\n"},
    {"doctor", "[OPTION...]", "Tells which driver would be used and whether the layer works",
     rp_cmd_doctor, RP_COMMAND_DOCTOR,
     "Exit code: 0 when a job could run, 1 when something is broken. The text is fit\n"
     "for a bug report.\n"},
    {"help", "[COMMAND|env]", "Explains a command, or the environment variables", rp_cmd_help,
     RP_COMMAND_HELP, NULL},
};
const size_t rp_command_count = sizeof(rp_commands) / sizeof(rp_commands[0]);

const struct rp_command *rp_command_find(const char *name)
{
    for (size_t i = 0; i < rp_command_count; i++)
        if (strcmp(rp_commands[i].name, name) == 0)
            return &rp_commands[i];
    return NULL;
}

int rp_command_unknown(const char *name)
{
    const char *names[sizeof(rp_commands) / sizeof(rp_commands[0])];
    for (size_t i = 0; i < rp_command_count; i++)
        names[i] = rp_commands[i].name;
    const char *near = rp_nearest(name, names, rp_command_count);
    return rp_say_usage(NULL, "no command '%s'%s%s%s", name, near ? "; did you mean '" : "",
                        near ? near : "", near ? "'?" : "");
}

/* What completion and the manual pages ask. */
static int run_list(const char *what, int argc, char **argv)
{
    const struct rp_command *command = rp_command_find(argv[2]);

    if (!command)
        return rp_command_unknown(argv[2]);
    if (strcmp(what, "options") == 0)
        rp_help_list_options(stdout, command);
    else if (strcmp(what, "details") == 0)
        rp_help_list_details(stdout, command);
    else if (strcmp(what, "words") == 0 && argc > 3)
        return rp_help_list_words(stdout, command, argv[3]) ? RP_EXIT_OK : RP_EXIT_NO;
    else
        return rp_say_usage(NULL, "no option '%s'", argv[1]);
    return RP_EXIT_OK;
}

/* The options before any command. */
static int run_global(int argc, char **argv)
{
    const char *word = argv[1];
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
        rp_help_overview(stdout);
    } else if (strcmp(word, "--version") == 0) {
        puts("reprise " RP_VERSION);
    } else if (strcmp(word, "--list-commands") == 0) {
        rp_help_list_commands(stdout);
    } else if (strcmp(word, "--list-names") == 0 && argc > 2) {
        return rp_list_names(argv[2], argc > 3 ? argv[3] : NULL);
    } else if (strncmp(word, "--list-", 7) == 0 && argc > 2) {
        return run_list(word + 7, argc, argv);
    } else {
        return rp_say_usage(NULL, "no option '%s'; a command comes first", word);
    }
    return RP_EXIT_OK;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2)
        return rp_say_usage(NULL, "a command is missing: run, dump, info, check, doctor, ...");
    if (argv[1][0] == '-')
        return run_global(argc, argv);
    const struct rp_command *command = rp_command_find(argv[1]);
    if (!command)
        return rp_command_unknown(argv[1]);
    return command->function(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    int code = dispatch(argc, argv);
    /* A reader that closed the pipe early has what it wanted; any other loss is ours. */
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && errno != EPIPE && code == RP_EXIT_OK) {
        rp_say("standard output: %s", strerror(errno));
        code = RP_EXIT_FAILURE;
    }
    return code;
}
