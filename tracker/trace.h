/* SPDX-License-Identifier: Apache-2.0 */
/* The trace: a self-describing binary log of events.
 *
 * tracker/trace-format.md is the grammar. In short: a file header, then chunks, each with
 * length, checksum and a zstd frame. A chunk holds records. The first record of each event
 * type is preceded by its definition (name, class, field names and types), so a reader
 * needs no table of its own, old readers say what they cannot read, and new ones read
 * old files. Entering a call and leaving it are separate events, so that a crash
 * shows the last call.
 *
 * The writer is thread-safe: events go to a buffer of the calling thread and a writer
 * thread compresses and writes full buffers. By default a thread that finds no free buffer
 * waits (counted); with `lossy` its events are dropped, counted, and marked by a gap
 * event. Only events in full chunks on disk survive a kill, or in a shelter
 * (rp_trace_shelter_create), so buffers are also handed over when they grow old (see max_age_ns).
 * The reader is not thread-safe. */
#ifndef RP_TRACKER_TRACE_H
#define RP_TRACKER_TRACE_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rp_field_type {
    RP_FIELD_UINT,  /* unsigned, variable length on disk */
    RP_FIELD_SINT,  /* signed */
    RP_FIELD_HEX,   /* unsigned, shown in hexadecimal: addresses and handles */
    RP_FIELD_BYTES, /* unsigned, a number of bytes: shown as KiB, MiB on request */
    RP_FIELD_TEXT,  /* UTF-8; invalid bytes are escaped by whoever prints it */
    RP_FIELD_NAME,  /* a text that repeats (kernel, buffer, segment): interned in the file */
    RP_FIELD_FLOAT  /* IEEE double */
};

#define RP_EVENT_MAX_FIELDS 24

struct rp_event_def {
    const char *name;  /* "cuMemAlloc_v2", "launch", "hazard" */
    const char *class_; /* "enter", "leave", or "note" for events of the layer itself */
    uint32_t field_count;
    struct {
        const char *name;
        enum rp_field_type type;
    } fields[RP_EVENT_MAX_FIELDS];
};

union rp_value {
    uint64_t u;
    int64_t s;
    double f;
    struct {
        const char *text; /* need not be zero-terminated; NULL reads as "" */
        size_t length;
    } t; /* TEXT and NAME */
};

/* ---- writing ------------------------------------------------------------------ */

struct rp_trace_writer;

/* What a trace keeps when it has a limit. */
enum rp_trace_keep {
    RP_TRACE_KEEP_ALL,
    RP_TRACE_KEEP_FIRST, /* what comes after the limit is lost, counted */
    RP_TRACE_KEEP_LAST   /* a ring of two files of half the limit, NAME.0.rpt and NAME.rpt */
};

struct rp_trace_options {
    size_t buffer_bytes;  /* per thread, default 256 KiB */
    uint64_t max_age_ns;  /* hand over a buffer after this, default 200 ms; five times as late one
                             that holds less than 64 KiB */
    int level;            /* zstd level, default 1 */
    bool lossy;
    enum rp_trace_keep keep;
    uint64_t limit; /* bytes on disk, all files together; at least 64 KiB are taken */
    const char *shelter; /* of rp_trace_shelter_create; NULL: what is in buffers dies with us */
    /* Pairs of strings written into the header: "command", "pid", "device", "driver" ... */
    const char *const (*properties)[2];
    size_t property_count;
};

/* Creates `path` (mode 0600, never following a link, never overwriting). `options` may be
 * NULL: all defaults, which zeros mean too. The property "start_ns" is added: the time of day
 * that event times count from, in nanoseconds since 1970; and with RP_TRACE_KEEP_LAST "keep".
 * RP_IO with errno on failure. */
enum rp_status rp_trace_writer_open(const char *path, const struct rp_trace_options *options,
                                    struct rp_trace_writer **out);
/* Hands over all buffers and waits until they are in the file. RP_IO with errno when events
 * could not be written, now or earlier; after such a failure the file stays as it is and later
 * events are lost, counted. */
enum rp_status rp_trace_writer_flush(struct rp_trace_writer *writer);
/* Flushes, ends the file and closes it. Later events are ignored: right at the end of a
 * process, whose other threads may still run. RP_INVALID the second time. */
enum rp_status rp_trace_writer_finish(struct rp_trace_writer *writer);
/* Finishes and frees: no other thread may use the writer any more. NULL is allowed. */
enum rp_status rp_trace_writer_close(struct rp_trace_writer *writer);
/* In the child of a fork: forgets the parent's file without touching it, and frees. Until
 * then the child may emit in vain; in the parent this does nothing. */
void rp_trace_writer_abandon(struct rp_trace_writer *writer);
/* Registers an event type; `def` must outlive the writer. The same id is returned for
 * the same `def` pointer. Cheap enough to call before the first emit of each type. UINT32_MAX
 * when there are too many (4095) or the host is out of memory; such events are lost, counted. */
uint32_t rp_trace_define(struct rp_trace_writer *writer, const struct rp_event_def *def);

/* Appends one event, time-stamped now (CLOCK_MONOTONIC) and with the thread's id.
 * `values` has def->field_count entries. Copies everything; texts longer than 512 KiB are cut
 * and end in "...". Makes no system call and takes no contended lock unless the thread's
 * buffer is full. In a signal handler that interrupts this or rp_trace_define, the event is
 * lost, counted. */
void rp_trace_emit(struct rp_trace_writer *writer, uint32_t event, const union rp_value *values);

/* More of the thread's latest event: as rp_trace_emit of one after the other, but at that
 * event's time. To read the clock costs as much as an event. */
struct rp_trace_item {
    uint32_t event;
    const union rp_value *values;
};
void rp_trace_add(struct rp_trace_writer *writer, const struct rp_trace_item *items,
                  size_t count);
static inline void rp_trace_add_one(struct rp_trace_writer *writer, uint32_t event,
                                    const union rp_value *values)
{
    const struct rp_trace_item item = {event, values};

    rp_trace_add(writer, &item, 1);
}

/* ---- what comes again ----
 *
 * A job does the same thousands of times. The latest events of a thread may be made a group: they
 * then come again with one short record, in which nothing but a few numbers is other than the last
 * time. A reader gets all of them, as if they had been emitted one by one. */
#define RP_TRACE_GROUP_EVENTS 32u /* the most in a group */
#define RP_TRACE_SLOTS 4u

/* Field `field` (UINT, SINT or HEX) of each event of this type moves by as much as slot `slot`
 * does. */
struct rp_trace_move {
    const struct rp_event_def *def;
    uint8_t field, slot;
};

/* Of one thread, and good until its buffer is handed over; zeros are no group. */
struct rp_trace_group {
    const void *thread;
    uint64_t serial;
    uint32_t chunk, number;
};

/* Makes a group of the thread's latest `count` events, which were emitted one by one and all have
 * something that moves. `slots` are the numbers that stood in the moving fields, or any from which
 * differences make sense. Where it can't be (the buffer was handed over in between, there are too
 * many events, or others among them), `group` is none. */
void rp_trace_group(struct rp_trace_writer *writer, unsigned count,
                    const struct rp_trace_move *moves, unsigned move_count,
                    const uint64_t slots[RP_TRACE_SLOTS], struct rp_trace_group *group);
/* Whether it stands in the thread's present buffer: then it can come again right now. */
bool rp_trace_group_stands(const struct rp_trace_writer *writer,
                           const struct rp_trace_group *group);
/* How many events this thread has emitted. */
uint64_t rp_trace_emitted(const struct rp_trace_writer *writer);
/* The group's events again: all but the last at the time of the thread's latest event, the last
 * now. False when the group is none of this thread's present buffer: nothing was emitted. */
bool rp_trace_again(struct rp_trace_writer *writer, const struct rp_trace_group *group,
                    const uint64_t slots[RP_TRACE_SLOTS]);

struct rp_trace_stats {
    uint64_t events;        /* taken, gap events among them */
    uint64_t bytes_raw;     /* in the file, before compression */
    uint64_t bytes_written; /* the file's size; with RP_TRACE_KEEP_LAST of both */
    uint64_t waits;         /* times that a thread waited for a buffer */
    uint64_t lost;          /* events */
    int error;              /* errno of what keeps events out of the file; its own limit is none */
};
void rp_trace_writer_stats(const struct rp_trace_writer *writer, struct rp_trace_stats *stats);

/* ---- what outlives a process ----------------------------------------------------- */

/* For who starts other processes that write traces: memory for their buffers that stays when they
 * crash or are killed. They find it by `path`, while this process keeps the descriptor open, which
 * is returned; -1 where there is no such memory. */
int rp_trace_shelter_create(char *path, size_t size);

struct rp_trace_rescue {
    uint64_t traces; /* that something was put into */
    uint64_t events; /* that were */
    uint64_t lost;   /* that could not be: the file is gone, or the disk full, or these made no
                        sense; and those that the process itself could not write */
    uint64_t past_limit; /* that came after their trace's limit, as a gap at its end says */
    uint64_t dropped;    /* that found no buffer, as that gap says too; lossy traces */
};
/* Puts into their traces what processes that have ended left there, behind what they had written
 * themselves. Where the job `ended` by itself, and not by a signal, these traces get their end
 * mark, but for one that lacks what it does not tell, or whose process was in a call. Once. */
void rp_trace_shelter_rescue(int shelter, bool ended, struct rp_trace_rescue *rescued);

/* ---- reading ------------------------------------------------------------------ */

struct rp_trace_reader;

struct rp_event {
    uint64_t id;      /* position in the file, from 0 */
    uint64_t time_ns; /* since the start of the trace */
    uint64_t thread;  /* the kernel's thread id */
    const struct rp_event_def *def; /* one pointer for a type, while the reader lives */
    const union rp_value *values; /* valid until the next call of rp_trace_next */
    uint64_t count; /* 1, but for a reader that is brief */
};

/* "-" reads standard input. On failure `message` says what is wrong with the file. */
enum rp_status rp_trace_reader_open(const char *path, struct rp_trace_reader **out, char *message,
                                    size_t message_size);
void rp_trace_reader_close(struct rp_trace_reader *reader);

/* Goes on with the next file of the same trace, which `next` has just opened; the types of events
 * stay the pointers that they are. `next` is gone then. */
void rp_trace_reader_go_on(struct rp_trace_reader *reader, struct rp_trace_reader *next);

/* Whether the file may grow, as that of a running job does; at first it is not thought to. Where a
 * file that grows ends before its end mark, rp_trace_next answers RP_END for now, and goes on when
 * it is called again and there is more. */
void rp_trace_reader_follow(struct rp_trace_reader *reader, bool grows);
/* Behind RP_END: whether more may come. */
bool rp_trace_reader_awaits(const struct rp_trace_reader *reader);

/* For who only counts: from now on the events of a chunk may come as one for all of a type that
 * agree in their NAME fields. `count` says for how many it stands; id and time are those of the
 * chunk's first. Of the fields it has the NAMEs, at most eight, and, of a note, at most two BYTES
 * as their sum, and their largest as NAME_most. `needs` is asked for each type in a chunk: true
 * when its events must come one by one, and then all events of the chunk do. */
void rp_trace_reader_brief(struct rp_trace_reader *reader,
                           bool (*needs)(void *ctx, const struct rp_event_def *def), void *ctx);

/* The next event, in the order of the file (ordered within a thread; across threads by
 * chunk). RP_END at the end; RP_DAMAGED once where the file breaks off or a checksum is
 * wrong, with the reason in rp_trace_reader_message; what came before stays good. Calling on
 * behind damage gives what can still be read, under its true id, and at last RP_END. */
enum rp_status rp_trace_next(struct rp_trace_reader *reader, struct rp_event *event);
const char *rp_trace_reader_message(const struct rp_trace_reader *reader);
/* Behind RP_END: whether the trace was closed by its writer and nothing in it is damaged. */
bool rp_trace_reader_whole(const struct rp_trace_reader *reader);
/* The id that its next event has: at first the one that the file begins with. */
uint64_t rp_trace_reader_next_id(const struct rp_trace_reader *reader);
/* How many bytes of the present file have been used. */
uint64_t rp_trace_reader_offset(const struct rp_trace_reader *reader);
/* Whether it ended before its end mark, as the trace of a killed or a running job does. */
bool rp_trace_reader_broke_off(const struct rp_trace_reader *reader);
/* A header property, or NULL. */
const char *rp_trace_property(const struct rp_trace_reader *reader, const char *key);

/* The value of the field called `name`, or NULL when the event has none. */
const union rp_value *rp_event_field(const struct rp_event *event, const char *name);

#ifdef __cplusplus
}
#endif

#endif
