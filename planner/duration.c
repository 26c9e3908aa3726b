/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/duration.h"

#include <stdio.h>

char *rp_duration_format(char out[RP_DURATION_TEXT], uint64_t ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    uint64_t scale = 1;
    int unit = 0;

    while (unit < 3 && ns / scale >= 1000) {
        scale *= 1000;
        unit++;
    }
    if (unit == 0)
        snprintf(out, RP_DURATION_TEXT, "%llu ns", (unsigned long long)ns);
    else
        snprintf(out, RP_DURATION_TEXT, "%llu.%03llu %s", (unsigned long long)(ns / scale),
                 (unsigned long long)(ns % scale / (scale / 1000)), units[unit]);
    return out;
}
