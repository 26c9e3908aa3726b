/* SPDX-License-Identifier: Apache-2.0 */
/* Faults on purpose: in a test build one driver call of the layer's own can be made to fail.
 *
 *     REPRISE_TEST_FAULT=NTH:CODE       the NTH of them (from 1) is not made and answers CODE
 *     REPRISE_TEST_FAULT=NTH:CODE,NAME  ... and nor is any of that name that comes after it
 *     REPRISE_TEST_FAULT_LOG=FILE       each is noted: its name and a line end, in their order
 *
 * Calls of the job are never touched: the layer's own are those that are made while its guard is
 * up (rp_inside). In other builds all of this is nothing, and the compiler removes it. */
#ifndef RP_INTERPOSE_FAULT_H
#define RP_INTERPOSE_FAULT_H

#include "interpose/door/real.h"

#ifdef RP_TEST_SWITCHES

/* Takes the driver's entry points out of rp_real and puts the thunks there, if the environment
 * asks for faults. Called once, when rp_real has been filled. */
void rp_fault_install(void);
/* The driver's own entry points. */
const struct rp_real *rp_fault_behind(void);

/* For the generated thunks. True when this call is to fail, with the answer in `*result`. */
bool rp_fault_due(enum rp_call_id id, CUresult *result);
extern struct rp_real rp_fault_real RP_HIDDEN;
extern void (*const rp_fault_thunks[RP_CALL_COUNT])(void) RP_HIDDEN;

#else

static inline void rp_fault_install(void)
{
}

static inline const struct rp_real *rp_fault_behind(void)
{
    return &rp_real;
}

#endif
#endif
