/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks as their workers see them. */
#ifndef RP_SOFT_SIMT_BLOCK_H
#define RP_SOFT_SIMT_BLOCK_H

#include "cuda/soft/simt/machine.h"

enum simt_progress { SIMT_PROGRESS_GOING, SIMT_PROGRESS_DONE, SIMT_PROGRESS_STOPPED };

/* A place for the blocks of the worker's run, one after the other, with its shared and local
 * memory at the given addresses. */
bool simt_block_create(struct simt_worker *worker, struct simt_block *block, uint32_t shared_lo,
                       uint32_t local_lo);
void simt_block_destroy(struct simt_block *block);
void simt_block_start(struct simt_block *block, uint64_t linear);
enum simt_progress simt_block_turn(struct simt_block *block);

uint64_t simt_block_permute(uint64_t index, uint64_t count, uint64_t seed);
uint64_t simt_now_ns(void);

#endif
