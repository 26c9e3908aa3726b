/* SPDX-License-Identifier: Apache-2.0 */
/* NVTX ranges that are open in one thread. NVTX nests them by thread and by domain: a pop ends the
 * latest range of its own domain, which others may lie above. Called by that thread only. */
#ifndef RP_RUN_RANGE_H
#define RP_RUN_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#define RP_MAX_RANGES 128

enum rp_range_kind { RP_RANGE_NOTHING, RP_RANGE_SCOPE, RP_RANGE_STEP };

struct rp_range {
    const void *domain; /* nvtxDomainHandle_t; NULL: the default one */
    uint8_t opened;     /* enum rp_range_kind */
    bool ended;         /* but the segments of ranges above it have not */
    char *early;        /* its message, where it began before the layer was there; or NULL */
};

struct rp_ranges {
    struct rp_range open[RP_MAX_RANGES];
    unsigned count;
    unsigned deeper; /* that found no room, and open nothing */
};

/* A range that opens nothing yet; NULL where it is too deep. */
struct rp_range *rp_ranges_push(struct rp_ranges *ranges, const void *domain);
/* The domain's latest range has ended. False where it was opened before the layer was there, or
 * lies too deep: nothing ends then. */
bool rp_ranges_pop(struct rp_ranges *ranges, const void *domain);
/* Takes one that has ended from the stack; false when there is none. A segment's waits for those
 * that were opened in it. */
bool rp_ranges_take(struct rp_ranges *ranges, enum rp_range_kind *opened);
/* The same before the layer is there, where nothing opens or ends with a range. */
void rp_ranges_push_early(struct rp_ranges *ranges, const void *domain, const char *message);
void rp_ranges_pop_early(struct rp_ranges *ranges, const void *domain);
/* The message of the first one that began early, which the caller frees, and its place; or NULL.
 * It counts as any other from then on. */
char *rp_ranges_take_early(struct rp_ranges *ranges, struct rp_range **range);
/* Whose thread ends. */
void rp_ranges_release(struct rp_ranges *ranges);
/* Open ranges of the domain. */
unsigned rp_ranges_depth(const struct rp_ranges *ranges, const void *domain);

#endif
