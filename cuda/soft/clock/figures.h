/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a GPU that the model clock times operations by.
 *
 * They come from a JSON document, one of those in this folder by name or a file:
 *
 *     { "version": 1, "name": "...", "base": "h200",
 *       "figures": { "memory_bytes_per_s": { "value": 4.8e12, "source": "..." }, ... },
 *       "bytes_scale": 1, "ops_scale": 1 }
 *
 * A figure may also be a plain number. What a document leaves out comes from its `base`; without
 * one it must have all. The scales multiply what operations move and execute, so that a small
 * run shows the proportions of a large one. Rates are a second, of the whole device. */
#ifndef RP_CUDA_SOFT_CLOCK_FIGURES_H
#define RP_CUDA_SOFT_CLOCK_FIGURES_H

#include "tracker/status.h"

#include <stddef.h>

/* name in the document, and whether it may be fractional: all must be more than zero */
#define SOFT_FIGURES(X)                                                                            \
    X(multiprocessors)                                                                             \
    X(memory_bytes_per_s)    /* DRAM */                                                            \
    X(cache_bytes_per_s)     /* L2 */                                                              \
    X(issue_per_s)           /* lane-instructions of any kind */                                   \
    X(fp32_per_s)            /* lane-instructions: a multiply-add is one */                        \
    X(fp64_per_s)                                                                                  \
    X(half_per_s)                                                                                  \
    X(integer_per_s)                                                                               \
    X(special_per_s)                                                                               \
    X(convert_per_s)                                                                               \
    X(wavefront_lanes_per_s) /* lanes of 128-byte accesses to L1 and shared memory */              \
    X(tensor_half_per_s)     /* multiply-adds */                                                   \
    X(tensor_tf32_per_s)                                                                           \
    X(tensor_byte_per_s)                                                                           \
    X(tensor_fp64_per_s)                                                                           \
    X(host_link_bytes_per_s) /* in each direction */                                               \
    X(peer_link_bytes_per_s)                                                                       \
    X(fill_threads)          /* that keep a multiprocessor busy */                                 \
    X(call_ns)               /* the host's time for a call that submits */                         \
    X(graph_ns)              /* and for a graph, */                                                \
    X(graph_node_ns)         /* with each of its nodes */                                          \
    X(gap_ns)                /* the device's time before each operation */                         \
    X(graph_gap_ns)

struct soft_figures {
    char name[128]; /* "NVIDIA H200 SXM 141GB", for people */
#define X(name) double name;
    SOFT_FIGURES(X)
#undef X
    double bytes_scale, ops_scale;
};

/* The embedded documents, up to a NULL name. */
struct soft_figures_text {
    const char *name, *json;
};
extern const struct soft_figures_text soft_figures_texts[];

/* Reads `which`, a name or the path of a file. On failure (RP_INVALID, RP_NO_MEMORY) `message`
 * says what is wrong and where: FILE:LINE:COLUMN for what is no JSON, else the key. */
enum rp_status soft_figures_read(const char *which, struct soft_figures *out, char *message,
                                 size_t size);

#endif
