/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of reprise: one row each, one file each (tools/cmd_*.c). */
#ifndef RP_TOOLS_COMMAND_H
#define RP_TOOLS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

/* Exit codes besides the job's own. */
enum {
    RP_EXIT_OK = 0,
    RP_EXIT_NO = 1,         /* done, and the answer is no */
    RP_EXIT_USAGE = 2,      /* usage or contract error; nothing ran */
    RP_EXIT_FAILURE = 3,    /* the command itself failed: memory, input/output */
    RP_EXIT_DATA = 65,      /* a trace is damaged or from a newer version */
    RP_EXIT_RUN = 125,      /* run failed before the job */
    RP_EXIT_CANNOT_RUN = 126,
    RP_EXIT_NOT_FOUND = 127
};

/* Bits for the rows of the option table; the order is that of the command table. */
enum {
    RP_COMMAND_RUN = 1 << 0,
    RP_COMMAND_DUMP = 1 << 1,
    RP_COMMAND_INFO = 1 << 2,
    RP_COMMAND_CHECK = 1 << 3,
    RP_COMMAND_PLAN = 1 << 4,
    RP_COMMAND_DOCTOR = 1 << 5,
    RP_COMMAND_HELP = 1 << 6,
    RP_COMMAND_EXPORT = 1 << 7,
    RP_COMMAND_REPORT = 1 << 8,
    RP_COMMAND_DISCOVER = 1 << 9
};

struct rp_command {
    const char *name;
    const char *synopsis; /* what follows the name */
    const char *summary;  /* one line, for the list of commands */
    int (*function)(int argc, char **argv); /* argv[0] is the command's name */
    unsigned bit;
    const char *notes; /* below the options in its help: exit codes, examples */
};

extern const struct rp_command rp_commands[];
extern const size_t rp_command_count;

const struct rp_command *rp_command_find(const char *name);
/* Says that there is no such command, with the nearest one. Returns RP_EXIT_USAGE. */
int rp_command_unknown(const char *name);

int rp_cmd_run(int argc, char **argv);
int rp_cmd_dump(int argc, char **argv);
int rp_cmd_info(int argc, char **argv);
int rp_cmd_check(int argc, char **argv);
int rp_cmd_plan(int argc, char **argv);
int rp_cmd_discover(int argc, char **argv);
int rp_cmd_report(int argc, char **argv);
int rp_cmd_export(int argc, char **argv);
int rp_cmd_doctor(int argc, char **argv);
int rp_cmd_help(int argc, char **argv);

#endif
