/* SPDX-License-Identifier: Apache-2.0 */
/* Audits (REPRISE_AUDIT=N): every N-th launch is held to its access set.
 *
 * All tracked device memory that the launch is said not to write is kept before it and
 * compared after it, on the device. A byte that changed all the same means that what is known
 * of the kernel is wrong: it is poisoned, so that from there on it may write anything, and
 * the run is stopped, unless the contract says "report".
 *
 * An audited launch runs alone: the context is waited for on both sides, and the core's lock
 * is held across the driver's call, so that nobody else is blamed and nothing is missed. That
 * costs what it costs; it is for finding out, not for production. Memory that the host, a
 * peer or a network card may write at any time is left out, and so are launches under
 * capture.
 *
 * The launch of a graph counts as one, and is held to what all its nodes may write; which of its
 * kernels wrote more is then not known, and all are poisoned. Graphs that bring memory of their
 * own are left out: it is not there yet when the bytes before are kept. */
#ifndef RP_INTERPOSE_AUDIT_H
#define RP_INTERPOSE_AUDIT_H

#include "interpose/calls/kernel.h"
#include "interpose/run/footprint.h"

#include <cuda.h>

/* With the lock, before the driver is called. True when this launch is audited: the lock then
 * stays held until rp_audit_end. */
bool rp_audit_begin(const struct rp_footprint *call);
/* Before the driver's answer is entered anywhere. `ran`: the launch took place. The lock is
 * still held afterwards. May not return. `kernels` are those that were launched, one at least. */
void rp_audit_end(const struct rp_kernel *const *kernels, size_t count,
                  const struct rp_footprint *call, bool ran);

/* The context has gone, and what was loaded in it. */
void rp_audit_lost(CUcontext context);
/* After a fork. */
void rp_audit_forget(void);

#endif
