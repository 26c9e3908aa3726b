/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace costs: nanoseconds an event in the emitting thread, bytes an event on disk.
 *
 * The events imitate a training step: a few hundred launches of a few dozen kernels, whose
 * arguments come again in each step while addresses, sequence numbers and times move on.
 *
 * usage: trace_bench             measures
 *        trace_bench TRACE BYTES writes a trace of launches, of so many bytes on disk */
#include "tracker/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LAUNCHES 300 /* in a step */
#define KERNELS 40

static const struct rp_event_def enter_def = {
    "cuLaunchKernel",
    "enter",
    11,
    {{"f", RP_FIELD_HEX},
     {"gridDimX", RP_FIELD_UINT},
     {"gridDimY", RP_FIELD_UINT},
     {"gridDimZ", RP_FIELD_UINT},
     {"blockDimX", RP_FIELD_UINT},
     {"blockDimY", RP_FIELD_UINT},
     {"blockDimZ", RP_FIELD_UINT},
     {"sharedMemBytes", RP_FIELD_UINT},
     {"hStream", RP_FIELD_HEX},
     {"kernelParams", RP_FIELD_HEX},
     {"extra", RP_FIELD_HEX}}};
static const struct rp_event_def leave_def = {
    "cuLaunchKernel", "leave", 1, {{"result", RP_FIELD_UINT}}};

static char kernel_names[KERNELS][160];
static uint64_t noise = 1;

static uint64_t random_below(uint64_t limit)
{
    noise = noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (noise >> 33) % limit;
}

static void emit(struct rp_trace_writer *writer, const struct rp_event_def *def,
                 const union rp_value *values)
{
    rp_trace_emit(writer, rp_trace_define(writer, def), values);
}

static void detail(struct rp_trace_writer *writer, const struct rp_event_def *def,
                   const union rp_value *values)
{
    rp_trace_add_one(writer, rp_trace_define(writer, def), values);
}

static union rp_value text(const char *text)
{
    union rp_value value = {.t = {text, strlen(text)}};

    return value;
}

static void emit_call(struct rp_trace_writer *writer, uint64_t launch)
{
    uint64_t kernel = launch * 7 % KERNELS;
    const union rp_value arguments[] = {{.u = 0x55d0c0a00000 + kernel * 0x140},
                                        {.u = 1 + launch % 97},
                                        {.u = 1},
                                        {.u = 1},
                                        {.u = 256},
                                        {.u = 1},
                                        {.u = 1},
                                        {.u = launch % 5 * 1024},
                                        {.u = 0x55d0c0b00000},
                                        {.u = 0x7ffd00001000 + launch % 3 * 64},
                                        {.u = 0}};
    const union rp_value result = {.u = 0};

    emit(writer, &enter_def, arguments);
    emit(writer, &leave_def, &result);
}

static void emit_launch(struct rp_trace_writer *writer, uint64_t seq)
{
    uint64_t launch = seq % LAUNCHES, kernel = launch * 7 % KERNELS;
    union rp_value note[] = {{.u = seq},
                             text(kernel_names[kernel]),
                             {.u = 0x55d0c0b00000},
                             {.u = seq / LAUNCHES},
                             {.u = launch},
                             {.u = 1 + launch % 97},
                             {.u = 1},
                             {.u = 1},
                             {.u = 256},
                             {.u = 1},
                             {.u = 1},
                             {.u = launch % 5 * 1024},
                             text("exact"),
                             text("exact"),
                             text("")};

    emit_call(writer, launch);
    detail(writer, &rp_event_defs[RP_EVENT_launch], note);
    for (uint64_t i = 0; i < 3; i++) {
        const union rp_value access[] = {{.u = seq},
                                         {.u = 1 + (launch * 3 + i) % 200},
                                         {.u = 0},
                                         {.u = 65536 << launch % 6},
                                         text(i == 2 ? "write" : "read"),
                                         text("exact"),
                                         {.u = seq - (i == 2 ? 0 : 1 + random_below(50))}};
        detail(writer, &rp_event_defs[RP_EVENT_access], access);
    }
}

static void emit_small(struct rp_trace_writer *writer, uint64_t seq)
{
    const union rp_value value = {.u = seq};

    emit(writer, &rp_event_defs[RP_EVENT_step], &value);
}

static void emit_plain_call(struct rp_trace_writer *writer, uint64_t seq)
{
    emit_call(writer, seq % LAUNCHES);
}

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void measure(const char *what, void (*body)(struct rp_trace_writer *, uint64_t),
                    uint64_t rounds, const char *path)
{
    struct rp_trace_writer *writer = NULL;
    struct rp_trace_stats stats;

    if (rp_trace_writer_open(path, NULL, &writer) != RP_OK) {
        perror(path);
        exit(1);
    }
    double wall = seconds(CLOCK_MONOTONIC), own = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < rounds; i++)
        body(writer, i);
    wall = seconds(CLOCK_MONOTONIC) - wall;
    own = seconds(CLOCK_THREAD_CPUTIME_ID) - own;
    (void)rp_trace_writer_finish(writer);
    rp_trace_writer_stats(writer, &stats);
    (void)rp_trace_writer_close(writer);
    unlink(path);
    double events = (double)stats.events;
    printf("%-28s %6.1f ns/event of processor, %6.1f ns/event of time (%5.1f M/s), "
           "%5.1f bytes/event raw, %5.2f on disk, %5.1f a round; %llu waits\n",
           what, own * 1e9 / events, wall * 1e9 / events, events / wall * 1e-6,
           (double)stats.bytes_raw / events, (double)stats.bytes_written / events,
           (double)stats.bytes_written / (double)rounds, (unsigned long long)stats.waits);
}

/* Looks at the file's size after each of these many launches. */
#define LAUNCHES_AT_ONCE 10000

static int write_large(const char *path, uint64_t bytes)
{
    struct rp_trace_writer *writer = NULL;
    struct rp_trace_stats stats = {.bytes_written = 0};

    if (rp_trace_writer_open(path, NULL, &writer) != RP_OK) {
        perror(path);
        return 1;
    }
    for (uint64_t seq = 0; stats.bytes_written < bytes;) {
        for (int i = 0; i < LAUNCHES_AT_ONCE; i++)
            emit_launch(writer, seq++);
        rp_trace_writer_stats(writer, &stats);
    }
    return rp_trace_writer_close(writer) == RP_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/reprise-bench-XXXXXX", path[64];

    for (size_t i = 0; i < KERNELS; i++)
        snprintf(kernel_names[i], sizeof(kernel_names[i]),
                 "void at::native::vectorized_elementwise_kernel<4, at::native::functor_%zu<float>,"
                 " at::detail::Array<char*, 3>>(int, functor)",
                 i);
    if (argc == 3)
        return write_large(argv[1], strtoull(argv[2], NULL, 10));
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof(path), "%s/trace", folder);
    measure("one number", emit_small, 4000000, path);
    measure("a call (enter, leave)", emit_plain_call, 1500000, path);
    measure("a launch and its accesses", emit_launch, 400000, path);
    rmdir(folder);
    return 0;
}
