/* SPDX-License-Identifier: Apache-2.0 */
/* Events that come again as a group, in one short record. */
#include "tracker/array.h"
#include "tracker/trace_encode.h"
#include "tracker/trace_format.h"
#include "tracker/trace_tally.h"

void rp_trace_coder_note(struct rp_trace_coder *coder, const struct rp_trace_type *type,
                         struct tally_row *row, const union rp_value *values)
{
    struct coder_event *event = &coder->latest[coder->latest_at++ % RP_TRACE_GROUP_EVENTS];

    coder->singles++;
    event->type = type;
    event->row = row;
    for (uint32_t i = 0; i < type->tally_sizes; i++)
        event->sizes[i] = values[type->sizes[i]].u;
}

/* Of the `count` latest events the one with this index. */
static const struct coder_event *latest(const struct rp_trace_coder *coder, unsigned count,
                                        unsigned index)
{
    return &coder->latest[(coder->latest_at - count + index) % RP_TRACE_GROUP_EVENTS];
}

/* Sizes stay: a tally adds up what they were. */
static bool may_move(const struct rp_trace_move *move)
{
    return move->slot < RP_TRACE_SLOTS && move->field < move->def->field_count &&
           move->def->fields[move->field].type <= RP_FIELD_HEX;
}

/* Writes what moves of the event with this index; gives how much that is. */
static unsigned put_moves(uint8_t **out, unsigned index, const struct rp_event_def *def,
                          const struct rp_trace_move *moves, unsigned move_count)
{
    unsigned count = 0;

    for (unsigned i = 0; i < move_count; i++) {
        if (moves[i].def != def)
            continue;
        if (!may_move(&moves[i]))
            return 0;
        *(*out)++ = (uint8_t)index;
        *(*out)++ = moves[i].field;
        *(*out)++ = moves[i].slot;
        count++;
    }
    return count;
}

/* The record behind its tag; NULL when an event has nothing that moves. */
static uint8_t *put_group(const struct rp_trace_coder *coder, uint8_t *out, unsigned count,
                          const struct rp_trace_move *moves, unsigned move_count)
{
    uint8_t list[RP_TRACE_GROUP_BOUND / 2], *end = list;

    for (unsigned i = 0; i < count; i++)
        if (put_moves(&end, i, latest(coder, count, i)->type->def, moves, move_count) == 0)
            return NULL;
    *out++ = (uint8_t)count;
    out = rp_put_varint(out, (uint64_t)(end - list) / 3);
    memcpy(out, list, (size_t)(end - list));
    return out + (end - list);
}

static struct coder_group *new_group(struct rp_trace_coder *coder)
{
    if (coder->group_count == RP_TRACE_MAX_GROUPS)
        return NULL;
    struct coder_group *groups = rp_array_reserve(coder->groups, &coder->group_capacity,
                                                  coder->group_count + 1, sizeof(*groups));
    if (groups == NULL)
        return NULL;
    coder->groups = groups;
    return &groups[coder->group_count++];
}

bool rp_trace_encode_group(struct rp_trace_coder *coder, struct rp_trace_buffer *buffer,
                           unsigned count, const struct rp_trace_move *moves, unsigned move_count,
                           const uint64_t slots[RP_TRACE_SLOTS], uint32_t *number)
{
    enum { MOST_MOVES = RP_TRACE_GROUP_BOUND / 2 / 3 / RP_TRACE_GROUP_EVENTS };
    if (count == 0 || count > RP_TRACE_GROUP_EVENTS || count > coder->singles ||
        move_count > MOST_MOVES)
        return false;
    uint8_t *out = buffer->data + buffer->used;
    *out++ = RP_TRACE_TAG_GROUP;
    out = put_group(coder, out, count, moves, move_count);
    struct coder_group *group = out != NULL ? new_group(coder) : NULL;
    if (group == NULL)
        return false;
    *number = coder->group_count - 1;
    group->count = count;
    group->uncounted = 0;
    memcpy(group->slots, slots, sizeof(group->slots));
    for (unsigned i = 0; i < count; i++)
        group->events[i] = *latest(coder, count, i);
    buffer->used = (uint32_t)(out - buffer->data);
    rp_trace_commit(buffer);
    return true;
}

static void count_again(const struct coder_event *event, uint64_t times)
{
    if (event->row == NULL)
        return;
    event->row->count += times;
    for (uint32_t i = 0; i < event->type->tally_sizes; i++)
        event->row->sum[i] += times * event->sizes[i];
}

void rp_trace_count_again(struct rp_trace_coder *coder)
{
    for (uint32_t i = 0; i < coder->group_count; i++) {
        struct coder_group *group = &coder->groups[i];
        for (uint32_t j = 0; j < group->count; j++)
            count_again(&group->events[j], group->uncounted);
        group->uncounted = 0;
    }
}

/* Those between the first and the last come at the first one's time. */
static void put_times(struct rp_trace_buffer *buffer, unsigned count, uint64_t before_ns,
                      uint64_t now_ns)
{
    if (count > 1) {
        rp_trace_put_time(buffer, before_ns - buffer->last_ns);
        buffer->last_ns = before_ns;
        uint8_t *out = buffer->data + buffer->capacity - buffer->times;
        for (unsigned i = 2; i < count; i++)
            *--out = 0;
        buffer->times += count - 2;
    }
    rp_trace_put_time(buffer, now_ns - buffer->last_ns);
    buffer->last_ns = now_ns;
}

/* What moves, as differences: most are a byte each, and are put in one go. */
static uint8_t *put_slots(uint8_t *out, uint64_t last[RP_TRACE_SLOTS],
                          const uint64_t slots[RP_TRACE_SLOTS])
{
    uint64_t moved[RP_TRACE_SLOTS], all = 0;

    for (unsigned i = 0; i < RP_TRACE_SLOTS; i++) {
        moved[i] = rp_zigzag(slots[i] - last[i]);
        all |= moved[i];
        last[i] = slots[i];
    }
    if (all < 0x80) {
        for (unsigned i = 0; i < RP_TRACE_SLOTS; i++)
            *out++ = (uint8_t)moved[i];
        return out;
    }
    for (unsigned i = 0; i < RP_TRACE_SLOTS; i++)
        out = rp_put_varint(out, moved[i]);
    return out;
}

unsigned rp_trace_encode_again(struct rp_trace_coder *coder, struct rp_trace_buffer *buffer,
                               uint32_t number, const uint64_t slots[RP_TRACE_SLOTS],
                               uint64_t before_ns, uint64_t now_ns)
{
    struct coder_group *group = &coder->groups[number];
    uint8_t *out = buffer->data + buffer->used;

    *out++ = RP_TRACE_TAG_AGAIN;
    out = rp_put_varint(out, number);
    out = put_slots(out, group->slots, slots);
    buffer->used = (uint32_t)(out - buffer->data);
    put_times(buffer, group->count, before_ns, now_ns);
    buffer->events += group->count;
    rp_trace_commit(buffer);
    group->uncounted++;
    coder->singles = 0;
    return group->count;
}
