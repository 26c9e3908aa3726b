/* SPDX-License-Identifier: Apache-2.0 */
/* What a call has written becomes history: versions, each with its writer.
 *
 * Most calls make new bytes. Some go on from what they find, and the bytes keep their origin. A
 * copy makes none: its bytes keep the write that made them, byte by byte, so that a replay may read
 * from a copy what its forward read elsewhere. Copies from and to memory that others write unseen
 * vouch for nothing, unless the content is the same that was taken to the host: see offload.h.
 * Wants the core's lock. */
#ifndef RP_INTERPOSE_WRITTEN_H
#define RP_INTERPOSE_WRITTEN_H

#include "interpose/run/footprint.h"

void rp_written_note(const struct rp_footprint *call);

#endif
