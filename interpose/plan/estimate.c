/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/estimate.h"

#include "interpose/plan/clock.h"
#include "interpose/plan/cost.h"
#include "interpose/run/core.h"
#include "interpose/run/price.h"
#include "planner/purpose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- over the steps --------------------------------------------------------- */

/* Steps under one plan, with the same chain. Where the chain differs, only the last ones. */
struct sample {
    const struct rp_step_cost *steps[RP_COST_STEPS];
    size_t count;
};

static bool same_chain(const struct rp_step_cost *a, const struct rp_step_cost *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->parts[i].name != b->parts[i].name || a->parts[i].replayed != b->parts[i].replayed)
            return false;
    return true;
}

static struct sample take_sample(void)
{
    struct sample sample = {.count = rp_cost_steps(sample.steps)};
    size_t first = sample.count;
    while (first > 0 && same_chain(sample.steps[first - 1], sample.steps[sample.count - 1]))
        first--;
    memmove(sample.steps, sample.steps + first, (sample.count - first) * sizeof(void *));
    sample.count -= first;
    return sample;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Where a figure stands in a part. */
typedef uint64_t (*figure_fn)(const struct rp_part *part, int index);

static uint64_t phase_ns(const struct rp_part *part, int index)
{
    return part->ns[index];
}

static uint64_t copy_ns(const struct rp_part *part, int index)
{
    return part->copy_ns[index];
}

static uint64_t copy_bytes(const struct rp_part *part, int index)
{
    return part->bytes[index];
}

static uint64_t copy_pieces(const struct rp_part *part, int index)
{
    return part->pieces[index];
}

static uint64_t job_bytes(const struct rp_part *part, int index)
{
    return part->job[index];
}

static uint64_t median(const struct sample *sample, size_t place, figure_fn figure, int index)
{
    uint64_t values[RP_COST_STEPS];
    for (size_t i = 0; i < sample->count; i++)
        values[i] = figure(&sample->steps[i]->parts[place], index);
    qsort(values, sample->count, sizeof *values, compare);
    return values[sample->count / 2];
}

static uint64_t largest(const struct sample *sample, size_t place, figure_fn figure, int index)
{
    uint64_t most = 0;
    for (size_t i = 0; i < sample->count; i++) {
        uint64_t value = figure(&sample->steps[i]->parts[place], index);
        most = value > most ? value : most;
    }
    return most;
}

/* ---- one option ------------------------------------------------------------- */

struct estimate {
    struct sample sample;
    struct rp_profile *profile;
    uint64_t base;
    bool priced; /* copies that were not made can be priced */
};

static struct rp_measure timed(uint64_t ns)
{
    return (struct rp_measure){ns, rp_clock_source()};
}

static struct rp_measure counted(uint64_t bytes)
{
    return (struct rp_measure){bytes, RP_SOURCE_COUNTED};
}

static struct rp_measure derived(uint64_t value)
{
    return (struct rp_measure){value, RP_SOURCE_DERIVED};
}

/* The time of a copy that was not made. */
static struct rp_measure priced(const struct estimate *estimate, uint64_t bytes, uint64_t pieces)
{
    uint64_t ns = 0;
    if (bytes && (!estimate->priced ||
                  rp_copy_time(estimate->profile, bytes, pieces, &ns) != RP_OK))
        return (struct rp_measure){0, RP_SOURCE_ABSENT};
    return derived(ns);
}

/* What the job itself has on the device in a phase, above the base. */
static uint64_t job(const struct estimate *estimate, size_t place, enum rp_phase phase)
{
    uint64_t bytes = largest(&estimate->sample, place, job_bytes, (int)phase);
    return bytes > estimate->base ? bytes - estimate->base : 0;
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void set_passes(const struct estimate *estimate, size_t place, struct rp_cost *cost)
{
    const struct sample *sample = &estimate->sample;
    *cost = (struct rp_cost){.allowed = true, .has_terms = true};
    for (int t = 0; t < RP_TERM_COUNT; t++)
        cost->terms[t] = derived(0);
    cost->terms[RP_TERM_FORWARD_TIME] =
        timed(median(sample, place, phase_ns, RP_PHASE_OF_FORWARD));
    cost->terms[RP_TERM_BACKWARD_TIME] =
        timed(median(sample, place, phase_ns, RP_PHASE_OF_BACKWARD));
}

/* Bytes that the layer holds: `held` from the forward on, `stashed` while the replay runs. */
static void set_bytes(const struct estimate *estimate, size_t place, uint64_t held,
                      uint64_t stashed, struct rp_cost *cost)
{
    uint64_t forward = job(estimate, place, RP_PHASE_OF_FORWARD) + held;
    uint64_t replay = job(estimate, place, RP_PHASE_OF_REPLAY) + held + stashed;
    uint64_t backward = job(estimate, place, RP_PHASE_OF_BACKWARD);
    cost->terms[RP_TERM_HOLD] = counted(held);
    cost->terms[RP_TERM_STASH] = counted(stashed);
    cost->terms[RP_TERM_PEAK_FORWARD] = counted(forward);
    cost->terms[RP_TERM_PEAK_BACKWARD] = counted(more(more(replay, backward), held));
}

/* The option by which the steps were run: every copy of it was measured. */
static void set_measured(const struct estimate *estimate, size_t place, struct rp_cost *cost)
{
    static const struct {
        enum rp_copying what;
        enum rp_term term;
    } copies[] = {{RP_COPYING_PRESERVE, RP_TERM_PRESERVE_TIME},
                  {RP_COPYING_STASH, RP_TERM_STASH_TIME},
                  {RP_COPYING_RESTORE, RP_TERM_RESTORE_TIME},
                  {RP_COPYING_REINSTATE, RP_TERM_REINSTATE_TIME}};
    const struct sample *sample = &estimate->sample;
    set_passes(estimate, place, cost);
    if (rp_core.config.mode != RP_MODE_GUARD) {
        for (int t = 0; t < RP_TERM_COUNT; t++) /* nothing was preserved that could be measured */
            if (t != RP_TERM_FORWARD_TIME && t != RP_TERM_BACKWARD_TIME)
                cost->terms[t].source = RP_SOURCE_ABSENT;
        return;
    }
    set_bytes(estimate, place, largest(sample, place, copy_bytes, RP_COPYING_PRESERVE),
              largest(sample, place, copy_bytes, RP_COPYING_STASH), cost);
    cost->terms[RP_TERM_REPLAY_TIME] = timed(median(sample, place, phase_ns, RP_PHASE_OF_REPLAY));
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        cost->terms[copies[i].term] = timed(median(sample, place, copy_ns, (int)copies[i].what));
}

/* The other option that replays: the same replay, with other copies around it. `bytes` are
 * preserved, and stashed together with what the replay writes beside them. */
static void set_other(const struct estimate *estimate, size_t place, uint64_t bytes,
                      uint64_t pieces, struct rp_cost *cost)
{
    const struct sample *sample = &estimate->sample;
    uint64_t stash = more(bytes, largest(sample, place, copy_bytes, RP_COPYING_STASH));
    uint64_t stash_pieces = more(pieces, largest(sample, place, copy_pieces, RP_COPYING_STASH));
    set_passes(estimate, place, cost);
    set_bytes(estimate, place, bytes, stash, cost);
    cost->terms[RP_TERM_REPLAY_TIME] = timed(median(sample, place, phase_ns, RP_PHASE_OF_REPLAY));
    cost->terms[RP_TERM_PRESERVE_TIME] = priced(estimate, bytes, pieces);
    cost->terms[RP_TERM_RESTORE_TIME] = priced(estimate, bytes, pieces);
    cost->terms[RP_TERM_STASH_TIME] = priced(estimate, stash, stash_pieces);
    cost->terms[RP_TERM_REINSTATE_TIME] = priced(estimate, stash, stash_pieces);
}

static void set_retain(const struct estimate *estimate, size_t place, struct rp_cost *cost)
{
    const struct rp_part *part = &estimate->sample.steps[estimate->sample.count - 1]->parts[place];
    set_passes(estimate, place, cost);
    /* Until the forward ends its state is kept too, for there is still another way. */
    uint64_t state = part->bytes[RP_COPYING_PRESERVE];
    set_bytes(estimate, place, part->kept_bytes, 0, cost);
    cost->terms[RP_TERM_PEAK_FORWARD].value += state;
    cost->terms[RP_TERM_PRESERVE_TIME] =
        priced(estimate, part->kept_bytes + state,
               part->kept_pieces + part->pieces[RP_COPYING_PRESERVE]);
    cost->terms[RP_TERM_RESTORE_TIME] = priced(estimate, part->served_bytes, part->served_pieces);
}

static void mask(struct rp_cost *cost, const char *reason)
{
    *cost = (struct rp_cost){.masked = (char *)(uintptr_t)reason}; /* the profile copies it */
}

static bool has_absent(const struct rp_cost *cost)
{
    for (int t = 0; t < RP_TERM_COUNT; t++)
        if (cost->terms[t].source == RP_SOURCE_ABSENT)
            return true;
    return false;
}

/* ---- one segment ------------------------------------------------------------ */

/* Where the job retains by itself there is nothing to choose. */
static void estimate_unreplayed(const struct estimate *estimate, size_t place,
                                struct rp_cost costs[RP_CHOICE_COUNT])
{
    set_passes(estimate, place, &costs[RP_CHOICE_RETAIN]);
    set_bytes(estimate, place, largest(&estimate->sample, place, copy_bytes, RP_COPYING_PRESERVE),
              0, &costs[RP_CHOICE_RETAIN]);
    costs[RP_CHOICE_RETAIN].terms[RP_TERM_PRESERVE_TIME] =
        timed(median(&estimate->sample, place, copy_ns, RP_COPYING_PRESERVE));
    mask(&costs[RP_CHOICE_WHOLE], "the job does not replay it");
    mask(&costs[RP_CHOICE_REGIONS], "the job does not replay it");
}

static void estimate_replayed(const struct estimate *estimate, size_t place,
                              const struct rp_part *part, struct rp_cost costs[RP_CHOICE_COUNT])
{
    if (part->no_retain)
        mask(&costs[RP_CHOICE_RETAIN], part->no_retain);
    else if (part->choice == RP_CHOICE_RETAIN)
        set_measured(estimate, place, &costs[RP_CHOICE_RETAIN]);
    else
        set_retain(estimate, place, &costs[RP_CHOICE_RETAIN]);
    if (part->choice == RP_CHOICE_RETAIN) {
        mask(&costs[RP_CHOICE_WHOLE], "its replay was served, and so not measured");
        mask(&costs[RP_CHOICE_REGIONS], "its replay was served, and so not measured");
        return;
    }
    enum rp_choice other =
        part->choice == RP_CHOICE_WHOLE ? RP_CHOICE_REGIONS : RP_CHOICE_WHOLE;
    set_measured(estimate, place, &costs[part->choice]);
    if (rp_core.config.mode != RP_MODE_GUARD)
        mask(&costs[other], "nothing is preserved but in guard, and so nothing measured");
    else if (other == RP_CHOICE_WHOLE)
        set_other(estimate, place, part->whole_bytes, part->whole_pieces, &costs[other]);
    else
        mask(&costs[other], "the steps were run with whole buffers, which does not tell what "
                            "is clobbered of them");
}

static enum rp_status add_segment(const struct estimate *estimate, size_t place)
{
    const struct rp_part *part = &estimate->sample.steps[estimate->sample.count - 1]->parts[place];
    struct rp_cost costs[RP_CHOICE_COUNT] = {{.allowed = false}};
    if (part->replayed)
        estimate_replayed(estimate, place, part, costs);
    else
        estimate_unreplayed(estimate, place, costs);
    for (int c = 0; c < RP_CHOICE_COUNT; c++)
        if (costs[c].allowed && (enum rp_choice)c != part->choice && has_absent(&costs[c]))
            mask(&costs[c], "no copy was made by which its own could be priced");
    return rp_profile_add_row(estimate->profile, rp_name(part->name), costs);
}

/* ---- the profile ------------------------------------------------------------ */

/* The least that the job ever has in a step: the base, which every event shares. */
static uint64_t least_job(const struct sample *sample)
{
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < sample->count; i++)
        for (size_t k = 0; k < sample->steps[i]->count; k++)
            for (int phase = 0; phase < RP_PHASE_COUNT; phase++) {
                const struct rp_part *part = &sample->steps[i]->parts[k];
                bool happened = part->replayed || phase == RP_PHASE_OF_FORWARD;
                if (happened && part->job[phase] < least)
                    least = part->job[phase];
            }
    return least == UINT64_MAX ? 0 : least;
}

static const char *departure_of(const struct sample *sample)
{
    for (size_t i = 0; i < sample->count; i++)
        if (sample->steps[i]->departure)
            return sample->steps[i]->departure;
    return NULL;
}

const char *rp_estimate_refused(void)
{
    struct sample sample = take_sample();
    if (!rp_core.config.contract || !rp_core.config.contract->step_nvtx)
        return "the contract names no step";
    return sample.count ? departure_of(&sample) : "no step was measured to its end";
}

enum rp_status rp_estimate_profile(struct rp_profile **out)
{
    struct estimate estimate = {.sample = take_sample()};
    if (!estimate.sample.count)
        return RP_NOT_FOUND;
    enum rp_status status = rp_profile_create(&estimate.profile);
    if (status != RP_OK)
        return status;
    struct rp_copy_price price;
    estimate.priced = rp_price_copies(estimate.sample.steps, estimate.sample.count, &price);
    if (estimate.priced)
        rp_profile_set_copy_price(estimate.profile, &price);
    estimate.base = least_job(&estimate.sample);
    rp_profile_set_base(estimate.profile, estimate.base);
    status = rp_profile_set_purpose(estimate.profile, rp_estimate_purpose());
    const char *departure = departure_of(&estimate.sample);
    if (status == RP_OK && departure)
        status = rp_profile_set_departure(estimate.profile, departure);
    for (size_t k = 0; status == RP_OK && k < estimate.sample.steps[0]->count; k++)
        status = add_segment(&estimate, k);
    if (status == RP_OK)
        *out = estimate.profile;
    else
        rp_profile_destroy(estimate.profile);
    return status;
}

/* ---- purpose and file ------------------------------------------------------- */

static bool read_contract(char hash[RP_PURPOSE_CONTRACT])
{
    const char *path = getenv("REPRISE_CONTRACT");
    FILE *file = path ? fopen(path, "re") : NULL;
    char *text = file ? malloc(1 << 20) : NULL;
    size_t length = text ? fread(text, 1, 1 << 20, file) : 0;
    if (text)
        rp_purpose_contract(text, length, hash);
    free(text);
    if (file)
        fclose(file);
    return *hash != '\0';
}

const struct rp_purpose *rp_estimate_purpose(void)
{
    static struct rp_purpose purpose;
    static char contract[RP_PURPOSE_CONTRACT];
    if (!purpose.contract) {
        const char *job = getenv("REPRISE_JOB");
        purpose.job = job && *job ? job : NULL;
        purpose.contract = read_contract(contract) ? contract : NULL;
    }
    purpose.device = rp_clock_device();
    return &purpose;
}

void rp_estimate_write(void)
{
    struct rp_profile *profile;
    char path[4096], message[256];
    rp_cost_collect();
    if (!rp_core.config.output || rp_estimate_profile(&profile) != RP_OK)
        return;
    /* Not fit for planning, perhaps; the file is written all the same, and says what is absent. */
    (void)rp_profile_close(profile, message, sizeof message);
    snprintf(path, sizeof path, "%s/profile.json", rp_core.config.output);
    if (access(path, F_OK) == 0)
        snprintf(path, sizeof path, "%s/profile-%d.json", rp_core.config.output, (int)getpid());
    rp_profile_save(profile, path, false);
    rp_profile_destroy(profile);
}
