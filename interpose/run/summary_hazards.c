/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/core.h"
#include "interpose/run/summary_part.h"
#include "interpose/run/words.h"

#include <stdio.h>

static bool is_moved(const struct rp_hazard *hazard)
{
    return hazard->kind == RP_HAZARD_ASSUMED && hazard->assumed == RP_ASSUMED_MOVED;
}

static void put_place(json_t *object, const struct rp_hazard *hazard)
{
    if (hazard->buffer)
        rp_json_put_text(object, "buffer", hazard->buffer);
    rp_json_put_count(object, "allocation", hazard->allocation);
    rp_json_put_count(object, "allocation_bytes", hazard->allocation_bytes);
    if (hazard->allocation) {
        rp_json_put_text(object, "memory", hazard->memory ? hazard->memory : "");
        rp_json_put_count(object, "birth_seq", hazard->birth_seq);
    }
    rp_json_put_count(object, "offset", hazard->offset);
    rp_json_put_count(object, "bytes", hazard->bytes);
    if (hazard->allocation)
        rp_json_put_count(object, "version_read", hazard->version_read);
    if (hazard->wants_version)
        rp_json_put_count(object, "version_wanted", hazard->version_wanted);
}

static void put_calls(json_t *object, const struct rp_hazard *hazard)
{
    char stream[32];
    snprintf(stream, sizeof stream, "0x%llx", (unsigned long long)hazard->written.stream);
    if (hazard->writer) {
        rp_json_put_text(object, "writer", hazard->writer);
        rp_json_put_count(object, "writer_seq", hazard->written.seq);
        rp_json_put_count(object, "writer_step", hazard->written.step);
        rp_json_put_count(object, "writer_launch", hazard->written.launch);
        rp_json_put_text(object, "writer_stream", stream);
    }
    if (hazard->reader) {
        rp_json_put_text(object, "reader", hazard->reader);
        rp_json_put_count(object, "reader_launch", hazard->reader_launch);
    }
    if (hazard->other)
        rp_json_put_text(object, "other", hazard->other);
    if (hazard->kind == RP_HAZARD_DIVERGED || is_moved(hazard))
        rp_json_put_count(object, "position", hazard->position);
}

static json_t *hazard_json(const struct rp_hazard *hazard)
{
    json_t *object = json_object();
    rp_json_put_text(object, "hazard", rp_hazard_kind_name(hazard->kind));
    if (hazard->segment)
        rp_json_put_text(object, "segment", hazard->segment);
    rp_json_put_count(object, "instance", hazard->instance);
    put_place(object, hazard);
    if (hazard->key)
        rp_json_put_text(object, "key", hazard->key);
    put_calls(object, hazard);
    rp_json_put_count(object, "step", hazard->step);
    rp_json_put_count(object, "count", hazard->count);
    rp_json_put_count(object, "order", hazard->order);
    json_object_set_new(object, "harmless", json_boolean(hazard->harmless));
    if (rp_hazard_kind_warns(hazard->kind))
        json_object_set_new(object, "warning", json_true());
    if (rp_words_taken_for(hazard))
        rp_json_put_text(object, "taken_for", rp_words_taken_for(hazard));
    rp_json_put_text(object, "advice", rp_words_advice(hazard));
    return object;
}

json_t *rp_summary_hazards(void)
{
    json_t *array = json_array();
    rp_hazards_sort(&rp_core.hazards);
    for (size_t i = 0; i < rp_core.hazards.count; i++)
        json_array_append_new(array, hazard_json(&rp_core.hazards.items[i]));
    return array;
}
