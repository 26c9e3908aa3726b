/* SPDX-License-Identifier: Apache-2.0 */
/* Granules: the pieces by which the driver puts memory behind addresses and takes it away.
 *
 * Sizes are bytes. All functions want the core's lock and a current context. */
#ifndef RP_INTERPOSE_GRANULE_H
#define RP_INTERPOSE_GRANULE_H

#include "tracker/status.h"

#include <stdint.h>

/* The number of the current device, or -1. */
int rp_granule_device(void);
/* The size of one on the first device that was asked; 0 where it has none. */
uint64_t rp_granule_bytes(void);
uint64_t rp_granule_span(uint64_t bytes); /* of as many as hold `bytes` */

/* Addresses for `span` bytes of granules. None begin where others end: a pointer there could belong
 * to either, and what a kernel may do about it would be claimed of both. */
enum rp_status rp_granules_reserve(uint64_t span, uint64_t *address);
void rp_granules_free(uint64_t address, uint64_t span);

/* Memory of the device's at an address that has none. `*handle` is not 0 then. RP_NO_MEMORY when
 * the device has none, RP_UNSUPPORTED when the driver can't. */
enum rp_status rp_granule_fill(uint64_t address, int device, uint64_t *handle);
void rp_granule_empty(uint64_t address, uint64_t handle);
/* Lets another device reach what is there. */
void rp_granules_show(uint64_t address, uint64_t span, int device);

/* After a fork. */
void rp_granules_forget(void);

#endif
