/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the oracle's file; cuda/soft/oracle.h has the format.
 *
 * While an operation runs it notes what it touches in a set of its own, from all threads that
 * work for it; when it has ended, one record is written. */
#ifndef RP_CUDA_SOFT_API_ORACLE_H
#define RP_CUDA_SOFT_API_ORACLE_H

#include "cuda/soft/api/work.h"

struct soft_touched;

/* Opens the file that REPRISE_SOFT_ORACLE names. False, after a line on stderr, when it can't
 * be written. */
bool soft_oracle_start(void);

/* Around the run of an operation, without the lock. Nothing happens when there is no file. */
void soft_oracle_begin(struct soft_op *op);
void soft_oracle_end(struct soft_op *op, const char *name);

/* What the operation touches, by any thread. */
void soft_oracle_note(const struct soft_op *op, uint64_t address, uint64_t bytes, bool is_write);
/* simt_oracle_fn; `op` is the struct soft_op. */
void soft_oracle_access(void *op, uint64_t address, uint64_t bytes, bool is_write);

#endif
