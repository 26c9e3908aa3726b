/* SPDX-License-Identifier: Apache-2.0 */
/* An NVTX injection that writes the ranges of a program to the file $NVTX_LOG: the path of
 * open ranges at each push, one a line. */
#include <nvtx3/nvToolsExt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16 };
static const char *open_ranges[DEPTH];
static int depth;
static FILE *log_file;

static int push(const char *message)
{
    if (depth == DEPTH)
        abort();
    open_ranges[depth] = message;
    for (int i = 0; i <= depth; i++)
        fprintf(log_file, "%s%s", i == 0 ? "" : " > ", open_ranges[i]);
    fputc('\n', log_file);
    return depth++;
}

static int pop(void)
{
    if (depth == 0)
        fputs("pop without push\n", log_file);
    else
        depth--;
    return depth;
}

static void finish(void)
{
    fprintf(log_file, "%d left open\n", depth);
    fclose(log_file);
}

static void set(NvtxFunctionTable table, unsigned slot, const void *function, size_t size)
{
    memcpy(table[slot], function, size);
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned slots = 0;
    const char *path = getenv("NVTX_LOG");
    if (callbacks == NULL || path == NULL || (log_file = fopen(path, "w")) == NULL)
        return 0;
    if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &slots) == 0 ||
        slots <= NVTX_CBID_CORE_RangePop)
        return 0;
    int (*push_function)(const char *) = push;
    int (*pop_function)(void) = pop;
    set(table, NVTX_CBID_CORE_RangePushA, &push_function, sizeof push_function);
    set(table, NVTX_CBID_CORE_RangePop, &pop_function, sizeof pop_function);
    atexit(finish);
    return 1;
}
