/* SPDX-License-Identifier: Apache-2.0 */
/* Closing a profile: nothing absent, nothing that leaves 63 bits, nothing that says two things. */
#include "planner/profile_inside.h"

#include "planner/derive.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static enum rp_status
refuse(char *message, size_t message_size, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, message_size, format, arguments);
    va_end(arguments);
    return RP_INVALID;
}

/* In order of time, between the segment's own forward and backward, and part of what is held. */
static enum rp_status check_later(const struct rp_profile *profile, size_t k,
                                  enum rp_choice choice, char *message, size_t message_size)
{
    const struct rp_cost *cost = &profile->segments[k].costs[choice];
    const char *option = rp_choice_name(choice), *name = profile->segments[k].name;
    uint64_t rest = cost->hold;
    size_t last = k;

    if (cost->later_count > 0 && !cost->has_terms)
        return refuse(message, message_size,
                      "segment '%s', option %s: what is held later stands beside terms only", name,
                      option);
    for (size_t i = 0; i < cost->later_count; i++) {
        const struct rp_later *later = &cost->later[i];
        if (later->segment <= k || later->segment >= profile->count)
            return refuse(message, message_size,
                          "segment '%s', option %s: what is held later begins in a pass of a "
                          "segment after it, %zu to %zu, and segment %u is none",
                          name, option, k + 1, profile->count - 1, later->segment);
        size_t event = rp_later_event(later, profile->count);
        if (event <= last)
            return refuse(message, message_size,
                          "segment '%s', option %s: what is held later is not in order of time",
                          name, option);
        last = event;
        if (later->bytes > rest)
            return refuse(message, message_size,
                          "segment '%s', option %s: more is held later than is held in all, %llu "
                          "bytes",
                          name, option, (unsigned long long)cost->hold);
        rest -= later->bytes;
    }
    return RP_OK;
}

static enum rp_status check_cost(const struct rp_segment *segment, enum rp_choice choice,
                                 struct rp_cost *cost, char *message, size_t message_size)
{
    const char *option = rp_choice_name(choice), *name = segment->name;

    if (!cost->allowed)
        return RP_OK;
    for (int t = 0; cost->has_terms && t < RP_TERM_COUNT; t++) {
        if (cost->terms[t].source == RP_SOURCE_ABSENT)
            return refuse(message, message_size,
                          "segment '%s', option %s: %s is absent; measure it or leave the option "
                          "out",
                          name, option, rp_term_name((enum rp_term)t));
    }
    if ((cost->has_terms && rp_cost_sum(cost) != RP_OK) || cost->hold > INT64_MAX ||
        cost->peak > INT64_MAX || cost->time > INT64_MAX)
        return refuse(message, message_size, "segment '%s', option %s: a figure leaves 63 bits",
                      name, option);
    if (cost->peak < cost->hold)
        return refuse(message, message_size,
                      "segment '%s', option %s: the peak of %llu bytes is smaller than what is "
                      "held, %llu bytes",
                      name, option, (unsigned long long)cost->peak,
                      (unsigned long long)cost->hold);
    return RP_OK;
}

struct most {
    uint64_t bytes, time;
};

static void raise(struct most *most, const struct rp_cost *cost)
{
    if (cost->allowed && cost->peak > most->bytes)
        most->bytes = cost->peak;
    if (cost->allowed && cost->time > most->time)
        most->time = cost->time;
}

/* No plan's sum, and no sum on the way to one, may leave 63 bits; the largest number of 63 bits
 * itself stands for "none" in the searches. */
static enum rp_status check_sums(struct rp_profile *profile, const struct rp_segment *derived,
                                 char *message, size_t message_size)
{
    uint64_t bytes = profile->base, time = 0;
    bool overflows = bytes >= INT64_MAX;

    for (size_t k = 0; k < profile->count && !overflows; k++) {
        profile->culprit = k;
        struct most most = {0, 0};
        for (int c = 0; c < RP_CHOICE_COUNT; c++)
            raise(&most, &profile->segments[k].costs[c]);
        if (derived != NULL && profile->segments[k].costs[RP_CHOICE_REGIONS].allowed)
            raise(&most, &derived[k].costs[RP_CHOICE_REGIONS]);
        bytes += most.bytes; /* both terms were below 2^63 */
        time += most.time;
        overflows = bytes >= INT64_MAX || time >= INT64_MAX;
        if (overflows)
            return refuse(message, message_size,
                          "segment '%s': the %s of all segments up to here leave 63 bits",
                          profile->segments[k].name, bytes >= INT64_MAX ? "bytes" : "times");
    }
    profile->culprit = profile->count;
    if (overflows)
        return refuse(message, message_size, "the base leaves 63 bits");
    return RP_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t last_called(const struct rp_profile *profile, const char *name)
{
    size_t k = profile->count - 1;

    while (strcmp(profile->segments[k].name, name) != 0)
        k--;
    return k;
}

/* A plan tells segments apart by their names. */
static enum rp_status check_names(struct rp_profile *profile, char *message,
                                  size_t message_size)
{
    const char **names = calloc(profile->count + 1, sizeof(*names));
    enum rp_status status = names != NULL ? RP_OK : RP_NO_MEMORY;

    for (size_t k = 0; k < profile->count && names != NULL; k++)
        names[k] = profile->segments[k].name;
    if (names != NULL)
        qsort(names, profile->count, sizeof(*names), compare_names);
    for (size_t k = 1; k < profile->count && status == RP_OK; k++) {
        if (strcmp(names[k - 1], names[k]) != 0)
            continue;
        profile->culprit = last_called(profile, names[k]);
        status = refuse(message, message_size, "two segments are called '%s'", names[k]);
    }
    free(names);
    return status;
}

static enum rp_status check_segment(struct rp_profile *profile, size_t k, char *message,
                                    size_t message_size)
{
    struct rp_segment *segment = &profile->segments[k];
    enum rp_status status = RP_OK;
    bool has_option = false;

    profile->culprit = k;

    for (int c = 0; c < RP_CHOICE_COUNT && status == RP_OK; c++) {
        status = check_cost(segment, (enum rp_choice)c, &segment->costs[c], message,
                            message_size);
        if (status == RP_OK)
            status = check_later(profile, k, (enum rp_choice)c, message, message_size);
        has_option |= segment->costs[c].allowed;
    }
    if (status == RP_OK && !has_option)
        status = refuse(message, message_size, "segment '%s' has no option", segment->name);
    return status;
}

/* ---- facts -------------------------------------------------------------------- */

/* Models other than nested tell a forward's peak from a backward's, and take the price of a replay
 * from the facts. */
static enum rp_status check_beside(const struct rp_segment *segment, enum rp_choice choice,
                                   const struct rp_facts *facts, char *message,
                                   size_t message_size)
{
    const struct rp_cost *cost = &segment->costs[choice];

    if (cost->allowed && !cost->has_terms)
        return refuse(message, message_size,
                      "segment '%s', option %s: beside \"facts\" an option needs its terms",
                      segment->name, rp_choice_name(choice));
    if (cost->allowed && choice != RP_CHOICE_RETAIN && facts->no_replay != NULL)
        return refuse(message, message_size,
                      "segment '%s', option %s: the facts beside it say that the segment can't be "
                      "replayed: %s",
                      segment->name, rp_choice_name(choice), facts->no_replay);
    return RP_OK;
}

static enum rp_status check_options(struct rp_profile *profile, char *message,
                                    size_t message_size)
{
    enum rp_status status = RP_OK;

    for (size_t k = 0; k < profile->count; k++)
        for (int c = 0; c < RP_CHOICE_COUNT && status == RP_OK; c++) {
            profile->culprit = k;
            status = check_beside(&profile->segments[k], (enum rp_choice)c, &profile->facts[k],
                                  message, message_size);
        }
    return status;
}

static void release_derived(struct rp_segment *derived, size_t count)
{
    for (size_t k = 0; derived != NULL && k < count; k++)
        for (int c = 0; c < RP_CHOICE_COUNT; c++)
            free(derived[k].costs[c].masked);
    free(derived);
}

/* What the facts say of the options goes into the segments, or, where these have options of their
 * own, into *beside, which the caller releases. */
static enum rp_status derive(struct rp_profile *profile, struct rp_segment **beside,
                             char *message, size_t message_size)
{
    enum rp_status status = RP_OK;

    if (profile->has_rows) {
        *beside = calloc(profile->count + 1, sizeof(**beside));
        status = *beside != NULL ? check_options(profile, message, message_size) : RP_NO_MEMORY;
    }
    if (status != RP_OK)
        return status;
    return rp_derive_costs(profile, &profile->price,
                           profile->has_rows ? *beside : profile->segments, &profile->culprit,
                           message, message_size);
}

/* ---- all ---------------------------------------------------------------------- */

static enum rp_status check_head(const struct rp_profile *profile, char *message,
                                 size_t message_size)
{
    const struct rp_measure *rate = &profile->price.bytes_per_us;

    if (profile->count > RP_PROFILE_MAX_SEGMENTS)
        return refuse(message, message_size, "%zu segments are more than the %d that are planned",
                      profile->count, RP_PROFILE_MAX_SEGMENTS);
    if (profile->quantum == 0)
        return refuse(message, message_size, "the quantum is 0 bytes");
    if (rate->source != RP_SOURCE_ABSENT && rate->value == 0)
        return refuse(message, message_size, "the price of a copy: 0 bytes per microsecond");
    return RP_OK;
}

enum rp_status rp_profile_close(struct rp_profile *profile, char *message, size_t message_size)
{
    struct rp_segment *beside = NULL;

    profile->culprit = profile->count;
    enum rp_status status = check_head(profile, message, message_size);
    if (status == RP_OK && profile->facts != NULL)
        status = derive(profile, &beside, message, message_size);
    if (status == RP_OK)
        status = check_names(profile, message, message_size);
    for (size_t k = 0; k < profile->count && status == RP_OK; k++)
        status = check_segment(profile, k, message, message_size);
    if (status == RP_OK)
        status = check_sums(profile, beside, message, message_size);
    if (status == RP_NO_MEMORY)
        snprintf(message, message_size, "%s", rp_status_text(status));
    release_derived(beside, profile->count);
    return status;
}
