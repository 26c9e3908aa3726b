/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define IN_THAT_ORDER                                                                              \
    "check the segment's \"pair\"; if the replays come in that order, then nothing is wrong "      \
    "with it; \"key\" names each forward"

/* Where nothing tells, what was taken for what: how a line goes on ({other} and the like are the
 * hazard's), how it ends, and what a user can do. */
static const struct assumption {
    const char *told, *taken_for, *advice;
    const char *if_declared; /* where that is not the same by the contract's word */
} assumptions[RP_ASSUMPTION_COUNT] = {
    [RP_ASSUMED_NOTHING] = {.told = "", .taken_for = "nothing", .advice = ""},
    [RP_ASSUMED_OUTPUT] = {
        .told = ", made anew by {other} in the replay and read since",
        .taken_for = "an output",
        .advice = "declare the buffer if it is state: then what stood there before the replay "
                  "will stand again; if it is an output, then nothing is wrong with this buffer",
    },
    [RP_ASSUMED_STATE] = {
        .told = ", reinstated over what {other} made in the replay and read since",
        .taken_for = "state",
        .advice = "declare the buffer if it is state, then nothing is wrong with it; if it is an "
                  "output, let the segment itself write what it adds to",
        .if_declared = "if it is state, as it is named, nothing is wrong with it; if the job puts "
                       "a forward's input there once more, for the replay to work on in place, "
                       "let the contract not name it",
    },
    [RP_ASSUMED_MOVED] = {
        .told = ": call {position} of its forward, made where another of its calls had its output",
        .taken_for = "other memory",
        .advice = "look for inputs that changed places; if the replay has other memory for its "
                  "outputs, then nothing is wrong with this buffer",
    },
    [RP_ASSUMED_ORDER] = {
        .told = ", made where another forward that waits had its output",
        .taken_for = "the one in order",
        .advice = "check the segment's \"pair\"; if the replay has other memory for its outputs, "
                  "then nothing is wrong with it",
    },
    [RP_ASSUMED_FILLED] = {
        .told = ", put there since, and nothing tells for which of the forwards that wait",
        .taken_for = "the one in order",
        .advice = IN_THAT_ORDER,
    },
    [RP_ASSUMED_UNTOLD] = {
        .told = ", made for one of several forwards that wait on the same buffers, and nothing "
                "else tells which",
        .taken_for = "the one in order",
        .advice = IN_THAT_ORDER,
    },
    [RP_ASSUMED_STEADY] = {
        .told = ", which need not be what its forward made: {reason}",
        .taken_for = "the same",
        .advice = "it reads a clock, or the order of its atomic operations matters, or it "
                  "allocates: no state is the cause where it writes other bytes; let the "
                  "\"policy\" retain this segment, which is not run again then",
    },
    [RP_ASSUMED_LANDED] = {
        .told = ", which copies {bytes} bytes to the host once more, over others that were put "
                "there since its forward",
        .taken_for = "an output on the host",
        .advice = "if the job still needs what it had put there, let the replay copy elsewhere, "
                  "or declare the variable (\"host_symbol\"), which then stands again after the "
                  "replay; if the place is used again, nothing is wrong with it",
    },
    [RP_ASSUMED_BEYOND] = {
        .told = ", right behind the end of a replay, whose forward's range has held this call",
        .taken_for = "the job's own",
        .advice = "if it is a part of the replay, let the replay's range end behind it, as its "
                  "forward's does: what it steps is put back then; if not, nothing is wrong with "
                  "it",
    },
    [RP_ASSUMED_REPEATED] = {
        .told = ", made elsewhere than its forward did, by launches that come again",
        .taken_for = "a replay",
        .advice = "if it is the next forward, mark forward and replay by ranges of their own "
                  "names; if the replay has other memory for its outputs, then nothing is wrong "
                  "with it",
    },
    [RP_ASSUMED_HELPED] = {
        .told = ", made by another thread, without a range, beside the replay as beside its "
                "forward",
        .taken_for = "the job's own",
        .advice = "if it is a part of the segment, open ranges in that thread too, around its "
                  "part of the forward and of the replay, by a name of their own: what it steps "
                  "is put back then; if not, nothing is wrong with it",
    },
    [RP_ASSUMED_PUT] = {
        .told = ", which the forward did not make",
        .taken_for = "what its forward found",
        .advice = "declare the buffer, or set \"state\": \"discovered\": then the replay finds "
                  "what its forward found, whatever is put there; if the replay puts the same "
                  "there, nothing is wrong with it",
    },
    [RP_ASSUMED_RENEWED] = {
        .told = ", filled anew since its forward, which launches that come again are about to read",
        .taken_for = "a replay",
        .advice = "if it is the next forward, mark forward and replay by ranges of their own "
                  "names; if it is a replay, nothing is wrong with it: it reads what its forward "
                  "read",
    },
    [RP_ASSUMED_EMPTY] = {
        .told = ": neither its forward nor its replay made a call on their thread",
        .taken_for = "no work",
        .advice = "a range counts the calls of its own thread: open it there, around them; if the "
                  "segment has no work, nothing is wrong with it",
    },
};

const char *rp_words_taken_for(const struct rp_hazard *hazard)
{
    return hazard->kind == RP_HAZARD_ASSUMED ? assumptions[hazard->assumed].taken_for : NULL;
}

/* ---- what helps ----------------------------------------------------------------------- */

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

static const char *assumed_advice(const struct rp_hazard *hazard)
{
    const struct assumption *assumed = &assumptions[hazard->assumed];
    return hazard->declared && assumed->if_declared ? assumed->if_declared : assumed->advice;
}

const char *rp_words_advice(const struct rp_hazard *hazard)
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
    case RP_HAZARD_NOT_PRESERVED: return lost_advice(hazard);
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

/* ---- the line ------------------------------------------------------------------------- */

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

/* A text in which names in braces stand for what the hazard has. */
static void say_filled(struct line *line, const struct rp_hazard *hazard, const char *text)
{
    for (const char *hole; (hole = strchr(text, '{')) != NULL; text = strchr(hole, '}') + 1) {
        say(line, "%.*s", (int)(hole - text), text);
        if (strncmp(hole, "{other}", 7) == 0)
            say(line, "%s", hazard->other);
        else if (strncmp(hole, "{reason}", 8) == 0)
            say(line, "%s", hazard->reason);
        else if (strncmp(hole, "{position}", 10) == 0)
            say(line, "%" PRIu64, hazard->position);
        else
            say(line, "%" PRIu64, hazard->bytes);
    }
    say(line, "%s", text);
}

static void say_assumed(struct line *line, const struct rp_hazard *hazard)
{
    say_filled(line, hazard, assumptions[hazard->assumed].told);
    say(line, ": taken for %s", rp_words_taken_for(hazard));
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

void rp_words_line(const struct rp_hazard *hazard, char *text, size_t size)
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
