/* SPDX-License-Identifier: Apache-2.0 */
/* The model clock: how long an operation would take on the GPU that REPRISE_SOFT_CLOCK names.
 *
 * A roofline: the time of an operation is a fixed gap and then that of the busiest of the
 * device's resources - instruction issue, each kind of arithmetic, DRAM (every 32-byte sector
 * that it touches, once), L2 (the sectors of every access), the links to the host and to peers.
 * A launch that can't fill the device has its share of it. What hits a cache because an earlier
 * operation left it there, bank conflicts, and latencies that nothing hides are not modelled.
 *
 * timeline.h makes a time axis of these durations. */
#ifndef RP_CUDA_SOFT_API_CLOCK_H
#define RP_CUDA_SOFT_API_CLOCK_H

#include "cuda/calls/calls.h"
#include "cuda/soft/clock/figures.h"
#include "cuda/soft/simt.h"

#include <stdbool.h>
#include <stdint.h>

/* What runs one operation at a time, in the order of submission. */
enum soft_engine { SOFT_ENGINE_NONE, SOFT_ENGINE_COMPUTE, SOFT_ENGINE_IN, SOFT_ENGINE_OUT,
                   SOFT_ENGINES };

/* What an operation asks of the device. */
struct soft_demand {
    enum soft_engine engine;
    uint64_t memory_bytes; /* DRAM */
    uint64_t moved_bytes;  /* L2 */
    uint64_t link_bytes;   /* to or from the host, or where `peer` another device */
    bool peer;
    uint64_t blocks, threads; /* of a launch; threads a block */
    struct simt_counts counts;
};

/* Reads the figures. An error, after a line on stderr, when there are none by that name. */
CUresult soft_clock_start(void);
const struct soft_figures *soft_clock_figures(void); /* NULL: there is no model clock */

uint64_t soft_clock_duration(const struct soft_demand *demand, bool in_graph); /* ns */

/* Exported, for whoever reads times and has to say whose they are: the name of the device that
 * the clock models, or NULL when times are the host's. Valid after cuInit. */
const char *reprise_soft_clock(void);

#endif
