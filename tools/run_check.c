/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/command.h"
#include "tools/run.h"
#include "tools/say.h"
#include "tracker/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CONTRACT_BYTES = 16 << 20 };

const char *rp_run_text(const struct rp_run *run, enum rp_option_id id, const char *otherwise)
{
    const char *text = run->options.values[id].text;
    return text ? text : otherwise;
}

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
int rp_run_load_contract(struct rp_run *run)
{
    const char *path = rp_run_text(run, RP_OPT_CONTRACT, NULL);
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
static int refuse_unsupported(struct rp_run *run)
{
    const char *policy = rp_run_text(run, RP_OPT_POLICY, NULL);
    char message[1024];

    if (policy && rp_policy_parse(policy, &run->contract->policy) != RP_OK)
        return rp_say_usage("run", "--policy: %s is no policy", policy);
    if (strcmp(run->mode, "observe") == 0 || !run->contract ||
        rp_refusal_check(run->contract, message, sizeof(message)) == RP_OK)
        return RP_EXIT_OK;
    rp_say("%s; nothing was run", message);
    return RP_EXIT_USAGE;
}

/* Of a plan its own file tells whether it is for recompute. */
static int check_policy(const struct rp_run *run)
{
    const char *given = rp_run_text(run, RP_OPT_POLICY, NULL);
    const char *policy = given ? given : rp_policy_name(run->contract->policy);
    bool has_plan = run->contract->policy == RP_POLICY_PLAN || rp_run_text(run, RP_OPT_PLAN, NULL);

    if (strcmp(policy, "regions") == 0 || strcmp(policy, "joint") == 0 || (!given && has_plan))
        return RP_EXIT_OK;
    return rp_say_usage("run", "%s: mode recompute drops what is missed last where memory is short "
                        "(regions), or what a plan says (joint)",
                        given ? "--policy" : "the contract's \"policy\"");
}

/* What the mode recompute does not do is refused by name. */
static int check_recompute(const struct rp_run *run)
{
    if (!run->contract || !run->contract->segment_count)
        return rp_say_usage("run", "mode recompute makes the outputs of segments anew, and the "
                            "contract names none");
    if (!run->contract->step_nvtx)
        return rp_say_usage("run", "mode recompute goes step by step, and the contract names no "
                            "\"step\"");
    if (rp_option_given(&run->options, RP_OPT_AUDIT))
        return rp_say_usage("run", "--audit looks at all device memory, and mode recompute takes "
                            "some of it away; audit in guard");
    return check_policy(run);
}

/* A contract without segments can only be watched. */
int rp_run_choose_mode(struct rp_run *run)
{
    const char *natural = run->contract && run->contract->segment_count ? "guard" : "observe";

    run->mode = rp_run_text(run, RP_OPT_MODE, natural);
    if (strcmp(run->mode, "observe") != 0 && !run->contract)
        return rp_say_usage("run", "mode %s needs a contract: -c FILE", run->mode);
    if (rp_option_given(&run->options, RP_OPT_NOP) && strcmp(run->mode, "observe") != 0)
        return rp_say_usage("run", "--nop does nothing, and so can't %s", run->mode);
    if (rp_option_given(&run->options, RP_OPT_NOP) && rp_option_given(&run->options, RP_OPT_AUDIT))
        return rp_say_usage("run", "--nop does nothing, and so can't audit");
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
int rp_run_check_trace(struct rp_run *run)
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
