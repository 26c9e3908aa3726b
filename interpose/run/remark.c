/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/remark.h"

#include "interpose/run/core.h"

#include <string.h>

static struct remark {
    const char *call, *reason;
    uint64_t count;
} remarks[256]; /* past this, reasons repeat themselves */
static size_t remark_count;
static uint64_t remarks_made; /* these and others */

uint64_t rp_remarks_made(void)
{
    return remarks_made;
}

void rp_remark(const char *call, const char *reason)
{
    remarks_made++;
    for (size_t i = 0; i < remark_count; i++) {
        if (strcmp(remarks[i].call, call) == 0 && strcmp(remarks[i].reason, reason) == 0) {
            remarks[i].count++;
            return;
        }
    }
    if (remark_count == sizeof remarks / sizeof *remarks)
        return;
    remarks[remark_count++] = (struct remark){rp_name(rp_names_id(rp_core.names, call)),
                                              rp_name(rp_names_id(rp_core.names, reason)), 1};
    RP_NOTE(unknown, RP_T(call), RP_U(1), RP_T(reason));
}

void rp_remarks_each(rp_remark_fn visit, void *ctx)
{
    for (size_t i = 0; i < remark_count; i++)
        visit(ctx, remarks[i].call, remarks[i].reason, remarks[i].count);
}
