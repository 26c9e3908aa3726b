/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: how much of it may hold what has no room on the device. Pinned memory can't be
 * swapped, so the host would take it from others, and in the end kill somebody. */
#ifndef RP_INTERPOSE_HOST_MEMORY_H
#define RP_INTERPOSE_HOST_MEMORY_H

#include <stdint.h>

/* Half of what the host could give without `pinned` bytes that it has given already; UINT64_MAX
 * where it does not tell. */
uint64_t rp_host_memory_share(uint64_t pinned);

#endif
