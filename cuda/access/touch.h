/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions that touch memory: what they read and write, and where. touch.c has those that every
 * kernel has, other files the rest. */
#ifndef RP_CUDA_ACCESS_TOUCH_H
#define RP_CUDA_ACCESS_TOUCH_H

#include "cuda/access/translate.h"

/* ---- touch.c: what they share ---- */

/* Of no place yet, under the guard of the instruction. */
struct rp_touch *rp_touch_add(const struct rp_translation *at, enum rp_effect effect);
void rp_touch_worst(const struct rp_translation *at, enum rp_effect effect,
                    enum rp_verdict verdict, const char *reason);
/* The value of an address without its constant, which goes to *offset. */
uint32_t rp_touch_address(const struct rp_translation *at, const struct rp_ptx_operand *operand,
                          int64_t *offset);
/* One access of `width` bytes at an address operand. */
struct rp_touch *rp_touch_at(const struct rp_translation *at, enum rp_effect effect,
                             const struct rp_ptx_operand *operand, uint64_t width);
/* It may lead to global memory. */
bool rp_touch_is_global(const struct rp_translation *at, const struct rp_ptx_operand *operand);

/* ---- the classes ---- */

/* param.c */
void rp_param_load(const struct rp_translation *at);
void rp_param_store(const struct rp_translation *at);

/* bulk.c */
void rp_bulk_copy_async(const struct rp_translation *at);
void rp_bulk_copy(const struct rp_translation *at);

/* tile.c: the address is operand `address` */
void rp_tile_touch(const struct rp_translation *at, enum rp_effect effect, unsigned address);

#endif
