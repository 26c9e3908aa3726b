/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of options. The parser, the help, the environment variables and completion
 * are all made from its rows; there is no second list.
 *
 * A row marked "env" can also be set by REPRISE_<NAME>: the command line comes first, then
 * the environment, then what the contract says, then the default. */
#ifndef RP_TOOLS_OPTIONS_H
#define RP_TOOLS_OPTIONS_H

#include "tools/command.h"

#include <stdint.h>
#include <stdio.h>

enum rp_option_type {
    RP_OPTION_FLAG,
    RP_OPTION_TEXT,
    RP_OPTION_WORD, /* one of the words in `argument`, "a|b|c" */
    RP_OPTION_SIZE, /* bytes: 4096, 64KiB, 1.5GiB */
    RP_OPTION_CODE, /* an exit code, 1 to 255 */
    RP_OPTION_COUNT /* a whole number */
};

#define RP_READING (RP_COMMAND_DUMP | RP_COMMAND_INFO | RP_COMMAND_CHECK)
#define RP_FILTERED                                                                              \
    (RP_READING | RP_COMMAND_EXPORT | RP_COMMAND_REPORT | RP_COMMAND_DISCOVER)
#define RP_WRITING                                                                               \
    (RP_COMMAND_PLAN | RP_COMMAND_EXPORT | RP_COMMAND_REPORT | RP_COMMAND_DISCOVER)
#define RP_SHOWING (RP_READING | RP_COMMAND_DOCTOR)
#define RP_ANY (~0u)
#define RP_ENV true
#define RP_NO_ENV false

/* X(id, name, short, type, environment, commands, argument, help) */
#define RP_OPTIONS(X) \
    X(MODE, "mode", 'm', WORD, RP_ENV, RP_COMMAND_RUN, "observe|check|guard|recompute",           \
      "default: guard with a contract, observe without")                                          \
    X(CONTRACT, "contract", 'c', TEXT, RP_ENV, RP_COMMAND_RUN, "FILE",                            \
      "what is replayed and what it must see")                                                    \
    X(PROFILE, "profile", 'P', TEXT, RP_NO_ENV, RP_COMMAND_PLAN, "FILE",                          \
      "plan from this profile, not a run's; - is stdin")                                          \
    X(RUN_PROFILE, "profile", 'P', TEXT, RP_NO_ENV, RP_COMMAND_RUN, "FILE",                       \
      "what an earlier run in recompute has left of the job")                                     \
    X(POLICY, "policy", 'p', WORD, RP_ENV, RP_COMMAND_RUN, "joint|whole|regions|retain",          \
      "overrides the contract's")                                                                 \
    X(PLAN_POLICY, "policy", 'p', WORD, RP_NO_ENV, RP_COMMAND_PLAN,                               \
      "joint|whole|regions|retain", "what a segment may choose; default joint")                   \
    X(MODEL, "model", 'm', WORD, RP_NO_ENV, RP_COMMAND_PLAN, "nested|shared|lazy",                \
      "how preserved copies are held; default nested")                                            \
    X(PLAN, "plan", 0, TEXT, RP_NO_ENV, RP_COMMAND_RUN, "FILE",                                   \
      "the choices of `reprise plan -o FILE`")                                                    \
    X(BUDGET, "budget", 'b', SIZE, RP_ENV, RP_COMMAND_RUN, "SIZE",                                \
      "device memory for the job and the layer together")                                         \
    X(PLAN_BUDGET, "budget", 'b', SIZE, RP_NO_ENV, RP_COMMAND_PLAN, "SIZE",                       \
      "the best plan for so many bytes of device memory")                                         \
    X(COMPARE, "compare", 0, FLAG, RP_NO_ENV, RP_COMMAND_PLAN, NULL,                              \
      "against simpler planners: a table, and a picture")                                         \
    X(SVG, "svg", 0, TEXT, RP_NO_ENV, RP_COMMAND_PLAN, "FILE",                                    \
      "where the picture goes; default plan.svg")                                                 \
    X(CURVE, "curve", 0, FLAG, RP_NO_ENV, RP_COMMAND_PLAN, NULL,                                  \
      "every point of the curve of time over budget")                                             \
    X(POINTS, "points", 0, COUNT, RP_NO_ENV, RP_COMMAND_PLAN, "N",                                \
      "how many budgets in a table; default 16")                                                  \
    X(MAX_LABELS, "max-labels", 0, COUNT, RP_NO_ENV, RP_COMMAND_PLAN, "N",                        \
      "of the search, a segment; default 1048576")                                                \
    X(TERMS, "terms", 0, FLAG, RP_NO_ENV, RP_COMMAND_PLAN, NULL,                                  \
      "the profile with every term of every option")                                              \
    X(OUTPUT, "output", 'o', TEXT, RP_ENV, RP_COMMAND_RUN, "DIR",                                 \
      "default reprise.data; %p pid, %h host, %r rank")                                           \
    X(PLAN_OUTPUT, "output", 'o', TEXT, RP_NO_ENV, RP_COMMAND_PLAN, "FILE",                       \
      "write the plan that `reprise run --plan` takes")                                           \
    X(EXPORT_FORMAT, "format", 'f', WORD, RP_NO_ENV, RP_COMMAND_EXPORT,                           \
      "chrome|csv|jsonl|memviz|folded", "for which tool")                                         \
    X(EXPORT_OUTPUT, "output", 'o', TEXT, RP_NO_ENV, RP_COMMAND_EXPORT, "FILE",                   \
      "default reprise.SUFFIX here; - is stdout")                                                 \
    X(DISCOVER_OUTPUT, "output", 'o', TEXT, RP_NO_ENV, RP_COMMAND_DISCOVER, "FILE",               \
      "the contract; default contract.json; - is stdout")                                         \
    X(BY, "by", 0, WORD, RP_NO_ENV, RP_COMMAND_DISCOVER, "ranges|launches",                       \
      "how segments are found; default both, in turn")                                            \
    X(STATE, "state", 0, WORD, RP_NO_ENV, RP_COMMAND_DISCOVER, "declared|discovered",             \
      "declared names the buffers though it need not")                                            \
    X(REPORT_OUTPUT, "output", 'o', TEXT, RP_NO_ENV, RP_COMMAND_REPORT, "FILE",                   \
      "default report.html; - is stdout")                                                         \
    X(DIFF, "diff", 0, TEXT, RP_NO_ENV, RP_COMMAND_REPORT, "OLD",                                 \
      "beside an earlier run: its folder or trace")                                               \
    X(FORCE, "force", 0, FLAG, RP_NO_ENV, RP_WRITING, NULL, "overwrite FILE")                     \
    X(DEVICE, "device", 'd', WORD, RP_ENV, RP_COMMAND_RUN, "auto|cuda|soft",                      \
      "auto: a real driver if there is one, else software")                                       \
    X(ERROR_EXITCODE, "error-exitcode", 'e', CODE, RP_ENV, RP_COMMAND_RUN | RP_COMMAND_CHECK,     \
      "N", "exit with N when there are hazards")                                                  \
    X(AUDIT, "audit", 0, COUNT, RP_ENV, RP_COMMAND_RUN, "N",                                      \
      "hold every N-th launch to what is known of it")                                            \
    X(CACHE, "cache", 0, TEXT, RP_ENV, RP_COMMAND_RUN, "DIR|off",                                 \
      "where proofs are kept; default ~/.cache/reprise")                                          \
    X(NO_TRACE, "no-trace", 0, FLAG, RP_NO_ENV, RP_COMMAND_RUN, NULL,                             \
      "write summaries only, no trace")                                                           \
    X(LAST, "last", 0, SIZE, RP_ENV, RP_COMMAND_RUN, "SIZE",                                      \
      "keep the trace's end, so many bytes (64KiB or more)")                                      \
    X(LIMIT, "limit", 0, SIZE, RP_ENV, RP_COMMAND_RUN, "SIZE",                                    \
      "end the trace after so many bytes (64KiB or more)")                                        \
    X(NOP, "nop", 0, FLAG, RP_NO_ENV, RP_COMMAND_RUN, NULL,                                      \
      "preload an object that does nothing: what that costs")                                    \
    X(LOSSY, "lossy", 0, FLAG, RP_ENV, RP_COMMAND_RUN, NULL,                                      \
      "lose events rather than slow the job; counted")                                            \
    X(FOLLOW, "follow", 0, FLAG, RP_NO_ENV, RP_COMMAND_DUMP, NULL,                                \
      "go on with what the job does, until it ends")                                              \
    X(QUIET, "quiet", 'q', FLAG, RP_NO_ENV, RP_COMMAND_RUN | RP_WRITING, NULL,                    \
      "don't say at the end what was written")                                                    \
    X(VERBOSE, "verbose", 'v', FLAG, RP_NO_ENV, RP_COMMAND_RUN | RP_COMMAND_DOCTOR, NULL,         \
      "the exact environment and command; each driver call")                                      \
    X(CALLS, "calls", 0, TEXT, RP_NO_ENV, RP_FILTERED, "RANGES",                                  \
      "by id: 5,10-20,100-,0-1000/10 (or @FILE)")                                                 \
    X(GREP, "grep", 'g', TEXT, RP_NO_ENV, RP_COMMAND_DUMP, "RE",                                  \
      "lines that match an extended regular expression")                                          \
    X(KERNEL, "kernel", 'k', TEXT, RP_NO_ENV, RP_FILTERED, "GLOB",                                \
      "launches of these kernels")                                                                \
    X(SEGMENT, "segment", 's', TEXT, RP_NO_ENV, RP_FILTERED, "GLOB",                              \
      "what concerns these segments")                                                             \
    X(CALL, "call", 0, TEXT, RP_NO_ENV, RP_FILTERED, "GLOB", "calls of these names")              \
    X(BUFFER, "buffer", 0, TEXT, RP_NO_ENV, RP_FILTERED, "GLOB",                                  \
      "what touches these buffers of the contract")                                               \
    X(ALLOCATION, "allocation", 0, COUNT, RP_NO_ENV, RP_FILTERED, "N",                            \
      "what concerns this allocation")                                                            \
    X(VERDICT, "verdict", 0, TEXT, RP_NO_ENV, RP_FILTERED, "GLOB",                                \
      "accesses known so: exact, bounded, root, ...")                                             \
    X(TIME, "time", 0, TEXT, RP_NO_ENV, RP_FILTERED, "A-B",                                       \
      "seconds since the start: 1.5-2, 3-")                                                       \
    X(STREAM, "stream", 0, TEXT, RP_NO_ENV, RP_FILTERED, "HANDLE",                                \
      "calls on this stream; 0: on a default one")                                                \
    X(STEP, "step", 0, COUNT, RP_NO_ENV, RP_FILTERED, "N", "what happened in this step")          \
    X(PROOF, "proof", 0, TEXT, RP_NO_ENV, RP_FILTERED, "KERNEL",                                  \
      "the proofs of these kernels in words")                                                     \
    X(JSON, "json", 'j', FLAG, RP_NO_ENV, RP_SHOWING | RP_COMMAND_PLAN, NULL,                     \
      "for programs: one object (dump: one a line)")                                              \
    X(FORMAT, "format", 0, WORD, RP_NO_ENV, RP_COMMAND_PLAN, "text|csv|json",                     \
      "how answers are printed; default text")                                                    \
    X(BYTES, "bytes", 0, FLAG, RP_NO_ENV, RP_READING | RP_COMMAND_PLAN, NULL,                     \
      "plain byte counts")                                                                        \
    X(COLOR, "color", 0, WORD, RP_NO_ENV, RP_SHOWING, "auto|always|never",                        \
      "auto: on a terminal, unless NO_COLOR is set")                                              \
    X(NO_PAGER, "no-pager", 0, FLAG, RP_NO_ENV, RP_SHOWING, NULL,                                 \
      "write straight to the terminal")                                                           \
    X(HELP, "help", 'h', FLAG, RP_NO_ENV, RP_ANY, NULL, "this text")

#define RP_OPTION_ID_(id, ...) RP_OPT_##id,
enum rp_option_id { RP_OPTIONS(RP_OPTION_ID_) RP_OPT_COUNT };
#undef RP_OPTION_ID_

struct rp_option {
    const char *name;
    char letter; /* 0: no short form */
    enum rp_option_type type;
    bool environment;
    unsigned commands;    /* RP_COMMAND_ bits */
    const char *argument; /* NULL for flags */
    const char *help;
};
extern const struct rp_option rp_option_table[RP_OPT_COUNT];

struct rp_option_value {
    const char *text; /* as given; NULL when it was not. "" for a flag */
    uint64_t number;  /* SIZE, CODE, COUNT */
    bool from_environment;
};

struct rp_options {
    struct rp_option_value values[RP_OPT_COUNT];
    char **rest; /* what is left of argv, zero-terminated */
    int rest_count;
};

/* How every command begins: parses argv[1..] and answers --help. False when the command is over
 * already, with its exit code in *code: RP_EXIT_OK, or RP_EXIT_USAGE when something was wrong
 * and has been said. With `stop_at_word` the first word that is no option ends our options
 * (it is the job's command); else words and options may mix. "--" ends options. */
bool rp_options_begin(const struct rp_command *command, int argc, char **argv, bool stop_at_word,
                      struct rp_options *options, int *code);

static inline bool rp_option_given(const struct rp_options *options, enum rp_option_id id)
{
    return options->values[id].text != NULL;
}

/* "REPRISE_ERROR_EXITCODE" from "error-exitcode". */
void rp_option_variable(const struct rp_option *option, char *name, size_t size);

#endif
