/* SPDX-License-Identifier: Apache-2.0 */
/* Offloading: bytes that copies have taken from the device to the host are known again when they
 * come back, from wherever in host memory, by their content (128 bits of hash). A replay may then
 * read from the buffer that they come to what its forward read elsewhere.
 *
 * Where several writes have made the same, whoever looks for one of them finds it: see
 * rp_versions_alike.
 *
 * Only what a copy has brought to the host by the time that it returns can be looked at: copies in
 * streams are left out. The latest 1,024 are remembered, and as many of a few bytes. All functions
 * want the core's lock. */
#ifndef RP_INTERPOSE_OFFLOAD_H
#define RP_INTERPOSE_OFFLOAD_H

#include "interpose/run/footprint.h"

/* `call` has taken device memory to the host, at call->host.taken, and is over. */
void rp_offload_note(const struct rp_footprint *call);
/* Who has made the bytes at `host`; maker 0 where they are not known. */
struct rp_provenance rp_offload_find(const void *host, uint64_t bytes);

#endif
