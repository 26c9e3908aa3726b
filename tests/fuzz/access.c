/* SPDX-License-Identifier: Apache-2.0 */
/* The access analysis against the interpreter, on any PTX that both take: whatever a kernel
 * touches was claimed, and whatever was claimed for certain is touched when it ends. */
#include "cuda/access/memo.h"
#include "cuda/ptx/ptx.h"
#include "cuda/soft/simt.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PLACES = 4, PLACE_BYTES = 8192, STORAGE = PLACES - 1, MAX_PARAMS = 4096 };
#define MAX_TEXT (32u << 10)

/* Far apart: no index leads from one to another, as the analysis may assume. */
static unsigned char *places[PLACES]; /* the last one is all module variables */
static unsigned char touched[2][PLACES][PLACE_BYTES];
static struct simt_pool *pool;
static const struct rp_access_set *claims;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    setenv("REPRISE_SOFT_ISA", "baseline", 1);
    for (uintptr_t i = 0; i < PLACES; i++) {
        void *wanted = (void *)((UINT64_C(0x330000000000)) + (i << 37)); /* 128 GiB apart */
        places[i] = mmap(wanted, PLACE_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (places[i] == MAP_FAILED)
            abort();
    }
    if (simt_pool_create(1, &pool) != RP_OK)
        abort();
    return 0;
}

static int place_of(uint64_t address, uint64_t bytes)
{
    for (int i = 0; i < PLACES; i++) {
        uint64_t lo = (uintptr_t)places[i];
        if (address >= lo && address < lo + PLACE_BYTES && lo + PLACE_BYTES - address >= bytes)
            return i;
    }
    return -1;
}

static uint64_t storage(void *ctx, const struct rp_ptx_var *var)
{
    (void)ctx;
    return var->bytes <= PLACE_BYTES ? (uintptr_t)places[STORAGE] : 0;
}

static uint64_t symbol(void *ctx, const char *name, uint64_t *bytes)
{
    (void)ctx, (void)name;
    if (bytes)
        *bytes = PLACE_BYTES;
    return (uintptr_t)places[STORAGE];
}

static bool bounds(void *ctx, uint64_t address, uint64_t bytes, uint64_t *lo, uint64_t *hi)
{
    (void)ctx;
    int place = place_of(address, bytes);
    if (place < 0)
        return false;
    *lo = (uintptr_t)places[place];
    *hi = *lo + PLACE_BYTES;
    return true;
}

static bool allows(const struct rp_access *access, uint64_t lo, uint64_t hi)
{
    if (access->verdict >= RP_VERDICT_REACHABLE)
        return true;
    if (access->verdict == RP_VERDICT_ROOT)
        return place_of(access->root, 1) == place_of(lo, hi - lo);
    return access->lo <= lo && hi <= access->hi;
}

static bool is_claimed(bool is_write, uint64_t lo, uint64_t hi)
{
    for (size_t i = 0; i < claims->count; i++)
        if ((claims->items[i].effect == RP_WRITE) == is_write && allows(&claims->items[i], lo, hi))
            return true;
    return false;
}

/* What a thread has stored itself it may read unclaimed. Which thread has, the touches do not say:
 * the oracle of random kernels (tests/access/scalar_thread.h) tells one from another. */
static bool is_own(bool is_write, int place, uint64_t at)
{
    return !is_write && touched[true][place][at - (uintptr_t)places[place]];
}

/* Mostly one claim has all of it; else each byte may have another. */
static void check(const struct simt_touch *touch)
{
    uint64_t lo = touch->address, hi = lo + touch->bytes;
    int place = place_of(lo, touch->bytes);
    if (place < 0)
        return;
    if (!is_claimed(touch->is_write, lo, hi))
        for (uint64_t at = lo; at < hi; at++)
            if (!is_claimed(touch->is_write, at, at + 1) && !is_own(touch->is_write, place, at))
                abort(); /* a false "safe": the one thing that must not be */
    memset(&touched[touch->is_write][place][lo - (uintptr_t)places[place]], 1, touch->bytes);
}

static void observe(void *ctx, const struct simt_touch *touches, size_t count)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    (void)ctx;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++)
        check(&touches[i]);
    pthread_mutex_unlock(&lock);
}

static void check_certain(void)
{
    for (size_t i = 0; i < claims->count; i++) {
        const struct rp_access *access = &claims->items[i];
        for (uint64_t at = access->lo; access->exact && at < access->hi; at++) {
            int place = place_of(at, 1);
            if (place < 0 ||
                !touched[access->effect == RP_WRITE][place][at - (uintptr_t)places[place]])
                abort();
        }
    }
}

static void fill(const struct rp_ptx_function *ptx, unsigned char params[MAX_PARAMS])
{
    int place = 0;
    for (size_t i = 0; i < ptx->param_count; i++) {
        const struct rp_ptx_var *param = &ptx->params[i];
        uint64_t pointer = (uintptr_t)places[place % STORAGE] + 2048;
        if (param->bytes == 8) {
            memcpy(params + param->offset, &pointer, 8);
            place++;
        } else if (param->bytes) {
            params[param->offset] = (unsigned char)(17 + i);
            if (param->bytes >= 16) /* a structure with a pointer in it */
                memcpy(params + param->offset + 8, &pointer, 8);
        }
    }
}

static void run(const struct rp_ptx_module *ptx, const struct simt_kernel *kernel)
{
    unsigned char params[MAX_PARAMS] = {0};
    struct simt_kernel_info info;
    struct simt_fault fault;
    struct rp_access_set set = {0};
    struct rp_proof *proof;
    simt_kernel_info(kernel, &info);
    if (info.ptx->param_bytes > sizeof params || info.local_bytes > 64u << 10)
        return;
    fill(info.ptx, params);
    const struct simt_launch launch = {.kernel = kernel, .grid = {2, 1, 1}, .block = {41, 1, 1},
                                       .dynamic_shared_bytes = 256, .params = params,
                                       .timeout_ns = 5000000, .bounds = bounds,
                                       .oracle = observe};
    const struct rp_launch same = {.grid = {2, 1, 1}, .block = {41, 1, 1}, .shared_bytes = 256,
                                   .params = params, .param_bytes = info.ptx->param_bytes};
    if (rp_proof_build(ptx, info.ptx, &proof) != RP_OK)
        return;
    if (rp_proof_evaluate(proof, &same, symbol, NULL, &set) != RP_OK)
        abort();
    claims = &set;
    for (int i = 0; i < PLACES; i++)
        memset(places[i], 0, PLACE_BYTES);
    memset(touched, 0, sizeof touched);
    if (simt_run(pool, &launch, &fault) == RP_OK && fault.kind == SIMT_FAULT_NONE)
        check_certain();
    rp_access_set_release(&set);
    rp_proof_destroy(proof);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_ptx_module *ptx = NULL;
    struct simt_module *module = NULL;
    char message[160] = "";
    if (size > MAX_TEXT ||
        rp_ptx_parse((const char *)data, size, &ptx, message, sizeof message) != RP_OK)
        return 0;
    if (simt_module_create(ptx, storage, NULL, &module, message, sizeof message) == RP_OK)
        for (size_t i = 0; i < ptx->function_count; i++) {
            const struct simt_kernel *kernel = simt_module_kernel(module, ptx->functions[i].name);
            if (kernel && !simt_kernel_refusal(kernel))
                run(ptx, kernel);
        }
    simt_module_destroy(module);
    rp_ptx_destroy(ptx);
    return 0;
}
