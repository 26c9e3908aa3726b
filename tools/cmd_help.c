/* SPDX-License-Identifier: Apache-2.0 */
/* reprise help [COMMAND|env] */
#include "tools/command.h"
#include "tools/help.h"
#include "tools/options.h"
#include "tools/variables.h"

#include <stdio.h>
#include <string.h>

int rp_cmd_help(int argc, char **argv)
{
    struct rp_options options;
    int code;

    if (!rp_options_begin(rp_command_find("help"), argc, argv, false, &options, &code))
        return code;
    if (options.rest_count == 0) {
        rp_help_overview(stdout);
        return RP_EXIT_OK;
    }
    if (strcmp(options.rest[0], "env") == 0) {
        rp_variables_print(stdout);
        return RP_EXIT_OK;
    }
    const struct rp_command *command = rp_command_find(options.rest[0]);
    if (!command)
        return rp_command_unknown(options.rest[0]);
    rp_help_command(stdout, command);
    return RP_EXIT_OK;
}
