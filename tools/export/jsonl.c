/* SPDX-License-Identifier: Apache-2.0 */
/* JSON Lines: one object an event, as `reprise dump --json` prints it. */
#include "tools/event_text.h"
#include "tools/export/format.h"

static void take_group(struct rp_export *run, void *state, const struct rp_group *group)
{
    (void)state;
    for (size_t i = 0; i < group->count; i++) {
        rp_event_json(&run->out, &group->events[i], group->pid);
        rp_builder_char(&run->out, '\n');
    }
}

const struct rp_export_format rp_export_jsonl = {
    .name = "jsonl", .suffix = "jsonl", .group = take_group};
