/* SPDX-License-Identifier: Apache-2.0 */
/* The shared model: a version that several replays read is preserved once.
 *
 * Internal to planner/. Bytes that exactly the same segments read at the same version go
 * together. When the first of those that choose regions comes, it preserves them and holds them
 * until its own replay, which is the last of all those replays; so lifetimes still nest, and a
 * label needs one figure, what is held, and the set of versions preserved so far. A version
 * leaves the set when nobody is left to read it. Whole snapshots stay private. */
#ifndef RP_PLANNER_SHARED_H
#define RP_PLANNER_SHARED_H

#include "planner/forward.h"

struct rp_shared;

/* RP_UNSUPPORTED, with one line in `message`, when more than 64 versions would have to be
 * told apart at one time. The profile must have facts and outlive the model. */
enum rp_status rp_shared_create(const struct rp_question *question, struct rp_shared **out,
                                char *message, size_t message_size);
void rp_shared_destroy(struct rp_shared *shared);
const struct rp_forward_model *rp_shared_model(const struct rp_shared *shared);

#endif
