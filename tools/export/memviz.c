/* SPDX-License-Identifier: Apache-2.0 */
/* A memory snapshot as PyTorch writes it (torch.cuda.memory._dump_snapshot), for the page
 * https://docs.pytorch.org/memory_viz: device memory that the job took from the driver, by any
 * framework or none. Each allocation is a segment with one block; each process is a device.
 *
 * The page reads pickles of protocol 2 to 4 and replays the trace backwards from the segments
 * that are alive at the end, so those are written last. */
#include "tools/export/format.h"
#include "tools/export/pickle.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBERS_OF_PART = 1 << 24 }; /* in the memo, for each of the two parts */

struct memviz {
    struct rp_pickle_list processes, entries; /* entries: of the process that is read */
    struct rp_builder alive_bytes;            /* what each process left alive, already pickled */
    struct rp_pickle trace, alive;
    struct rp_pickle_list segments;
};

/* ---- one allocation ------------------------------------------------------------ */

/* frames: the call innermost, then the segments around it. */
static void add_frames(struct rp_pickle *out, const char *where)
{
    struct rp_pickle_list frames;
    const char *end = where + strlen(where);
    char name[4096];
    uint32_t number;

    rp_pickle_text(out, "frames");
    snprintf(name, sizeof(name), "frames of %s", where);
    if (rp_pickle_known(out, name, &number))
        return;
    rp_pickle_list_begin(out, &frames);
    rp_pickle_keep(out, number);
    while (end > where) {
        const char *start = end;
        while (start > where && start[-1] != ';')
            start--;
        rp_pickle_item(out, &frames);
        rp_pickle_dict_begin(out);
        rp_pickle_text_member(out, "name", start, (size_t)(end - start));
        rp_pickle_text_member(out, "filename", "reprise", 7);
        rp_pickle_number_member(out, "line", 0);
        rp_pickle_dict_end(out);
        end = start > where ? start - 1 : where;
    }
    rp_pickle_list_end(out, &frames);
}

static void add_entry(struct rp_export *run, struct memviz *memviz, const char *action,
                      const struct rp_alive_allocation *item, uint64_t time_ns)
{
    struct rp_pickle *out = &memviz->trace;

    rp_pickle_item(out, &memviz->entries);
    rp_pickle_dict_begin(out);
    rp_pickle_text_member(out, "action", action, strlen(action));
    rp_pickle_number_member(out, "addr", item->address);
    rp_pickle_number_member(out, "size", item->bytes);
    rp_pickle_number_member(out, "stream", 0);
    rp_pickle_number_member(out, "time_us", (run->start_ns + time_ns) / 1000);
    if (strcmp(action, "alloc") == 0)
        rp_pickle_text_member(out, "category", item->kind, strlen(item->kind));
    add_frames(out, item->where);
    rp_pickle_dict_end(out);
}

static void add_segment(struct memviz *memviz, const struct rp_alive_allocation *item,
                        unsigned device)
{
    struct rp_pickle *out = &memviz->alive;
    struct rp_pickle_list blocks;

    rp_pickle_item(out, &memviz->segments);
    rp_pickle_dict_begin(out);
    rp_pickle_number_member(out, "device", device);
    rp_pickle_number_member(out, "address", item->address);
    rp_pickle_number_member(out, "total_size", item->bytes);
    rp_pickle_number_member(out, "allocated_size", item->bytes);
    rp_pickle_number_member(out, "active_size", item->bytes);
    rp_pickle_number_member(out, "stream", 0);
    rp_pickle_text_member(out, "segment_type", "large", 5);
    rp_pickle_text(out, "blocks");
    rp_pickle_list_begin(out, &blocks);
    rp_pickle_item(out, &blocks);
    rp_pickle_dict_begin(out);
    rp_pickle_number_member(out, "address", item->address);
    rp_pickle_number_member(out, "size", item->bytes);
    rp_pickle_number_member(out, "requested_size", item->bytes);
    rp_pickle_text_member(out, "state", "active_allocated", 16);
    add_frames(out, item->where);
    rp_pickle_dict_end(out);
    rp_pickle_list_end(out, &blocks);
    rp_pickle_dict_end(out);
}

/* ---- the run ------------------------------------------------------------------- */

static void begin(struct rp_export *run, void *state)
{
    struct memviz *memviz = state;

    memviz->trace.out = &run->out;
    memviz->alive.out = &memviz->alive_bytes;
    memviz->alive.first = NUMBERS_OF_PART;
    rp_pickle_begin(&memviz->trace);
    rp_pickle_dict_begin(&memviz->trace);
    rp_pickle_text(&memviz->trace, "device_traces");
    rp_pickle_list_begin(&memviz->trace, &memviz->processes);
    rp_pickle_list_begin(&memviz->alive, &memviz->segments);
}

static void process_begins(struct rp_export *run, void *state)
{
    struct memviz *memviz = state;
    (void)run;

    rp_pickle_item(&memviz->trace, &memviz->processes);
    rp_pickle_list_begin(&memviz->trace, &memviz->entries);
}

static void take_event(struct rp_export *run, struct memviz *memviz,
                       const struct rp_group *group, const struct rp_event *event)
{
    struct rp_alive_allocation item;
    bool good = true;
    enum rp_alive_change change = rp_alive_take(&run->live, group, event, &item, &good);

    if (change == RP_ALIVE_ALLOCATED && item.on_device) {
        run->allocations++;
        add_entry(run, memviz, "segment_alloc", &item, event->time_ns);
        add_entry(run, memviz, "alloc", &item, event->time_ns);
    }
    if (change == RP_ALIVE_FREED && item.on_device) {
        add_entry(run, memviz, "free_requested", &item, event->time_ns);
        add_entry(run, memviz, "free_completed", &item, event->time_ns);
        add_entry(run, memviz, "segment_free", &item, event->time_ns);
    }
    if (change == RP_ALIVE_FREED)
        free(item.where);
    run->no_memory |= !good;
}

static void take_group(struct rp_export *run, void *state, const struct rp_group *group)
{
    struct memviz *memviz = state;
    for (size_t i = 0; i < group->count; i++)
        take_event(run, memviz, group, &group->events[i]);
}

static void process_ends(struct rp_export *run, void *state, const char *broken)
{
    struct memviz *memviz = state;

    (void)broken;
    rp_pickle_list_end(&memviz->trace, &memviz->entries);
    for (size_t i = 0; i < run->live.count; i++)
        if (run->live.items[i].on_device)
            add_segment(memviz, &run->live.items[i], run->process);
}

static void end(struct rp_export *run, void *state)
{
    struct memviz *memviz = state;

    rp_pickle_list_end(&memviz->trace, &memviz->processes);
    rp_pickle_text(&memviz->trace, "segments");
    rp_pickle_list_end(&memviz->alive, &memviz->segments);
    rp_builder_add(&run->out, memviz->alive_bytes.text, memviz->alive_bytes.length);
    run->no_memory |= memviz->alive_bytes.cut;
    rp_pickle_dict_end(&memviz->trace);
    rp_pickle_end(&memviz->trace);
}

static void release(void *state)
{
    struct memviz *memviz = state;
    rp_builder_release(&memviz->alive_bytes);
    rp_pickle_release(&memviz->trace);
    rp_pickle_release(&memviz->alive);
}

const struct rp_export_format rp_export_memviz = {.name = "memviz",
                                                  .suffix = "pickle",
                                                  .state_bytes = sizeof(struct memviz),
                                                  .of_memory = true,
                                                  .begin = begin,
                                                  .process_begins = process_begins,
                                                  .group = take_group,
                                                  .process_ends = process_ends,
                                                  .end = end,
                                                  .release = release};
