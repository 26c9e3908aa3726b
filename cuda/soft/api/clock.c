/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/api/clock.h"

#include "cuda/soft/api/soft.h"

#include <stdlib.h>

static struct soft_figures figures;
static bool is_on;

CUresult soft_clock_start(void)
{
    const char *which = secure_getenv("REPRISE_SOFT_CLOCK");
    char message[512];

    if (which == NULL || *which == '\0')
        return CUDA_SUCCESS;
    const enum rp_status status = soft_figures_read(which, &figures, message, sizeof message);
    is_on = status == RP_OK;
    if (!is_on)
        soft_say("REPRISE_SOFT_CLOCK: %s", message);
    return is_on                     ? CUDA_SUCCESS
           : status == RP_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY
                                    : CUDA_ERROR_INVALID_VALUE;
}

const struct soft_figures *soft_clock_figures(void)
{
    return is_on ? &figures : NULL;
}

__attribute__((visibility("default"))) const char *reprise_soft_clock(void)
{
    return is_on ? figures.name : NULL;
}

/* ---- the roofline ------------------------------------------------------------------ */

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* The share of the multiprocessors' work that a launch of this size can keep going. */
static double share_of(const struct soft_demand *demand)
{
    double blocks = (double)demand->blocks * figures.ops_scale;
    double places = figures.multiprocessors;
    double resident = (double)demand->threads * most(1, blocks / places);
    return least(1, blocks / places) * least(1, resident / figures.fill_threads);
}

static double rate_of(enum simt_class class_)
{
    switch (class_) {
    case SIMT_CLASS_FP32: return figures.fp32_per_s;
    case SIMT_CLASS_FP64: return figures.fp64_per_s;
    case SIMT_CLASS_HALF: return figures.half_per_s;
    case SIMT_CLASS_INTEGER: return figures.integer_per_s;
    case SIMT_CLASS_SPECIAL: return figures.special_per_s;
    case SIMT_CLASS_CONVERT: return figures.convert_per_s;
    case SIMT_CLASS_MEMORY: return figures.wavefront_lanes_per_s;
    case SIMT_CLASS_TENSOR_HALF: return figures.tensor_half_per_s;
    case SIMT_CLASS_TENSOR_TF32: return figures.tensor_tf32_per_s;
    case SIMT_CLASS_TENSOR_BYTE: return figures.tensor_byte_per_s;
    case SIMT_CLASS_TENSOR_FP64: return figures.tensor_fp64_per_s;
    case SIMT_CLASS_CONTROL:
    case SIMT_CLASSES: break;
    }
    return figures.issue_per_s;
}

/* Seconds of the busiest resource of the multiprocessors. */
static double launch_time(const struct soft_demand *demand)
{
    double time = (double)demand->counts.issued / figures.issue_per_s;
    for (int i = 0; i < SIMT_CLASSES; i++)
        time = most(time, (double)demand->counts.of[i] / rate_of((enum simt_class)i));
    time *= figures.ops_scale;
    time =
        most(time, (double)demand->moved_bytes * figures.bytes_scale / figures.cache_bytes_per_s);
    return time / share_of(demand);
}

uint64_t soft_clock_duration(const struct soft_demand *demand, bool in_graph)
{
    double link = demand->peer ? figures.peer_link_bytes_per_s : figures.host_link_bytes_per_s;
    double time;

    if (demand->engine == SOFT_ENGINE_NONE)
        return 0;
    time = most((double)demand->memory_bytes * figures.bytes_scale / figures.memory_bytes_per_s,
                (double)demand->link_bytes * figures.bytes_scale / link);
    if (demand->blocks > 0)
        time = most(time, launch_time(demand));
    return (uint64_t)((in_graph ? figures.graph_gap_ns : figures.gap_ns) + 1e9 * time + 0.5);
}
