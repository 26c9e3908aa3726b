/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that outlives the process that writes to it, for what is not yet in its trace's file: a
 * file without a name that another process holds, `reprise run`. When the writing process has
 * ended, however it did, the other one puts into the trace what lies here. So nothing is lost
 * by a crash or a kill, and no handler of signals is needed. Internal to tracker/.
 *
 * The file has slots of one size, most of it holes. A slot is owned by a process and holds one
 * buffer, or what there is to know about one trace. Memory of a slot is taken before it is
 * mapped, and the file can't be made shorter: touching it never fails. Where there is no shelter,
 * or no room in it, buffers lie in the process's own memory, and die with it.
 *
 * What a process wrote here may be anything, for it may have crashed by a wild pointer: whoever
 * reads it believes nothing. */
#ifndef RP_TRACKER_TRACE_SHELTER_H
#define RP_TRACKER_TRACE_SHELTER_H

#include "tracker/trace_encode.h"
#include "tracker/trace_file.h"

#include <limits.h>
#include <stdatomic.h>

enum { RP_SHELTER_SLOTS = 8192 };
#define RP_SHELTER_SLOT_BYTES ((uint64_t)32 << 20)
#define RP_SHELTER_MAGIC UINT64_C(0x314c4853504552) /* "REPSHL1" */

enum rp_shelter_kind { RP_SHELTER_TRACE = 1, RP_SHELTER_BUFFER = 2 };

/* At the file's beginning, where slot 0 would be. */
struct rp_shelter_head {
    uint64_t magic;
    uint64_t namespace_; /* of the numbers of processes */
    atomic_uint hint;    /* a slot behind which one may be free */
    atomic_uint owner[RP_SHELTER_SLOTS]; /* 4 * process + kind; 0: free */
};

/* A slot of a trace. */
struct rp_shelter_trace {
    char path[PATH_MAX];
    int level;
    enum rp_trace_keep keep;
    uint64_t limit;
    atomic_bool over; /* nothing more goes to its file: it is finished */
    atomic_uint_fast64_t dropped; /* events that no buffer took, and of which no gap tells yet */
    atomic_uint which;
    struct rp_shelter_progress {
        dev_t device;
        ino_t inode;
        uint64_t offset, events;
        uint64_t written; /* the order of the last buffer that is in the file, or missing there */
        uint64_t missing; /* events that are not in the file, which failed, or reached its limit, */
        bool is_full;     /* this is its limit; and that does not yet stand there */
        uint64_t latest_ns; /* the latest time of all these events */
    } progress[2]; /* the one that counts is never written to */
};

struct rp_trace_shelter {
    int fd;
    ino_t inode;
    struct rp_shelter_head *head;
    unsigned trace_slot;
    struct rp_shelter_trace *trace;
};

/* NULL where `path` is no shelter, or not one of this process's world. */
struct rp_trace_shelter *rp_shelter_open(const char *path);
/* Gives the trace's slot back. In the child of a fork the slots stay, which are the parent's. */
void rp_shelter_close(struct rp_trace_shelter *shelter, bool forked);

/* Zeroed memory, and the slot that it is in; NULL when there is none. Any thread. */
void *rp_shelter_take(struct rp_trace_shelter *shelter, enum rp_shelter_kind kind, size_t bytes,
                      unsigned *slot);
void rp_shelter_give(struct rp_trace_shelter *shelter, unsigned slot, void *memory, size_t bytes,
                     bool forked);

/* What the file holds now: all buffers up to this one (NULL: none yet), but for so many events. By
 * who writes to it. */
void rp_shelter_progress(struct rp_shelter_trace *trace, const struct rp_trace_file *file,
                         const struct rp_trace_buffer *buffer, uint64_t missing);

#endif
