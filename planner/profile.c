/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/profile_inside.h"

#include "planner/copy.h"
#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

/* ---- building ----------------------------------------------------------------- */

enum rp_status rp_profile_create(struct rp_profile **out)
{
    *out = calloc(1, sizeof(**out));
    if (*out == NULL)
        return RP_NO_MEMORY;
    (*out)->quantum = 1;
    return RP_OK;
}

/* The profile owns what these point to; to readers it is constant. */
static void free_owned(const void *owned)
{
    free((void *)(uintptr_t)owned);
}

static void release_facts(struct rp_facts *facts)
{
    free_owned(facts->reads);
    free_owned(facts->writes);
    free_owned(facts->backward_writes);
    free_owned(facts->no_replay);
}

static void release_purpose(struct rp_purpose *purpose)
{
    free_owned(purpose->job);
    free_owned(purpose->device);
    free_owned(purpose->contract);
}

static void release_costs(const struct rp_cost costs[RP_CHOICE_COUNT])
{
    for (int c = 0; c < RP_CHOICE_COUNT; c++) {
        free(costs[c].masked);
        free_owned(costs[c].later);
    }
}

void rp_profile_destroy(struct rp_profile *profile)
{
    if (profile == NULL)
        return;
    for (size_t i = 0; i < profile->buffer_count; i++)
        free(profile->buffers[i].name);
    for (size_t k = 0; k < profile->count; k++) {
        free(profile->segments[k].name);
        release_costs(profile->segments[k].costs);
        if (profile->facts != NULL)
            release_facts(&profile->facts[k]);
    }
    release_purpose(&profile->purpose);
    free(profile->buffers);
    free(profile->segments);
    free(profile->facts);
    free(profile->departure);
    free(profile->no_facts);
    free(profile);
}

void rp_profile_set_base(struct rp_profile *profile, uint64_t bytes)
{
    profile->base = bytes;
}

void rp_profile_set_least(struct rp_profile *profile, uint64_t bytes)
{
    profile->least = bytes;
}

void rp_profile_set_quantum(struct rp_profile *profile, uint64_t bytes)
{
    profile->quantum = bytes;
}

void rp_profile_set_copy_price(struct rp_profile *profile, const struct rp_copy_price *price)
{
    profile->price = *price;
}

/* NULL copies to NULL. */
enum rp_status rp_profile_set_purpose(struct rp_profile *profile,
                                      const struct rp_purpose *purpose)
{
    char *job = NULL, *device = NULL, *contract = NULL;
    bool copied = rp_copy_text(purpose->job, &job) && rp_copy_text(purpose->device, &device) &&
                  rp_copy_text(purpose->contract, &contract);
    struct rp_purpose copy = {job, device, contract};

    if (!copied) {
        release_purpose(&copy);
        return RP_NO_MEMORY;
    }
    release_purpose(&profile->purpose);
    profile->purpose = copy;
    return RP_OK;
}

static enum rp_status set_text(char **to, const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL)
        return RP_NO_MEMORY;
    free(*to);
    *to = copy;
    return RP_OK;
}

enum rp_status rp_profile_set_departure(struct rp_profile *profile, const char *reason)
{
    return set_text(&profile->departure, reason);
}

enum rp_status rp_profile_set_no_facts(struct rp_profile *profile, const char *reason)
{
    return set_text(&profile->no_facts, reason);
}

enum rp_status rp_profile_add_buffer(struct rp_profile *profile, const char *name,
                                     uint64_t bytes)
{
    struct rp_buffer *buffers = rp_array_reserve(profile->buffers, &profile->buffer_capacity,
                                                 profile->buffer_count + 1, sizeof(*buffers));
    char *copy = strdup(name);

    if (buffers != NULL)
        profile->buffers = buffers;
    if (buffers == NULL || copy == NULL) {
        free(copy);
        return RP_NO_MEMORY;
    }
    profile->buffers[profile->buffer_count++] = (struct rp_buffer){copy, bytes};
    return RP_OK;
}

/* Appends a segment without costs. */
static enum rp_status add_segment(struct rp_profile *profile, const char *name)
{
    struct rp_segment *segments = rp_array_reserve(profile->segments, &profile->capacity,
                                                   profile->count + 1, sizeof(*segments));
    char *copy = strdup(name);

    if (segments != NULL)
        profile->segments = segments;
    if (segments == NULL || copy == NULL) {
        free(copy);
        return RP_NO_MEMORY;
    }
    profile->segments[profile->count++] = (struct rp_segment){.name = copy};
    return RP_OK;
}

static bool copy_ranges(const struct rp_buffer_range *from, size_t count,
                        const struct rp_buffer_range **to)
{
    struct rp_buffer_range *copy = malloc((count + 1) * sizeof(*copy));

    if (copy != NULL && count > 0)
        memcpy(copy, from, count * sizeof(*copy));
    *to = copy;
    return copy != NULL;
}

enum rp_status rp_profile_add_facts(struct rp_profile *profile, const char *name,
                                    const struct rp_facts *facts)
{
    struct rp_facts *all = rp_array_reserve(profile->facts, &profile->facts_capacity,
                                            profile->count + 1, sizeof(*all));
    struct rp_facts copy = *facts;
    char *no_replay = NULL;

    if (all == NULL)
        return RP_NO_MEMORY;
    profile->facts = all;
    copy.reads = copy.writes = copy.backward_writes = NULL;
    bool copied = rp_copy_text(facts->no_replay, &no_replay) &&
                  copy_ranges(facts->reads, facts->read_count, &copy.reads) &&
                  copy_ranges(facts->writes, facts->write_count, &copy.writes) &&
                  copy_ranges(facts->backward_writes, facts->backward_write_count,
                              &copy.backward_writes);
    copy.no_replay = no_replay;
    if (!copied || add_segment(profile, name) != RP_OK) {
        release_facts(&copy);
        return RP_NO_MEMORY;
    }
    profile->facts[profile->count - 1] = copy;
    return RP_OK;
}

static bool copy_later(const struct rp_cost *from, struct rp_cost *to)
{
    struct rp_later *copy = NULL;

    if (from->later_count > 0) {
        copy = malloc(from->later_count * sizeof(*copy));
        if (copy != NULL)
            memcpy(copy, from->later, from->later_count * sizeof(*copy));
    }
    to->later = copy;
    to->later_count = copy != NULL ? from->later_count : 0;
    return to->later_count == from->later_count;
}

static enum rp_status set_costs(struct rp_profile *profile,
                                const struct rp_cost costs[RP_CHOICE_COUNT])
{
    struct rp_segment *segment = &profile->segments[profile->count - 1];
    bool good = true;

    profile->has_rows = true;
    for (int c = 0; c < RP_CHOICE_COUNT && good; c++) {
        struct rp_cost *cost = &segment->costs[c];
        *cost = costs[c];
        cost->later = NULL;
        good = rp_copy_text(costs[c].masked, &cost->masked) && copy_later(&costs[c], cost);
        profile->has_later |= cost->later_count > 0;
    }
    return good ? RP_OK : RP_NO_MEMORY;
}

enum rp_status rp_profile_add_row(struct rp_profile *profile, const char *name,
                                  const struct rp_cost costs[RP_CHOICE_COUNT])
{
    enum rp_status status = add_segment(profile, name);

    return status == RP_OK ? set_costs(profile, costs) : status;
}

enum rp_status rp_profile_add_both(struct rp_profile *profile, const char *name,
                                   const struct rp_cost costs[RP_CHOICE_COUNT],
                                   const struct rp_facts *facts)
{
    enum rp_status status = rp_profile_add_facts(profile, name, facts);

    return status == RP_OK ? set_costs(profile, costs) : status;
}

/* ---- reading ------------------------------------------------------------------ */

size_t rp_profile_culprit(const struct rp_profile *profile)
{
    return profile->culprit;
}

size_t rp_profile_count(const struct rp_profile *profile)
{
    return profile->count;
}

const struct rp_segment *rp_profile_segment(const struct rp_profile *profile, size_t index)
{
    return &profile->segments[index];
}

uint64_t rp_profile_base(const struct rp_profile *profile)
{
    return profile->base;
}

uint64_t rp_profile_quantum(const struct rp_profile *profile)
{
    return profile->quantum;
}

uint64_t rp_profile_least(const struct rp_profile *profile)
{
    return profile->least;
}

const struct rp_copy_price *rp_profile_copy_price(const struct rp_profile *profile)
{
    return &profile->price;
}

const struct rp_purpose *rp_profile_purpose(const struct rp_profile *profile)
{
    return &profile->purpose;
}

const char *rp_profile_departure(const struct rp_profile *profile)
{
    return profile->departure;
}

const char *rp_profile_no_facts(const struct rp_profile *profile)
{
    return profile->no_facts;
}

bool rp_profile_has_rows(const struct rp_profile *profile)
{
    return profile->has_rows;
}

bool rp_profile_has_later(const struct rp_profile *profile)
{
    return profile->has_later;
}

const struct rp_facts *rp_profile_facts(const struct rp_profile *profile, size_t index)
{
    return profile->facts != NULL ? &profile->facts[index] : NULL;
}

const struct rp_buffer *rp_profile_buffers(const struct rp_profile *profile, size_t *count)
{
    *count = profile->buffer_count;
    return profile->buffers;
}

uint64_t rp_profile_fingerprint(const struct rp_profile *profile)
{
    uint64_t hash = rp_fingerprint_begin();

    for (size_t k = 0; k < profile->count; k++)
        hash = rp_fingerprint_add(hash, profile->segments[k].name);
    return hash;
}

/* FNV-1a, the names' ends included. */
uint64_t rp_fingerprint_begin(void)
{
    return UINT64_C(0xCBF29CE484222325);
}

uint64_t rp_fingerprint_add(uint64_t hash, const char *name)
{
    do
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001B3);
    while (*name++ != '\0');
    return hash;
}

/* ---- words -------------------------------------------------------------------- */

const char *rp_choice_name(enum rp_choice choice)
{
    static const char *const names[RP_CHOICE_COUNT] = {"retain", "whole", "regions"};

    return names[choice];
}

const char *rp_source_name(enum rp_source source)
{
    static const char *const names[] = {"absent",  "measured",    "derived",
                                         "stated",  "counted",     "cuda-events",
                                         "model-clock", "cupti"};

    return names[source];
}

const char *rp_term_name(enum rp_term term)
{
    static const char *const names[RP_TERM_COUNT] = {
        [RP_TERM_HOLD] = "hold_bytes",
        [RP_TERM_STASH] = "stash_bytes",
        [RP_TERM_PEAK_FORWARD] = "peak_forward_bytes",
        [RP_TERM_PEAK_BACKWARD] = "peak_backward_bytes",
        [RP_TERM_FORWARD_TIME] = "forward_ns",
        [RP_TERM_BACKWARD_TIME] = "backward_ns",
        [RP_TERM_PRESERVE_TIME] = "preserve_ns",
        [RP_TERM_STASH_TIME] = "stash_ns",
        [RP_TERM_RESTORE_TIME] = "restore_ns",
        [RP_TERM_REPLAY_TIME] = "replay_ns",
        [RP_TERM_REINSTATE_TIME] = "reinstate_ns",
        [RP_TERM_TRACKING_TIME] = "tracking_ns",
    };

    return names[term];
}
