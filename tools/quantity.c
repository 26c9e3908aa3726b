/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/quantity.h"

#include <stdio.h>

char *rp_count_format(char out[RP_COUNT_TEXT], uint64_t count)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count), used = 0;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = 0;
    return out;
}
