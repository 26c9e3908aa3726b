/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/config.h"

#include "cuda/access/cache.h"
#include "tracker/rank.h"
#include "tracker/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const mode_names[] = {"observe", "check", "guard", "recompute"};

const char *rp_mode_name(enum rp_mode mode)
{
    return mode_names[mode];
}

static bool is_set(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value && strcmp(value, "0") != 0;
}

static enum rp_status read_mode(struct rp_config *config, char *message, size_t size)
{
    const char *text = secure_getenv("REPRISE_MODE");
    if (!text || !*text)
        return RP_OK;
    for (int i = 0; i <= RP_MODE_RECOMPUTE; i++) {
        if (strcmp(text, mode_names[i]) == 0) {
            config->mode = (enum rp_mode)i;
            return RP_OK;
        }
    }
    const char *near = rp_nearest(text, mode_names, 4);
    snprintf(message, size, "REPRISE_MODE=%s is no mode%s%s", text, near ? "; did you mean " : "",
             near ? near : ": observe, check, guard or recompute");
    return RP_INVALID;
}

static enum rp_status read_contract(struct rp_config *config, char *message, size_t size)
{
    const char *path = secure_getenv("REPRISE_CONTRACT");
    if (path && *path) {
        enum rp_status status = rp_contract_load(path, &config->contract, message, size);
        if (status != RP_OK)
            return status;
    }
    if (config->mode != RP_MODE_OBSERVE && !config->contract) {
        snprintf(message, size, "mode %s needs a contract (-c FILE)", rp_mode_name(config->mode));
        return RP_INVALID;
    }
    const char *policy = secure_getenv("REPRISE_POLICY");
    if (!policy || !*policy || !config->contract)
        return RP_OK;
    if (rp_policy_parse(policy, &config->contract->policy) == RP_OK)
        return RP_OK;
    snprintf(message, size, "REPRISE_POLICY=%s is no policy: joint, whole, regions or retain",
             policy);
    return RP_INVALID;
}

/* A plan comes before a policy: whoever names a file wants that file obeyed. */
static enum rp_status read_plan(struct rp_config *config)
{
    const char *path = secure_getenv("REPRISE_PLAN");
    struct rp_contract *contract = config->contract;
    if (!contract || (config->mode != RP_MODE_GUARD && config->mode != RP_MODE_RECOMPUTE))
        return RP_OK;
    if (path && *path)
        contract->policy = RP_POLICY_PLAN;
    else
        path = contract->plan_path;
    if (contract->policy != RP_POLICY_PLAN)
        return RP_OK;
    config->plan_path = strdup(path);
    return config->plan_path ? RP_OK : RP_NO_MEMORY;
}

static enum rp_status read_profile(struct rp_config *config)
{
    const char *path = secure_getenv("REPRISE_PROFILE");
    if (!path || !*path || !config->contract || config->mode != RP_MODE_RECOMPUTE)
        return RP_OK;
    config->profile_path = strdup(path);
    return config->profile_path ? RP_OK : RP_NO_MEMORY;
}

static enum rp_status refuse_unsupported(const struct rp_config *config, char *message,
                                         size_t size)
{
    if (!config->contract || config->mode == RP_MODE_OBSERVE)
        return RP_OK;
    return rp_refusal_check(config->contract, message, size);
}

static enum rp_status read_numbers(struct rp_config *config, char *message, size_t size)
{
    config->budget = UINT64_MAX;
    config->error_exitcode = 70;
    if (config->contract && config->contract->has_budget)
        config->budget = config->contract->budget;
    const char *budget = secure_getenv("REPRISE_BUDGET");
    if (budget && *budget &&
        (rp_size_parse(budget, &config->budget) != RP_OK || config->budget == 0)) {
        snprintf(message, size, "REPRISE_BUDGET=%s is no size, such as 44GiB", budget);
        return RP_INVALID;
    }
    const char *audit = secure_getenv("REPRISE_AUDIT");
    if (audit && *audit) {
        char *end;
        errno = 0;
        config->audit = strtoull(audit, &end, 10);
        if (errno || *end || *audit == '-' || !config->audit) {
            snprintf(message, size, "REPRISE_AUDIT=%s is no count of launches, from 1 on", audit);
            return RP_INVALID;
        }
    }
    const char *code = secure_getenv("REPRISE_ERROR_EXITCODE");
    if (code && *code) {
        char *end;
        errno = 0;
        long value = strtol(code, &end, 10);
        if (errno || *end || value < 1 || value > 255) {
            snprintf(message, size, "REPRISE_ERROR_EXITCODE=%s is not from 1 to 255", code);
            return RP_INVALID;
        }
        config->error_exitcode = (int)value;
    }
    return RP_OK;
}

/* What is no size has been refused by `reprise run`; by hand it counts as not given. */
static bool read_size(const char *name, uint64_t *bytes)
{
    const char *text = secure_getenv(name);
    return text && *text && rp_size_parse(text, bytes) == RP_OK;
}

static enum rp_status read_output(struct rp_config *config)
{
    const char *output = secure_getenv("REPRISE_OUTPUT");
    if (!output || !*output)
        return RP_OK;
    config->output = strdup(output);
    config->trace = is_set("REPRISE_TRACE");
    if (rp_rank())
        snprintf(config->rank, sizeof(config->rank), "%s", rp_rank());
    config->trace_lossy = is_set("REPRISE_LOSSY");
    const char *shelter = secure_getenv("REPRISE_SHELTER");
    if (shelter && strlen(shelter) < sizeof(config->shelter))
        snprintf(config->shelter, sizeof(config->shelter), "%s", shelter);
    if (read_size("REPRISE_LIMIT", &config->trace_limit))
        config->trace_keep = RP_TRACE_KEEP_FIRST;
    if (read_size("REPRISE_LAST", &config->trace_limit))
        config->trace_keep = RP_TRACE_KEEP_LAST;
    return config->output ? RP_OK : RP_NO_MEMORY;
}

enum rp_status rp_config_read(struct rp_config *config, char *message, size_t message_size)
{
    *config = (struct rp_config){.strict = is_set("REPRISE_STRICT"), .cache = rp_cache_folder(),
                                 .only_ptx = is_set("CUDA_FORCE_PTX_JIT")};
    snprintf(message, message_size, "out of memory");
    enum rp_status status = read_mode(config, message, message_size);
    if (status == RP_OK)
        status = read_contract(config, message, message_size);
    if (status == RP_OK)
        status = read_numbers(config, message, message_size);
    if (status == RP_OK)
        status = read_plan(config);
    if (status == RP_OK)
        status = read_profile(config);
    if (status == RP_OK)
        status = refuse_unsupported(config, message, message_size);
    return status == RP_OK ? read_output(config) : status;
}
