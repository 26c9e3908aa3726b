/* SPDX-License-Identifier: Apache-2.0 */
/* Losses: memory or code that recipes need is about to go.
 *
 * A recipe that knows what goes can't be followed any more. So what it has dropped is made anew
 * while that is still possible, and the recipe is let go of: its outputs stay where they are. Where
 * there is no memory for that now, its dropped outputs are lost, which matters, and is reported,
 * only when somebody wants to use them. All functions want the core's lock. */
#ifndef RP_INTERPOSE_LOSS_H
#define RP_INTERPOSE_LOSS_H

#include "interpose/run/execution.h"

/* Nothing of it is dropped, and nothing will be. */
void rp_loss_let_go(struct rp_execution *execution);
/* Lets it go where copies of `bytes` more of what it has read would take as much memory as its
 * outputs could give. False when it is not let go of. */
bool rp_loss_of_worthless(struct rp_execution *execution, uint64_t bytes);
/* Lets go of all that have no outputs any more. */
void rp_loss_let_go_of_empty(void);
/* Lets it go if it is of an earlier step, rather than that copies are made for it. False else. */
bool rp_loss_of_old(struct rp_execution *execution);
/* The allocation dies, or its bytes get another address: `at_once`, or in the order of streams. */
void rp_loss_of_memory(rp_alloc_id id, bool at_once);
/* As rp_loss_of_memory at once, for all that lies in [address, address + bytes). */
void rp_loss_of_range(uint64_t address, uint64_t bytes);
/* Kernels go, or will run otherwise: every recipe may have launched one of them. */
void rp_loss_of_code(void);
/* It is dead already: of what knows it nothing can be made any more. */
void rp_loss_noticed(rp_alloc_id id);

#endif
