/* SPDX-License-Identifier: Apache-2.0 */
/* Following a run while it goes on: all its processes side by side, and those that begin later.
 *
 * Each process comes in the order of its trace, and the processes in turns. A folder is followed
 * as long as somebody holds it (`reprise run`, a process of the job), by its name: where a new run
 * takes that, it goes on with the new one. A single trace is followed as long as its process lives;
 * one that has ended lives no more, though its parent has not waited for it. Memory is bounded by
 * the processes that run, and a name for each that ran. */
#ifndef RP_TOOLS_FOLLOW_H
#define RP_TOOLS_FOLLOW_H

#include "tools/group.h"

/* `look` is asked, before each turn and when all that was there has been read, whether to go on; it
 * waits a while where it shall `pause`. False ends it all, and then nothing is said of where traces
 * break off, nor of filters. Exit codes as of rp_groups_read. */
int rp_follow(const struct rp_source *source, const struct rp_filter *filter,
              const struct rp_group_visitor *visitor, bool (*look)(void *ctx, bool pause));

#endif
