/* SPDX-License-Identifier: Apache-2.0 */
/* Occupancy on every architecture, against the formula of NVIDIA's occupancy calculator and the
 * table "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide. */
#include "tests/soft/api/child.h"
#include "tests/soft/api/kernels.h"
#include "tests/soft/api/soft_test.h"

#include <stdio.h>

static const struct {
    const char *capability;
    int threads, blocks, shared_kib;
} table[] = {
    {"5.2", 2048, 32, 96},  {"6.1", 2048, 32, 96},  {"7.0", 2048, 32, 96},  {"7.5", 1024, 16, 64},
    {"8.0", 2048, 32, 164}, {"8.6", 1536, 16, 100}, {"8.9", 1536, 24, 100}, {"9.0", 2048, 32, 228},
};

static int asked(CUdevice_attribute attribute)
{
    int value = -1;
    ok(cuDeviceGetAttribute(&value, attribute, 0));
    return value;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Blocks of a multiprocessor by what the device says of itself. */
static int formula(CUfunction function, int threads, int dynamic)
{
    enum { WARP = 32, SHARED_UNIT = 128, REGISTER_UNIT = 256 };
    int registers, fixed;
    ok(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    ok(cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    int warps = (threads + WARP - 1) / WARP;
    int shared = fixed + dynamic + asked(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
    int a_warp = (registers * WARP + REGISTER_UNIT - 1) / REGISTER_UNIT * REGISTER_UNIT;
    int blocks = asked(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);

    blocks =
        least(blocks, asked(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) / WARP / warps);
    blocks =
        least(blocks, asked(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) / a_warp / warps);
    shared = (shared + SHARED_UNIT - 1) / SHARED_UNIT * SHARED_UNIT;
    if (shared > 0)
        blocks =
            least(blocks, asked(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / shared);
    return blocks;
}

/* Prints the device's figures; the exit code says whether the calls follow the formula. */
static int formula_program(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    int wrong = 0;

    ok(cuInit(0));
    ok(cuCtxCreate(&context, NULL, 0, 0));
    ok(cuModuleLoadData(&module, kernels));
    ok(cuModuleGetFunction(&function, module, "dynamic"));
    int optin = asked(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    ok(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin));
    for (int threads = 1; threads <= 1024; threads += threads < 64 ? 1 : 37) {
        for (int shared = 0; shared <= optin; shared += 1 + shared / 2) {
            int blocks, wanted = formula(function, threads, shared);
            size_t available;
            ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads,
                                                           (size_t)shared));
            wrong += blocks != wanted;
            if (blocks == 0)
                continue;
            /* As much as so many blocks leave for each is enough for all of them. */
            ok(cuOccupancyAvailableDynamicSMemPerBlock(&available, function, blocks, threads));
            wrong += available < (size_t)shared;
            wrong += formula(function, threads, (int)available) < blocks;
        }
    }
    printf("%d %d %d", asked(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
           asked(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
           asked(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) / 1024);
    fflush(stdout);
    return wrong != 0;
}

static void blocks_follow_the_formula(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char setting[64], text[256], wanted[64];
        snprintf(setting, sizeof setting, "REPRISE_SOFT_CAPABILITY=%s", table[i].capability);
        int outcome = child_run("formula", SETTINGS(setting), text, NULL, sizeof text);
        snprintf(wanted, sizeof wanted, "%d %d %d", table[i].threads, table[i].blocks,
                 table[i].shared_kib);
        assert_string_equal(text, wanted);
        if (outcome != 0)
            fail_msg("capability %s: exit code %d", table[i].capability, outcome);
    }
}

int main(int argc, char **argv)
{
    static const struct child_program programs[] = {{"formula", formula_program}};
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_follow_the_formula)};
    child_main(argc, argv, programs, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
