/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver's linker was given, and what it made of it.
 *
 * A linked image is machine code, but machine code that this driver compiled from PTX that
 * the layer saw: what is proved of the PTX holds for it. It is known again by its content,
 * since the job may load a copy. All functions want the core's lock. */
#ifndef RP_INTERPOSE_LINKER_H
#define RP_INTERPOSE_LINKER_H

#include "cuda/image/content.h"

#include <stdint.h>

/* `bytes` of PTX go into the link `state`; NULL: something else does. */
void rp_link_add(uint64_t state, const void *text, size_t bytes);
void rp_link_complete(uint64_t state, const void *image, size_t bytes);
void rp_link_destroy(uint64_t state);

/* What `image` was linked from; NULL when it was not, or not under our eyes. */
const struct rp_linked *rp_link_find(const void *image);

/* After a fork. */
void rp_links_forget(void);

#endif
