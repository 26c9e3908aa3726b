/* SPDX-License-Identifier: Apache-2.0 */
/* What one process did over time, as the page of a report draws it. */
#ifndef RP_TOOLS_REPORT_TIMELINE_H
#define RP_TOOLS_REPORT_TIMELINE_H

#include "tools/alive.h"
#include "tools/report/dirty.h"
#include "tools/report/slices.h"
#include "tools/roster.h"

#define RP_TIMELINE_MOMENTS 2048 /* columns of the picture of memory */
#define RP_TIMELINE_MARKS 4096   /* steps and hazards that are marked at most */

struct rp_timeline {
    uint64_t pid, start_ns, end_ns; /* start: since 1970; end: since then */
    char command[256];
    struct rp_alive live;
    struct rp_dirty dirty;
    struct rp_roster names;  /* of slices */
    struct rp_roster tracks; /* "segments", "reprise", "stream 0x55d0" ... */
    struct rp_slices slices;
    struct rp_timeline_moment {
        uint64_t live, held; /* the most bytes at any time within */
    } moments[RP_TIMELINE_MOMENTS];
    size_t moment; /* the last one that was reached */
    struct rp_timeline_open {
        uint64_t thread, start_ns, id;
        uint32_t name;
    } open[64]; /* segments that are running */
    size_t open_count;
    struct rp_builder marks; /* JSON, a list that is still open */
    size_t mark_count;
    bool no_memory;
};

/* First reading: the length of the trace, and which allocations are worth a picture. */
void rp_timeline_look(struct rp_timeline *timeline, const struct rp_group *group);
/* Of a group that the report is not of: memory lives there as well. */
void rp_timeline_look_beside(struct rp_timeline *timeline, const struct rp_group *group);
/* Between the two: everything that is not wanted for the second. */
void rp_timeline_looked(struct rp_timeline *timeline);
/* Second reading. */
void rp_timeline_take(struct rp_timeline *timeline, const struct rp_group *group);
void rp_timeline_take_beside(struct rp_timeline *timeline, const struct rp_group *group);
void rp_timeline_json(struct rp_timeline *timeline, struct rp_builder *out);
void rp_timeline_release(struct rp_timeline *timeline);

#endif
