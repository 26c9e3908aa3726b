/* SPDX-License-Identifier: Apache-2.0 */
/* Small copies from the host, with their bytes, as far as pointers are among them: what a launch
 * that goes by a table of pointers finds in it.
 *
 * A table is what its latest copy has brought only where nobody else can have written there: the
 * copy was over when its call returned, all streams wait for the one that it ran in, and so do its
 * writers before and after; no call since then could have written anywhere. Whoever writes there
 * later without waiting for a launch that has yet to look, counts as writing everything.
 *
 * The latest 128 copies are remembered, of up to 4 KiB. All functions want the core's lock. */
#ifndef RP_INTERPOSE_UPLOAD_H
#define RP_INTERPOSE_UPLOAD_H

#include "interpose/run/footprint.h"

enum { RP_UPLOAD_BYTES = 4096 };

/* The call is about to go out. */
void rp_upload_meet(struct rp_footprint *call);
/* The copy is over, and has brought call->host.upload_bytes from call->host.upload. */
void rp_upload_note(const struct rp_footprint *call);
/* rp_known_fn, for a launch; ctx is its stream (rp_stream). */
bool rp_upload_known(void *ctx, uint64_t address, uint64_t bytes, void *out);
/* The allocation is gone. */
void rp_upload_forget(rp_alloc_id id);
/* After a fork. */
void rp_upload_forget_all(void);

#endif
