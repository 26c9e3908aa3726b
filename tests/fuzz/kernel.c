/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter on any PTX: parse, compile, and run every kernel that it accepts for a
 * moment, on parameters that hold pointers and small numbers. A kernel may fault, and may
 * write to the one buffer that it is given; anything else is a finding. */
#include "cuda/soft/simt.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXT (64u << 10)
#define MAX_PARAMS 4096
#define MAX_STORAGE (1u << 20)

static unsigned char buffer[4096] __attribute__((aligned(256)));
static unsigned char storage_bytes[MAX_STORAGE] __attribute__((aligned(256)));
static struct simt_pool *pool;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    setenv("REPRISE_SOFT_ISA", "baseline", 1); /* the build that sanitizers watch */
    if (simt_pool_create(1, &pool) != RP_OK)
        abort();
    return 0;
}

/* All module variables share one place, which is as large as the largest. */
static uint64_t storage(void *ctx, const struct rp_ptx_var *var)
{
    (void)ctx;
    return var->bytes <= MAX_STORAGE ? (uintptr_t)storage_bytes : 0;
}

static bool bounds(void *ctx, uint64_t address, uint64_t bytes, uint64_t *lo, uint64_t *hi)
{
    (void)ctx;
    const struct { unsigned char *at; size_t bytes; } places[] = {
        {buffer, sizeof buffer}, {storage_bytes, sizeof storage_bytes}};
    for (size_t i = 0; i < 2; i++) {
        *lo = (uintptr_t)places[i].at;
        *hi = *lo + places[i].bytes;
        if (address >= *lo && address < *hi && *hi - address >= bytes)
            return true;
    }
    return false;
}

static void observe(void *ctx, const struct simt_touch *touches, size_t count)
{
    uint64_t lo, hi;
    for (size_t i = 0; i < count; i++)
        if (!bounds(ctx, touches[i].address, touches[i].bytes, &lo, &hi))
            abort();
}

/* Pointers where 8 bytes are wanted, else a small number. */
static void fill(const struct rp_ptx_function *ptx, unsigned char params[MAX_PARAMS])
{
    const uint64_t pointer = (uintptr_t)buffer;
    for (size_t i = 0; i < ptx->param_count; i++) {
        const struct rp_ptx_var *param = &ptx->params[i];
        if (param->bytes == 8)
            memcpy(params + param->offset, &pointer, 8);
        else if (param->bytes)
            params[param->offset] = 17;
    }
}

static void run(const struct simt_kernel *kernel, bool observed)
{
    unsigned char params[MAX_PARAMS] = {0};
    struct simt_kernel_info info;
    struct simt_fault fault;
    struct simt_counts counts;
    simt_kernel_info(kernel, &info);
    if (info.ptx->param_bytes > sizeof params || info.local_bytes > 64u << 10)
        return;
    fill(info.ptx, params);
    const struct simt_launch launch = {
        .kernel = kernel, .grid = {2, 1, 1}, .block = {41, 1, 1}, .dynamic_shared_bytes = 256,
        .params = params, .timeout_ns = 5000000, .bounds = bounds,
        .oracle = observed ? observe : NULL, .counts = observed ? &counts : NULL};
    (void)simt_run(pool, &launch, &fault);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_ptx_module *ptx = NULL;
    struct simt_module *module = NULL;
    char message[160] = "";
    if (size > MAX_TEXT ||
        rp_ptx_parse((const char *)data, size, &ptx, message, sizeof message) != RP_OK)
        return 0;
    if (simt_module_create(ptx, storage, NULL, &module, message, sizeof message) == RP_OK) {
        for (size_t i = 0; i < ptx->function_count; i++) {
            const struct simt_kernel *kernel = simt_module_kernel(module, ptx->functions[i].name);
            if (kernel && !simt_kernel_refusal(kernel))
                run(kernel, size & 1);
        }
    }
    simt_module_destroy(module);
    rp_ptx_destroy(ptx);
    return 0;
}
