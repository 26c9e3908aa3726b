/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the kernels that a process runs, as CUPTI tells of them: another witness than the layer.
 *
 * The driver loads this when CUDA_INJECTION64_PATH names it. At the end of the process a line
 * "PID KERNELS LOST" is added to the file KERNEL_COUNTS, LOST being records that CUPTI had no room
 * for. Where there is no CUPTI nothing is written. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KIND_CONCURRENT_KERNEL = 10, BUFFER_BYTES = 1 << 20, ALIGNMENT = 8, FORCED = 1 };

typedef void (*request_fn)(uint8_t **buffer, size_t *size, size_t *most);
typedef void (*complete_fn)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid);

static struct {
    int (*RegisterCallbacks)(request_fn request, complete_fn complete);
    int (*Enable)(int kind);
    int (*FlushAll)(uint32_t flag);
    int (*GetNextRecord)(uint8_t *buffer, size_t valid, void **record);
    int (*GetNumDroppedRecords)(void *context, uint32_t stream, size_t *dropped);
} cupti;

static atomic_ullong kernels, lost;

int InitializeInjection(void) __attribute__((visibility("default")));

static void request_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
    *buffer = aligned_alloc(ALIGNMENT, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *most = 0;
}

static void complete_buffer(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid)
{
    void *record = NULL;
    size_t dropped = 0;
    uint32_t kind;
    (void)size;
    while (valid && cupti.GetNextRecord(buffer, valid, &record) == 0) {
        memcpy(&kind, record, sizeof(kind));
        kernels += kind == KIND_CONCURRENT_KERNEL;
    }
    if (cupti.GetNumDroppedRecords && cupti.GetNumDroppedRecords(context, stream, &dropped) == 0)
        lost += dropped;
    free(buffer);
}

static void write_counts(void)
{
    char line[96];
    const char *path = getenv("KERNEL_COUNTS");
    cupti.FlushAll(FORCED);
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    int length = snprintf(line, sizeof(line), "%d %llu %llu\n", (int)getpid(), kernels, lost);
    if (file < 0 || write(file, line, (size_t)length) != length)
        fprintf(stderr, "kernel_counter: can't write KERNEL_COUNTS\n");
    if (file >= 0)
        close(file);
}

static void *find_library(void)
{
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

int InitializeInjection(void)
{
    void *library = find_library();
    const struct {
        const char *name;
        void *to;
    } calls[] = {
        {"cuptiActivityRegisterCallbacks", &cupti.RegisterCallbacks},
        {"cuptiActivityEnable", &cupti.Enable},
        {"cuptiActivityFlushAll", &cupti.FlushAll},
        {"cuptiActivityGetNextRecord", &cupti.GetNextRecord},
        {"cuptiActivityGetNumDroppedRecords", &cupti.GetNumDroppedRecords},
    };
    for (size_t i = 0; library && i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *pointer = dlsym(library, calls[i].name);
        memcpy(calls[i].to, &pointer, sizeof(pointer));
    }
    if (!cupti.RegisterCallbacks || !cupti.Enable || !cupti.FlushAll || !cupti.GetNextRecord)
        return 0;
    if (cupti.RegisterCallbacks(request_buffer, complete_buffer) != 0 ||
        cupti.Enable(KIND_CONCURRENT_KERNEL) != 0)
        return 0;
    return atexit(write_counts) == 0;
}
