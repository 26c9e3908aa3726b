/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for segments and buffers. */
#include "tracker/contract_reading.h"

#include <string.h>

enum { MOST_REPLAYS = 1000000 };

/* ---- segments --------------------------------------------------------------------- */

static bool read_launches(struct rp_reading *r, json_t *launches, struct rp_where *where)
{
    if (!rp_reading_check(r, launches, RP_CONTRACT_LAUNCHES))
        return false;
    where->kind = RP_WHERE_LAUNCHES;
    where->first = rp_reading_text(r, launches, "first");
    where->last = rp_reading_text(r, launches, "last");
    where->has_first_nth = json_object_get(launches, "nth") != NULL;
    where->first_nth = rp_json_count(launches, "nth", 0);
    return true;
}

/* `object` is the checked value behind `key`, "forward" or "replay"; NULL when left out. */
static bool read_where(struct rp_reading *r, json_t *object, const char *key,
                       struct rp_where *where)
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
    where->nvtx = rp_reading_text(r, object, "nvtx");
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

static bool check_pairing(struct rp_reading *r, json_t *item, json_t *forward, json_t *replay)
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

static bool read_segment(struct rp_reading *r, json_t *item, struct rp_segment_rule *segment)
{
    json_t *forward = json_object_get(item, "forward"), *replay = json_object_get(item, "replay");

    if (json_object_get(forward, "repeat") != NULL)
        return rp_json_wrong_key(&r->json, forward, "repeat",
                                 "a \"forward\" can't be a repetition; \"repeat\" belongs to "
                                 "\"replay\"");
    if ((forward != NULL && !rp_reading_check(r, forward, RP_CONTRACT_FORWARD)) ||
        (replay != NULL && !rp_reading_check(r, replay, RP_CONTRACT_REPLAY)))
        return false;
    segment->name = rp_reading_text(r, item, "name");
    segment->pair = (enum rp_pair)rp_json_word(item, "pair", rp_pair_words, RP_PAIR_LIFO);
    segment->replays = (uint32_t)rp_json_count(item, "replays", 1);
    if (rp_json_count(item, "replays", 1) > MOST_REPLAYS)
        return rp_json_wrong_value(&r->json, item, "replays", "\"replays\" can't be more than %d",
                                   MOST_REPLAYS);
    return rp_reading_at_least_one(r, item, "replays", "; without replays, leave \"replay\" out") &&
           read_where(r, forward, "forward", &segment->forward) &&
           read_where(r, replay, "replay", &segment->replay) &&
           check_pairing(r, item, forward, replay);
}

bool rp_reading_segments(struct rp_reading *r, json_t *list, json_t *seen)
{
    struct rp_contract *c = r->contract;

    c->segments = rp_reading_room(r, list, sizeof(*c->segments), &c->segment_count);
    for (size_t i = 0; i < c->segment_count; i++) {
        json_t *item = json_array_get(list, i);
        if (!rp_reading_check_item(r, list, i, RP_CONTRACT_SEGMENT) ||
            !rp_reading_name_is_new(r, item, seen, "segment") ||
            !read_segment(r, item, &c->segments[i]))
            return false;
    }
    return true;
}

/* ---- buffers ---------------------------------------------------------------------- */

static bool read_kernel(struct rp_reading *r, json_t *at, struct rp_locator *locator)
{
    if (json_object_get(at, "param") == NULL)
        return rp_json_wrong(&r->json, at,
                             "\"kernel\" needs \"param\", the position of the pointer among the "
                             "kernel's parameters, from 0");
    if (rp_json_count(at, "param", 0) > UINT32_MAX)
        return rp_json_wrong_value(&r->json, at, "param", "\"param\" is too large");
    locator->kind = RP_AT_KERNEL;
    locator->kernel = rp_reading_text(r, at, "kernel");
    locator->param = (uint32_t)rp_json_count(at, "param", 0);
    locator->has_field = json_object_get(at, "field") != NULL;
    locator->field = rp_json_size(at, "field", 0);
    return true;
}

static bool read_allocation(struct rp_reading *r, json_t *allocation, struct rp_locator *locator)
{
    if (!rp_reading_check(r, allocation, RP_CONTRACT_ALLOCATION) ||
        !rp_reading_at_least_one(r, allocation, "bytes", ""))
        return false;
    locator->kind = RP_AT_ALLOCATION;
    locator->bytes = rp_json_size(allocation, "bytes", 0);
    locator->has_nth = json_object_get(allocation, "nth") != NULL;
    locator->nth = rp_json_count(allocation, "nth", 0);
    return true;
}

static bool read_locator(struct rp_reading *r, json_t *at, struct rp_locator *locator)
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
    locator->symbol = rp_reading_text(r, at, form);
    return true;
}

static bool read_buffer(struct rp_reading *r, json_t *item, struct rp_buffer_rule *buffer)
{
    json_t *at = json_object_get(item, "at");

    if (!rp_reading_at_least_one(r, item, "bytes", "; leave it out to mean the whole rest") ||
        !rp_reading_check(r, at, RP_CONTRACT_AT))
        return false;
    buffer->name = rp_reading_text(r, item, "name");
    buffer->offset = rp_json_size(item, "offset", 0);
    buffer->has_bytes = json_object_get(item, "bytes") != NULL;
    buffer->bytes = rp_json_size(item, "bytes", 0);
    return read_locator(r, at, &buffer->at);
}

bool rp_reading_buffers(struct rp_reading *r, json_t *list, json_t *seen)
{
    struct rp_contract *c = r->contract;

    c->buffers = rp_reading_room(r, list, sizeof(*c->buffers), &c->buffer_count);
    for (size_t i = 0; i < c->buffer_count; i++) {
        json_t *item = json_array_get(list, i);
        if (!rp_reading_check_item(r, list, i, RP_CONTRACT_BUFFER) ||
            !rp_reading_name_is_new(r, item, seen, "buffer") ||
            !read_buffer(r, item, &c->buffers[i]))
            return false;
    }
    return true;
}
