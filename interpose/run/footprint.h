/* SPDX-License-Identifier: Apache-2.0 */
/* One driver call as the tracker sees it: an access set in byte ranges. */
#ifndef RP_INTERPOSE_FOOTPRINT_H
#define RP_INTERPOSE_FOOTPRINT_H

#include "cuda/access/access.h"
#include "cuda/driver.h"
#include "tracker/memory.h"
#include "tracker/version.h"

/* A stretch of one allocation that the call reads or writes (one effect an entry). */
struct rp_reach {
    rp_alloc_id id;
    uint64_t lo, hi;
    uint64_t from; /* of these bytes within the access, which may lie in several allocations */
    enum rp_effect effect;
    enum rp_verdict verdict;
    bool certain; /* every byte of it for certain, not just possibly */
    bool coupled; /* a write: of bytes that the call has read before, and no others */
};

struct rp_scope;

/* Where a copy from the device to the host begins to write, 0: it is none; how much in one line, 0:
 * in more than one; and whether it is over when its call returns. */
struct rp_landing {
    uint64_t at, bytes;
    bool is_over;
};

/* What a copy has on the host's side. */
struct rp_host_side {
    uint64_t content;          /* hash of the bytes that it copies: must agree in a replay ... */
    uint64_t content_versions; /* ... where the device has written them alike, 0: never, and ... */
    bool is_content_doubtful;  /* ... neither may be another by the time that it runs */
    struct rp_provenance brought; /* from the host: of bytes that had been there before */
    const void *taken;            /* to the host: where to, and how much; 0 bytes where it has */
    uint64_t taken_bytes;         /* ... company in its call, or need not be over with it */
    struct rp_landing landing;
    const void *upload;    /* from the host, and over when it returns: where from, and ... */
    uint64_t upload_bytes; /* ... how much; 0 where it has company in its call, or is none */
};

/* Where the first byte of the first stretch that a call writes has its place, see rp_writer; the
 * next stretch begins as much further on. */
#define RP_FIRST_PLACE (UINT64_C(1) << 48)

/* A replay's copy finds what the guard has put back; no forward's versions are this. */
#define RP_CONTENT_PUT_BACK UINT64_MAX

/* What the driver looks at before it takes a launch. */
struct rp_shape {
    uint64_t function; /* CUfunction; 0: not told */
    uint32_t grid[3], block[3];
};

struct rp_footprint {
    uint64_t seq;       /* given by rp_track; 0: not tracked (yet) */
    rp_version version; /* of what it writes: seq, or that of the write that it repeats */
    uint64_t launch;    /* index in its step of this launch, or of the next one */
    uint32_t name;      /* of the kernel, or of the call */
    uint64_t signature; /* equal for calls that do the same work on whatever buffers */
    uint64_t values;    /* hash of what the call is given by value: must agree in a replay */
    struct rp_host_side host; /* of a copy between host and device */
    rp_stream stream;
    uint64_t remarks;   /* rp_remarks_made when it was begun */
    bool audited; /* a launch that is compared with what is claimed here */
    bool is_launch;
    struct rp_shape shape; /* of a launch by the job, in recompute */
    bool in_graph;      /* a node of a graph that is launched */
    bool on_device;     /* to write device memory is all that it does */
    bool is_upload;     /* copies from the host */
    bool is_gate;       /* it is over when somebody else says so, and perhaps this job */
    bool on_host;       /* a function of the host's: it meets host memory alone */
    bool is_transfer;   /* copies from anywhere, in any shape */
    bool overruns;      /* where the layer has made memory, goes past its end: to be refused */
    bool is_copy;       /* byte by byte, from one line of device memory to another, and no more */
    bool is_early;      /* it could not be made to wait for copies of, or over, what it may write */
    bool is_in_turn;    /* nothing that it meets runs in another order than the calls came in */
    uint64_t pointers;  /* of a launch: words of its parameters, see rp_pointer_bit, that are known
                           to point into tracked memory */
    struct rp_reach *reaches; /* reads come before writes */
    size_t count, capacity;
    enum rp_verdict reads, writes;
    const char *reason;       /* why the verdict is no better; lives as long as the process */
    const char *varies;       /* why it need not do the same twice, or NULL; the same */
    /* Kept by rp_track for rp_track_done: */
    struct rp_scope *replay; /* it is made in the range of this replay of its thread ... */
    bool repeats;        /* ... and repeats a call of the forward ... */
    size_t entry;        /* ... which has this place in its log */
    bool denied;         /* it must not go out: there is no memory for what it would meet */
    bool is_hopeless;    /* it goes out without that, to be refused for something else */
    bool served;         /* it is not run: its outputs are put where it would write them */
    bool historic;       /* if not: it reads nothing that has changed since the forward */
    uint64_t sight;      /* inside a segment: what it sees, see rp_footprint_sight */
    bool wrote_live;     /* bytes that a replay had rewound count as live since */
};

/* What it meets on the device is not known. */
static inline bool rp_footprint_is_unproved(const struct rp_footprint *call)
{
    return !call->on_host &&
           (call->reads >= RP_VERDICT_REACHABLE || call->writes >= RP_VERDICT_REACHABLE);
}

/* An empty one from a small pool, of which each thread may hold several; give it back. Never
 * NULL: short of memory it is the thread's own, and adding to it may fail. */
struct rp_footprint *rp_footprint_take(void);
void rp_footprint_give(struct rp_footprint *call);

/* Empties the call but keeps its storage. */
void rp_footprint_begin(struct rp_footprint *call, uint32_t name, rp_stream stream);

/* Which of `pointers` is for the eight bytes from `at` in the parameter block; 0: none is. */
static inline uint64_t rp_pointer_bit(uint32_t at)
{
    return at % 8 == 0 && at / 8 < 64 ? UINT64_C(1) << at / 8 : 0;
}

/* The call's verdict on that side is no better. */
static inline void rp_footprint_say(struct rp_footprint *call, enum rp_effect effect,
                                    enum rp_verdict verdict)
{
    enum rp_verdict *worst = effect == RP_READ ? &call->reads : &call->writes;
    if (verdict > *worst)
        *worst = verdict;
}

/* Adds one stretch of a known allocation. */
enum rp_status rp_footprint_add(struct rp_footprint *call, struct rp_reach reach);
/* A place for one more, which the caller fills in; NULL when the host is out of memory: the call's
 * verdict on that side is then RP_VERDICT_EVERYTHING. */
struct rp_reach *rp_footprint_room(struct rp_footprint *call, enum rp_effect effect);
/* The same, `like` this but for the place. This is done for every launch: what is rare is not here,
 * and field by field, as a copy of what was just put together would have to wait for it. */
static inline enum rp_status rp_footprint_reach_in(struct rp_footprint *call, rp_alloc_id id,
                                                   uint64_t offset, uint64_t bytes,
                                                   const struct rp_reach *like)
{
    bool is_last = like->effect == RP_WRITE || !call->count ||
                   call->reaches[call->count - 1].effect == RP_READ;
    struct rp_reach *reach = is_last && call->count < call->capacity
                                 ? &call->reaches[call->count++]
                                 : rp_footprint_room(call, like->effect);
    if (!reach)
        return RP_NO_MEMORY;
    rp_footprint_say(call, like->effect, like->verdict);
    reach->id = id;
    reach->lo = offset;
    reach->hi = offset + bytes;
    reach->from = 0;
    reach->effect = like->effect;
    reach->verdict = like->verdict;
    reach->certain = like->certain;
    reach->coupled = like->coupled;
    return RP_OK;
}
/* Adds what [address, address+bytes) leads to, `like` this but for the place. Bytes that no
 * known allocation holds are the host's own and are left out; *unknown (may be NULL) tells
 * whether there were any. */
enum rp_status rp_footprint_reach_like(struct rp_footprint *call, uint64_t address, uint64_t bytes,
                                       const struct rp_reach *like, bool *unknown);
static inline enum rp_status rp_footprint_reach(struct rp_footprint *call, uint64_t address,
                                                uint64_t bytes, struct rp_reach like,
                                                bool *unknown)
{
    return rp_footprint_reach_like(call, address, bytes, &like, unknown);
}
/* Adds all the memory around `address`. RP_NOT_FOUND when there is none. */
enum rp_status rp_footprint_root(struct rp_footprint *call, uint64_t address,
                                 struct rp_reach like);
/* What the call reads, by who made it and place in its own reads, wherever these lie in memory and
 * however often they were copied: calls that do the same work and see the same do the same. 0 when
 * that can't be vouched for. */
uint64_t rp_footprint_sight(const struct rp_footprint *call);
/* Whether the call sees the same, where bytes that were seen to be alike count as those of them
 * that were `known` to the other. */
bool rp_footprint_sees(const struct rp_footprint *call, uint64_t sight,
                       const struct rp_versions *known);
/* How many bytes it reads at the most. */
uint64_t rp_footprint_bytes_read(const struct rp_footprint *call);
/* How many of them nobody has written since their birth, of what it certainly reads. */
uint64_t rp_footprint_bytes_absent(const struct rp_footprint *call);

/* It goes on from what it finds: writes what it reads. */
bool rp_footprint_steps(const struct rp_footprint *call);

/* Equal for calls that do the same to the same content, whoever makes them: of their kind and
 * place, what they are given, and their sight. 0 when that can't be vouched for. */
uint64_t rp_footprint_deed(const struct rp_footprint *call);

/* A call that is not proved may reach declared state by ways that no argument shows, such as a
 * table of pointers in device memory: adds all of it, on the sides that are not proved. */
enum rp_status rp_footprint_suspect_state(struct rp_footprint *call);
/* Adds every live byte. */
enum rp_status rp_footprint_everything(struct rp_footprint *call, enum rp_effect effect);

#endif
