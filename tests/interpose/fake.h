/* SPDX-License-Identifier: Apache-2.0 */
/* A driver that does nothing but note how it was called: generated from the call table, but
 * for the few entry points in fake.c. It is a libcuda.so.1 of its own, never linked into
 * a test, so that tests meet it as jobs meet a driver. */
#ifndef RP_TESTS_INTERPOSE_FAKE_H
#define RP_TESTS_INTERPOSE_FAKE_H

#include "cuda/calls/stubs.h"

#include <stdbool.h>

/* What call `id` returns: like nothing that a driver returns. */
#define FAKE_RESULT(id) ((CUresult)(100000 + (int)(id)))
#define FAKE_ARGS_MAX 256

/* A node of the only graph that the fake has; its handle is its index, from 1. */
struct fake_node {
    CUgraphNodeType type;
    bool updatable;      /* a kernel node that device code may update */
    CUdeviceptr address; /* of memory that it allocates or frees */
    size_t bytes;
};

struct fake_state {
    struct fake_node nodes[8];
    size_t node_count;
    cuuint64_t graph_flags; /* with which it was instantiated */
    CUdeviceptr variable; /* when it succeeds: of any module by any name, and managed; or 0 */
    size_t variable_bytes;
    CUdeviceptr on_host;  /* memory of the host's, says cuPointerGetAttributes */
    const soft_entry *entries; /* the driver's own functions by id, around any layer */
    unsigned long counts[RP_CALL_COUNT];
    enum rp_call_id last;
    _Alignas(16) unsigned char args[FAKE_ARGS_MAX]; /* struct rp_args_<last> */
    enum rp_call_id failing; /* even where it succeeds */
    bool succeed;         /* answer CUDA_SUCCESS, and leave what is asked for as it is */
    bool hand_out_thunks; /* cuGetProcAddress answers other pointers than dlsym */
    bool found_itself;    /* cuInit looked itself up, and found itself each time */
    int internal_lookups; /* how often */
    unsigned long constructor_result; /* of a driver call during the driver's own start */
};
/* The fake's state, found by dlsym(driver, "fake_state"). */
typedef struct fake_state *(*fake_state_fn)(void);

/* For the generated part. */
CUresult fake_called(enum rp_call_id id, const void *args, size_t bytes);
extern const soft_entry fake_entries[RP_CALL_COUNT], fake_thunks[RP_CALL_COUNT];

#endif
