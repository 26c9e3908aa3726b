/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/outputs.h"

#include "interpose/run/core.h"
#include "tracker/array.h"

#include <stdlib.h>

bool rp_outputs_make(struct rp_outputs **outputs)
{
    if (!*outputs)
        *outputs = calloc(1, sizeof **outputs);
    return *outputs;
}

void rp_outputs_destroy(struct rp_outputs *outputs)
{
    if (!outputs)
        return;
    rp_copies_give(&outputs->copies);
    free(outputs->items);
    free(outputs->shapes);
    free(outputs);
}

bool rp_outputs_may_hold(const struct rp_outputs *outputs, rp_alloc_id id)
{
    return outputs->marks[id % RP_OUTPUT_MARKS / 64] >> (id % 64) & 1;
}

bool rp_outputs_add(struct rp_outputs *outputs, const struct rp_forward_output *output)
{
    struct rp_forward_output *items =
        rp_array_reserve(outputs->items, &outputs->capacity, outputs->count + 1, sizeof *items);
    if (!items)
        return false;
    outputs->marks[output->id % RP_OUTPUT_MARKS / 64] |= UINT64_C(1) << (output->id % 64);
    outputs->items = items;
    items[outputs->count++] = *output;
    return true;
}

bool rp_outputs_add_shape(struct rp_outputs *outputs, uint64_t shape)
{
    uint64_t *shapes = rp_array_reserve(outputs->shapes, &outputs->shape_capacity,
                                        outputs->shape_count + 1, sizeof *shapes);
    if (!shapes)
        return false;
    outputs->shapes = shapes;
    shapes[outputs->shape_count++] = shape;
    return true;
}

bool rp_outputs_can_serve(const struct rp_outputs *outputs)
{
    return outputs && !outputs->refused;
}

uint64_t rp_outputs_shape(const struct rp_footprint *call)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE)
            hash = (hash ^ (call->reaches[i].hi - call->reaches[i].lo)) * 0x100000001b3u;
    return hash;
}

enum rp_status rp_outputs_copy(struct rp_outputs *outputs, struct rp_forward_output *output,
                               const struct rp_workbench *bench, rp_stream stream)
{
    enum rp_status status =
        rp_copy_out(&outputs->copies, bench, output->id, output->lo, output->hi, stream);
    if (status == RP_OK)
        output->copy = (int)outputs->copies.count - 1;
    return status;
}
