/* SPDX-License-Identifier: Apache-2.0 */
/* The REPRISE_ environment variables: those of the option table and those below. */
#ifndef RP_TOOLS_VARIABLES_H
#define RP_TOOLS_VARIABLES_H

#include <stdio.h>

/* Every variable with its meaning and the value in force. */
void rp_variables_print(FILE *out);
/* Says which REPRISE_ variables of the environment mean nothing, with the nearest that do. */
void rp_variables_check(void);

#endif
