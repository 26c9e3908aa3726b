/* SPDX-License-Identifier: Apache-2.0 */
/* Races: two accesses to one byte, one of them a write, by operations that nothing orders.
 *
 * REPRISE_SOFT_RACES=1 tells them on stderr, REPRISE_SOFT_RACES=FILE in that file (`%p` becomes
 * the process's id), a line for each pair of calls and allocation, once. What counts is the
 * order that streams, events, graphs and waits make, not what happened to run first: a race
 * shows in every run. Memory that two mappings alias is one memory. Words that streams write
 * and wait for order what is around them. Accesses of the program itself are not seen. */
#ifndef RP_CUDA_SOFT_API_RACES_H
#define RP_CUDA_SOFT_API_RACES_H

#include "cuda/soft/api/work.h"

/* False, after a line on stderr, when the file can't be written. */
bool soft_races_start(void);
bool soft_races_are_wanted(void);

/* `op` has ended and touched what it has touched. With the device's lock. */
void soft_races_check(const struct soft_op *op);
/* `op`, which runs, has seen what is written there: who wrote it came before. With the lock. */
void soft_races_witness(const struct soft_op *op, uint64_t address);

#endif
