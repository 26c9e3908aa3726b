/* SPDX-License-Identifier: Apache-2.0 */
/* Following a run while it goes on: all its processes side by side, and those that begin later.
 *
 * Each process comes in the order of its trace, and the processes in turns. A folder is followed
 * as long as somebody holds it (`reprise run`, a process of the job), a single trace as long as
 * its process lives; that of a process which has ended and is not waited for is over. Memory is bounded by the processes that run, and a name for each that ran. */
#ifndef RP_TOOLS_FOLLOW_H
#define RP_TOOLS_FOLLOW_H

#include "tools/group.h"

/* `look` is asked, before each turn and when all that was there has been read, whether to go on; it
 * waits a while where it shall `pause`. False ends it all, and then nothing is said of where traces
 * break off, nor of filters. Exit codes as of rp_groups_read. */
int rp_follow(const struct rp_source *source, const struct rp_filter *filter,
              const struct rp_group_visitor *visitor, bool (*look)(void *ctx, bool pause));

#endif
