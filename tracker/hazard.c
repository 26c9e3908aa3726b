/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/hazard.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *meaning;
} kinds[RP_HAZARD_KIND_COUNT] = {
    [RP_HAZARD_STALE_READ] = {"stale-read",
                              "a replay read bytes that were overwritten since its forward"},
    [RP_HAZARD_FOREIGN_READ] = {"foreign-read",
                                "a replay read bytes that its forward did not read"},
    [RP_HAZARD_STATE_LEFT] = {"state-left", "a replay left live state changed"},
    [RP_HAZARD_LIVE_READ] = {"live-read",
                             "a call outside the replay read bytes while they were rewound"},
    [RP_HAZARD_NOT_PRESERVED] = {"not-preserved",
                                 "bytes were overwritten before they could be copied"},
    [RP_HAZARD_UNPROVED] = {"unproved", "it is not known what a call reads or writes"},
    [RP_HAZARD_UNPAIRED] = {"unpaired", "a replay began that no forward belongs to"},
    [RP_HAZARD_DIVERGED] = {"diverged", "a replay launched something else than its forward"},
    [RP_HAZARD_ASSUMED] = {"assumed", "nothing tells what was meant: a warning"},
};

const char *rp_hazard_kind_name(enum rp_hazard_kind kind)
{
    return kinds[kind].name;
}

const char *rp_hazard_kind_meaning(enum rp_hazard_kind kind)
{
    return kinds[kind].meaning;
}

enum rp_hazard_kind rp_hazard_kind_find(const char *name)
{
    int kind = 0;
    while (kind < RP_HAZARD_KIND_COUNT && strcmp(kinds[kind].name, name) != 0)
        kind++;
    return (enum rp_hazard_kind)kind;
}

bool rp_hazard_kind_wants_version(enum rp_hazard_kind kind)
{
    return kind == RP_HAZARD_STALE_READ || kind == RP_HAZARD_STATE_LEFT;
}

bool rp_hazard_kind_warns(enum rp_hazard_kind kind)
{
    return kind == RP_HAZARD_ASSUMED;
}

#define PROMISE "say how often forwards are replayed: \"replays\" in the contract's segment"

#define KNOWN_AGAIN                                                                                \
    "if the job has put back what the forward read, it is known again where the copy that took "   \
    "it to the host is over when it returns"

static const char *stale_advice(const struct rp_hazard *hazard)
{
    if (hazard->for_eager)
        return "recompute puts back nothing for replays that the job makes by itself: run such a "
               "job under -m guard, which does";
    if (hazard->again)
        return PROMISE;
    if (hazard->undiscovered)
        return "declare this buffer in the contract: \"discovered\" was refused for this segment";
    if (!hazard->buffer && !hazard->discovers && hazard->written.uploaded)
        return KNOWN_AGAIN "; else declare this buffer in the contract";
    if (!hazard->buffer && !hazard->discovers)
        return "declare this buffer in the contract, or set \"state\": \"discovered\"";
    if (hazard->guarded)
        return "the bytes changed out of the guard's sight: look for what else writes them";
    return "run under -m guard, which restores these bytes for the replay";
}

static const char *foreign_advice(const struct rp_hazard *hazard)
{
    if (hazard->written.uploaded)
        return KNOWN_AGAIN "; else keep the forward's buffer alive, or check the segment's "
                           "\"pair\"";
    if (hazard->repeats)
        return "this may be the next forward, which by its launches looks like a replay: mark "
               "forward and replay by ranges of their own names; a replay has to read what its "
               "forward read";
    return "make the replay read what the forward read, or keep the forward's buffer alive; if "
           "another forward that waits has read these bytes, check the segment's \"pair\"";
}

static const char *lost_advice(const struct rp_hazard *hazard)
{
    if (hazard->reason)
        return hazard->reason;
    if (hazard->again)
        return PROMISE;
    if (hazard->cause == RP_UNSUPPORTED)
        return "no copy can be made inside a graph or a capture: write these bytes outside, or "
               "retain this segment";
    if (hazard->cause == RP_NOT_FOUND)
        return "no copy can be made of memory that has no address then (an array, or what is "
               "mapped nowhere): keep it mapped until the replay, or retain this segment";
    if (hazard->cause == RP_IO || hazard->cause == RP_INVALID)
        return "the driver refused the copy: look for an error of the job's own calls before it";
    return "give the layer memory for its copies (a larger --budget), or retain this segment";
}

const char *rp_hazard_taken_for(const struct rp_hazard *hazard)
{
    static const char *const words[] = {[RP_ASSUMED_OUTPUT] = "an output",
                                        [RP_ASSUMED_STATE] = "state",
                                        [RP_ASSUMED_MOVED] = "other memory",
                                        [RP_ASSUMED_ORDER] = "the one in order",
                                        [RP_ASSUMED_FILLED] = "the one in order",
                                        [RP_ASSUMED_UNTOLD] = "the one in order",
                                        [RP_ASSUMED_STEADY] = "the same",
                                        [RP_ASSUMED_LANDED] = "an output on the host",
                                        [RP_ASSUMED_BEYOND] = "the job's own",
                                        [RP_ASSUMED_REPEATED] = "a replay",
                                        [RP_ASSUMED_HELPED] = "the job's own",
                                        [RP_ASSUMED_PUT] = "what its forward found",
                                        [RP_ASSUMED_RENEWED] = "a replay",
                                        [RP_ASSUMED_EMPTY] = "no work"};
    return hazard->kind == RP_HAZARD_ASSUMED ? words[hazard->assumed] : NULL;
}

static const char *assumed_advice(const struct rp_hazard *hazard)
{
    switch (hazard->assumed) {
    case RP_ASSUMED_OUTPUT:
        return "declare the buffer if it is state: then what stood there before the replay will "
               "stand again; if it is an output, then nothing is wrong with this buffer";
    case RP_ASSUMED_ORDER:
        return "check the segment's \"pair\"; if the replay has other memory for its outputs, then "
               "nothing is wrong with it";
    case RP_ASSUMED_FILLED:
    case RP_ASSUMED_UNTOLD:
        return "check the segment's \"pair\"; if the replays come in that order, then nothing is "
               "wrong with it; \"key\" names each forward";
    case RP_ASSUMED_STATE:
        if (hazard->declared)
            return "if it is state, as it is named, nothing is wrong with it; if the job puts a "
                   "forward's input there once more, for the replay to work on in place, let the "
                   "contract not name it";
        return "declare the buffer if it is state, then nothing is wrong with it; if it is an "
               "output, let the segment itself write what it adds to";
    case RP_ASSUMED_BEYOND:
        return "if it is a part of the replay, let the replay's range end behind it, as its "
               "forward's does: what it steps is put back then; if not, nothing is wrong with it";
    case RP_ASSUMED_REPEATED:
        return "if it is the next forward, mark forward and replay by ranges of their own names; "
               "if the replay has other memory for its outputs, then nothing is wrong with it";
    case RP_ASSUMED_HELPED:
        return "if it is a part of the segment, open ranges in that thread too, around its part of "
               "the forward and of the replay, by a name of their own: what it steps is put back "
               "then; if not, nothing is wrong with it";
    case RP_ASSUMED_PUT:
        return "declare the buffer, or set \"state\": \"discovered\": then the replay finds what "
               "its forward found, whatever is put there; if the replay puts the same there, "
               "nothing is wrong with it";
    case RP_ASSUMED_RENEWED:
        return "if it is the next forward, mark forward and replay by ranges of their own names; "
               "if it is a replay, nothing is wrong with it: it reads what its forward read";
    case RP_ASSUMED_EMPTY:
        return "a range counts the calls of its own thread: open it there, around them; if the "
               "segment has no work, nothing is wrong with it";
    case RP_ASSUMED_LANDED:
        return "if the job still needs what it had put there, let the replay copy elsewhere, or "
               "declare the variable (\"host_symbol\"), which then stands again after the replay; "
               "if the place is used again, nothing is wrong with it";
    case RP_ASSUMED_STEADY:
        return "it reads a clock, or the order of its atomic operations matters, or it allocates: "
               "no state is the cause where it writes other bytes; let the \"policy\" retain this "
               "segment, which is not run again then";
    case RP_ASSUMED_MOVED:
    case RP_ASSUMED_NOTHING:
        break;
    }
    return "look for inputs that changed places; if the replay has other memory for its outputs, "
           "then nothing is wrong with this buffer";
}

const char *rp_hazard_advice(const struct rp_hazard *hazard)
{
    switch (hazard->kind) {
    case RP_HAZARD_STALE_READ: return stale_advice(hazard);
    case RP_HAZARD_FOREIGN_READ: return foreign_advice(hazard);
    case RP_HAZARD_STATE_LEFT:
        if (hazard->reason)
            return hazard->reason;
        return hazard->guarded
                   ? "the bytes could not be reinstated: the device refused a copy"
                   : "run under -m guard, which reinstates these bytes after the replay";
    case RP_HAZARD_LIVE_READ:
        return hazard->reason ? hazard->reason : "order this call before or after the replay";
    case RP_HAZARD_NOT_PRESERVED:
        return lost_advice(hazard);
    case RP_HAZARD_UNPROVED:
        if (hazard->reason)
            return hazard->reason;
        if (hazard->reinstated)
            return "let the segment itself write what it adds to, or declare the state";
        return hazard->other ? "declare this buffer if it is state, or write the output elsewhere"
                             : "declare the buffers that this call writes, or keep it out of the "
                               "segment";
    case RP_HAZARD_UNPAIRED:
        if (hazard->reason)
            return hazard->reason;
        return "check the segment's rules: how forward and replay are found, \"pair\", and "
               "\"replays\" where a forward is replayed more than once; a forward ends with the "
               "step in which it began";
    case RP_HAZARD_DIVERGED:
        if (hazard->reason)
            return hazard->reason;
        return "the job itself replays other work; look for host state that changed in between";
    case RP_HAZARD_ASSUMED: return assumed_advice(hazard);
    case RP_HAZARD_KIND_COUNT: break;
    }
    return "";
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* What is assumed of a replay's call, it is assumed wherever that writes and whoever reads. */
static bool same_assumption(const struct rp_hazard *a, const struct rp_hazard *b)
{
    return a->assumed == b->assumed && a->allocation_bytes == b->allocation_bytes &&
           same_text(a->segment, b->segment) && same_text(a->buffer, b->buffer) &&
           same_text(a->other, b->other);
}

static bool same_hazard(const struct rp_hazard *a, const struct rp_hazard *b)
{
    if (a->kind == RP_HAZARD_ASSUMED && b->kind == RP_HAZARD_ASSUMED)
        return same_assumption(a, b);
    if (a->kind != b->kind || !same_text(a->segment, b->segment) ||
        !same_text(a->buffer, b->buffer) || !same_text(a->writer, b->writer) ||
        !same_text(a->reader, b->reader) || !same_text(a->other, b->other) ||
        !same_text(a->key, b->key))
        return false;
    return a->buffer || (a->allocation_bytes == b->allocation_bytes && a->offset == b->offset);
}

static enum rp_hazard_news meet_again(struct rp_hazard *known, uint32_t step)
{
    bool is_new = known->last_step != step;
    known->count++;
    known->last_step = step;
    return is_new ? RP_HAZARD_NEW_IN_STEP : RP_HAZARD_KNOWN;
}

enum rp_status rp_hazards_add(struct rp_hazards *list, const struct rp_hazard *hazard,
                              enum rp_hazard_news *news)
{
    enum rp_hazard_news unasked;
    news = news ? news : &unasked;
    *news = RP_HAZARD_KNOWN;
    for (size_t i = 0; i < list->count; i++) {
        if (same_hazard(&list->items[i], hazard)) {
            *news = meet_again(&list->items[i], hazard->step);
            return RP_OK;
        }
    }
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        struct rp_hazard *bigger = realloc(list->items, capacity * sizeof *bigger);
        if (!bigger)
            return RP_NO_MEMORY;
        list->items = bigger;
        list->capacity = capacity;
    }
    struct rp_hazard *added = &list->items[list->count];
    *added = *hazard;
    added->count = 1;
    added->last_step = hazard->step;
    added->order = list->count++;
    *news = RP_HAZARD_NEW;
    return RP_OK;
}

void rp_hazards_release(struct rp_hazards *list)
{
    free(list->items);
    *list = (struct rp_hazards){0};
}

static int by_damage(const void *left, const void *right)
{
    const struct rp_hazard *a = left, *b = right;
    if (a->harmless != b->harmless)
        return a->harmless ? 1 : -1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->instance < b->instance ? -1 : a->instance > b->instance;
}

void rp_hazards_sort(struct rp_hazards *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, by_damage);
}

/* ---- in words ------------------------------------------------------------------------ */

/* A line that is put together piece by piece and cut where the room ends. */
struct line {
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void say(struct line *line, const char *format, ...)
{
    va_list list;
    if (line->used + 1 >= line->size)
        return;
    va_start(list, format);
    int length = vsnprintf(line->text + line->used, line->size - line->used, format, list);
    va_end(list);
    if (length > 0)
        line->used += (size_t)length;
    if (line->used >= line->size)
        line->used = line->size - 1;
}

static void say_bytes(struct line *line, const struct rp_hazard *hazard)
{
    if (hazard->buffer)
        say(line, "%s", hazard->buffer);
    else
        say(line, "allocation %" PRIu64 " (%" PRIu64 " bytes of %s memory, made by call %" PRIu64
                  ")",
            hazard->allocation, hazard->allocation_bytes,
            hazard->memory ? hazard->memory : "unknown", hazard->birth_seq);
    say(line, " bytes %" PRIu64 "..%" PRIu64, hazard->offset, hazard->offset + hazard->bytes);
}

static void say_versions(struct line *line, const struct rp_hazard *hazard)
{
    if (hazard->wants_version)
        say(line, ", version %" PRIu64 " where %" PRIu64 " was wanted", hazard->version_read,
            hazard->version_wanted);
    else if (hazard->kind == RP_HAZARD_FOREIGN_READ)
        say(line, ", version %" PRIu64 ", which the forward did not read", hazard->version_read);
    if (hazard->writer)
        say(line, ", written by %s (step %" PRIu32 ", launch %" PRIu64 ", stream 0x%" PRIx64 ")",
            hazard->writer, hazard->written.step, hazard->written.launch, hazard->written.stream);
}

static void say_divergence(struct line *line, const struct rp_hazard *hazard)
{
    if (hazard->other && hazard->reader && strcmp(hazard->other, hazard->reader) == 0)
        say(line, ": other work than call %" PRIu64 " of its forward", hazard->position);
    else if (hazard->other)
        say(line, ": call %" PRIu64 " of its forward was %s", hazard->position, hazard->other);
    if (!hazard->reader)
        say(line, ", and the replay made none of them");
}

static void say_assumed(struct line *line, const struct rp_hazard *hazard)
{
    switch (hazard->assumed) {
    case RP_ASSUMED_OUTPUT:
        say(line, ", made anew by %s in the replay and read since", hazard->other);
        break;
    case RP_ASSUMED_STATE:
        say(line, ", reinstated over what %s made in the replay and read since", hazard->other);
        break;
    case RP_ASSUMED_MOVED:
        say(line, ": call %" PRIu64 " of its forward, made where another of its calls had its "
                  "output", hazard->position);
        break;
    case RP_ASSUMED_ORDER:
        say(line, ", made where another forward that waits had its output");
        break;
    case RP_ASSUMED_FILLED:
        say(line, ", put there since, and nothing tells for which of the forwards that wait");
        break;
    case RP_ASSUMED_UNTOLD:
        say(line, ", made for one of several forwards that wait on the same buffers, and nothing "
                  "else tells which");
        break;
    case RP_ASSUMED_STEADY:
        say(line, ", which need not be what its forward made: %s", hazard->reason);
        break;
    case RP_ASSUMED_LANDED:
        say(line, ", which copies %" PRIu64 " bytes to the host once more, over others that were "
                  "put there since its forward", hazard->bytes);
        break;
    case RP_ASSUMED_NOTHING: break;
    case RP_ASSUMED_BEYOND:
        say(line, ", right behind the end of a replay, whose forward's range has held this call");
        break;
    case RP_ASSUMED_REPEATED:
        say(line, ", made elsewhere than its forward did, by launches that come again");
        break;
    case RP_ASSUMED_HELPED:
        say(line, ", made by another thread, without a range, beside the replay as beside its "
                  "forward");
        break;
    case RP_ASSUMED_PUT:
        say(line, ", which the forward did not make");
        break;
    case RP_ASSUMED_RENEWED:
        say(line, ", filled anew since its forward, which launches that come again are about to "
                  "read");
        break;
    case RP_ASSUMED_EMPTY:
        say(line, ": neither its forward nor its replay made a call on their thread");
    }
    say(line, ": taken for %s", rp_hazard_taken_for(hazard));
}

static void say_other(struct line *line, const struct rp_hazard *hazard)
{
    if (hazard->kind == RP_HAZARD_LIVE_READ)
        say(line, ", rewound for %s", hazard->other);
    else if (hazard->reinstated)
        say(line, ", reinstated over what %s made in the replay", hazard->other);
    else
        say(line, ", made anew by %s in the replay", hazard->other);
}

void rp_hazard_format(const struct rp_hazard *hazard, char *text, size_t size)
{
    struct line line = {text, size, 0};
    if (size)
        text[0] = '\0';
    say(&line, "%s: ", rp_hazard_kind_name(hazard->kind));
    if (hazard->segment)
        say(&line, "segment %s", hazard->segment);
    else
        say(&line, "no segment");
    if (hazard->key)
        say(&line, ", replay \"%s\"", hazard->key);
    if (hazard->reader)
        say(&line, ", at %s", hazard->reader);
    say(&line, " in step %" PRIu32, hazard->step);
    if (hazard->allocation) {
        say(&line, ": ");
        say_bytes(&line, hazard);
        say_versions(&line, hazard);
    } else if (hazard->buffer && hazard->kind == RP_HAZARD_UNPROVED) {
        say(&line, ": %s", hazard->buffer);
    }
    if (hazard->kind == RP_HAZARD_DIVERGED)
        say_divergence(&line, hazard);
    else if (hazard->kind == RP_HAZARD_ASSUMED)
        say_assumed(&line, hazard);
    else if (hazard->other)
        say_other(&line, hazard);
    if (hazard->kind == RP_HAZARD_UNPAIRED && hazard->allocation)
        say(&line, ", made where another forward that waits had its output");
    if (hazard->kind == RP_HAZARD_UNPAIRED)
        say(&line, ": which forward it repeats can't be told");
}
