/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/contract.h"

#include "tracker/contract_reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------ */

enum rp_status rp_policy_parse(const char *text, enum rp_policy *policy)
{
    for (size_t i = 0; rp_policy_words[i] != NULL; i++) {
        if (strcmp(rp_policy_words[i], text) == 0) {
            *policy = (enum rp_policy)i;
            return RP_OK;
        }
    }
    return RP_INVALID;
}

const char *rp_policy_name(enum rp_policy policy)
{
    return policy == RP_POLICY_PLAN ? "plan" : rp_policy_words[policy];
}

/* ---- reading ---------------------------------------------------------------------- */

static bool read_policy(struct rp_reading *r, json_t *root)
{
    struct rp_contract *c = r->contract;
    const char *policy = rp_json_text(root, "policy");
    char word[RP_READING_QUOTE];

    if (policy == NULL || rp_policy_parse(policy, &c->policy) == RP_OK)
        return true;
    size_t length = strlen(policy);
    if (strchr(policy, '/') != NULL || (length > 5 && strcmp(policy + length - 5, ".json") == 0)) {
        c->policy = RP_POLICY_PLAN;
        c->plan_path = rp_reading_copy(r, policy);
        return true;
    }
    rp_text_escape(word, sizeof(word), policy, length);
    const char *nearest = rp_nearest(policy, rp_policy_words, RP_POLICY_PLAN);
    if (nearest != NULL)
        return rp_json_wrong_value(&r->json, root, "policy",
                                   "\"policy\" can't be \"%s\"; did you mean \"%s\"?", word,
                                   nearest);
    return rp_json_wrong_value(&r->json, root, "policy",
                               "\"policy\" can't be \"%s\"; it is \"joint\", \"whole\", "
                               "\"regions\", \"retain\" or the path of a plan, with a \"/\" in "
                               "it or \".json\" at its end",
                               word);
}

/* Under `declared`, what is called harmless must be a declared buffer, or a member of a
 * declared family: name[3]. */
static bool is_declared(json_t *buffers, const char *name)
{
    const char *bracket = strrchr(name, '[');
    size_t length = strlen(name);
    bool member = bracket != NULL && bracket[1] != '\0' &&
                  bracket[1 + strspn(bracket + 1, "0123456789")] == ']' && name[length - 1] == ']';

    return json_object_get(buffers, name) != NULL ||
           (member && json_object_getn(buffers, name, (size_t)(bracket - name)) != NULL);
}

static bool read_harmless(struct rp_reading *r, json_t *list, json_t *buffers)
{
    struct rp_contract *c = r->contract;
    char word[RP_READING_QUOTE];

    c->harmless = rp_reading_room(r, list, sizeof(*c->harmless), &c->harmless_count);
    for (size_t i = 0; i < c->harmless_count; i++) {
        if (!rp_json_check_text(&r->json, list, i))
            return false;
        const char *name = json_string_value(json_array_get(list, i));
        if (c->state == RP_STATE_DECLARED && !is_declared(buffers, name))
            return rp_json_wrong_item(&r->json, list, i,
                                      "no buffer is called \"%s\"; declare it in \"buffers\"",
                                      rp_text_escape(word, sizeof(word), name, strlen(name)));
        c->harmless[i] = rp_reading_copy(r, name);
    }
    return true;
}

static bool read_step(struct rp_reading *r, json_t *step)
{
    if (step == NULL)
        return true;
    if (!rp_reading_check(r, step, RP_CONTRACT_STEP))
        return false;
    r->contract->step_nvtx = rp_reading_text(r, step, "nvtx");
    return true;
}

/* Looked at before all else: a newer contract may have keys that this build doesn't know. */
static bool read_version(struct rp_reading *r, json_t *root)
{
    uint64_t version = rp_json_count(root, "version", 1);

    return version == 1 ||
           rp_json_wrong_value(
               &r->json, root, "version", "this build reads version 1 of the contract, not %llu%s",
               (unsigned long long)version, version > 1 ? "; a newer reprise may" : "");
}

static bool read_scalars(struct rp_reading *r, json_t *root)
{
    struct rp_contract *c = r->contract;

    c->state = (enum rp_state_rule)rp_json_word(root, "state", rp_state_words, RP_STATE_DECLARED);
    c->on_violation = (enum rp_on_violation)rp_json_word(root, "on_violation", rp_violation_words,
                                                         RP_VIOLATION_STOP);
    c->policy = RP_POLICY_REGIONS;
    c->has_budget = json_object_get(root, "budget") != NULL;
    c->budget = rp_json_size(root, "budget", 0);
    c->trust_ptx = rp_json_flag(root, "trust_ptx", false);
    c->assume_in_bounds = rp_json_flag(root, "assume_in_bounds", true);
    return rp_reading_at_least_one(r, root, "budget", "") && read_policy(r, root) &&
           read_step(r, json_object_get(root, "step"));
}

static bool read_root(struct rp_reading *r)
{
    json_t *root = r->json.root, *segments = json_object(), *buffers = json_object();

    r->no_memory = segments == NULL || buffers == NULL;
    bool good = read_version(r, root) && rp_reading_check(r, root, RP_CONTRACT_ROOT) &&
                read_scalars(r, root) &&
                rp_reading_segments(r, json_object_get(root, "segments"), segments) &&
                rp_reading_buffers(r, json_object_get(root, "buffers"), buffers) &&
                read_harmless(r, json_object_get(root, "harmless"), buffers);
    json_decref(segments);
    json_decref(buffers);
    return good;
}

/* ---- outside ---------------------------------------------------------------------- */

static enum rp_status read_document(struct rp_reading *r, struct rp_contract **out)
{
    enum rp_status status = RP_OK;

    r->contract = calloc(1, sizeof(*r->contract));
    r->no_memory = r->contract == NULL;
    if (!r->no_memory && !read_root(r))
        status = RP_INVALID;
    if (r->no_memory) {
        snprintf(r->json.message, r->json.message_size, "%s: out of memory", r->json.label);
        status = RP_NO_MEMORY;
    }
    rp_json_release(&r->json);
    if (status == RP_OK)
        *out = r->contract;
    else
        rp_contract_destroy(r->contract);
    return status;
}

enum rp_status rp_contract_load(const char *path, struct rp_contract **out, char *message,
                                size_t message_size)
{
    struct rp_reading r = {.contract = NULL};
    enum rp_status status = rp_json_load(&r.json, path, message, message_size);

    *out = NULL;
    return status == RP_OK ? read_document(&r, out) : status;
}

enum rp_status rp_contract_parse(const char *text, size_t length, const char *label,
                                 struct rp_contract **out, char *message, size_t message_size)
{
    struct rp_reading r = {.contract = NULL};
    enum rp_status status = rp_json_parse(&r.json, text, length, label, message, message_size);

    *out = NULL;
    return status == RP_OK ? read_document(&r, out) : status;
}

static void where_release(struct rp_where *where)
{
    free(where->nvtx);
    free(where->first);
    free(where->last);
}

void rp_contract_destroy(struct rp_contract *contract)
{
    if (contract == NULL)
        return;
    for (size_t i = 0; i < contract->segment_count; i++) {
        free(contract->segments[i].name);
        where_release(&contract->segments[i].forward);
        where_release(&contract->segments[i].replay);
    }
    for (size_t i = 0; i < contract->buffer_count; i++) {
        free(contract->buffers[i].name);
        free(contract->buffers[i].at.kernel);
        free(contract->buffers[i].at.symbol);
    }
    for (size_t i = 0; i < contract->harmless_count; i++)
        free(contract->harmless[i]);
    free(contract->segments);
    free(contract->buffers);
    free(contract->harmless);
    free(contract->plan_path);
    free(contract->step_nvtx);
    free(contract);
}
