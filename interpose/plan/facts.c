/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/facts.h"

#include "interpose/plan/clock.h"
#include "interpose/run/core.h"

static const char *missing_of_part(const struct rp_part *part)
{
    if (!part->replayed || part->choice == RP_CHOICE_REGIONS)
        return NULL;
    return part->choice == RP_CHOICE_WHOLE
               ? "the steps were run with whole buffers, which does not tell what is clobbered of "
                 "them"
               : "replays were served, and what they would have needed was not kept";
}

static const char *missing_of_step(const struct rp_step_cost *step)
{
    const char *missing = step->notes.incomplete ? "a step preserved more ranges than are noted"
                                                 : NULL;
    for (size_t k = 0; !missing && k < step->count; k++)
        missing = missing_of_part(&step->parts[k]);
    return missing;
}

const char *rp_facts_missing(const struct rp_sample *sample, bool priced)
{
    const char *missing = NULL;
    if (!rp_core_guards())
        return "nothing is preserved but in guard, and so nothing is known of what is clobbered";
    for (size_t i = 0; !missing && i < sample->count; i++)
        missing = missing_of_step(sample->steps[i]);
    return missing || priced ? missing : "no copy was made by which others could be priced";
}

static uint64_t preserved_bytes(const struct rp_step_cost *step)
{
    uint64_t bytes = 0;
    for (size_t k = 0; k < step->count; k++)
        bytes += step->parts[k].state.all.bytes;
    return bytes;
}

const struct rp_notes *rp_facts_notes(const struct rp_sample *sample)
{
    const struct rp_step_cost *most = sample->steps[0];
    for (size_t i = 1; i < sample->count; i++)
        if (preserved_bytes(sample->steps[i]) >= preserved_bytes(most))
            most = sample->steps[i];
    return &most->notes;
}

static struct rp_measure timed(const struct rp_sample *sample, size_t place, enum rp_phase phase)
{
    size_t member = RP_PART(ns) + phase * sizeof(uint64_t);
    return (struct rp_measure){rp_sample_median(sample, place, member), rp_clock_source()};
}

static struct rp_measure derived(uint64_t value)
{
    return (struct rp_measure){value, RP_SOURCE_DERIVED};
}

static uint64_t above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

struct rp_facts rp_facts_of(const struct rp_sample *sample, size_t place, uint64_t base)
{
    uint64_t job[RP_PHASE_COUNT];
    bool replayed = sample->steps[0]->parts[place].replayed;
    for (size_t phase = 0; phase < RP_PHASE_COUNT; phase++)
        job[phase] =
            above(rp_sample_most(sample, place, RP_PART(job) + phase * sizeof(uint64_t)), base);
    return (struct rp_facts){
        .forward_time = timed(sample, place, RP_PHASE_OF_FORWARD),
        .backward_time = timed(sample, place, RP_PHASE_OF_BACKWARD),
        .replay_time = timed(sample, place, RP_PHASE_OF_REPLAY),
        .tracking_time = derived(0), /* it is the host's, beside what the device does */
        .activation = derived(0),
        .forward_workspace = derived(0),
        .backward_workspace =
            derived(above(job[RP_PHASE_OF_BACKWARD], job[RP_PHASE_OF_REPLAY])),
        .forward_base = derived(job[RP_PHASE_OF_FORWARD]),
        .backward_base = derived(job[RP_PHASE_OF_REPLAY]),
        .no_replay = replayed ? NULL : "the job does not replay it",
    };
}
