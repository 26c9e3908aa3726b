/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of texts that may be missing. Internal to planner/. */
#ifndef RP_PLANNER_COPY_H
#define RP_PLANNER_COPY_H

#include <stdbool.h>
#include <string.h>

/* `*to` becomes a copy that the caller frees, or NULL where `from` is. False when out of memory. */
static inline bool rp_copy_text(const char *from, char **to)
{
    *to = from != NULL ? strdup(from) : NULL;
    return from == NULL || *to != NULL;
}

#endif
