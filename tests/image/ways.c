/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the kernels of ways.cu in every way that a driver offers, and launches them in every
 * way. What each does is the same; ways.py looks at what the layer said of it.
 *
 * usage: image_ways FOLDER; linked against the driver, as a program with nvcc's help is. */
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;
static CUdeviceptr memory;
static int n = 100;

#define CU(call) check_call((call), #call)
static void check_call(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "image_ways: %s failed with %d\n", call, (int)result);
    exit(1);
}

static const char *path_of(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static char *read_file(const char *name, size_t *bytes)
{
    FILE *file = fopen(path_of(name), "rb");
    char *image = calloc(1, 1 << 20);
    if (!file || !image) {
        fprintf(stderr, "image_ways: can't read %s\n", path_of(name));
        exit(1);
    }
    *bytes = fread(image, 1, (1 << 20) - 1, file);
    fclose(file);
    return image;
}

/* ---- launches --------------------------------------------------------------------- */

static void increase(CUfunction function)
{
    CU(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, NULL, (void *[]){&memory, &n}, NULL));
}

static void launch_in_every_way(CUmodule module)
{
    CUfunction function;
    struct { CUdeviceptr x; int n; } block = {memory, n};
    size_t bytes = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    void *params[] = {&memory, &n};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY};
    CUlaunchConfig config = {.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 128,
                             .blockDimY = 1, .blockDimZ = 1, .attrs = &attribute, .numAttrs = 1};
    CU(cuModuleGetFunction(&function, module, "increase"));
    increase(function);
    CU(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
    CU(cuLaunchKernelEx(&config, function, params, NULL));
    CU(cuLaunchKernelEx(&config, function, NULL, extra));
    CU(cuLaunchCooperativeKernel(function, 1, 1, 1, 128, 1, 1, 0, NULL, params));
}

/* A structure that compilers pad: the driver takes the block with the padding and without. */
static void launch_without_tail(CUmodule module)
{
    CUfunction function;
    struct { CUdeviceptr x; short value; } block = {memory, 7};
    void *params[] = {&block.x, &block.value};
    CU(cuModuleGetFunction(&function, module, "no_tail"));
    CU(cuLaunchKernel(function, 1, 1, 1, 25, 1, 1, 0, NULL, params, NULL));
    for (size_t bytes = 10; bytes <= 16; bytes += 6) {
        void *extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_BUFFER_POINTER,
                         &block, CU_LAUNCH_PARAM_END};
        CU(cuLaunchKernel(function, 1, 1, 1, 25, 1, 1, 0, NULL, NULL, extra));
    }
}

static void launch_the_others(CUmodule module)
{
    CUfunction function;
    int number = 3;
    void *hundred[100], *wide[] = {&number, (int[8]){1, 2, 3, 4}, &memory};
    for (int i = 0; i < 100; i++)
        hundred[i] = i < 90 ? (void *)&number : (void *)&memory;
    CU(cuModuleGetFunction(&function, module, "hundred"));
    CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, hundred, NULL));
    CU(cuModuleGetFunction(&function, module, "wide_second"));
    CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, wide, NULL));
    CU(cuModuleGetFunction(&function, module, "count"));
    CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

/* Could leave its memory, for all that its arguments say, and does not. */
static void launch_near_the_end(CUmodule module)
{
    CUfunction function;
    CUdeviceptr flags;
    int far = 200;
    void *params[] = {&memory, &flags, &far};
    CU(cuMemAlloc(&flags, 4 * 256));
    CU(cuMemsetD32(flags, 0, 256));
    CU(cuModuleGetFunction(&function, module, "increase_where"));
    CU(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
}

/* ---- loads ------------------------------------------------------------------------ */

static void use_module(CUmodule module)
{
    CUfunction function;
    CU(cuModuleGetFunction(&function, module, "increase"));
    increase(function);
    CU(cuModuleUnload(module));
}

static void load_data(const char *name)
{
    CUmodule module;
    size_t bytes;
    char *image = read_file(name, &bytes);
    CU(cuModuleLoadData(&module, image));
    memset(image, 'x', bytes); /* the job's to change */
    use_module(module);
    free(image);
}

static void load_wrapped(void)
{
    CUmodule module;
    size_t bytes;
    char *image = read_file("ways.fatbin", &bytes);
    struct {
        unsigned magic, version;
        const void *data;
        void *reserved;
    } wrapper = {0x466243b1u, 1, image, NULL};
    CU(cuModuleLoadFatBinary(&module, &wrapper));
    use_module(module);
    CU(cuModuleLoadDataEx(&module, &wrapper, 0, NULL, NULL));
    use_module(module);
    free(image);
}

static void load_file(const char *name)
{
    CUmodule module;
    CU(cuModuleLoad(&module, path_of(name)));
    use_module(module);
}

static void use_library(CUlibrary library)
{
    CUmodule module;
    CUkernel kernel, kernels[16];
    CUfunction function, functions[16];
    unsigned count;
    CU(cuLibraryGetKernel(&kernel, library, "increase"));
    increase((CUfunction)(void *)kernel);
    CU(cuKernelGetFunction(&function, kernel));
    increase(function);
    CU(cuLibraryGetModule(&module, library));
    CU(cuModuleGetFunction(&function, module, "increase"));
    increase(function);
    CU(cuModuleGetFunction(&function, module, "count"));
    CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CU(cuLibraryGetKernelCount(&count, library));
    CU(cuLibraryEnumerateKernels(kernels, count, library));
    CU(cuModuleEnumerateFunctions(functions, count, module));
    CU(cuLibraryUnload(library));
}

static void load_libraries(void)
{
    CUlibrary library;
    size_t bytes;
    char *image = read_file("ways.fatbin", &bytes);
    CU(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
    free(image);
    use_library(library);
    CU(cuLibraryLoadFromFile(&library, path_of("ways.fatbin"), NULL, NULL, 0, NULL, NULL, 0));
    use_library(library);
}

/* Handles that come without a name. */
static void launch_listed(void)
{
    CUmodule module;
    CUfunction functions[16];
    const char *name;
    unsigned count;
    CU(cuModuleLoad(&module, path_of("ways.ptx")));
    CU(cuModuleGetFunctionCount(&count, module));
    CU(cuModuleEnumerateFunctions(functions, count, module));
    for (unsigned i = 0; i < count; i++) {
        CU(cuFuncGetName(&name, functions[i]));
        if (strcmp(name, "increase") == 0)
            increase(functions[i]);
    }
    CU(cuModuleUnload(module));
}

static void load_linked(void)
{
    CUlinkState state;
    CUmodule module;
    void *linked;
    size_t bytes, linked_bytes;
    char *image = read_file("ways.ptx", &bytes);
    CU(cuLinkCreate(0, NULL, NULL, &state));
    CU(cuLinkAddData(state, CU_JIT_INPUT_PTX, image, bytes + 1, "ways", 0, NULL, NULL));
    CU(cuLinkComplete(state, &linked, &linked_bytes));
    CU(cuModuleLoadData(&module, linked));
    CU(cuLinkDestroy(state));
    use_module(module);
    free(image);
}

int main(int argc, char **argv)
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    static int values[128];
    folder = argc > 1 ? argv[1] : ".";
    CU(cuInit(0));
    CU(cuDeviceGet(&device, 0));
    CU(cuCtxCreate(&context, NULL, 0, device));
    CU(cuMemAlloc(&memory, sizeof values));
    CU(cuMemsetD8(memory, 0, sizeof values));
    load_data("ways.ptx");
    load_data("ways.fatbin");
    load_data("ways_speed.fatbin");
    load_data("ways_with_code.fatbin");
    load_wrapped();
    load_file("ways.ptx");
    load_file("ways.fatbin");
    load_libraries();
    launch_listed();
    load_linked();
    CU(cuModuleLoad(&module, path_of("ways.ptx")));
    launch_in_every_way(module);
    launch_without_tail(module);
    launch_the_others(module);
    launch_near_the_end(module);
    CU(cuMemcpyDtoH(values, memory, sizeof values));
    printf("%d %d\n", values[60], values[3]);
    return 0;
}
