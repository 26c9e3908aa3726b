/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/model.h"

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
        status = rp_lazy_create(question, &open->lazy, message, message_size);
        if (status == RP_OK)
            open->forward = rp_lazy_model(open->lazy);
    }
    return status;
}

void rp_model_close(struct rp_open_model *open)
{
    rp_shared_destroy(open->shared);
    rp_lazy_destroy(open->lazy);
}
