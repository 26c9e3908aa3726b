/* SPDX-License-Identifier: Apache-2.0 */
/* From the parts of an image to its kernels and variables. */
#include "interpose/calls/image_parts.h"

#include "cuda/image/cubin.h"

#include <stdlib.h>
#include <string.h>

static void *grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    void *bigger = realloc(items, wanted * size);
    if (bigger)
        *capacity = wanted;
    return bigger;
}

/* Kernels of one part follow each other; those of another part may be the same again. */
static struct rp_image_entry *find_or_add(struct rp_image *image, const char *name, size_t known)
{
    for (size_t i = 0; i < known; i++)
        if (strcmp(image->entries[i].name, name) == 0)
            return &image->entries[i];
    void *bigger = grow(image->entries, image->entry_count, &image->entry_capacity,
                        sizeof *image->entries);
    char *copy = bigger ? strdup(name) : NULL;
    if (bigger)
        image->entries = bigger;
    if (!copy)
        return NULL;
    struct rp_image_entry *entry = &image->entries[image->entry_count++];
    *entry = (struct rp_image_entry){.name = copy, .codes_agree = true};
    return entry;
}

static enum rp_status add_variable(struct rp_image *image, const char *name, uint64_t bytes)
{
    for (size_t i = 0; i < image->variable_count; i++)
        if (strcmp(image->variables[i].name, name) == 0)
            return RP_OK;
    void *bigger = grow(image->variables, image->variable_count, &image->variable_capacity,
                        sizeof *image->variables);
    char *copy = bigger ? strdup(name) : NULL;
    if (bigger)
        image->variables = bigger;
    if (!copy)
        return RP_NO_MEMORY;
    image->variables[image->variable_count++] = (struct rp_image_variable){copy, bytes};
    return RP_OK;
}

/* Names that the linker may bind to another text than the one they stand in. */
static bool has_loose_names(const struct rp_ptx_module *ptx)
{
    for (size_t i = 0; i < ptx->function_count; i++)
        if (ptx->functions[i].is_weak)
            return true;
    for (size_t i = 0; i < ptx->global_count; i++) {
        const struct rp_ptx_var *var = &ptx->globals[i];
        bool has_storage = var->space == RP_PTX_GLOBAL || var->space == RP_PTX_CONST;
        if (has_storage && !var->is_visible && !var->is_extern)
            return true;
    }
    return false;
}

static enum rp_status keep_text(struct rp_image *image, struct rp_ptx_module *ptx)
{
    void *bigger = grow(image->texts, image->text_count, &image->text_capacity, sizeof(void *));
    if (!bigger) {
        rp_ptx_destroy(ptx);
        return RP_NO_MEMORY;
    }
    image->texts = bigger;
    image->texts[image->text_count++] = ptx;
    return RP_OK;
}

static enum rp_status add_text_kernels(struct rp_image *image, const struct rp_ptx_module *ptx)
{
    size_t known = image->entry_count;
    for (size_t i = 0; i < ptx->function_count; i++) {
        const struct rp_ptx_function *function = &ptx->functions[i];
        if (!function->is_entry)
            continue;
        struct rp_image_entry *entry = find_or_add(image, function->name, known);
        if (!entry)
            return RP_NO_MEMORY;
        entry->ptx = ptx;
        entry->function = function;
        entry->texts++;
    }
    return RP_OK;
}

static enum rp_status add_text(struct rp_image *image, const struct rp_content_part *part,
                               bool among_others)
{
    char message[256];
    struct rp_ptx_module *ptx;
    enum rp_status status = rp_ptx_parse((const char *)part->bytes, part->size, &ptx, message,
                                         sizeof message);
    if (status == RP_NO_MEMORY)
        return status;
    if (status != RP_OK) {
        image->doubt = "its PTX can't be read";
        return RP_OK;
    }
    status = keep_text(image, ptx);
    if (status == RP_OK && among_others && has_loose_names(ptx))
        image->doubt = "it was linked from several parts, with names of no certain meaning";
    if (status == RP_OK)
        status = add_text_kernels(image, ptx);
    for (size_t i = 0; status == RP_OK && i < ptx->global_count; i++) {
        const struct rp_ptx_var *var = &ptx->globals[i];
        if (var->space == RP_PTX_GLOBAL || var->space == RP_PTX_CONST)
            status = add_variable(image, var->name, var->bytes);
    }
    return status;
}

static bool same_layout(const struct rp_image_entry *entry, const struct rp_cubin_kernel *kernel)
{
    return entry->params && kernel->params && entry->param_count == kernel->param_count &&
           entry->param_bytes == kernel->param_bytes &&
           memcmp(entry->params, kernel->params,
                  kernel->param_count * sizeof *kernel->params) == 0;
}

static enum rp_status add_code_kernel(struct rp_image *image, struct rp_cubin_kernel *kernel,
                                      size_t known)
{
    struct rp_image_entry *entry = find_or_add(image, kernel->name, known);
    if (!entry)
        return RP_NO_MEMORY;
    if (kernel->escapes)
        entry->out.escapes = kernel->escapes;
    if (entry->codes++) {
        entry->codes_agree = entry->codes_agree && same_layout(entry, kernel);
        return RP_OK;
    }
    entry->codes_agree = kernel->layout_known;
    entry->param_count = kernel->param_count;
    entry->param_bytes = kernel->param_bytes;
    entry->params = malloc((kernel->param_count + 1) * sizeof *entry->params);
    for (uint32_t i = 0; entry->params && i < kernel->param_count; i++)
        entry->params[i] =
            (struct rp_kernel_param){kernel->params[i].offset, kernel->params[i].bytes};
    return entry->params ? RP_OK : RP_NO_MEMORY;
}

static enum rp_status add_code(struct rp_image *image, const struct rp_content_part *part)
{
    struct rp_cubin cubin;
    size_t known = image->entry_count;
    image->has_code = true;
    enum rp_status status = rp_cubin_read(part->bytes, part->size, &cubin);
    if (status == RP_DAMAGED) {
        image->doubt = "its machine code can't be read";
        return RP_OK;
    }
    for (size_t i = 0; status == RP_OK && i < cubin.kernel_count; i++)
        status = add_code_kernel(image, &cubin.kernels[i], known);
    for (size_t i = 0; status == RP_OK && i < cubin.global_count; i++)
        status = add_variable(image, cubin.globals[i].name, cubin.globals[i].bytes);
    rp_cubin_release(&cubin);
    return status;
}

static int by_name(const void *a, const void *b)
{
    const struct rp_image_entry *x = a, *y = b;
    return strcmp(x->name, y->name);
}

enum rp_status rp_image_gather(struct rp_image *image, const struct rp_content *content)
{
    const struct rp_linked *linked = content->linked;
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < content->text_count; i++)
        status = add_text(image, &content->texts[i],
                          linked && (linked->text_count > 1 || linked->has_others));
    for (size_t i = 0; status == RP_OK && i < content->code_count; i++)
        status = add_code(image, &content->codes[i]);
    if (linked)
        image->has_code = false; /* it is the texts, compiled */
    if (image->entry_count)
        qsort(image->entries, image->entry_count, sizeof *image->entries, by_name);
    return status;
}
