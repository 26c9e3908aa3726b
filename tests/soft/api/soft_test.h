/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the software device's driver API share. */
#ifndef RP_TESTS_SOFT_API_SOFT_TEST_H
#define RP_TESTS_SOFT_API_SOFT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#define CUDA_ENABLE_DEPRECATED /* old clients call old names */
#include <cuda.h>

/* The call must give this result; a failure names both. */
#define expect(result, call)                                                                       \
    do {                                                                                           \
        CUresult got_ = (call), wanted_ = (result);                                                \
        if (got_ != wanted_)                                                                       \
            fail_msg("%s: got %d, wanted %d", #call, (int)got_, (int)wanted_);                     \
    } while (0)
#define ok(call) expect(CUDA_SUCCESS, call)

/* A context on device 0, current to the calling thread, for a whole test group. */
int context_up(void **state);
int context_down(void **state);

/* Device memory holding `value` in every 32-bit word. */
CUdeviceptr words(size_t count, uint32_t value);
/* All `count` words at `address` as they are once the device is idle. */
void expect_words(CUdeviceptr address, size_t count, uint32_t value);

/* A gate that a stream can be made to wait at: a host function that returns when opened. */
struct gate {
    _Atomic bool open, reached;
};
void gate_close(struct gate *gate, CUstream stream); /* the stream stops here ... */
void gate_open(struct gate *gate);                   /* ... until this */
void gate_wait_reached(struct gate *gate);

#endif
