/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/soft/api/soft_test.h"

#include <stdlib.h>
#include <time.h>

static CUcontext context;

int context_up(void **state)
{
    (void)state;
    CUdevice device;
    return cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
           cuCtxCreate(&context, NULL, 0, device) != CUDA_SUCCESS;
}

int context_down(void **state)
{
    (void)state;
    return cuCtxDestroy(context) != CUDA_SUCCESS;
}

CUdeviceptr words(size_t count, uint32_t value)
{
    CUdeviceptr address = 0;
    ok(cuMemAlloc(&address, 4 * count));
    ok(cuMemsetD32(address, value, count));
    ok(cuCtxSynchronize());
    return address;
}

void expect_words(CUdeviceptr address, size_t count, uint32_t value)
{
    uint32_t *host = malloc(4 * count);
    assert_non_null(host);
    ok(cuCtxSynchronize());
    ok(cuMemcpyDtoH(host, address, 4 * count));
    for (size_t i = 0; i < count; i++)
        if (host[i] != value)
            fail_msg("word %zu is %#x, not %#x", i, host[i], value);
    free(host);
}

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void wait_at_gate(void *argument)
{
    struct gate *gate = argument;
    gate->reached = true;
    while (!gate->open)
        pause_a_little();
}

void gate_close(struct gate *gate, CUstream stream)
{
    gate->open = gate->reached = false;
    ok(cuLaunchHostFunc(stream, wait_at_gate, gate));
}

void gate_open(struct gate *gate)
{
    gate->open = true;
}

void gate_wait_reached(struct gate *gate)
{
    while (!gate->reached)
        pause_a_little();
}
