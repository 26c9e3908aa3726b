/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/calls/call.h"

#include <string.h>

enum rp_call_id rp_call_find(const char *name)
{
    int lo = 0, hi = RP_CALL_COUNT - 1;
    while (lo <= hi) {
        int middle = (lo + hi) / 2;
        int order = strcmp(name, rp_calls[middle].name);
        if (order == 0)
            return (enum rp_call_id)middle;
        if (order < 0)
            hi = middle - 1;
        else
            lo = middle + 1;
    }
    return RP_CALL_NONE;
}

/* The first position in rp_calls_by_base whose base is not below `base`. Rows of one base
 * stand together there, legacy before per-thread, each from old to young. */
static int first_of_base(const char *base)
{
    int lo = 0, hi = RP_CALL_COUNT;
    while (lo < hi) {
        int middle = (lo + hi) / 2;
        if (strcmp(rp_calls[rp_calls_by_base[middle]].base, base) < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

enum rp_call_id rp_call_resolve(const char *base, int cuda_version, bool per_thread)
{
    enum rp_call_id legacy = RP_CALL_NONE, own = RP_CALL_NONE;
    for (int i = first_of_base(base); i < RP_CALL_COUNT; i++) {
        enum rp_call_id id = rp_calls_by_base[i];
        const struct rp_call_info *call = &rp_calls[id];
        if (strcmp(call->base, base) != 0)
            break;
        if (call->version > cuda_version)
            continue;
        if (call->mode == RP_MODE_LEGACY)
            legacy = id;
        else
            own = id;
    }
    return per_thread && own != RP_CALL_NONE ? own : legacy;
}

bool rp_call_base_known(const char *base)
{
    int i = first_of_base(base);
    return i < RP_CALL_COUNT && strcmp(rp_calls[rp_calls_by_base[i]].base, base) == 0;
}

bool rp_call_in_class(enum rp_call_id id, const char *prefix)
{
    size_t length = strlen(prefix);
    const char *class_ = rp_calls[id].class_;
    return strncmp(class_, prefix, length) == 0 &&
           (class_[length] == '\0' || class_[length] == '.');
}
