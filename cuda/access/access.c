/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/access.h"

#include <stdlib.h>

const char *rp_verdict_name(enum rp_verdict verdict)
{
    switch (verdict) {
    case RP_VERDICT_NONE: return "none";
    case RP_VERDICT_EXACT: return "exact";
    case RP_VERDICT_BOUNDED: return "bounded";
    case RP_VERDICT_ROOT: return "root";
    case RP_VERDICT_REACHABLE: return "reachable";
    case RP_VERDICT_EVERYTHING: return "everything";
    }
    return "unknown verdict";
}

void rp_access_set_clear(struct rp_access_set *set)
{
    set->count = 0;
    set->reads = set->writes = RP_VERDICT_NONE;
    set->reason = NULL;
}

void rp_access_set_release(struct rp_access_set *set)
{
    free(set->items);
    *set = (struct rp_access_set){0};
}

enum rp_status rp_access_set_add(struct rp_access_set *set, const struct rp_access *access)
{
    if (set->count == set->capacity) {
        size_t capacity = set->capacity ? set->capacity * 2 : 16;
        struct rp_access *items = realloc(set->items, capacity * sizeof(*items));
        if (!items)
            return RP_NO_MEMORY;
        set->items = items;
        set->capacity = capacity;
    }
    set->items[set->count++] = *access;
    enum rp_verdict verdict = (enum rp_verdict)access->verdict;
    if ((access->effect & RP_READ) && verdict > set->reads)
        set->reads = verdict;
    if ((access->effect & RP_WRITE) && verdict > set->writes)
        set->writes = verdict;
    return RP_OK;
}
