/* SPDX-License-Identifier: Apache-2.0 */
/* Launches a kernel of machine code whose last parameter is a pointer, with the array of its
 * parameters at the end of a page, behind which nothing may be read. The pointer is NULL first,
 * then one for two launches; in the last one another stands at the end of the first parameter,
 * which is a structure.
 *
 * usage: last_argument CUBIN, with the layer in LD_PRELOAD and the driver in REPRISE_DRIVER */
#include "tests/interpose/fake_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK = 4352, BYTES = 4096 };

static char image[1 << 20], block[BLOCK];

/* So many pointers, the last of them the last that can be read. */
static void **at_the_end(size_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0)
        exit(2);
    return (void **)(void *)(pages + page) - count;
}

static void launch(const struct door *layered, CUfunction function, void **params)
{
    layered->calls.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);
}

int main(int argc, char **argv)
{
    static struct door bare, layered;
    CUmodule module = (CUmodule)0x1000;
    CUfunction function = (CUfunction)0x2000;
    CUdeviceptr memory = 0x20000000, other = 0x20100000, given = 0;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL || fread(image, 1, sizeof(image), file) == 0)
        return 2;
    fclose(file);
    fake_job_doors(&bare, &layered);
    void **params = at_the_end(2);
    params[0] = block;
    params[1] = &given;
    layered.calls.cuInit(0);
    layered.calls.cuModuleLoadData(&module, image);
    layered.calls.cuModuleGetFunction(&function, module, "two_blocks");
    layered.calls.cuMemAlloc_v2(&memory, BYTES);
    layered.calls.cuMemAlloc_v2(&other, BYTES);
    launch(&layered, function, params);
    given = memory;
    launch(&layered, function, params);
    launch(&layered, function, params);
    memcpy(block + BLOCK - sizeof other, &other, sizeof other);
    launch(&layered, function, params);
    return 0;
}
