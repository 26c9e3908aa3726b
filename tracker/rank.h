/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the processes of a distributed job this is, as its launcher says. */
#ifndef RP_TRACKER_RANK_H
#define RP_TRACKER_RANK_H

#include <stdbool.h>

/* Digits, as they stand in the environment (Open MPI, PMIx, PMI, Slurm, torchrun), or NULL when
 * no launcher has said. Valid as long as the environment is not changed. */
const char *rp_rank(void);
/* Whether the launcher started others beside this one. */
bool rp_rank_among_others(void);

#endif
