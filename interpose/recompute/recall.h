/* SPDX-License-Identifier: Apache-2.0 */
/* Recalling: what was dropped is made anew, in place, by following its owner's recipe inside a
 * transaction. All functions want the core's lock. */
#ifndef RP_INTERPOSE_RECALL_H
#define RP_INTERPOSE_RECALL_H

#include "interpose/run/execution.h"

/* True when all that the recipe reads stands, or is kept, or can be recalled itself. */
bool rp_recall_is_possible(const struct rp_execution *execution);
/* Makes all that it holds stand again, in `stream`, before whatever that is given next.
 * RP_NO_MEMORY with nothing of the job changed; anything else says that the content is lost. */
enum rp_status rp_recall(struct rp_execution *execution, rp_stream stream);
/* A forward that has dropped what the recipe reads, and has to be recalled before; or NULL. */
enum rp_status rp_recall_input(const struct rp_execution *execution, struct rp_execution **input);
/* Recalls everything that is dropped. */
enum rp_status rp_recall_all(rp_stream stream);

#endif
