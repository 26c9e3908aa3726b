/* SPDX-License-Identifier: Apache-2.0 */
/* The models that are searched forwards, behind one door. Internal to planner/. */
#ifndef RP_PLANNER_MODEL_H
#define RP_PLANNER_MODEL_H

#include "planner/lazy.h"
#include "planner/shared.h"

struct rp_open_model {
    struct rp_shared *shared;
    struct rp_lazy *lazy;
    const struct rp_forward_model *forward;
};

/* Not for the nested model, which needs no such thing. */
enum rp_status rp_model_open(const struct rp_question *question, struct rp_open_model *open,
                             char *message, size_t message_size);
void rp_model_close(struct rp_open_model *open);

#endif
