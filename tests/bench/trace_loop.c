/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of calls, as the trace sees it: enter and leave, with an argument and a result. Prints the
 * seconds that the emitting thread took.
 *
 * usage: trace_loop TRACE CALLS */
#include "tracker/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const struct rp_event_def enter_def = {
    "cuCtxGetCurrent", "enter", 2, {{"call", RP_FIELD_UINT}, {"pctx", RP_FIELD_HEX}}};
static const struct rp_event_def leave_def = {
    "cuCtxGetCurrent", "leave", 2, {{"call", RP_FIELD_UINT}, {"result", RP_FIELD_SINT}}};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    struct rp_trace_writer *writer = NULL;
    uint64_t calls = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

    if (calls == 0 || rp_trace_writer_open(argv[1], NULL, &writer) != RP_OK)
        return 1;
    uint32_t enter = rp_trace_define(writer, &enter_def);
    uint32_t leave = rp_trace_define(writer, &leave_def);
    double start = seconds();
    for (uint64_t i = 0; i < calls; i++) {
        const union rp_value arguments[] = {{.u = i}, {.u = 0x7ffd00001000}};
        const union rp_value results[] = {{.u = i}, {.s = 0}};
        rp_trace_emit(writer, enter, arguments);
        rp_trace_emit(writer, leave, results);
    }
    printf("%.6f\n", seconds() - start);
    return rp_trace_writer_close(writer) == RP_OK ? 0 : 1;
}
