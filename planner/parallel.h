/* SPDX-License-Identifier: Apache-2.0 */
/* Independent tasks on all processors that the process may run on. Internal to planner/. */
#ifndef RP_PLANNER_PARALLEL_H
#define RP_PLANNER_PARALLEL_H

#include "planner/planner.h"

/* One task of many; touches nothing that another task writes. `message` is the task's own. */
typedef enum rp_status (*rp_task_fn)(void *context, size_t index, char *message,
                                     size_t message_size);

/* Runs tasks 0 to count-1, and tells the watch (or NULL) how many are done. When some fail the rest
 * may be left out; the status and message returned are those of the failed task with the smallest
 * index among those that ran. */
enum rp_status rp_parallel_run(rp_task_fn task, void *context, size_t count,
                               const struct rp_watch *watch, char *message, size_t message_size);

#endif
