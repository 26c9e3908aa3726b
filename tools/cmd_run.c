/* SPDX-License-Identifier: Apache-2.0 */
/* reprise run: everything is found and checked first, then the job starts, then a few lines
 * tell what came of it. The terminal, the streams and the exit status are the job's. */
#include "planner/plan.h"
#include "planner/purpose.h"
#include "tools/command.h"
#include "tools/config.h"
#include "tools/driver.h"
#include "tools/environment.h"
#include "tools/folder.h"
#include "tools/job.h"
#include "tools/options.h"
#include "tools/outcome.h"
#include "tools/place.h"
#include "tools/program.h"
#include "tools/say.h"
#include "tools/variables.h"
#include "tracker/contract.h"
#include "tracker/refusal.h"
#include "tracker/text.h"
#include "tracker/trace.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CONTRACT_BYTES = 16 << 20 };

struct run {
    struct rp_options options;
    const char *mode;
    struct rp_contract *contract; /* NULL without one */
    char *contract_text;
    size_t contract_length;
    char *job;           /* the command line, as profiles and plans name it */
    char plan[PATH_MAX]; /* "" without one */
    char program[PATH_MAX], layer[PATH_MAX], folder[PATH_MAX];
    int shelter; /* for what the job has not yet written when it ends; -1 for none */
    int held; /* keeps other runs out of the folder until we end */
    struct rp_driver_choice driver;
    struct rp_environment environment;
};

static const char *text_of(const struct run *run, enum rp_option_id id, const char *otherwise)
{
    const char *text = run->options.values[id].text;
    return text ? text : otherwise;
}

/* ---- before the job ----------------------------------------------------------- */

static bool read_file(const char *path, char **text, size_t *length)
{
    FILE *file = fopen(path, "re");
    size_t room = 1 << 16, used = 0;
    char *bytes = malloc(room);

    while (file && bytes && used < MOST_CONTRACT_BYTES) {
        used += fread(bytes + used, 1, room - used, file);
        if (used < room)
            break;
        char *more = realloc(bytes, room *= 2);
        if (!more)
            free(bytes);
        bytes = more;
    }
    bool good = file && bytes && !ferror(file);
    if (file)
        fclose(file);
    if (!good)
        free(bytes);
    *text = good ? bytes : NULL;
    *length = used;
    return good;
}

/* The file is read once: what was checked is what the job gets. */
static int load_contract(struct run *run)
{
    const char *path = text_of(run, RP_OPT_CONTRACT, NULL);
    char message[1024];

    if (!path)
        return RP_EXIT_OK;
    if (!read_file(path, &run->contract_text, &run->contract_length)) {
        rp_say("contract %s: %s", path, strerror(errno));
        return RP_EXIT_USAGE;
    }
    if (rp_contract_parse(run->contract_text, run->contract_length, path, &run->contract, message,
                          sizeof(message)) != RP_OK) {
        rp_say("%s", message);
        return RP_EXIT_USAGE;
    }
    return RP_EXIT_OK;
}

/* What the layer would refuse at the job's first driver call is refused here. */
static int refuse_unsupported(struct run *run)
{
    const char *policy = text_of(run, RP_OPT_POLICY, NULL);
    char message[1024];

    if (policy && rp_policy_parse(policy, &run->contract->policy) != RP_OK)
        return rp_say_usage("run", "--policy: %s is no policy", policy);
    if (strcmp(run->mode, "observe") == 0 || !run->contract ||
        rp_refusal_check(run->contract, message, sizeof(message)) == RP_OK)
        return RP_EXIT_OK;
    rp_say("%s; nothing was run", message);
    return RP_EXIT_USAGE;
}

/* What the mode recompute does not do is refused by name. */
static int check_recompute(const struct run *run)
{
    if (!run->contract->segment_count)
        return rp_say_usage("run", "mode recompute makes the outputs of segments anew, and the "
                            "contract names none");
    if (!run->contract->step_nvtx)
        return rp_say_usage("run", "mode recompute goes step by step, and the contract names no "
                            "\"step\"");
    if (rp_option_given(&run->options, RP_OPT_AUDIT))
        return rp_say_usage("run", "--audit looks at all device memory, and mode recompute takes "
                            "some of it away; audit in guard");
    if (rp_option_given(&run->options, RP_OPT_POLICY))
        return rp_say_usage("run", "--policy is for replays of the job's own, in guard; mode "
                            "recompute drops what the budget asks for");
    return RP_EXIT_OK;
}

/* A contract without segments can only be watched. */
static int choose_mode(struct run *run)
{
    const char *natural = run->contract && run->contract->segment_count ? "guard" : "observe";

    run->mode = text_of(run, RP_OPT_MODE, natural);
    if (strcmp(run->mode, "observe") != 0 && !run->contract)
        return rp_say_usage("run", "mode %s needs a contract: -c FILE", run->mode);
    if (rp_option_given(&run->options, RP_OPT_NOP) && strcmp(run->mode, "observe") != 0)
        return rp_say_usage("run", "--nop does nothing, and so can't %s", run->mode);
    if (rp_option_given(&run->options, RP_OPT_POLICY) && !run->contract)
        return rp_say_usage("run", "--policy needs a contract: -c FILE");
    const struct rp_option_value *budget = &run->options.values[RP_OPT_BUDGET];
    if (budget->text && budget->number == 0)
        return rp_say_usage("run", "--budget: 0 bytes leave no room for anything");
    const struct rp_option_value *audit = &run->options.values[RP_OPT_AUDIT];
    if (audit->text && audit->number == 0)
        return rp_say_usage("run", "--audit: every how many launches? 1 is each of them");
    int code = strcmp(run->mode, "recompute") == 0 ? check_recompute(run) : RP_EXIT_OK;
    return code == RP_EXIT_OK ? refuse_unsupported(run) : code;
}

/* A trace keeps its beginning or its end. */
static int check_trace(struct run *run)
{
    const struct rp_option_value *last = &run->options.values[RP_OPT_LAST];
    const struct rp_option_value *limit = &run->options.values[RP_OPT_LIMIT];

    if (last->text && limit->text)
        return rp_say_usage("run", "%s keeps the trace's end and %s its beginning: give one",
                            last->from_environment ? "REPRISE_LAST" : "--last",
                            limit->from_environment ? "REPRISE_LIMIT" : "--limit");
    if ((last->text && last->number == 0) || (limit->text && limit->number == 0))
        return rp_say_usage("run", "%s: a trace of 0 bytes holds nothing; --no-trace writes none",
                            last->text ? "--last" : "--limit");
    return RP_EXIT_OK;
}

/* ---- the plan ----------------------------------------------------------------- */

static bool is_joint(const struct run *run)
{
    const char *policy = text_of(run, RP_OPT_POLICY, NULL);
    return policy ? strcmp(policy, "joint") == 0
                  : run->contract && run->contract->policy == RP_POLICY_JOINT;
}

/* Neither can be kept where the plan takes more than the budget. */
static int check_peak(const struct run *run, const char *path, uint64_t peak)
{
    const struct rp_option_value *option = &run->options.values[RP_OPT_BUDGET];
    uint64_t budget = option->text                ? option->number
                      : run->contract->has_budget ? run->contract->budget
                                                  : UINT64_MAX;
    char plan_text[RP_SIZE_TEXT], budget_text[RP_SIZE_TEXT];

    if (peak <= budget)
        return RP_EXIT_OK;
    rp_say("%s: the plan takes %s and the budget is %s: `reprise plan --budget %s` makes one that "
           "fits", path, rp_size_exact(plan_text, peak), rp_size_exact(budget_text, budget),
           budget_text);
    return RP_EXIT_USAGE;
}

/* A plan must have been made for this very job; its device and segments show in the run. */
static int check_plan(struct run *run, const char *path)
{
    char message[1024], contract[RP_PURPOSE_CONTRACT];
    struct rp_plan *plan;

    if (rp_plan_load(path, &plan, message, sizeof(message)) != RP_OK) {
        rp_say("%s", message);
        return RP_EXIT_USAGE;
    }
    rp_purpose_contract(run->contract_text, run->contract_length, contract);
    const struct rp_purpose purpose = {.job = run->job, .contract = contract};
    enum rp_status status = rp_plan_fits(plan, &purpose, (const char *const *)plan->names,
                                         plan->count, message, sizeof(message));
    uint64_t peak = plan->peak;
    bool holds = status != RP_OK ||
                 rp_plan_holds(plan, message, sizeof(message)) == RP_OK;
    rp_plan_destroy(plan);
    if (!holds) {
        rp_say("%s: %s: make one with `reprise plan --model nested`", path, message);
        return RP_EXIT_USAGE;
    }
    if (status == RP_OK)
        return check_peak(run, path, peak);
    rp_say("%s: %s; plan anew: `reprise run` without a plan, then `reprise plan`. Where words of "
           "the command differ that do not matter, put * for them in the plan's \"job\"",
           path, message);
    return RP_EXIT_USAGE;
}

static int find_plan(struct run *run)
{
    const char *path = text_of(run, RP_OPT_PLAN, NULL);
    bool guards = strcmp(run->mode, "guard") == 0;

    if (path && rp_option_given(&run->options, RP_OPT_POLICY))
        return rp_say_usage("run", "--plan and --policy are two answers to one question");
    if (path && !guards)
        return rp_say_usage("run", "--plan is obeyed in guard only, not in %s", run->mode);
    if (!path && guards && run->contract->policy == RP_POLICY_PLAN &&
        !rp_option_given(&run->options, RP_OPT_POLICY))
        path = run->contract->plan_path;
    if (path && !run->contract->step_nvtx)
        return rp_say_usage("run", "a plan is obeyed step by step, and the contract names no "
                            "\"step\"");
    if (path && !realpath(path, run->plan)) {
        rp_say("plan %s: %s", path, strerror(errno));
        return RP_EXIT_USAGE;
    }
    if (path)
        return check_plan(run, run->plan);
    if (guards && is_joint(run) && !run->contract->step_nvtx)
        return rp_say_usage("run", "policy joint plans step by step, and the contract names no "
                            "\"step\"");
    if (guards && is_joint(run) && !run->contract->has_budget &&
        !rp_option_given(&run->options, RP_OPT_BUDGET))
        return rp_say_usage("run", "policy joint needs a budget: --budget SIZE, or \"budget\" in "
                            "the contract");
    return RP_EXIT_OK;
}

static int find_program(struct run *run)
{
    const char *name = run->options.rest[0];
    char message[PATH_MAX + 128];
    int code = rp_program_find(name, run->program);

    if (code != 0) {
        rp_say("%s: %s", name, code == RP_EXIT_NOT_FOUND ? "command not found" : strerror(errno));
        return code;
    }
    code = rp_program_inspect(run->program, message, sizeof(message));
    if (code != 0)
        rp_say("%s", message);
    return code;
}

static int find_parts(struct run *run)
{
    char message[PATH_MAX + 128];

    const char *preload = getenv("LD_PRELOAD");
    if (preload && strstr(preload, "/libreprise.so")) {
        rp_say("this is a job under `reprise run` already");
        return RP_EXIT_RUN;
    }
    enum rp_part part = rp_option_given(&run->options, RP_OPT_NOP) ? RP_PART_NOP : RP_PART_LAYER;
    if (!rp_place_find(part, run->layer)) {
        rp_say("%s is missing at %s", rp_part_name(part), run->layer);
        return RP_EXIT_RUN;
    }
    /* The loader splits LD_PRELOAD at spaces and colons and knows no quoting. */
    if (strpbrk(run->layer, " :")) {
        rp_say("%s can't be preloaded: its path has a space or a colon", run->layer);
        return RP_EXIT_RUN;
    }
    if (!rp_driver_choose(text_of(run, RP_OPT_DEVICE, "auto"), &run->driver, message,
                          sizeof(message))) {
        rp_say("%s", message);
        return RP_EXIT_RUN;
    }
    return RP_EXIT_OK;
}

static json_t *escaped(const char *text)
{
    size_t size = 4 * strlen(text) + 8;
    char *copy = malloc(size);
    json_t *string = copy ? json_string(rp_text_escape(copy, size, text, strlen(text))) : NULL;
    free(copy);
    return string;
}

/* What was in force, for `reprise info` and for whoever reads the folder next year. */
static char *describe(const struct run *run)
{
    json_t *command = json_array();
    for (int i = 0; i < run->options.rest_count; i++)
        json_array_append_new(command, escaped(run->options.rest[i]));
    json_t *document = json_pack(
        "{ss si ss so ss ss* so ss so}", "format", "reprise-run", "version", 1, "reprise",
        RP_VERSION, "command", command, "mode", run->mode, "policy",
        text_of(run, RP_OPT_POLICY, run->contract ? rp_policy_name(run->contract->policy) : NULL),
        "program", escaped(run->program), "device", run->driver.soft ? "soft" : "cuda", "driver",
        escaped(run->driver.path));
    const char *contract = text_of(run, RP_OPT_CONTRACT, NULL);
    if (contract)
        json_object_set_new(document, "contract", escaped(contract));
    char *text = document ? json_dumps(document, JSON_INDENT(1)) : NULL;
    json_decref(document);
    return text;
}

static int create_folder(struct run *run)
{
    const char *pattern = text_of(run, RP_OPT_OUTPUT, RP_FOLDER_DEFAULT);
    char name[PATH_MAX - 64];

    if (!rp_folder_name(pattern, name, sizeof(name)))
        return rp_say_usage("run", "--output: %%p, %%h, %%r and %%%% can stand in a name, not "
                            "what '%s' holds", pattern);
    int code = rp_folder_create(name, run->folder, &run->held);
    if (code != 0)
        return code;
    char *text = describe(run);
    bool good = text && rp_folder_write(run->folder, "run.json", text, strlen(text));
    free(text);
    if (good && run->contract)
        good = rp_folder_write(run->folder, "contract.json", run->contract_text,
                               run->contract_length);
    if (!good)
        rp_say("output folder %s: %s", run->folder, strerror(errno));
    return good ? RP_EXIT_OK : RP_EXIT_RUN;
}

/* The folder that `file` is in, with a colon, to the end of `list`. */
static void add_folder(char *list, size_t size, const char *file)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%.*s", used ? ":" : "",
             (int)(strrchr(file, '/') - file), file);
}

/* For jobs that look for the driver's file by themselves: first they find the layer under the
 * driver's name. Without its sanitizer's runtime it could not be loaded. */
static void prepare_search(struct run *run)
{
    char link[PATH_MAX], folders[2 * PATH_MAX] = "";
    if (!rp_option_given(&run->options, RP_OPT_NOP) && !*RP_SANITIZER_PRELOAD &&
        rp_place_find(RP_PART_LINK, link))
        add_folder(folders, sizeof(folders), link);
    if (run->driver.soft)
        add_folder(folders, sizeof(folders), run->driver.path);
    if (*folders)
        rp_environment_prepend(&run->environment, "LD_LIBRARY_PATH", folders, ':');
}

static void add_size(struct run *run, const char *name, enum rp_option_id id)
{
    const struct rp_option_value *value = &run->options.values[id];
    if (value->text)
        rp_environment_add(&run->environment, name, "%llu", (unsigned long long)value->number);
}

/* The job may go elsewhere before its first driver call. */
static void add_cache(struct run *run)
{
    const char *cache = run->options.values[RP_OPT_CACHE].text;
    char here[PATH_MAX];
    if (!cache)
        return;
    if (*cache == '/' || strcmp(cache, "off") == 0 || !getcwd(here, sizeof here))
        rp_environment_add(&run->environment, "REPRISE_CACHE", "%s", cache);
    else
        rp_environment_add(&run->environment, "REPRISE_CACHE", "%s/%s", here, cache);
}

/* Where there is none, or no trace, what a killed job has not yet written is lost. */
static void add_shelter(struct run *run)
{
    char path[64];

    run->shelter = -1;
    if (!rp_option_given(&run->options, RP_OPT_NO_TRACE) &&
        !rp_option_given(&run->options, RP_OPT_NOP))
        run->shelter = rp_trace_shelter_create(path, sizeof(path));
    if (run->shelter >= 0)
        rp_environment_add(&run->environment, "REPRISE_SHELTER", "%s", path);
    else
        rp_environment_remove(&run->environment, "REPRISE_SHELTER");
}

static void prepare_environment(struct run *run)
{
    struct rp_environment *list = &run->environment;
    const struct rp_option_value *values = run->options.values;
    char preload[3 * PATH_MAX];

    snprintf(preload, sizeof(preload), "%s%s", RP_SANITIZER_PRELOAD, run->layer);
    rp_environment_prepend(list, "LD_PRELOAD", preload, ':');
    if (*RP_SANITIZER_PRELOAD) /* a sanitized build: the job's own leaks are not our business */
        rp_environment_prepend(list, "ASAN_OPTIONS", "detect_leaks=0", ':');
    if (!rp_option_given(&run->options, RP_OPT_NOP))
        rp_environment_add(list, "NVTX_INJECTION64_PATH", "%s", run->layer);
    rp_environment_add(list, "REPRISE_MODE", "%s", run->mode);
    rp_environment_add(list, "REPRISE_DRIVER", "%s", run->driver.path);
    rp_environment_add(list, "REPRISE_OUTPUT", "%s", run->folder);
    rp_environment_add(list, "REPRISE_TRACE", "%d", !values[RP_OPT_NO_TRACE].text);
    add_size(run, "REPRISE_LAST", RP_OPT_LAST);
    add_size(run, "REPRISE_LIMIT", RP_OPT_LIMIT);
    if (values[RP_OPT_LOSSY].text)
        rp_environment_add(list, "REPRISE_LOSSY", "1");
    rp_environment_add(list, "REPRISE_JOB", "%s", run->job ? run->job : "");
    if (*run->plan)
        rp_environment_add(list, "REPRISE_PLAN", "%s", run->plan);
    else
        rp_environment_remove(list, "REPRISE_PLAN");
    if (run->contract)
        rp_environment_add(list, "REPRISE_CONTRACT", "%s/contract.json", run->folder);
    else
        rp_environment_remove(list, "REPRISE_CONTRACT");
    if (values[RP_OPT_POLICY].text)
        rp_environment_add(list, "REPRISE_POLICY", "%s", values[RP_OPT_POLICY].text);
    add_size(run, "REPRISE_BUDGET", RP_OPT_BUDGET);
    if (values[RP_OPT_ERROR_EXITCODE].text)
        rp_environment_add(list, "REPRISE_ERROR_EXITCODE", "%llu",
                           (unsigned long long)values[RP_OPT_ERROR_EXITCODE].number);
    if (values[RP_OPT_AUDIT].text)
        rp_environment_add(list, "REPRISE_AUDIT", "%llu",
                           (unsigned long long)values[RP_OPT_AUDIT].number);
    add_cache(run);
    add_shelter(run);
    if (strcmp(run->mode, "guard") == 0 || strcmp(run->mode, "recompute") == 0)
        rp_environment_add(list, "REPRISE_STRICT", "1");
    prepare_search(run);
}

static int prepare(struct run *run)
{
    int (*const steps[])(struct run *) = {load_contract, choose_mode, check_trace,  find_plan,
                                          find_program,  find_parts,  create_folder};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        int code = steps[i](run);
        if (code != RP_EXIT_OK)
            return code;
    }
    prepare_environment(run);
    return RP_EXIT_OK;
}

/* ---- the job ------------------------------------------------------------------ */

/* A job that ended well has left nothing to be saved. */
static void rescue(const struct run *run)
{
    struct rp_trace_rescue rescued;

    if (run->shelter < 0)
        return;
    rp_trace_shelter_rescue(run->shelter, &rescued);
    if (rescued.past_limit > 0 && !rp_option_given(&run->options, RP_OPT_QUIET))
        rp_say("%llu events came after the trace's limit and are not in it",
               (unsigned long long)rescued.past_limit);
    if (rescued.dropped > 0 && !rp_option_given(&run->options, RP_OPT_QUIET))
        rp_say("%llu events found no room (--lossy) and are not in the trace",
               (unsigned long long)rescued.dropped);
    if (rescued.lost > 0)
        rp_say("%llu events that the job had not yet written when it ended are lost",
               (unsigned long long)rescued.lost);
    else if (rescued.events > 0 && !rp_option_given(&run->options, RP_OPT_QUIET))
        rp_say("%llu events that the job had not yet written when it ended are saved",
               (unsigned long long)rescued.events);
}

static int run_job(struct run *run)
{
    struct rp_job job;
    int error = rp_environment_apply(&run->environment);
    if (error == 0)
        error = rp_job_run(run->program, run->options.rest, &job);
    if (error != 0) {
        rp_say("%s: %s", run->options.rest[0], strerror(error));
        return error == ENOENT ? RP_EXIT_NOT_FOUND : RP_EXIT_CANNOT_RUN;
    }
    rescue(run);
    struct rp_outcome outcome;
    rp_outcome_read(run->folder, &outcome);
    if (!rp_option_given(&run->options, RP_OPT_QUIET))
        rp_outcome_say(&outcome, run->folder, run->contract,
                       rp_option_given(&run->options, RP_OPT_VERBOSE));
    const struct rp_option_value *wanted = &run->options.values[RP_OPT_ERROR_EXITCODE];
    bool hazards = outcome.hazards > 0;
    rp_outcome_release(&outcome);
    int code = rp_job_exit_code(&job);
    return hazards && wanted->text ? (int)wanted->number : code;
}

static void release(struct run *run)
{
    rp_contract_destroy(run->contract);
    free(run->contract_text);
    free(run->job);
    rp_environment_release(&run->environment);
}

int rp_cmd_run(int argc, char **argv)
{
    const struct rp_command *command = rp_command_find("run");
    struct run run = {0};
    int code;

    if (!rp_options_begin(command, argc, argv, true, &run.options, &code))
        return code;
    if (run.options.rest_count == 0)
        return rp_say_usage("run", "no command to run");
    rp_variables_check();
    run.job = rp_purpose_job((const char *const *)run.options.rest,
                             (size_t)run.options.rest_count);
    code = prepare(&run);
    if (code == RP_EXIT_OK) {
        if (rp_option_given(&run.options, RP_OPT_VERBOSE)) {
            fputs("reprise: ", stderr);
            rp_environment_print(&run.environment, run.options.rest, stderr);
        }
        code = run_job(&run);
    }
    release(&run);
    return code;
}
