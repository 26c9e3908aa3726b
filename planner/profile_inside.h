/* SPDX-License-Identifier: Apache-2.0 */
/* A profile from the inside: for the files that build and check one. Internal to planner/. */
#ifndef RP_PLANNER_PROFILE_INSIDE_H
#define RP_PLANNER_PROFILE_INSIDE_H

#include "planner/profile.h"

struct rp_profile {
    uint64_t base, quantum, least;
    struct rp_copy_price price;
    struct rp_purpose purpose;
    struct rp_buffer *buffers;
    size_t buffer_count, buffer_capacity;
    struct rp_segment *segments;
    struct rp_facts *facts; /* one a segment; NULL for a profile of rows alone */
    bool has_rows;          /* they were given, and are not derived from the facts */
    bool has_later;         /* some of them hold something later */
    size_t count, capacity, facts_capacity;
    char *departure; /* why no model fits, or NULL */
    char *no_facts;  /* why there are none, or NULL */
    size_t culprit;  /* the segment that is refused; `count` for none */
};

#endif
