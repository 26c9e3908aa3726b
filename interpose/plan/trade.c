/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/trade.h"

#include "cuda/switches.h"

enum { CALLS = 2, TELLING_SHARE = 20 };

bool rp_trade_tells(const struct rp_sample *sample, uint64_t call_ns)
{
    uint64_t step = UINT64_MAX;
    for (size_t i = 0; i < sample->count; i++)
        if (sample->steps[i]->ns && sample->steps[i]->ns < step)
            step = sample->steps[i]->ns;
    return CALLS * call_ns > step / TELLING_SHARE && rp_switch_on(RP_SWITCH_TRADES);
}

static struct rp_kept_size find_size(const struct rp_keeping *keeping, uint64_t block)
{
    for (size_t i = 0; i < keeping->size_count; i++)
        if (keeping->sizes[i].bytes == block)
            return keeping->sizes[i];
    return (struct rp_kept_size){.bytes = block};
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Of one size: both are there until the forward is over, and then all outputs. */
static uint64_t room_of(struct rp_kept_size state, struct rp_kept_size outputs)
{
    return state.bytes * more(state.early + outputs.early, outputs.all);
}

static uint64_t room_beside(const struct rp_keeping *state, const struct rp_keeping *outputs)
{
    uint64_t room = 0;
    if (state->size_count > RP_KEEPING_SIZES || outputs->size_count > RP_KEEPING_SIZES)
        return more(state->early.blocks + outputs->early.blocks, outputs->all.blocks);
    for (size_t i = 0; i < state->size_count; i++)
        room += room_of(state->sizes[i], find_size(outputs, state->sizes[i].bytes));
    for (size_t i = 0; i < outputs->size_count; i++)
        if (!find_size(state, outputs->sizes[i].bytes).all)
            room += room_of((struct rp_kept_size){.bytes = outputs->sizes[i].bytes},
                            outputs->sizes[i]);
    return room;
}

uint64_t rp_trade_room(const struct rp_sample *sample, size_t place)
{
    uint64_t most = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const struct rp_part *part = &sample->steps[i]->parts[place];
        most = more(most, room_beside(&part->state, &part->outputs));
    }
    return most;
}
