/* SPDX-License-Identifier: Apache-2.0 */
/* A layer for tests: stands where interpose/run/layer.c stands, listens to every call but
 * cuCtxSynchronize, and notes what it hears. */
#ifndef RP_TESTS_INTERPOSE_LISTENER_H
#define RP_TESTS_INTERPOSE_LISTENER_H

#include "interpose/door/wrap.h"

struct listener {
    unsigned long before[RP_CALL_COUNT], after[RP_CALL_COUNT];
    unsigned long entered[RP_CALL_COUNT], left[RP_CALL_COUNT];
    uint64_t last_seq;
    CUresult last_result; /* as after() or, for a skipped call, leave saw it */
    char order[64];       /* what happened, a letter each: E b a L */
    size_t order_length;
    int starts, forks;
    bool slow_start; /* set by the test: the next start takes a while */
    enum rp_life life_at_start;

    /* What to do, set by the test. */
    enum rp_call_id serve;    /* before() answers this call itself, with `answer` */
    CUresult answer;
    enum rp_call_id recurse;  /* before() of this call calls its own wrapper */
    bool change_count;        /* before() of cuMemsetD8_v2 asks for one byte less */
    bool change_result;       /* after() turns every result into `answer` */
};

/* Exported by the preloaded object, for dlsym(RTLD_DEFAULT, ...). */
typedef struct listener *(*listener_fn)(void);                /* reprise_test_listener */
typedef void (*listener_listen_fn)(unsigned bits);            /* reprise_test_listen */
typedef unsigned long (*listener_count_fn)(const char *name); /* reprise_test_count */
typedef struct rp_lookup_counts (*listener_lookups_fn)(void); /* reprise_test_lookups */
typedef const char *(*listener_unknown_fn)(size_t index);     /* reprise_test_unknown */

#endif
