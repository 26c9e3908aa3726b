/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that the driver rejects: what they would have done has not happened. */
#include "tests/seen/job.h"

/* More threads in a block than any device has. */
static CUresult launch_too_large(const char *kernel, void **params)
{
    return cuLaunchKernel(function(kernel), 1, 1, 1, 4096, 1, 1, 0, NULL, params, NULL);
}

static void rejected_writers(void)
{
    int row = 1;
    REJECTED(launch_too_large("enqueue", (void *[]){&queue, &x, &row, &n}));
    REJECTED(cuMemcpyDtoD(queue, x, (size_t)1 << 50));
    REJECTED(cuMemsetD8Async(queue, 0, WORDS(n), (CUstream)(void *)&row));
}

/* Nothing happens between forward and replay, though much was asked for. */
static void between_forward_and_replay(void)
{
    run_steps(queue_forward, rejected_writers);
}

/* The rejected launch would have written all of the state: then the forward would not depend on
 * what it was. */
static void forward_with_rejected_write(void)
{
    unsigned value = 7;
    REJECTED(launch_too_large("fill", (void *[]){&state, &value, &n}));
    step_forward();
}

static void in_the_forward(void)
{
    run_steps(forward_with_rejected_write, NULL);
}

/* Once the replay has begun, it would be somebody else's who works on what the replay has
 * rewound. */
static void forward_with_rejected_step(void)
{
    step_forward();
    REJECTED(launch_too_large("step_state", (void *[]){&state, &y, &x, &n}));
}

static void behind_in_the_forward(void)
{
    run_steps(forward_with_rejected_step, NULL);
}

static int attempts;

/* Tried with too many threads first, but only where the code runs for the first time. */
static void forward_with_retry(void)
{
    if (attempts++ % 2 == 0)
        REJECTED(launch_too_large("step_state", (void *[]){&state, &x, &y, &n}));
    step_forward();
}

static void retried(void)
{
    run_steps(forward_with_retry, NULL);
}

const struct scenario rejected_scenarios[] = {
    {"rejected-between", between_forward_and_replay},
    {"rejected-in-forward", in_the_forward},
    {"rejected-behind", behind_in_the_forward},
    {"rejected-then-retried", retried},
    {NULL, NULL},
};
