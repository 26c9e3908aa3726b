/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/refusal.h"

#include <stdio.h>

static bool is_found_by_launch(const struct rp_segment_rule *rule)
{
    return rule->forward.kind == RP_WHERE_LAUNCHES || rule->replay.kind == RP_WHERE_LAUNCHES ||
           rule->replay.kind == RP_WHERE_REPEAT;
}

static const struct rp_buffer_rule *find_host_symbol(const struct rp_contract *contract)
{
    for (size_t i = 0; i < contract->buffer_count; i++)
        if (contract->buffers[i].at.kind == RP_AT_HOST_SYMBOL)
            return &contract->buffers[i];
    return NULL;
}

/* A launch that opens a segment comes too late: by then the host has used its variables. */
enum rp_status rp_refusal_check(const struct rp_contract *contract, char *message,
                                size_t message_size)
{
    const struct rp_buffer_rule *buffer = find_host_symbol(contract);
    for (size_t i = 0; buffer && i < contract->segment_count; i++) {
        const struct rp_segment_rule *rule = &contract->segments[i];
        if (!is_found_by_launch(rule))
            continue;
        snprintf(message, message_size,
                 "buffer %s: a host symbol needs segments that are found by \"nvtx\" or bracketed "
                 "by calls, and segment %s is found by its launches",
                 buffer->name, rule->name);
        return RP_UNSUPPORTED;
    }
    return RP_OK;
}
