/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/contract.h"

#include "tracker/contract_shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REPLAYS = 1000000 };
#define QUOTE_SIZE 48 /* how much of the user's own text a message repeats */

/* What the functions below share. Each returns false when the contract is wrong: then the
 * message is written. Running out of memory is only noted, and looked at once at the end. */
struct reading {
    struct rp_json json;
    struct rp_contract *contract;
    bool no_memory;
};

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

const char *rp_pair_name(enum rp_pair pair)
{
    return rp_pair_words[pair];
}

/* ---- copying out of the document -------------------------------------------------- */

static char *copy(struct reading *r, const char *text)
{
    char *copied = text != NULL ? strdup(text) : NULL;

    if (text != NULL && copied == NULL)
        r->no_memory = true;
    return copied;
}

static char *copy_text(struct reading *r, json_t *object, const char *key)
{
    return copy(r, rp_json_text(object, key));
}

/* Zeroed room for as many items as a list has; NULL with *count 0 for none. */
static void *room_for(struct reading *r, json_t *list, size_t size, size_t *count)
{
    void *items = json_array_size(list) > 0 ? calloc(json_array_size(list), size) : NULL;

    *count = items != NULL ? json_array_size(list) : 0;
    if (items == NULL && json_array_size(list) > 0)
        r->no_memory = true;
    return items;
}

static bool check(struct reading *r, json_t *object, enum rp_contract_object shape)
{
    return rp_json_check(&r->json, object, &rp_contract_shapes[shape]);
}

static bool check_item(struct reading *r, json_t *list, size_t i, enum rp_contract_object shape)
{
    return rp_json_check_item(&r->json, list, i, &rp_contract_shapes[shape]);
}

static bool at_least_one(struct reading *r, json_t *object, const char *key, const char *advice)
{
    if (rp_json_size(object, key, 1) > 0)
        return true;
    return rp_json_wrong_value(&r->json, object, key, "\"%s\" must be at least 1%s", key, advice);
}

/* True when no earlier item of the list has this name; `seen` collects the names. */
static bool name_is_new(struct reading *r, json_t *item, json_t *seen, const char *what)
{
    const char *name = rp_json_text(item, "name");
    char word[QUOTE_SIZE];

    if (json_object_get(seen, name) != NULL)
        return rp_json_wrong_value(&r->json, item, "name",
                                   "a %s called \"%s\" is there already; give it another name",
                                   what, rp_text_escape(word, sizeof(word), name, strlen(name)));
    if (json_object_set_new(seen, name, json_true()) != 0)
        r->no_memory = true;
    return true;
}

/* ---- segments --------------------------------------------------------------------- */

static bool read_launches(struct reading *r, json_t *launches, struct rp_where *where)
{
    if (!check(r, launches, RP_CONTRACT_LAUNCHES))
        return false;
    where->kind = RP_WHERE_LAUNCHES;
    where->first = copy_text(r, launches, "first");
    where->last = copy_text(r, launches, "last");
    where->has_first_nth = json_object_get(launches, "nth") != NULL;
    where->first_nth = rp_json_count(launches, "nth", 0);
    return true;
}

/* `object` is the checked value behind `key`, "forward" or "replay"; NULL when left out. */
static bool read_where(struct reading *r, json_t *object, const char *key, struct rp_where *where)
{
    if (object == NULL) {
        where->kind = RP_WHERE_CALLS;
        return true;
    }
    if (json_object_size(object) != 1)
        return rp_json_wrong(&r->json, object,
                             "\"%s\" needs exactly one of \"nvtx\"%s\"launches\"%s", key,
                             strcmp(key, "replay") == 0 ? ", " : " and ",
                             strcmp(key, "replay") == 0 ? " and \"repeat\"" : "");
    json_t *launches = json_object_get(object, "launches");
    if (launches != NULL)
        return read_launches(r, launches, where);
    if (json_object_get(object, "repeat") != NULL) {
        where->kind = RP_WHERE_REPEAT;
        return rp_json_flag(object, "repeat", true) ||
               rp_json_wrong_value(&r->json, object, "repeat",
                                   "\"repeat\" can only be true; without a replay, leave "
                                   "\"replay\" out");
    }
    where->kind = RP_WHERE_NVTX;
    where->nvtx = copy_text(r, object, "nvtx");
    return true;
}

static bool same_text(json_t *a, json_t *b, const char *key)
{
    const char *left = rp_json_text(a, key), *right = rp_json_text(b, key);

    return left != NULL && right != NULL && strcmp(left, right) == 0;
}

static bool same_place(json_t *forward, json_t *replay)
{
    json_t *a = json_object_get(forward, "launches"), *b = json_object_get(replay, "launches");

    if (a == NULL || b == NULL)
        return same_text(forward, replay, "nvtx");
    return same_text(a, b, "first") && same_text(a, b, "last") &&
           rp_json_count(a, "nth", 0) == rp_json_count(b, "nth", 0);
}

/* A side that is given must be a range whose `*` yields the key; what is bracketed by calls
 * brings its key along. */
static bool yields_key(json_t *side)
{
    const char *glob = rp_json_text(side, "nvtx");

    return side == NULL || (glob != NULL && strchr(glob, '*') != NULL);
}

static bool check_pairing(struct reading *r, json_t *item, json_t *forward, json_t *replay)
{
    if (replay != NULL && forward == NULL)
        return rp_json_wrong_key(&r->json, item, "replay",
                                 "\"replay\" needs a \"forward\" beside it; leave both out for "
                                 "a segment that the job marks by calls: reprise_segment_begin "
                                 "or reprise_replay_begin, and reprise_segment_end");
    if (same_place(forward, replay))
        return rp_json_wrong_value(&r->json, item, "replay",
                                   "\"replay\" is found just as \"forward\" is, so the two "
                                   "can't be told apart; say \"replay\": { \"repeat\": true }");
    if (rp_json_word(item, "pair", rp_pair_words, RP_PAIR_LIFO) == RP_PAIR_KEY &&
        !(yields_key(forward) && yields_key(replay)))
        return rp_json_wrong_value(&r->json, item, "pair",
                                   "\"pair\": \"key\" needs \"nvtx\" with a \"*\" in \"forward\" "
                                   "and \"replay\": the key is the text that it matches; "
                                   "say \"lifo\" or \"fifo\" otherwise");
    return true;
}

static bool read_segment(struct reading *r, json_t *item, struct rp_segment_rule *segment)
{
    json_t *forward = json_object_get(item, "forward"), *replay = json_object_get(item, "replay");

    if (json_object_get(forward, "repeat") != NULL)
        return rp_json_wrong_key(&r->json, forward, "repeat",
                                 "a \"forward\" can't be a repetition; \"repeat\" belongs to "
                                 "\"replay\"");
    if ((forward != NULL && !check(r, forward, RP_CONTRACT_FORWARD)) ||
        (replay != NULL && !check(r, replay, RP_CONTRACT_REPLAY)))
        return false;
    segment->name = copy_text(r, item, "name");
    segment->pair = (enum rp_pair)rp_json_word(item, "pair", rp_pair_words, RP_PAIR_LIFO);
    segment->replays = (uint32_t)rp_json_count(item, "replays", 1);
    if (rp_json_count(item, "replays", 1) > MOST_REPLAYS)
        return rp_json_wrong_value(&r->json, item, "replays", "\"replays\" can't be more than %d",
                                   MOST_REPLAYS);
    return at_least_one(r, item, "replays", "; without replays, leave \"replay\" out") &&
           read_where(r, forward, "forward", &segment->forward) &&
           read_where(r, replay, "replay", &segment->replay) &&
           check_pairing(r, item, forward, replay);
}

static bool read_segments(struct reading *r, json_t *list, json_t *seen)
{
    struct rp_contract *c = r->contract;

    c->segments = room_for(r, list, sizeof(*c->segments), &c->segment_count);
    for (size_t i = 0; i < c->segment_count; i++) {
        json_t *item = json_array_get(list, i);
        if (!check_item(r, list, i, RP_CONTRACT_SEGMENT) ||
            !name_is_new(r, item, seen, "segment") || !read_segment(r, item, &c->segments[i]))
            return false;
    }
    return true;
}

/* ---- buffers ---------------------------------------------------------------------- */

static bool read_kernel(struct reading *r, json_t *at, struct rp_locator *locator)
{
    if (json_object_get(at, "param") == NULL)
        return rp_json_wrong(&r->json, at,
                             "\"kernel\" needs \"param\", the position of the pointer among the "
                             "kernel's parameters, from 0");
    if (rp_json_count(at, "param", 0) > UINT32_MAX)
        return rp_json_wrong_value(&r->json, at, "param", "\"param\" is too large");
    locator->kind = RP_AT_KERNEL;
    locator->kernel = copy_text(r, at, "kernel");
    locator->param = (uint32_t)rp_json_count(at, "param", 0);
    locator->has_field = json_object_get(at, "field") != NULL;
    locator->field = rp_json_size(at, "field", 0);
    return true;
}

static bool read_allocation(struct reading *r, json_t *allocation, struct rp_locator *locator)
{
    if (!check(r, allocation, RP_CONTRACT_ALLOCATION) || !at_least_one(r, allocation, "bytes", ""))
        return false;
    locator->kind = RP_AT_ALLOCATION;
    locator->bytes = rp_json_size(allocation, "bytes", 0);
    locator->has_nth = json_object_get(allocation, "nth") != NULL;
    locator->nth = rp_json_count(allocation, "nth", 0);
    return true;
}

static bool read_locator(struct reading *r, json_t *at, struct rp_locator *locator)
{
    static const char *const forms[] = {"kernel", "global", "allocation", "host_symbol"};
    const char *form = NULL;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (json_object_get(at, forms[i]) == NULL)
            continue;
        if (form != NULL)
            return rp_json_wrong_key(&r->json, at, forms[i],
                                     "\"at\" has both \"%s\" and \"%s\"; one place is enough", form,
                                     forms[i]);
        form = forms[i];
    }
    if (form == NULL)
        return rp_json_wrong(&r->json, at,
                             "\"at\" needs one of \"kernel\", \"global\", \"allocation\" and "
                             "\"host_symbol\"");
    if (strcmp(form, "kernel") == 0)
        return read_kernel(r, at, locator);
    for (size_t i = 0; i < 2; i++) {
        const char *key = i == 0 ? "param" : "field";
        if (json_object_get(at, key) != NULL)
            return rp_json_wrong_key(&r->json, at, key,
                                     "\"%s\" belongs to \"kernel\" and means nothing beside "
                                     "\"%s\"",
                                     key, form);
    }
    if (strcmp(form, "allocation") == 0)
        return read_allocation(r, json_object_get(at, "allocation"), locator);
    locator->kind = strcmp(form, "global") == 0 ? RP_AT_GLOBAL : RP_AT_HOST_SYMBOL;
    locator->symbol = copy_text(r, at, form);
    return true;
}

static bool read_buffer(struct reading *r, json_t *item, struct rp_buffer_rule *buffer)
{
    json_t *at = json_object_get(item, "at");

    if (!at_least_one(r, item, "bytes", "; leave it out to mean the whole rest") ||
        !check(r, at, RP_CONTRACT_AT))
        return false;
    buffer->name = copy_text(r, item, "name");
    buffer->offset = rp_json_size(item, "offset", 0);
    buffer->has_bytes = json_object_get(item, "bytes") != NULL;
    buffer->bytes = rp_json_size(item, "bytes", 0);
    return read_locator(r, at, &buffer->at);
}

static bool read_buffers(struct reading *r, json_t *list, json_t *seen)
{
    struct rp_contract *c = r->contract;

    c->buffers = room_for(r, list, sizeof(*c->buffers), &c->buffer_count);
    for (size_t i = 0; i < c->buffer_count; i++) {
        json_t *item = json_array_get(list, i);
        if (!check_item(r, list, i, RP_CONTRACT_BUFFER) || !name_is_new(r, item, seen, "buffer") ||
            !read_buffer(r, item, &c->buffers[i]))
            return false;
    }
    return true;
}

/* ---- the rest of the contract ----------------------------------------------------- */

static bool read_policy(struct reading *r, json_t *root)
{
    struct rp_contract *c = r->contract;
    const char *policy = rp_json_text(root, "policy");
    char word[QUOTE_SIZE];

    if (policy == NULL || rp_policy_parse(policy, &c->policy) == RP_OK)
        return true;
    size_t length = strlen(policy);
    if (strchr(policy, '/') != NULL || (length > 5 && strcmp(policy + length - 5, ".json") == 0)) {
        c->policy = RP_POLICY_PLAN;
        c->plan_path = copy(r, policy);
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

static bool read_harmless(struct reading *r, json_t *list, json_t *buffers)
{
    struct rp_contract *c = r->contract;
    char word[QUOTE_SIZE];

    c->harmless = room_for(r, list, sizeof(*c->harmless), &c->harmless_count);
    for (size_t i = 0; i < c->harmless_count; i++) {
        if (!rp_json_check_text(&r->json, list, i))
            return false;
        const char *name = json_string_value(json_array_get(list, i));
        if (c->state == RP_STATE_DECLARED && !is_declared(buffers, name))
            return rp_json_wrong_item(&r->json, list, i,
                                      "no buffer is called \"%s\"; declare it in \"buffers\"",
                                      rp_text_escape(word, sizeof(word), name, strlen(name)));
        c->harmless[i] = copy(r, name);
    }
    return true;
}

static bool read_step(struct reading *r, json_t *step)
{
    if (step == NULL)
        return true;
    if (!check(r, step, RP_CONTRACT_STEP))
        return false;
    r->contract->step_nvtx = copy_text(r, step, "nvtx");
    return true;
}

/* Looked at before all else: a newer contract may have keys that this build doesn't know. */
static bool read_version(struct reading *r, json_t *root)
{
    uint64_t version = rp_json_count(root, "version", 1);

    return version == 1 ||
           rp_json_wrong_value(
               &r->json, root, "version", "this build reads version 1 of the contract, not %llu%s",
               (unsigned long long)version, version > 1 ? "; a newer reprise may" : "");
}

static bool read_scalars(struct reading *r, json_t *root)
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
    return at_least_one(r, root, "budget", "") && read_policy(r, root) &&
           read_step(r, json_object_get(root, "step"));
}

static bool read_root(struct reading *r)
{
    json_t *root = r->json.root, *segments = json_object(), *buffers = json_object();

    r->no_memory = segments == NULL || buffers == NULL;
    bool good = read_version(r, root) && check(r, root, RP_CONTRACT_ROOT) &&
                read_scalars(r, root) &&
                read_segments(r, json_object_get(root, "segments"), segments) &&
                read_buffers(r, json_object_get(root, "buffers"), buffers) &&
                read_harmless(r, json_object_get(root, "harmless"), buffers);
    json_decref(segments);
    json_decref(buffers);
    return good;
}

/* ---- outside ---------------------------------------------------------------------- */

static enum rp_status read_document(struct reading *r, struct rp_contract **out)
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
    struct reading r = {.contract = NULL};
    enum rp_status status = rp_json_load(&r.json, path, message, message_size);

    *out = NULL;
    return status == RP_OK ? read_document(&r, out) : status;
}

enum rp_status rp_contract_parse(const char *text, size_t length, const char *label,
                                 struct rp_contract **out, char *message, size_t message_size)
{
    struct reading r = {.contract = NULL};
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
