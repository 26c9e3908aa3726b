/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the PTX compiler. The interpreter has no use for most; the logs are kept. */
#include "cuda/soft/api/module.h"

#include <stdio.h>
#include <string.h>

CUresult soft_jit_read(unsigned count, const CUjit_option *options, void **values,
                       struct soft_jit *jit)
{
    *jit = (struct soft_jit){.option_count = count, .options = options, .values = values};
    if (count > 0 && (options == NULL || values == NULL))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        int option = (int)options[i];
        if (option < 0 || option >= (int)CU_JIT_NUM_OPTIONS)
            return CUDA_ERROR_INVALID_VALUE;
        if (option == CU_JIT_ERROR_LOG_BUFFER)
            jit->error_log = values[i];
        else if (option == CU_JIT_INFO_LOG_BUFFER)
            jit->info_log = values[i];
        else if (option == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            jit->error_bytes = (size_t)(uintptr_t)values[i] & UINT32_MAX;
        else if (option == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
            jit->info_bytes = (size_t)(uintptr_t)values[i] & UINT32_MAX;
    }
    return CUDA_SUCCESS;
}

/* The size options take the length of what was written. */
static void set_length(struct soft_jit *jit, CUjit_option option, size_t length)
{
    for (unsigned i = 0; i < jit->option_count; i++)
        if (jit->options[i] == option)
            jit->values[i] = soft_pointer(length);
}

static size_t write_log(char *log, size_t bytes, const char *message)
{
    if (log == NULL || bytes == 0)
        return 0;
    int length = snprintf(log, bytes, "%s", message);
    return (size_t)length < bytes ? (size_t)length : bytes - 1;
}

void soft_jit_clear(struct soft_jit *jit)
{
    set_length(jit, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
               write_log(jit->info_log, jit->info_bytes, ""));
    set_length(jit, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
               write_log(jit->error_log, jit->error_bytes, ""));
}

void soft_jit_report(struct soft_jit *jit, const char *message)
{
    soft_jit_clear(jit);
    if (message[0] == '\0') /* nobody came as far as to find an error in the image */
        message = "the host is out of memory";
    if (jit->error_log == NULL || jit->error_bytes == 0)
        soft_say("%s", message);
    set_length(jit, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
               write_log(jit->error_log, jit->error_bytes, message));
}
