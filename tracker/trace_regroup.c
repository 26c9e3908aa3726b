/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of events that come again, read. */
#include "tracker/array.h"
#include "tracker/trace_decode.h"
#include "tracker/trace_format.h"

static bool take_byte(struct rp_trace_decoder *decoder, uint8_t *byte)
{
    if (decoder->at == decoder->end)
        return false;
    *byte = *decoder->at++;
    return true;
}

static bool may_move(const struct decoder_event *events, uint32_t count,
                     const struct decoder_move *move)
{
    if (move->event >= count || move->slot >= RP_TRACE_SLOTS)
        return false;
    const struct rp_event_def *def = events[move->event].def;
    return move->field < def->field_count && def->fields[move->field].type <= RP_FIELD_HEX;
}

static enum rp_status take_moves(struct rp_trace_decoder *decoder, struct decoder_group *group)
{
    const struct decoder_event *events = decoder->group_events + group->first_event;
    uint64_t count = 0;

    if (!rp_get_varint(&decoder->at, decoder->end, &count) ||
        count > (size_t)(decoder->end - decoder->at) / 3)
        return RP_DAMAGED;
    struct decoder_move *moves = rp_array_reserve(decoder->moves, &decoder->move_capacity,
                                                   decoder->move_count + (size_t)count,
                                                   sizeof(*moves));
    if (moves == NULL && count > 0)
        return RP_NO_MEMORY;
    decoder->moves = moves;
    group->first_move = decoder->move_count;
    group->move_count = (size_t)count;
    for (uint64_t i = 0; i < count; i++) {
        struct decoder_move *move = &moves[decoder->move_count++];
        if (!take_byte(decoder, &move->event) || !take_byte(decoder, &move->field) ||
            !take_byte(decoder, &move->slot) || !may_move(events, group->count, move))
            return RP_DAMAGED;
    }
    return RP_OK;
}

/* Copies of the latest events. */
static enum rp_status take_members(struct rp_trace_decoder *decoder, struct decoder_group *group)
{
    struct decoder_event *events =
        rp_array_reserve(decoder->group_events, &decoder->group_event_capacity,
                         decoder->group_event_count + group->count, sizeof(*events));

    if (events == NULL)
        return RP_NO_MEMORY;
    decoder->group_events = events;
    group->first_event = decoder->group_event_count;
    decoder->group_event_count += group->count;
    for (uint32_t i = 0; i < group->count; i++)
        events[group->first_event + i] =
            decoder->latest[(decoder->latest_at - group->count + i) % RP_TRACE_GROUP_EVENTS];
    return RP_OK;
}

enum rp_status rp_trace_decode_group(struct rp_trace_decoder *decoder)
{
    uint8_t count = 0;

    if (!take_byte(decoder, &count) || count == 0 || count > RP_TRACE_GROUP_EVENTS ||
        count > decoder->singles || decoder->group_count == RP_TRACE_MAX_GROUPS)
        return RP_DAMAGED;
    struct decoder_group *groups = rp_array_reserve(decoder->groups, &decoder->group_capacity,
                                                    decoder->group_count + 1, sizeof(*groups));
    if (groups == NULL)
        return RP_NO_MEMORY;
    decoder->groups = groups;
    struct decoder_group *group = &groups[decoder->group_count];
    *group = (struct decoder_group){.count = count};
    enum rp_status status = take_members(decoder, group);
    if (status == RP_OK)
        status = take_moves(decoder, group);
    decoder->group_count += status == RP_OK;
    return status;
}

enum rp_status rp_trace_decode_again(struct rp_trace_decoder *decoder)
{
    uint64_t number = 0, slots[RP_TRACE_SLOTS] = {0};
    bool good = rp_get_varint(&decoder->at, decoder->end, &number) &&
                number < decoder->group_count;

    for (unsigned i = 0; good && i < RP_TRACE_SLOTS; i++)
        good = rp_get_varint(&decoder->at, decoder->end, &slots[i]);
    if (!good)
        return RP_DAMAGED;
    const struct decoder_group *group = &decoder->groups[number];
    struct decoder_event *events = decoder->group_events + group->first_event;
    for (size_t i = 0; i < group->move_count; i++) {
        const struct decoder_move *move = &decoder->moves[group->first_move + i];
        events[move->event].values[move->field].u += rp_unzigzag(slots[move->slot]);
    }
    decoder->coming = group;
    decoder->next = 0;
    decoder->singles = 0;
    return RP_OK;
}

const struct decoder_event *rp_trace_decode_coming(struct rp_trace_decoder *decoder)
{
    const struct decoder_group *group = decoder->coming;
    const struct decoder_event *event =
        &decoder->group_events[group->first_event + decoder->next++];

    if (decoder->next == group->count)
        decoder->coming = NULL;
    return event;
}
