/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/shared.h"

#include "planner/clobber.h"
#include "planner/derive.h"
#include "planner/shared_version.h"

#include <stdio.h>
#include <stdlib.h>

struct rp_shared {
    struct rp_forward_model model; /* first, so that it leads back here */
    struct rp_clobbers clobbers;
    struct rp_shared_versions versions;
    struct rp_replay *replays; /* of each segment, with private copies */
};

static const struct rp_shared *shared_of(const struct rp_forward_model *model)
{
    return (const struct rp_shared *)model;
}

/* What regions costs segment k when these versions are preserved already. The profile's rows
 * hold more in every term, and they fit 63 bits. */
static void cost_of_regions(const struct rp_shared *shared, size_t k, uint64_t preserved,
                            struct rp_cost *cost)
{
    const struct rp_profile *profile = shared->model.profile;
    struct rp_replay replay = shared->replays[k];
    uint64_t bytes, pieces;

    rp_shared_missing(&shared->versions, profile, k, preserved, &bytes, &pieces, &replay.held);
    (void)rp_copy_time(profile, bytes, pieces, &replay.preserve_time);
    replay.held_forward = replay.held;
    (void)rp_derive_replay(profile, rp_profile_facts(profile, k), &replay, cost);
}

static void charge(const struct rp_forward_model *model, size_t k, enum rp_choice choice,
                   uint64_t preserved, struct rp_cost *cost)
{
    if (choice == RP_CHOICE_REGIONS)
        cost_of_regions(shared_of(model), k, preserved, cost);
    else
        *cost = rp_profile_segment(model->profile, k)->costs[choice];
}

static void step(const struct rp_forward_model *model, size_t k, enum rp_choice choice,
                 const int64_t *held, uint64_t preserved, int64_t *next_held,
                 uint64_t *next_preserved, struct rp_label_step *step)
{
    const struct rp_shared *shared = shared_of(model);
    struct rp_cost cost;

    charge(model, k, choice, preserved, &cost);
    step->forward = held[0] + (int64_t)cost.terms[RP_TERM_PEAK_FORWARD].value;
    step->backward = held[0] + (int64_t)cost.terms[RP_TERM_PEAK_BACKWARD].value;
    step->time = (int64_t)cost.time;
    next_held[0] = held[0] + (int64_t)cost.hold;
    if (choice == RP_CHOICE_REGIONS)
        preserved |= shared->versions.read[k];
    *next_preserved = preserved & shared->versions.wanted_after[k];
}

/* As if all that others could have preserved before were preserved. */
static void relax(struct rp_shared *shared)
{
    struct rp_chain *chain = &shared->model.relaxations[0].chain;

    for (size_t k = 0; k < chain->count; k++) {
        struct rp_link *link = &chain->links[k];
        for (int c = 0; c < RP_CHOICE_COUNT; c++) {
            struct rp_cost cost;
            if (!rp_question_allows(&shared->model.question, k, (enum rp_choice)c))
                continue;
            charge(&shared->model, k, (enum rp_choice)c, ~shared->versions.first_read[k], &cost);
            link->rows[link->count] =
                (struct rp_row){(int64_t)cost.hold, (int64_t)cost.peak, (int64_t)cost.time};
            link->choice[link->count++] = (uint8_t)c;
        }
    }
}

static enum rp_status start(struct rp_shared *shared, const struct rp_question *question)
{
    const struct rp_profile *profile = question->profile;
    size_t count = rp_profile_count(profile);
    enum rp_status status = rp_forward_create(&shared->model, question, 1);

    shared->replays = calloc(count + 1, sizeof(*shared->replays));
    if (status == RP_OK && shared->replays == NULL)
        status = RP_NO_MEMORY;
    for (size_t k = 0; k < count && status == RP_OK; k++)
        status = rp_derive_regions(profile, &shared->clobbers, k, &shared->replays[k]);
    for (size_t k = 0; k <= count && status == RP_OK; k++)
        shared->model.width[k] = 1;
    return status;
}

enum rp_status rp_shared_create(const struct rp_question *question, struct rp_shared **out,
                                char *message, size_t message_size)
{
    struct rp_shared *shared = calloc(1, sizeof(*shared));
    enum rp_status status = RP_NO_MEMORY;

    *out = NULL;
    if (shared == NULL)
        return status;
    status = rp_clobbers_create(question->profile, &shared->clobbers);
    if (status == RP_OK)
        status = rp_shared_versions_create(&shared->clobbers, &shared->versions);
    if (status == RP_UNSUPPORTED)
        snprintf(message, message_size,
                 "more than 64 versions are read by several segments at one time; the nested "
                 "model doesn't mind");
    if (status == RP_OK)
        status = start(shared, question);
    if (status != RP_OK) {
        rp_shared_destroy(shared);
        return status;
    }
    shared->model.step = step;
    shared->model.charge = charge;
    relax(shared);
    *out = shared;
    return RP_OK;
}

void rp_shared_destroy(struct rp_shared *shared)
{
    if (shared == NULL)
        return;
    rp_shared_versions_release(&shared->versions);
    rp_clobbers_release(&shared->clobbers);
    rp_forward_release(&shared->model);
    free(shared->replays);
    free(shared);
}

const struct rp_forward_model *rp_shared_model(const struct rp_shared *shared)
{
    return &shared->model;
}
