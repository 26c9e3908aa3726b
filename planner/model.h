/* SPDX-License-Identifier: Apache-2.0 */
/* The models that are searched forwards, behind one door. Internal to planner/. */
#ifndef RP_PLANNER_MODEL_H
#define RP_PLANNER_MODEL_H

#include "planner/growth.h"
#include "planner/shared.h"

struct rp_open_model {
    struct rp_shared *shared;
    struct rp_growth *growth;
    const struct rp_forward_model *forward;
};

/* Whether one figure says all about what is held: the nested model, where no row of the profile
 * holds anything later. Such a one needs not be opened. */
bool rp_model_is_scalar(const struct rp_profile *profile, enum rp_model model);

enum rp_status rp_model_open(const struct rp_question *question, struct rp_open_model *open,
                             char *message, size_t message_size);
void rp_model_close(struct rp_open_model *open);

#endif
