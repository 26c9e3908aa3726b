/* SPDX-License-Identifier: Apache-2.0 */
/* Help, made from the tables of commands and options. Each page fits a screen. */
#ifndef RP_TOOLS_HELP_H
#define RP_TOOLS_HELP_H

#include "tools/command.h"

#include <stdbool.h>
#include <stdio.h>

void rp_help_overview(FILE *out);
void rp_help_command(FILE *out, const struct rp_command *command);
/* For completion: one word a line. */
void rp_help_list_commands(FILE *out);
void rp_help_list_options(FILE *out, const struct rp_command *command);
/* The words that an option takes, "--device" or "-d"; false when it takes none in particular. */
bool rp_help_list_words(FILE *out, const struct rp_command *command, const char *name);
/* The command and its options with all that is known of them, separated by tabs: name,
 * synopsis, summary; then for each option name, letter, argument, variable, help. */
void rp_help_list_details(FILE *out, const struct rp_command *command);

#endif
