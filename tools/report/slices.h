/* SPDX-License-Identifier: Apache-2.0 */
/* A million slices of a timeline in a few bytes each.
 *
 * Every slice is five numbers, each as a varint (seven bits a byte, lowest first, the top bit
 * says that more follow): its start as a zigzag difference to the slice before it, its length,
 * its track, its name, and the id of its event as a zigzag difference. Times are nanoseconds.
 * The page's script decodes them (tools/report/page.js, `decodeSlices`). */
#ifndef RP_TOOLS_REPORT_SLICES_H
#define RP_TOOLS_REPORT_SLICES_H

#include "tools/builder.h"

struct rp_slices {
    struct rp_builder bytes;
    uint64_t last_start, last_id;
    uint64_t count;
};

struct rp_slice {
    uint64_t start_ns, duration_ns;
    uint32_t track, name;
    uint64_t id; /* of the event, in its trace */
};

void rp_slices_add(struct rp_slices *slices, const struct rp_slice *slice);
void rp_slices_release(struct rp_slices *slices);

/* Bytes as base64, in quotes. */
void rp_builder_base64(struct rp_builder *out, const void *bytes, size_t count);

#endif
