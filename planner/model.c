/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/model.h"

#include "planner/later.h"
#include "planner/lazy.h"

bool rp_model_is_scalar(const struct rp_profile *profile, enum rp_model model)
{
    return model == RP_MODEL_NESTED && !rp_profile_has_later(profile);
}

enum rp_status rp_model_open(const struct rp_question *question, struct rp_open_model *open,
                             char *message, size_t message_size)
{
    enum rp_status status;

    *open = (struct rp_open_model){NULL, NULL, NULL};
    if (question->model == RP_MODEL_SHARED) {
        status = rp_shared_create(question, &open->shared, message, message_size);
        if (status == RP_OK)
            open->forward = rp_shared_model(open->shared);
    } else {
        rp_growth_fill_fn fill =
            question->model == RP_MODEL_LAZY ? rp_lazy_fill : rp_later_fill;
        status = rp_growth_create(question, fill, &open->growth, message, message_size);
        if (status == RP_OK)
            open->forward = rp_growth_model(open->growth);
    }
    return status;
}

void rp_model_close(struct rp_open_model *open)
{
    rp_shared_destroy(open->shared);
    rp_growth_destroy(open->growth);
}
