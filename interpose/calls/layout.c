/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/layout.h"

#include "interpose/door/real.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_PARAMS = 4096, MAX_BYTES = 32764 };

static struct rp_kernel_param told[MAX_PARAMS]; /* by the driver, about the kernel at hand */

static struct rp_kernel_layout *layouts;
static size_t layout_count, layout_capacity;

static bool is_same(const struct rp_kernel_layout *a, const struct rp_kernel_layout *b)
{
    return a->count == b->count && a->bytes == b->bytes &&
           memcmp(a->params, b->params, a->count * sizeof *a->params) == 0;
}

static struct rp_kernel_layout keep(uint32_t count)
{
    static const struct rp_kernel_layout unknown = {.known = false};
    struct rp_kernel_layout layout = {told, count, 0, true};
    if (count)
        layout.bytes = told[count - 1].offset + told[count - 1].bytes;
    for (size_t i = 0; i < layout_count; i++)
        if (is_same(&layouts[i], &layout))
            return layouts[i];
    if (layout_count == layout_capacity) {
        size_t capacity = layout_capacity ? layout_capacity * 2 : 64;
        struct rp_kernel_layout *bigger = realloc(layouts, capacity * sizeof *bigger);
        if (!bigger)
            return unknown;
        layouts = bigger;
        layout_capacity = capacity;
    }
    struct rp_kernel_param *params = malloc((count + 1) * sizeof *params);
    if (!params)
        return unknown;
    memcpy(params, told, count * sizeof *params);
    layout.params = params;
    return layouts[layout_count++] = layout;
}

/* The driver answers CUDA_ERROR_INVALID_VALUE past the last parameter, and nothing else
 * counts as the end. */
static struct rp_kernel_layout ask(CUfunction function, CUkernel kernel)
{
    size_t offset = 0, bytes = 0, end = 0;
    CUresult result = CUDA_SUCCESS;
    for (uint32_t i = 0; i < MAX_PARAMS; i++) {
        result = kernel ? rp_real.cuKernelGetParamInfo(kernel, i, &offset, &bytes)
                        : rp_real.cuFuncGetParamInfo(function, i, &offset, &bytes);
        if (result == CUDA_ERROR_INVALID_VALUE)
            return keep(i);
        if (result != CUDA_SUCCESS || offset < end || bytes > MAX_BYTES ||
            offset > MAX_BYTES - bytes)
            break;
        told[i] = (struct rp_kernel_param){(uint32_t)offset, (uint32_t)bytes};
        end = offset + bytes;
    }
    return (struct rp_kernel_layout){.known = false};
}

struct rp_kernel_layout rp_layout_of_function(CUfunction function)
{
    return ask(function, NULL);
}

struct rp_kernel_layout rp_layout_of_kernel(CUkernel kernel)
{
    return ask(NULL, kernel);
}

bool rp_layout_same_sizes(const struct rp_kernel_layout *a, const struct rp_kernel_layout *b)
{
    if (!a->known || !b->known)
        return true;
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = a->params[i].bytes == b->params[i].bytes;
    return same;
}

bool rp_layout_same_offsets(const struct rp_kernel_layout *a, const struct rp_kernel_layout *b)
{
    bool same = a->known && b->known && a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = a->params[i].offset == b->params[i].offset;
    return same;
}
