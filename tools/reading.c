/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/reading.h"

bool rp_reading_begin(struct rp_reading *reading, const char *command, int argc, char **argv,
                      int *code)
{
    *reading = (struct rp_reading){.command = rp_command_find(command)};
    if (!rp_options_begin(reading->command, argc, argv, false, &reading->options, code))
        return false;
    *code = rp_filter_create(reading->command, &reading->options, &reading->filter);
    if (*code != RP_EXIT_OK)
        return false;
    *code = rp_source_open(reading->command, &reading->options, &reading->source);
    if (*code != RP_EXIT_OK)
        rp_filter_release(&reading->filter);
    return *code == RP_EXIT_OK;
}

void rp_reading_end(struct rp_reading *reading)
{
    rp_source_close(&reading->source);
    rp_filter_release(&reading->filter);
}
