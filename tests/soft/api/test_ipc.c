/* SPDX-License-Identifier: Apache-2.0 */
/* Two processes share memory and events: what one writes the other reads, and one's streams wait
 * for the other's. */
#include "tests/soft/api/child.h"
#include "tests/soft/api/soft_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 3000 };

struct message {
    CUipcMemHandle memory;
    CUipcEventHandle event;
};

/* The other process: waits for the event, adds one to all words in place, and records it again. */
static int partner_program(void)
{
    struct message message;
    CUcontext context;
    CUdeviceptr shared, again, own;
    CUevent event;
    CUstream stream;
    static uint32_t words_[WORDS];
    char byte;

    ok(cuInit(0));
    ok(cuCtxCreate(&context, NULL, 0, 0));
    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuMemAlloc(&own, sizeof words_));
    assert_int_equal(read(3, &message, sizeof message), sizeof message);
    ok(cuIpcOpenMemHandle(&shared, message.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    ok(cuIpcOpenMemHandle(&again, message.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    assert_int_equal(shared, again);
    ok(cuIpcOpenEventHandle(&event, message.event));
    expect(CUDA_ERROR_NOT_READY, cuEventQuery(event));
    ok(cuStreamWaitEvent(stream, event, 0));
    ok(cuMemcpyDtoDAsync(own, shared, sizeof words_, stream));
    assert_int_equal(write(4, "w", 1), 1); /* now the other may go on */
    ok(cuMemcpyDtoHAsync(words_, own, sizeof words_, stream));
    for (int i = 0; i < WORDS; i++)
        words_[i]++;
    ok(cuMemcpyHtoDAsync(shared, words_, sizeof words_, stream));
    ok(cuEventRecord(event, stream));
    assert_int_equal(write(4, "r", 1), 1);
    assert_int_equal(read(3, &byte, 1), 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree(shared));
    ok(cuIpcCloseMemHandle(shared));
    ok(cuIpcCloseMemHandle(shared));
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(shared));
    ok(cuEventDestroy(event));
    ok(cuCtxDestroy(context));
    return 0;
}

static pid_t start_partner(const char *program, int *to, int *from)
{
    int there[2], back[2];
    assert_int_equal(pipe(there), 0);
    assert_int_equal(pipe(back), 0);
    pid_t child = fork();
    if (child == 0) {
        int in = dup(there[0]), out = dup(back[1]);
        dup2(in, 3);
        dup2(out, 4);
        alarm(30);
        execl("/proc/self/exe", "test", program, (char *)NULL);
        _exit(99);
    }
    close(there[0]);
    close(back[1]);
    *to = there[1];
    *from = back[0];
    return child;
}

static void expect_byte(int file, char wanted)
{
    char byte = 0;
    assert_int_equal(read(file, &byte, 1), 1);
    assert_int_equal(byte, wanted);
}

static void processes_share_memory_and_order(void **state)
{
    (void)state;
    struct message message;
    struct gate gate;
    CUdeviceptr before = words(100, 5), shared = words(WORDS, 0), after = words(100, 6);
    CUevent event;
    CUstream stream;
    int to, from, status;

    ok(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    ok(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    ok(cuIpcGetMemHandle(&message.memory, shared + 40)); /* stands for the whole allocation */
    ok(cuIpcGetEventHandle(&message.event, event));
    /* What the memory held is still there, and it is device memory like before. */
    expect_words(before, 100, 5);
    expect_words(after, 100, 6);
    gate_close(&gate, stream);
    ok(cuMemsetD32Async(shared, 41, WORDS, stream));
    ok(cuEventRecord(event, stream));
    pid_t partner = start_partner("partner", &to, &from);
    assert_int_equal(write(to, &message, sizeof message), sizeof message);
    expect_byte(from, 'w');
    gate_open(&gate);
    expect_byte(from, 'r');
    ok(cuEventSynchronize(event));
    ok(cuEventQuery(event));
    expect_words(shared, WORDS, 42);
    assert_int_equal(write(to, "x", 1), 1);
    waitpid(partner, &status, 0);
    assert_int_equal(status, 0);
    ok(cuEventDestroy(event));
    ok(cuMemFree(shared));
    expect_words(before, 100, 5);
}

/* The other process: opens the pool by the first one's descriptor, and adds one to all words. */
struct pool_message {
    pid_t process;
    int pool;
    CUmemPoolPtrExportData piece;
};

static int pool_partner_program(void)
{
    struct pool_message message;
    CUcontext context;
    CUmemoryPool pool;
    CUdeviceptr shared, own;
    static uint32_t words_[WORDS];
    char path[64], byte;

    ok(cuInit(0));
    ok(cuCtxCreate(&context, NULL, 0, 0));
    assert_int_equal(read(3, &message, sizeof message), sizeof message);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", message.process, message.pool);
    int file = open(path, O_RDWR); /* as a socket would hand it over */
    ok(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)file,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    close(file);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync(&own, 64, pool, NULL));
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool(0, pool));
    ok(cuMemPoolImportPointer(&shared, pool, &message.piece));
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle(shared));
    ok(cuMemcpyDtoH(words_, shared, sizeof words_));
    for (int i = 0; i < WORDS; i++)
        words_[i]++;
    ok(cuMemcpyHtoD(shared, words_, sizeof words_));
    ok(cuMemFreeAsync(shared, NULL));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(words_, shared, 4));
    ok(cuMemPoolDestroy(pool));
    ok(cuCtxDestroy(context));
    assert_int_equal(write(4, "r", 1), 1);
    return read(3, &byte, 1) != 1;
}

static void processes_share_pools(void **state)
{
    (void)state;
    const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemoryPool pool, plain;
    CUmemPoolProps plain_props = props;
    CUdeviceptr shared, other, alone;
    struct pool_message message = {.process = getpid()};
    int to, from, status, none;

    plain_props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    ok(cuMemPoolCreate(&pool, &props));
    ok(cuMemPoolCreate(&plain, &plain_props));
    ok(cuMemAllocFromPoolAsync(&other, 4096, pool, NULL));
    ok(cuMemAllocFromPoolAsync(&shared, 4 * WORDS, pool, NULL));
    ok(cuMemAllocFromPoolAsync(&alone, 64, plain, NULL));
    ok(cuMemsetD32(shared, 41, WORDS));
    ok(cuMemsetD32(other, 3, 1024));
    ok(cuCtxSynchronize());
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportPointer(&message.piece, alone));
    expect(CUDA_ERROR_INVALID_VALUE,
           cuMemPoolExportToShareableHandle(&none, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                            0));
    ok(cuMemPoolExportToShareableHandle(&message.pool, pool,
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ok(cuMemPoolExportPointer(&message.piece, shared));
    pid_t partner = start_partner("pool partner", &to, &from);
    assert_int_equal(write(to, &message, sizeof message), sizeof message);
    expect_byte(from, 'r');
    expect_words(shared, WORDS, 42);
    expect_words(other, 1024, 3);
    assert_int_equal(write(to, "x", 1), 1);
    waitpid(partner, &status, 0);
    assert_int_equal(status, 0);
    close(message.pool);
    ok(cuMemFree(shared));
    ok(cuMemFree(other));
    ok(cuMemFree(alone));
    ok(cuMemPoolDestroy(pool));
    ok(cuMemPoolDestroy(plain));
}

static void what_is_no_handle_is_refused(void **state)
{
    (void)state;
    CUipcMemHandle memory = {{0}};
    CUipcEventHandle handle = {{0}};
    CUdeviceptr address = words(4, 1), other;
    CUevent event;
    void *pinned;

    expect(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle(&other, memory, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcOpenEventHandle(&event, handle));
    ok(cuIpcGetMemHandle(&memory, address));
    expect(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle(&other, memory, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&memory, address + 4096));
    ok(cuMemHostAlloc(&pinned, 4096, 0));
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle(&memory, (CUdeviceptr)(uintptr_t)pinned));
    ok(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcGetEventHandle(&handle, event));
    ok(cuEventDestroy(event));
    ok(cuMemFree(address));
}

int main(int argc, char **argv)
{
    static const struct child_program programs[] = {{"partner", partner_program},
                                                   {"pool partner", pool_partner_program}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_share_memory_and_order),
        cmocka_unit_test(processes_share_pools),
        cmocka_unit_test(what_is_no_handle_is_refused),
    };
    child_main(argc, argv, programs, 2);
    return cmocka_run_group_tests(tests, context_up, context_down);
}
