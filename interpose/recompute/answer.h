/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: what the driver would say of an allocation, had it made it and not the layer. Whether
 * there is memory behind it just now is nobody's business. Any function wants the core's lock. */
#ifndef RP_INTERPOSE_ANSWER_H
#define RP_INTERPOSE_ANSWER_H

#include "cuda/calls/calls.h"
#include "interpose/recompute/backing.h"

/* The allocation of the layer's that `address` lies in, or NULL. */
struct rp_backed *rp_answer_for(uint64_t address);
/* True of an address where nothing is allocated, but the last granule of such an allocation is. */
bool rp_answer_is_past(uint64_t address);
/* True when an access of so many bytes begins in such an allocation, or its last granule, and goes
 * past its end: there may be memory, which is nobody's or another's. The driver refuses that. */
bool rp_answer_overruns(uint64_t address, uint64_t bytes);
/* True when it is the layer's, as is its last granule's end: nothing that the job has mapped. */
bool rp_answer_is_ours(uint64_t address);
/* A call of this name is about to give others the memory that `address` lies in: all of that is
 * there, and stays. False where there is no room for it. The lock is given up meanwhile. */
bool rp_answer_stays(uint64_t address, uint32_t name);
/* cuPointerGetAttribute: as for memory of cuMemAlloc. */
CUresult rp_answer_attribute(const struct rp_backed *backed, uint64_t address,
                             CUpointer_attribute attribute, void *data);
/* cuPointerSetAttribute: what can be set goes with the memory, which stays where it is from then
 * on. */
CUresult rp_answer_set(struct rp_backed *backed, CUpointer_attribute attribute,
                       const void *value);
/* rp_answer_attribute of one among several, where what is not there reads as nothing. */
CUresult rp_answer_one_of(const struct rp_backed *backed, uint64_t address,
                          CUpointer_attribute attribute, void *data);
/* cuPointerGetAttributes of an address past such an allocation's end: the driver is asked of one
 * nearby where there never is memory. */
CUresult rp_answer_of_nothing(uint64_t address, unsigned count, CUpointer_attribute *attributes,
                              void **data);

#endif
