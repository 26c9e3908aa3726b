/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of images on any bytes, as a file that a job names, for devices of each kind: it
 * answers with parts that lie in memory of their own, and says whether that is all. */
#include "cuda/image/content.h"
#include "cuda/image/cubin.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned sum; /* so that nothing of the reading is left out */

static void read_code(const struct rp_content_part *part)
{
    struct rp_cubin cubin;
    if (rp_cubin_read(part->bytes, part->size, &cubin) != RP_OK)
        return;
    for (size_t i = 0; i < cubin.kernel_count; i++) {
        const struct rp_cubin_kernel *kernel = &cubin.kernels[i];
        uint32_t end = 0;
        sum += (unsigned)strlen(kernel->name);
        if (!kernel->layout_known && !kernel->escapes)
            abort();
        for (uint32_t j = 0; j < kernel->param_count; j++) {
            if (kernel->params[j].offset < end)
                abort();
            end = kernel->params[j].offset + kernel->params[j].bytes;
        }
        if (kernel->layout_known && end != kernel->param_bytes)
            abort();
    }
    for (size_t i = 0; i < cubin.global_count; i++)
        sum += (unsigned)strlen(cubin.globals[i].name);
    rp_cubin_release(&cubin);
}

static void read_all(const uint8_t *image, size_t size, const struct rp_target *target)
{
    struct rp_content content;
    if (rp_content_read(image, size, target, &content) != RP_OK)
        return;
    if (!content.text_count && !content.code_count && !content.doubt &&
        strcmp(content.kind, "fatbin") != 0)
        abort();
    for (size_t i = 0; i < content.text_count; i++)
        sum += (unsigned)strlen((const char *)content.texts[i].bytes);
    for (size_t i = 0; i < content.code_count; i++)
        read_code(&content.codes[i]);
    rp_content_release(&content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct rp_target targets[] = {
        {.runs_machine_code = true}, {.arch = 90, .runs_machine_code = true},
        {.arch = 80, .takes_newest_ptx = true}};
    uint8_t *image = malloc(size + 1); /* the layer's copy of a file ends with a zero */
    if (!image || !size)
        goto out;
    memcpy(image, data, size);
    image[size] = 0;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        read_all(image, size, &targets[i]);
out:
    free(image);
    return 0;
}
