/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of tests/access on a device, over whole numbers and over reals: the bytes that each
 * launch left, to be held against those of another device.
 *
 * usage: kernel_bytes OUTPUT [CASE], with KERNELS and DIGITS as tests/access has them
 *
 * OUTPUT gets the bytes of all buffers that a launch changed, one after the other; a line on
 * stdout says which: file, kernel, number of the case, fill, buffer, where and how long. */
#include "tests/gpu/device.h"

#include "tests/access/cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LETTERS = 26, BYTES = 128 << 10, DYNAMIC = 4096, PARAMS = 64 };
enum fill { WHOLE, REAL };
static const char *const fill_names[] = {"whole", "real"};

/* Buffers that hold indices: whole numbers under either fill. */
static const struct { const char *kernel; char letter; } indices[] = {
    {"embed_gather", 'B'}, {"embed_scatter_add", 'B'}, {"count_classes", 'A'},
    {"softmax_xent", 'B'}, {"contrast_loss", 'B'}, {"contrast_loss", 'C'}, {"mean_loss", 'B'},
};

static bool is_index(const char *kernel, char letter)
{
    for (size_t i = 0; i < sizeof(indices) / sizeof(indices[0]); i++)
        if (indices[i].letter == letter && strcmp(indices[i].kernel, kernel) == 0)
            return true;
    return false;
}

/* Small numbers, whether they are read as 32 or as 64 bits; or floats from -2 to 2, whose halves
 * are finite as half floats too. */
static void fill_buffer(unsigned char *buffer, enum fill fill, char letter)
{
    uint32_t random = 2463534242u + (uint32_t)letter;
    for (size_t at = 0; at < BYTES; at += 4) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        float value = (float)(int32_t)random / 1073741824.0f;
        uint32_t word = at % 8 ? 0 : (uint32_t)(at / 8 % 7);
        if (fill == REAL)
            memcpy(&word, &value, sizeof(word));
        if (fill == REAL)
            word &= 0xfffff000u & ~0x8000u;
        memcpy(buffer + at, &word, sizeof(word));
    }
}

struct run {
    const struct kernel_case *at;
    size_t number;
    enum fill fill;
    CUdeviceptr memory[LETTERS];
    unsigned char before[LETTERS][BYTES];
    FILE *output;
};

static void prepare(struct run *run)
{
    for (const char *word = run->at->words; *word; word++) {
        int i = *word - 'A';
        if (i < 0 || i >= LETTERS || run->memory[i])
            continue;
        enum fill fill = is_index(run->at->kernel, *word) ? WHOLE : run->fill;
        fill_buffer(run->before[i], fill, *word);
        DO(cuMemAlloc_v2, &run->memory[i], BYTES);
        DO(cuMemcpyHtoD_v2, run->memory[i], run->before[i], BYTES);
    }
}

static void launch(struct run *run, const char *text, CUmodule module)
{
    struct rp_ptx_module *ptx;
    char message[256];
    CUfunction function;
    uint64_t roots[LETTERS];
    unsigned char params[CLAIM_PARAM_BYTES];
    void *args[PARAMS];
    const struct claim_size grid = run->at->grid, block = run->at->block;
    for (int i = 0; i < LETTERS; i++)
        roots[i] = run->memory[i];
    if (rp_ptx_parse(text, strlen(text), &ptx, message, sizeof(message)) != RP_OK)
        fail_msg("%s: %s", run->at->file, message);
    const struct rp_ptx_function *entry = rp_ptx_find(ptx, run->at->kernel);
    claim_params(entry, run->at->words, roots, params);
    for (size_t i = 0; i < entry->param_count && i < PARAMS; i++)
        args[i] = params + entry->params[i].offset;
    DO(cuModuleGetFunction, &function, module, run->at->kernel);
    DO(cuLaunchKernel, function, grid.x, grid.y, grid.z, block.x, block.y, block.z, DYNAMIC, NULL,
       args, NULL);
    DO(cuCtxSynchronize);
    rp_ptx_destroy(ptx);
}

static void write_out(struct run *run)
{
    static unsigned char after[BYTES];
    for (int i = 0; i < LETTERS; i++) {
        if (!run->memory[i])
            continue;
        DO(cuMemcpyDtoH_v2, after, run->memory[i], BYTES);
        DO(cuMemFree_v2, run->memory[i]);
        run->memory[i] = 0;
        if (memcmp(after, run->before[i], BYTES) == 0)
            continue;
        printf("%s %s %zu %s %c %ld %d\n", run->at->file, run->at->kernel, run->number,
               fill_names[run->fill], 'A' + i, ftell(run->output), BYTES);
        if (fwrite(after, 1, BYTES, run->output) != BYTES)
            fail_msg("the output can't be written");
    }
}

static void run_case(struct run *run)
{
    char path[512];
    CUmodule module;
    char *text = device_text(kernel_case_path(run->at, path));
    DO(cuModuleLoadData, &module, text);
    for (run->fill = WHOLE; run->fill <= REAL; run->fill++) {
        prepare(run);
        launch(run, text, module);
        write_out(run);
    }
    DO(cuModuleUnload, module);
    free(text);
}

static FILE *output;
static long only = -1;

static void the_kernels_run(void **state)
{
    static struct run run;
    (void)state;
    run.output = output;
    for (run.number = 0; run.number < kernel_case_count; run.number++) {
        run.at = &kernel_cases[run.number];
        if (only < 0 || (size_t)only == run.number)
            run_case(&run);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_kernels_run)};
    output = argc > 1 ? fopen(argv[1], "wb") : NULL;
    if (!output) {
        fprintf(stderr, "usage: kernel_bytes OUTPUT [CASE]\n");
        return 2;
    }
    only = argc > 2 ? atol(argv[2]) : -1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return fclose(output) != 0 || failed;
}
