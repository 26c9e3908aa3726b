/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/trace_name.h"

#include <stdio.h>
#include <string.h>

static const char tail[] = ".rpt", older_tail[] = ".0.rpt";

static bool ends_with(const char *path, const char *end)
{
    size_t length = strlen(path), cut = strlen(end);
    return length > cut && strcmp(path + length - cut, end) == 0;
}

bool rp_trace_name_is_older(const char *path)
{
    return ends_with(path, older_tail);
}

bool rp_trace_name_other(const char *path, char *other, size_t size)
{
    bool older = rp_trace_name_is_older(path);
    const char *mine = older ? older_tail : tail, *its = older ? tail : older_tail;

    if (!ends_with(path, mine))
        return false;
    size_t stem = strlen(path) - strlen(mine);
    return (size_t)snprintf(other, size, "%.*s%s", (int)stem, path, its) < size;
}
