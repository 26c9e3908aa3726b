/* SPDX-License-Identifier: Apache-2.0 */
/* Other threads work on the same memory meanwhile. */
#include "tests/recompute/losing/job.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static CUdeviceptr loaded;
static CUcontext loading; /* that all threads work in */

static void *load(void *unused)
{
    CU(cuCtxSetCurrent(loading));
    CU(cuMemsetD32(loaded, 77, WORDS));
    CU(cuCtxSynchronize());
    return unused;
}

/* Another thread writes what the forward has read and reads again; the host orders all of it. */
void case_loader(void)
{
    CUdeviceptr first = device_words(0), second = device_words(0);
    pthread_t thread;
    loaded = device_words(7);
    CU(cuCtxGetCurrent(&loading));
    nvtxRangePushA("forward/0");
    affine(first, loaded, 5);
    CU(cuStreamSynchronize(stream));
    pthread_create(&thread, NULL, load, NULL);
    pthread_join(thread, NULL);
    affine(second, loaded, 5);
    nvtxRangePop();
    device_words(0);
    show("out", first);
    show("second", second);
}

enum { FORWARDS = 12, ROUNDS = 20 };
static CUdeviceptr outputs[FORWARDS];
static atomic_bool is_read; /* as often as is wanted */

static void *read_outputs(void *wrong)
{
    static unsigned first[FORWARDS][WORDS], now[WORDS];
    CUstream own;
    CU(cuCtxSetCurrent(loading));
    CU(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < FORWARDS * ROUNDS; i++) {
        unsigned *words = i < FORWARDS ? first[i] : now;
        CU(cuMemcpyDtoHAsync(words, outputs[i % FORWARDS], BYTES, own));
        CU(cuStreamSynchronize(own));
        *(int *)wrong += memcmp(words, first[i % FORWARDS], BYTES) != 0;
    }
    is_read = true;
    return NULL;
}

/* One thread goes on with what forwards have read; another one reads what they have made. */
void case_stepped(void)
{
    static unsigned a[WORDS], b[WORDS];
    CUdeviceptr state = device_words(3), same = device_words(0);
    pthread_t thread;
    int wrong = 0;
    CU(cuCtxGetCurrent(&loading));
    for (int i = 0; i < FORWARDS; i++) {
        outputs[i] = device_words(0);
        forward("forward/0", outputs[i], state);
        affine(state, state, 3);
    }
    CU(cuMemcpyDtoDAsync(same, state, BYTES, stream));
    pthread_create(&thread, NULL, read_outputs, &wrong);
    while (!is_read) {
        affine(state, state, 9);
        affine(same, same, 9);
    }
    pthread_join(thread, NULL);
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH(a, state, BYTES));
    CU(cuMemcpyDtoH(b, same, BYTES));
    printf("out wrong %d, state %s\n", wrong, memcmp(a, b, BYTES) ? "differs" : "the same");
}

static void *read_meanwhile(void *words)
{
    const struct timespec until_the_call_is_under_way = {.tv_nsec = 20000000};
    CUstream own;
    CU(cuCtxSetCurrent(loading));
    CU(cuStreamCreate(&own, CU_STREAM_NON_BLOCKING));
    nanosleep(&until_the_call_is_under_way, NULL);
    CU(cuMemcpyDtoHAsync(words, outputs[0], BYTES, own));
    CU(cuStreamSynchronize(own));
    return NULL;
}

/* Each time one thread is about to go on with what the forward has read, when another one reads
 * what that has made: a test lets both linger. */
void case_stepped_slowly(void)
{
    enum { TIMES = 4 };
    static unsigned words[WORDS];
    CUdeviceptr state = device_words(3);
    pthread_t thread;
    CU(cuCtxGetCurrent(&loading));
    outputs[0] = device_words(0);
    forward("forward/0", outputs[0], state);
    affine(state, state, 3);
    CU(cuStreamSynchronize(stream));
    for (int i = 0; i < TIMES; i++) {
        pthread_create(&thread, NULL, read_meanwhile, words);
        affine(state, state, 9);
        pthread_join(thread, NULL);
        device_words(0);
    }
    show("out", outputs[0]);
    show("state", state);
}

static void *look_at_meanwhile(void *looked)
{
    const struct timespec until_the_call_is_under_way = {.tv_nsec = 20000000};
    const CUDA_TEXTURE_DESC how = {.flags = CU_TRSF_READ_AS_INTEGER};
    const CUDA_RESOURCE_DESC is = {.resType = CU_RESOURCE_TYPE_LINEAR,
                                   .res.linear = {.devPtr = outputs[0],
                                                  .format = CU_AD_FORMAT_UNSIGNED_INT32,
                                                  .numChannels = 1,
                                                  .sizeInBytes = BYTES}};
    CUtexObject texture;
    unsigned on = 1;
    CU(cuCtxSetCurrent(loading));
    nanosleep(&until_the_call_is_under_way, NULL);
    if (*(bool *)looked)
        CU(cuTexObjectCreate(&texture, &is, &how, NULL));
    else
        CU(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, outputs[0]));
    return NULL;
}

/* One thread is about to go on with what the forward has read, when the driver is to look for
 * memory behind what that has made. */
void case_looked_at_slowly(void)
{
    CUdeviceptr state = device_words(3);
    pthread_t thread;
    CU(cuCtxGetCurrent(&loading));
    for (int as_texture = 0; as_texture < 2; as_texture++) {
        bool looked = as_texture;
        outputs[0] = device_words(0);
        forward("forward/0", outputs[0], state);
        pthread_create(&thread, NULL, look_at_meanwhile, &looked);
        affine(state, state, 9);
        pthread_join(thread, NULL);
        show("out", outputs[0]);
    }
}
