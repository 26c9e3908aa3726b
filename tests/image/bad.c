/* SPDX-License-Identifier: Apache-2.0 */
/* A job that gives the driver what it must refuse, and some that it must not, and prints each
 * answer. The answers must be the same under the layer.
 *
 * usage: image_bad FOLDER; linked against the driver */
#include <cuda.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *folder;
static CUcontext context;
static CUdeviceptr memory;

#define SAY(call) printf("%-40.40s %d\n", #call, (int)(call))

static char *read_file(const char *name, size_t *bytes)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    char *image = calloc(1, 1 << 20);
    if (!file || !image)
        exit(1);
    *bytes = fread(image, 1, (1 << 20) - 1, file);
    fclose(file);
    return image;
}

static void images(void)
{
    static const char *const cut[] = {"ways.fatbin", "ways_speed.fatbin", "ways.ptx",
                                      "layouts_sm_80.cubin"};
    CUmodule module;
    CUlibrary library;
    char path[1024];
    size_t bytes;
    SAY(cuModuleLoadData(NULL, ".version 7.0"));
    SAY(cuModuleLoadData(&module, NULL));
    SAY(cuModuleLoadData(&module, ""));
    SAY(cuModuleLoadData(&module, "\177ELF"));
    SAY(cuModuleLoadData(&module, "not an image"));
    SAY(cuModuleLoadData(&module, ".version 7.0\n.target sm_75\n.address_size 64\n.entry k("));
    SAY(cuModuleLoad(&module, "/nowhere/at/all"));
    SAY(cuModuleLoad(&module, "/"));
    SAY(cuModuleLoad(&module, NULL));
    SAY(cuLibraryLoadData(NULL, "", NULL, NULL, 0, NULL, NULL, 0));
    SAY(cuLibraryLoadFromFile(&library, "/nowhere", NULL, NULL, 0, NULL, NULL, 0));
    for (int i = 0; i < 4; i++) {
        char *image = read_file(cut[i], &bytes);
        snprintf(path, sizeof path, "cut-%d", i);
        for (size_t left = 1; left < bytes; left = left * 2 + 7) {
            FILE *file = fopen(path, "wb");
            fwrite(image, 1, left, file);
            fclose(file);
            CUresult result = cuModuleLoad(&module, path);
            printf("%s cut after %zu: %d\n", cut[i], left, (int)result);
            if (result == CUDA_SUCCESS)
                SAY(cuModuleUnload(module));
        }
        free(image);
    }
}

static void launches(CUmodule module)
{
    CUfunction increase;
    int n = 100;
    size_t bytes = 12;
    struct { CUdeviceptr x; int n; } block = {memory, n};
    void *params[] = {&memory, &n};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    SAY(cuModuleGetFunction(NULL, module, "increase"));
    SAY(cuModuleGetFunction(&increase, module, NULL));
    SAY(cuModuleGetFunction(&increase, module, "no such kernel"));
    SAY(cuModuleGetFunction(&increase, NULL, "increase"));
    SAY(cuModuleGetFunction(&increase, module, "increase"));
    SAY(cuLaunchKernel(increase, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra));
    SAY(cuLaunchKernel(increase, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SAY(cuLaunchKernel(increase, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    SAY(cuLaunchKernel(increase, 1, 1, 1, 5000, 1, 1, 0, NULL, params, NULL));
    SAY(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    SAY(cuLaunchKernelEx(NULL, increase, params, NULL));
    for (bytes = 0; bytes < 12; bytes += 4)
        SAY(cuLaunchKernel(increase, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    extra[1] = NULL;
    SAY(cuLaunchKernel(increase, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    /* null at first, and only then what it is (with nothing to do, it is no error) */
    CUdeviceptr nothing = 0;
    int none = 0;
    void *empty[] = {&nothing, &none};
    SAY(cuLaunchKernel(increase, 1, 1, 1, 128, 1, 1, 0, NULL, empty, NULL));
    SAY(cuLaunchKernel(increase, 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
    SAY(cuCtxSynchronize());
}

/* Another kernel of the same name, with its parameters the other way round. */
static void namesake(void)
{
    static const char text[] =
        ".version 7.0\n.target sm_75\n.address_size 64\n"
        ".visible .entry increase(.param .u32 n, .param .u64 x)\n{\n"
        ".reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
        "ld.param.u64 %rd1, [x]; ld.param.u32 %r1, [n]; st.global.u32 [%rd1+400], %r1; ret;\n}\n";
    CUmodule module;
    CUfunction function;
    int n = 7, value = 0;
    void *params[] = {&n, &memory};
    SAY(cuModuleLoadData(&module, text));
    SAY(cuModuleGetFunction(&function, module, "increase"));
    SAY(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    SAY(cuMemcpyDtoH(&value, memory + 400, 4));
    printf("%d\n", value);
}

static void *without_context(void *module)
{
    CUfunction function;
    CUmodule other;
    SAY(cuModuleLoadData(&other, ".version 7.0\n.target sm_75\n.address_size 64\n"));
    SAY(cuModuleGetFunction(&function, module, "increase"));
    return NULL;
}

/* What is loaded and asked for while a stream captures is no part of the graph. */
static void under_capture(void)
{
    CUstream stream;
    CUmodule module;
    CUfunction function;
    CUgraph graph;
    size_t bytes;
    int n = 10;
    char *text = read_file("ways.ptx", &bytes);
    void *params[] = {&memory, &n};
    SAY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    SAY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    SAY(cuModuleLoadData(&module, text));
    SAY(cuModuleGetFunction(&function, module, "increase"));
    SAY(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
    SAY(cuStreamEndCapture(stream, &graph));
    SAY(cuGraphDestroy(graph));
    free(text);
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUmodule module;
    pthread_t thread;
    size_t bytes;
    folder = argc > 1 ? argv[1] : ".";
    setvbuf(stdout, NULL, _IONBF, 0);
    SAY(cuModuleLoadData(&module, ""));
    SAY(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SAY(cuInit(0));
    SAY(cuDeviceGet(&device, 0));
    SAY(cuModuleLoadData(&module, ""));
    SAY(cuCtxCreate(&context, NULL, 0, device));
    SAY(cuMemAlloc(&memory, 512));
    SAY(cuMemsetD8(memory, 0, 512));
    char *text = read_file("ways.ptx", &bytes);
    SAY(cuModuleLoadData(&module, text));
    images();
    launches(module);
    namesake();
    under_capture();
    pthread_create(&thread, NULL, without_context, module);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (!child) {
        SAY(cuModuleLoadData(&module, text));
        _exit(0);
    }
    waitpid(child, NULL, 0);
    free(text);
    return 0;
}
