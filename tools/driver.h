/* SPDX-License-Identifier: Apache-2.0 */
/* Which driver a job gets. */
#ifndef RP_TOOLS_DRIVER_H
#define RP_TOOLS_DRIVER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct rp_driver_choice {
    char path[PATH_MAX]; /* absolute */
    bool soft;           /* it is our software device */
};

/* `device` is "auto", "cuda" or "soft". False with one line in `message` when there is none. */
bool rp_driver_choose(const char *device, struct rp_driver_choice *choice, char *message,
                      size_t size);

#endif
