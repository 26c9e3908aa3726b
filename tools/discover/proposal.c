/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/discover/proposal.h"

#include <string.h>

/* ---- the contract ---------------------------------------------------------------------- */

static const char *pair_of(const struct rp_found_segment *segment)
{
    if (segment->keyed)
        return "key";
    return segment->fifo ? "fifo" : "lifo";
}

static json_t *ranges_json(const struct rp_found_segment *segment)
{
    json_t *json = json_pack("{s:s, s:{s:s}, s:{s:s}, s:s}", "name", segment->name, "forward",
                             "nvtx", segment->forward, "replay", "nvtx", segment->replay, "pair",
                             pair_of(segment));
    if (segment->replays > 1)
        json_object_set_new(json, "replays", json_integer((json_int_t)segment->replays));
    return json;
}

static json_t *segment_json(const struct rp_found_segment *segment)
{
    if (segment->by_range)
        return ranges_json(segment);
    return json_pack("{s:s, s:{s:{s:s, s:s, s:I}}, s:{s:b}}", "name", segment->name, "forward",
                     "launches", "first", segment->forward, "last", segment->replay, "nth",
                     (json_int_t)segment->nth, "replay", "repeat", 1);
}

/* An allocation that is state for the most part is found by its size, if no other has it. */
static bool is_whole(const struct rp_found_buffer *buffer)
{
    return !buffer->by_kernel || (buffer->alone && buffer->bytes * 2 >= buffer->allocation_bytes);
}

static json_t *buffer_json(const struct rp_found_buffer *buffer)
{
    json_t *json = json_pack("{s:s}", "name", buffer->name);

    if (is_whole(buffer)) {
        json_t *at = json_pack("{s:I}", "bytes", (json_int_t)buffer->allocation_bytes);
        if (!buffer->alone)
            json_object_set_new(at, "nth", json_integer((json_int_t)buffer->nth));
        json_object_set_new(json, "at", json_pack("{s:o}", "allocation", at));
        return json;
    }
    json_object_set_new(json, "at", json_pack("{s:s, s:i}", "kernel", buffer->kernel, "param",
                                              (int)buffer->param));
    if (buffer->param_offset)
        json_object_set_new(json, "offset", json_integer((json_int_t)buffer->param_offset));
    json_object_set_new(json, "bytes", json_integer((json_int_t)buffer->bytes));
    return json;
}

/* Another part of an allocation that is protected whole already, or the same locator again. */
static bool is_covered(const struct rp_finding *finding, size_t at)
{
    const struct rp_found_buffer *buffer = &finding->buffers[at];

    for (size_t i = 0; i < at; i++) {
        const struct rp_found_buffer *other = &finding->buffers[i];
        if (is_whole(other) && other->allocation == buffer->allocation)
            return true;
        if (!is_whole(other) && !is_whole(buffer) && strcmp(other->kernel, buffer->kernel) == 0 &&
            other->param == buffer->param && other->param_offset == buffer->param_offset)
            return true;
    }
    return false;
}

json_t *rp_proposal_contract(const struct rp_finding *finding, bool declared)
{
    json_t *contract = json_pack("{s:i, s:[]}", "version", 1, "segments");
    json_t *segments = json_object_get(contract, "segments"), *buffers = json_array();

    for (size_t i = 0; i < finding->segment_count; i++)
        json_array_append_new(segments, segment_json(&finding->segments[i]));
    for (size_t i = 0; declared && i < finding->buffer_count; i++)
        if (!is_covered(finding, i))
            json_array_append_new(buffers, buffer_json(&finding->buffers[i]));
    if (declared)
        json_object_set(contract, "buffers", buffers);
    json_decref(buffers);
    json_object_set_new(contract, "state", json_string(declared ? "declared" : "discovered"));
    json_object_set_new(contract, "policy", json_string("regions"));
    if (finding->step[0])
        json_object_set_new(contract, "step", json_pack("{s:s}", "nvtx", finding->step));
    return contract;
}

/* ---- the evidence ------------------------------------------------------------------------ */

static void print_segment(const struct rp_found_segment *segment, FILE *out)
{
    const char *order = segment->fifo ? "the first forward that waits" : "the latest forward";

    fprintf(out, "segment  %s (%s)\n", segment->name, segment->confidence);
    if (segment->by_range)
        fprintf(out, "  forward  range %s\n  replay   range %s, paired by %s\n", segment->forward,
                segment->replay, segment->keyed ? "what * matches" : order);
    else
        fprintf(out,
                "  forward  launches %s to %s, match %llu in a step\n  replay   the same again\n",
                segment->forward, segment->replay, (unsigned long long)segment->nth);
    fprintf(out, "  because  %s\n", segment->evidence);
}

static void print_left_out(const struct rp_left_out *endless, FILE *out)
{
    if (endless->launches)
        fprintf(out,
                "left out %zu launches that come again, %s to %s\n"
                "  because  %s comes earlier among them too, so that no contract can tell them by "
                "their ends: give them an NVTX range\n",
                endless->launches, endless->first, endless->last, endless->last);
}

static void print_chained(const struct rp_finding *finding, FILE *out)
{
    if (finding->chained)
        fprintf(out,
                "left out %zu pair%s of ranges that repeat each other, first %s\n"
                "  because  a range can't be both a forward and a replay, and what is proposed "
                "explains more\n",
                finding->chained, finding->chained > 1 ? "s" : "", finding->first_chained);
}

static void print_nested(const struct rp_finding *finding, FILE *out)
{
    if (finding->nested)
        fprintf(out,
                "left out %zu range%s that hold others, first %s\n"
                "  because  they launch themselves what an earlier range does, and other ranges "
                "within them launch more: if they are replays, write them into the contract\n",
                finding->nested, finding->nested > 1 ? "s" : "", finding->first_nested);
}

static void print_doubted(const struct rp_finding *finding, FILE *out)
{
    if (finding->doubted)
        fprintf(out,
                "left out %zu pair%s of ranges or launches that do the same work, first %s\n"
                "  because  %s, so that it seems to be no replay\n",
                finding->doubted, finding->doubted > 1 ? "s" : "", finding->first_doubted,
                rp_find_doubt_text(finding->first_doubt));
}

static void print_unnamed(const struct rp_unnamed *unnamed, FILE *out)
{
    if (unnamed->count)
        fprintf(out,
                "  these may write what no argument of theirs leads to. Forwards read %llu bytes "
                "in %zu allocation%s that are not declared, most of them in allocation %llu: "
                "declare what is written there\n",
                (unsigned long long)unnamed->bytes, unnamed->count, unnamed->count > 1 ? "s" : "",
                (unsigned long long)unnamed->largest);
}

static void print_state(const struct rp_finding *finding, bool declared, FILE *out)
{
    if (finding->unproved)
        fprintf(out,
                "state    declared: %llu calls near the segments are not proved, first %s\n",
                (unsigned long long)finding->unproved, finding->first_unproved);
    else if (declared)
        fprintf(out, "state    declared, as asked for\n");
    else
        fputs("state    discovered: the writes of every call near the segments are proved\n", out);
    print_unnamed(&finding->unnamed, out);
    for (size_t i = 0; i < finding->buffer_count; i++)
        fprintf(out, "  %-8s %s%s\n", finding->buffers[i].name,
                finding->buffers[i].guess ? "(guess) " : "", finding->buffers[i].evidence);
    if (finding->buffer_count == 0 && finding->segment_count > 0)
        fprintf(out, "  no byte that a forward reads was overwritten before its replay ended\n");
}

void rp_proposal_print(const struct rp_finding *finding, bool declared, FILE *out)
{
    if (finding->step[0])
        fprintf(out, "step     %s\n  because  %s\n", finding->step, finding->step_evidence);
    for (size_t i = 0; i < finding->segment_count; i++)
        print_segment(&finding->segments[i], out);
    print_left_out(&finding->endless, out);
    print_chained(finding, out);
    print_doubted(finding, out);
    print_nested(finding, out);
    if (finding->segment_count > 0)
        print_state(finding, declared, out);
    if (finding->story->cut)
        fprintf(out, "the first %d calls were read; later ones may differ\n", RP_STORY_CALLS);
}
