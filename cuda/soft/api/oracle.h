/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the oracle's file; cuda/soft/oracle.h has the format. */
#ifndef RP_CUDA_SOFT_API_ORACLE_H
#define RP_CUDA_SOFT_API_ORACLE_H

#include "cuda/soft/api/touched.h"

/* Opens the file that REPRISE_SOFT_ORACLE names. False, after a line on stderr, when it can't
 * be written. */
bool soft_oracle_start(void);
bool soft_oracle_is_on(void);

/* The record of what `op`, which has ended, touched. By any thread, without the lock. */
void soft_oracle_write(const struct soft_op *op, const char *name);

#endif
