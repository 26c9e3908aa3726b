/* SPDX-License-Identifier: Apache-2.0 */
/* Small jobs that reach the device in every way that the driver offers: through graphs, batches,
 * aliases, stream writes. Linked against the driver, as programs with nvcc's help are.
 *
 * A job retains its activation y (eager) or drops it and replays the forward for it (replay). An
 * eager run and a guarded replaying run print the same line of digests; a bare replaying run
 * prints another, or there was no hazard. They know nothing of reprise. */
#ifndef RP_TESTS_SEEN_JOB_H
#define RP_TESTS_SEEN_JOB_H

#include <cuda.h>

#include <stdbool.h>
#include <stddef.h>

enum { N = 1000, ROWS = 8, STEPS = 3, MOST_PARAMS = 8 };
#define WORDS(count) ((size_t)(count) * sizeof(unsigned))

struct scenario {
    const char *name;
    void (*run)(void);
};
/* Each ends with a NULL name. */
extern const struct scenario context_scenarios[], rejected_scenarios[], graph_scenarios[],
    object_scenarios[], pointer_scenarios[], shared_scenarios[], table_scenarios[],
    writer_scenarios[];

/* A call that fails ends the job with exit code 1. */
#define CU(call) check_call((call), #call)
void check_call(CUresult result, const char *call);
/* A call that the driver must reject. */
#define REJECTED(call) check_rejected((call), #call)
void check_rejected(CUresult result, const char *call);

/* The memory of every scenario; `state` and `queue` are printed, with the gradient g. */
extern CUdeviceptr state, queue, x, y, g;
extern int n, rows;
extern bool replaying;
extern const char *kernels_path;

CUdeviceptr allocate(size_t bytes); /* zeroed */
CUfunction function(const char *kernel);
void print_too(const char *name, CUdeviceptr memory, size_t bytes);

/* A launch of N threads, with the parameters given as their addresses. */
#define LAUNCH_IN(stream, kernel, ...) launch(stream, kernel, (void *[]){__VA_ARGS__})
#define LAUNCH(kernel, ...) LAUNCH_IN(NULL, kernel, __VA_ARGS__)
void launch(CUstream stream, const char *kernel, void **params);

/* Forward, something in between, and a replay where the job replays; each NVTX-named. */
void run_steps(void (*forward)(void), void (*between)(void));
/* One step whose replay is other code than its forward. */
void run_step(int step, void (*forward)(void), void (*between)(void), void (*again)(void));

/* Forwards that several scenarios share: y from state, stepping it; y from the queue. */
void step_forward(void);
void queue_forward(void);
void write_row(void); /* clobbers the queue's second row */

#endif
