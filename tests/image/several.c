/* SPDX-License-Identifier: Apache-2.0 */
/* A fatbin with PTX for several architectures, each of which writes elsewhere: sm_N at byte N, or,
 * a second one, behind it. Loaded as a library from memory, before there is a context, as one from
 * a file, and as a module. Prints where each launch wrote; ways.py looks at what the layer said. */
#include "tests/image/container.h"

#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct container container;

#define CU(call) check_call((call), #call)
static void check_call(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "image_several: %s failed with %d\n", call, (int)result);
    exit(1);
}

static void add_text(unsigned arch, unsigned at)
{
    char text[256];
    snprintf(text, sizeof text,
             ".version 7.0\n.target sm_%u\n.address_size 64\n.visible .entry k(.param .u64 p)\n"
             "{ .reg .b64 %%rd<2>; ld.param.u64 %%rd1, [p]; st.global.u8 [%%rd1+%u], 1; ret; }\n",
             arch, at);
    container_add(&container, 1, arch, PLAIN, text, strlen(text) + 1);
}

static void launch(CUmodule module)
{
    static const unsigned char zeros[128];
    unsigned char bytes[128];
    CUfunction function;
    CUdeviceptr memory;
    CU(cuModuleGetFunction(&function, module, "k"));
    CU(cuMemAlloc(&memory, sizeof bytes));
    CU(cuMemcpyHtoD(memory, zeros, sizeof bytes));
    CU(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&memory}, NULL));
    CU(cuMemcpyDtoH(bytes, memory, sizeof bytes));
    for (unsigned i = 0; i < sizeof bytes; i++)
        if (bytes[i])
            printf("%u\n", i);
}

static void write_file(const char *path)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(container.bytes, container.used, 1, file) != 1 || fclose(file) != 0)
        exit(1);
}

int main(void)
{
    CUlibrary early, late;
    CUcontext context;
    CUmodule module;
    container_begin(&container);
    add_text(75, 75);
    add_text(90, 90);
    add_text(80, 80);
    add_text(90, 91);
    add_text(80, 81);
    write_file("several.fatbin");
    CU(cuInit(0));
    CU(cuLibraryLoadData(&early, container.bytes, NULL, NULL, 0, NULL, NULL, 0));
    CU(cuDevicePrimaryCtxRetain(&context, 0));
    CU(cuCtxSetCurrent(context));
    CU(cuLibraryGetModule(&module, early));
    launch(module);
    CU(cuLibraryLoadFromFile(&late, "several.fatbin", NULL, NULL, 0, NULL, NULL, 0));
    CU(cuLibraryGetModule(&module, late));
    launch(module);
    CU(cuModuleLoad(&module, "several.fatbin"));
    launch(module);
    return 0;
}
