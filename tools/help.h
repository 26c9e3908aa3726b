/* SPDX-License-Identifier: Apache-2.0 */
/* Help, made from the tables of commands and options. Each page fits a screen. */
#ifndef RP_TOOLS_HELP_H
#define RP_TOOLS_HELP_H

#include "tools/command.h"

#include <stdio.h>

void rp_help_overview(FILE *out);
void rp_help_command(FILE *out, const struct rp_command *command);
/* For completion: one word a line. */
void rp_help_list_commands(FILE *out);
void rp_help_list_options(FILE *out, const struct rp_command *command);

#endif
