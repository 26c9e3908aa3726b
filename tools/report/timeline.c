/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/report/timeline.h"

#include "tools/event_text.h"

#include <stdlib.h>
#include <string.h>

/* What makes an allocation worth a picture: what the layer did there, then how often the job
 * wrote it. */
enum { WEIGHT_OF_LAYER = 1 << 20, WEIGHT_OF_BUFFER = 1 << 24 };

/* ---- first reading --------------------------------------------------------------- */

static uint64_t weight_of(const struct rp_event *event)
{
    char effect[16];

    if (rp_event_is(event, "note", "access"))
        return strcmp(rp_event_text(event, "effect", effect, sizeof(effect)), "read") != 0;
    if (rp_event_is(event, "note", "preserve") || rp_event_is(event, "note", "hazard"))
        return WEIGHT_OF_LAYER;
    return rp_event_is(event, "note", "buffer") ? WEIGHT_OF_BUFFER : 0;
}

static void look(struct rp_timeline *timeline, const struct rp_group *group,
                 const struct rp_event *event)
{
    struct rp_alive_allocation item;
    bool good = true;

    if (rp_alive_take(&timeline->live, group, event, &item, &good) == RP_ALIVE_FREED) {
        good &= rp_dirty_offer(&timeline->dirty, &item);
        free(item.where);
    }
    timeline->no_memory |= !good;
    if (event->time_ns > timeline->end_ns)
        timeline->end_ns = event->time_ns;
}

void rp_timeline_look(struct rp_timeline *timeline, const struct rp_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const struct rp_event *event = &group->events[i];
        uint64_t weight = weight_of(event);
        struct rp_alive_allocation *touched =
            weight ? rp_alive_find(&timeline->live, rp_event_number(event, "allocation")) : NULL;

        if (touched)
            touched->weight += weight;
        look(timeline, group, event);
    }
}

void rp_timeline_look_beside(struct rp_timeline *timeline, const struct rp_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        look(timeline, group, &group->events[i]);
}

void rp_timeline_looked(struct rp_timeline *timeline)
{
    for (size_t i = 0; i < timeline->live.count; i++)
        timeline->no_memory |= !rp_dirty_offer(&timeline->dirty, &timeline->live.items[i]);
    rp_alive_release(&timeline->live);
    timeline->end_ns++;
    timeline->dirty.end_ns = timeline->end_ns;
}

/* ---- second reading: slices -------------------------------------------------------- */

static void add_slice(struct rp_timeline *timeline, const char *track, uint32_t name,
                      uint64_t start_ns, uint64_t end_ns, uint64_t id)
{
    const struct rp_slice slice = {start_ns, end_ns > start_ns ? end_ns - start_ns : 1,
                                   rp_roster_number(&timeline->tracks, track), name, id};
    rp_slices_add(&timeline->slices, &slice);
}

static void add_work(struct rp_timeline *timeline, const struct rp_group *group,
                     const struct rp_event *event, const char *name, uint64_t stream)
{
    char track[64];

    rp_stream_name(stream, event->thread, track, sizeof(track));
    add_slice(timeline, track, rp_roster_number(&timeline->names, name), event->time_ns,
              group->events[group->count - 1].time_ns, event->id);
}

static void take_copy(struct rp_timeline *timeline, const struct rp_group *group)
{
    const char *name = group->events[0].def->name;
    uint64_t stream;

    rp_event_stream(&group->events[0], &stream);
    if (group->enters && (strncmp(name, "cuMemcpy", 8) == 0 || strncmp(name, "cuMemset", 8) == 0))
        add_work(timeline, group, &group->events[0], name, stream);
}

static void open_segment(struct rp_timeline *timeline, const struct rp_event *event,
                         const char *title)
{
    if (timeline->open_count == sizeof(timeline->open) / sizeof(timeline->open[0]))
        return;
    timeline->open[timeline->open_count++] =
        (struct rp_timeline_open){event->thread, event->time_ns, event->id,
                                  rp_roster_number(&timeline->names, title)};
}

/* A segment ends the one that its thread opened last. */
static void close_segment(struct rp_timeline *timeline, const struct rp_event *event)
{
    for (size_t i = timeline->open_count; i-- > 0;) {
        struct rp_timeline_open *open = &timeline->open[i];
        if (open->thread != event->thread)
            continue;
        add_slice(timeline, "segments", open->name, open->start_ns, event->time_ns, open->id);
        memmove(open, open + 1, (--timeline->open_count - i) * sizeof(*open));
        return;
    }
}

static void take_segment(struct rp_timeline *timeline, const struct rp_event *event)
{
    struct rp_segment_note note;
    char title[sizeof(note.name) + 16];

    rp_event_segment(event, &note);
    snprintf(title, sizeof(title), "%s %s", note.phase, note.name);
    if (note.begins)
        open_segment(timeline, event, title);
    else
        close_segment(timeline, event);
}

/* ---- second reading: marks and memory ------------------------------------------------ */

static void take_mark(struct rp_timeline *timeline, const struct rp_event *event)
{
    bool step = strcmp(event->def->name, "step") == 0;

    /* The last ones give way, but a hazard is always marked. */
    if (step && timeline->mark_count >= RP_TIMELINE_MARKS)
        return;
    rp_builder_puts(&timeline->marks, timeline->mark_count++ ? "," : "[");
    rp_builder_printf(&timeline->marks, "[%llu,\"%s\",%llu,", (unsigned long long)event->time_ns,
                      event->def->name, (unsigned long long)event->id);
    rp_event_json_fields(&timeline->marks, event);
    rp_builder_char(&timeline->marks, ']');
}

/* What is alive fills the moments up to now. */
static void take_memory(struct rp_timeline *timeline, uint64_t time_ns)
{
    size_t now = (size_t)((double)time_ns / (double)timeline->end_ns * RP_TIMELINE_MOMENTS);

    if (now >= RP_TIMELINE_MOMENTS)
        now = RP_TIMELINE_MOMENTS - 1;
    while (timeline->moment < now) {
        struct rp_timeline_moment last = {timeline->live.bytes, timeline->live.held_bytes};
        timeline->moments[++timeline->moment] = last;
    }
}

static void note_memory(struct rp_timeline *timeline)
{
    struct rp_timeline_moment *moment = &timeline->moments[timeline->moment];

    if (timeline->live.bytes > moment->live)
        moment->live = timeline->live.bytes;
    if (timeline->live.held_bytes > moment->held)
        moment->held = timeline->live.held_bytes;
}

static void take_living(struct rp_timeline *timeline, const struct rp_group *group,
                        const struct rp_event *event)
{
    bool good = true;

    take_memory(timeline, event->time_ns);
    rp_alive_take(&timeline->live, group, event, NULL, &good);
    note_memory(timeline);
    timeline->no_memory |= !good;
}

static void take_note(struct rp_timeline *timeline, const struct rp_group *group,
                      const struct rp_event *event)
{
    const char *name = event->def->name;
    char kernel[1024];
    uint64_t stream;

    rp_event_stream(event, &stream);
    if (strcmp(name, "launch") == 0)
        add_work(timeline, group, event, rp_event_text(event, "kernel", kernel, sizeof(kernel)),
                 stream);
    else if (strcmp(name, "segment") == 0)
        take_segment(timeline, event);
    else if (strcmp(name, "preserve") == 0 || strcmp(name, "restore") == 0 ||
             strcmp(name, "reinstate") == 0)
        add_slice(timeline, "reprise", rp_roster_number(&timeline->names, name), event->time_ns,
                  event->time_ns, event->id);
    else if (strcmp(name, "step") == 0 || strcmp(name, "hazard") == 0)
        take_mark(timeline, event);
    take_living(timeline, group, event);
    rp_dirty_take(&timeline->dirty, event);
}

void rp_timeline_take(struct rp_timeline *timeline, const struct rp_group *group)
{
    take_copy(timeline, group);
    for (size_t i = 0; i < group->count; i++)
        if (strcmp(group->events[i].def->class_, "note") == 0)
            take_note(timeline, group, &group->events[i]);
}

void rp_timeline_take_beside(struct rp_timeline *timeline, const struct rp_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        if (strcmp(group->events[i].def->class_, "note") == 0)
            take_living(timeline, group, &group->events[i]);
}

/* ---- writing ------------------------------------------------------------------------- */

static void moments_json(struct rp_timeline *timeline, struct rp_builder *out)
{
    take_memory(timeline, timeline->end_ns);
    for (int held = 0; held < 2; held++) {
        rp_builder_puts(out, held ? ",\"held_bytes\":[" : ",\"live_bytes\":[");
        for (size_t i = 0; i < RP_TIMELINE_MOMENTS; i++) {
            if (i > 0)
                rp_builder_char(out, ',');
            rp_builder_decimal(out, held ? timeline->moments[i].held : timeline->moments[i].live);
        }
        rp_builder_char(out, ']');
    }
}

void rp_timeline_json(struct rp_timeline *timeline, struct rp_builder *out)
{
    rp_builder_printf(out, "{\"pid\":%llu,\"start_ns\":\"%llu\",\"end_ns\":%llu,\"command\":",
                      (unsigned long long)timeline->pid, (unsigned long long)timeline->start_ns,
                      (unsigned long long)timeline->end_ns);
    rp_builder_json(out, timeline->command, strlen(timeline->command));
    rp_builder_puts(out, ",\"names\":");
    rp_roster_json(&timeline->names, out);
    rp_builder_puts(out, ",\"tracks\":");
    rp_roster_json(&timeline->tracks, out);
    rp_builder_printf(out, ",\"slice_count\":%llu,\"slices\":",
                      (unsigned long long)timeline->slices.count);
    rp_builder_base64(out, timeline->slices.bytes.text, timeline->slices.bytes.length);
    rp_builder_puts(out, ",\"marks\":");
    rp_builder_add(out, timeline->marks.text ? timeline->marks.text : "[",
                   timeline->marks.text ? timeline->marks.length : 1);
    rp_builder_char(out, ']');
    moments_json(timeline, out);
    rp_builder_puts(out, ",\"dirty\":");
    rp_dirty_json(&timeline->dirty, out);
    rp_builder_char(out, '}');
    out->cut |= timeline->slices.bytes.cut || timeline->marks.cut || timeline->names.no_memory ||
                timeline->tracks.no_memory || timeline->no_memory;
}

void rp_timeline_release(struct rp_timeline *timeline)
{
    rp_alive_release(&timeline->live);
    rp_dirty_release(&timeline->dirty);
    rp_roster_release(&timeline->names);
    rp_roster_release(&timeline->tracks);
    rp_slices_release(&timeline->slices);
    rp_builder_release(&timeline->marks);
}
