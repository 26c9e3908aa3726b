/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the commands. All go to stderr and start with "reprise: ", so that they can be
 * told from the job's own. */
#ifndef RP_TOOLS_SAY_H
#define RP_TOOLS_SAY_H

#include <stdbool.h>

/* While hushed nothing is said: for reading a second time what was complained about before. */
void rp_say_hush(bool hush);
__attribute__((format(printf, 1, 2))) void rp_say(const char *format, ...);
/* A usage error: the text, and where to read on. Returns RP_EXIT_USAGE. */
__attribute__((format(printf, 2, 3))) int rp_say_usage(const char *command, const char *format,
                                                       ...);

#endif
