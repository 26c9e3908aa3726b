/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/refusal.h"

#include <stdio.h>

static bool is_policy_in_force(enum rp_policy policy)
{
    return policy == RP_POLICY_WHOLE || policy == RP_POLICY_REGIONS;
}

enum rp_status rp_refusal_check(const struct rp_contract *contract, bool guarding, char *message,
                                size_t message_size)
{
    for (size_t i = 0; i < contract->buffer_count; i++) {
        if (contract->buffers[i].at.kind == RP_AT_HOST_SYMBOL) {
            snprintf(message, message_size, "buffer %s: host symbols are not available yet",
                     contract->buffers[i].name);
            return RP_UNSUPPORTED;
        }
    }
    if (guarding && !is_policy_in_force(contract->policy)) {
        snprintf(message, message_size,
                 "policy %s is not available in guard yet: use whole or regions",
                 rp_policy_name(contract->policy));
        return RP_UNSUPPORTED;
    }
    return RP_OK;
}
