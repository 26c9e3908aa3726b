/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs as bytes, to be read again by the very analyser that made them.
 *
 * The bytes are a proof's own arrays, one behind the other, with offsets where pointers were:
 * they mean something to a build with the same rp_analyser_version only, and are believed as
 * they stand once their lengths add up. Whoever keeps them answers for both (cache.h). */
#ifndef RP_CUDA_ACCESS_FROZEN_H
#define RP_CUDA_ACCESS_FROZEN_H

#include "cuda/access/access.h"

/* Of everything that decides what a proof says and how it lies in memory: all sources of the
 * PTX parser and of the analyser, the compiler, and the sizes of what is kept. */
void rp_analyser_version(uint64_t version[2]);

/* The caller frees *bytes. RP_NO_MEMORY is the only error. */
enum rp_status rp_proof_freeze(const struct rp_proof *proof, void **bytes, size_t *size);
/* RP_DAMAGED: these bytes are no frozen proof. */
enum rp_status rp_proof_thaw(const void *bytes, size_t size, struct rp_proof **out);

#endif
