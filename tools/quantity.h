/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people. */
#ifndef RP_TOOLS_QUANTITY_H
#define RP_TOOLS_QUANTITY_H

#include <stdint.h>

#define RP_COUNT_TEXT 32

/* "1,234,567". Returns `out`. */
char *rp_count_format(char out[RP_COUNT_TEXT], uint64_t count);

#endif
