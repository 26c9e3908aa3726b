/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/refusal.h"

#include <stdio.h>

enum rp_status rp_refusal_check(const struct rp_contract *contract, char *message,
                                size_t message_size)
{
    for (size_t i = 0; i < contract->buffer_count; i++) {
        if (contract->buffers[i].at.kind == RP_AT_HOST_SYMBOL) {
            snprintf(message, message_size, "buffer %s: host symbols are not available yet",
                     contract->buffers[i].name);
            return RP_UNSUPPORTED;
        }
    }
    return RP_OK;
}
