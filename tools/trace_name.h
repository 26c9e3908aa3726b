/* SPDX-License-Identifier: Apache-2.0 */
/* The names of a trace's files. One that keeps only its end is two: what was put aside,
 * NAME.0.rpt, and NAME.rpt, which goes on from it. */
#ifndef RP_TOOLS_TRACE_NAME_H
#define RP_TOOLS_TRACE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it is what was put aside. */
bool rp_trace_name_is_older(const char *path);
/* The other one of the two; false for what has no such name, or does not fit. */
bool rp_trace_name_other(const char *path, char *other, size_t size);

#endif
