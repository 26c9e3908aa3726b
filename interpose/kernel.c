/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/kernel.h"

#include "cuda/ptx/ptx.h"
#include "interpose/core.h"
#include "interpose/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* One PTX text, parsed and proved once however often it is loaded. Kept for ever: proofs
 * are small, and jobs load the same few images again and again. */
struct image {
    XXH128_hash_t hash;
    struct rp_ptx_module *ptx; /* NULL when it is not readable PTX */
    const char *unproved;      /* why, then */
    struct proved {
        const struct rp_ptx_function *entry;
        struct rp_proof *proof;
        struct rp_kernel_param *params;
    } *entries;
    size_t entry_count;
};

struct global {
    char *symbol;
    uint64_t address, bytes;
    rp_alloc_id id;
};

struct module {
    uint64_t handle;
    const struct image *image;
    struct global *globals;
    size_t global_count;
};

static struct image **images;
static size_t image_count;
static struct module *modules;
static size_t module_count, module_capacity;

/* Kernels by handle: open addressing, a power of two, at most half full. */
static struct rp_kernel **slots;
static size_t slot_count, kernel_count;

/* Byte by byte: a text may be shorter than the magic. */
static bool starts_with(const unsigned char *image, const char *magic)
{
    for (int i = 0; i < 4; i++)
        if (image[i] != (unsigned char)magic[i])
            return false;
    return true;
}

static const char *not_text(const void *image)
{
    if (starts_with(image, "\177ELF"))
        return "its image is machine code (ELF) without PTX";
    if (starts_with(image, "\x50\xed\x55\xba") || starts_with(image, "\xb1\x43\x62\x46"))
        return "its image is a fatbin, which is not read yet";
    return NULL;
}

static void prove(struct image *image)
{
    const struct rp_ptx_module *ptx = image->ptx;
    image->entries = calloc(ptx->function_count, sizeof *image->entries);
    for (size_t i = 0; image->entries && i < ptx->function_count; i++) {
        const struct rp_ptx_function *function = &ptx->functions[i];
        struct proved *proved = &image->entries[image->entry_count];
        if (!function->is_entry)
            continue;
        proved->entry = function;
        proved->params = calloc(function->param_count + 1, sizeof *proved->params);
        if (!proved->params || rp_proof_build(ptx, function, &proved->proof) != RP_OK)
            return;
        for (size_t j = 0; j < function->param_count; j++)
            proved->params[j] = (struct rp_kernel_param){(uint32_t)function->params[j].offset,
                                                         (uint32_t)function->params[j].bytes};
        image->entry_count++;
    }
}

static const struct image *image_read(const void *data)
{
    static const struct image out_of_memory = {.unproved = "the host is out of memory"};
    const char *unproved = not_text(data);
    size_t length = unproved ? 4 : strlen(data);
    XXH128_hash_t hash = XXH3_128bits(data, length);
    for (size_t i = 0; i < image_count; i++)
        if (XXH128_isEqual(images[i]->hash, hash))
            return images[i];
    struct image **bigger = realloc(images, (image_count + 1) * sizeof(void *));
    if (bigger)
        images = bigger;
    struct image *image = bigger ? calloc(1, sizeof *image) : NULL;
    if (!image)
        return &out_of_memory;
    *image = (struct image){.hash = hash, .unproved = unproved};
    images[image_count++] = image;
    char message[256];
    if (!unproved && rp_ptx_parse(data, length, &image->ptx, message, sizeof message) == RP_OK)
        prove(image);
    else if (!unproved)
        image->unproved = "its PTX can't be read";
    return image;
}

static struct module *module_find(uint64_t handle)
{
    for (size_t i = 0; i < module_count; i++)
        if (modules[i].handle == handle)
            return &modules[i];
    return NULL;
}

static void module_add(uint64_t handle, const struct image *image)
{
    rp_kernel_unload(handle, NULL); /* the handle was reused: the old module is gone */
    if (module_count == module_capacity) {
        size_t capacity = module_capacity ? module_capacity * 2 : 16;
        struct module *bigger = realloc(modules, capacity * sizeof *bigger);
        if (!bigger)
            return;
        modules = bigger;
        module_capacity = capacity;
    }
    modules[module_count++] = (struct module){.handle = handle, .image = image};
}

void rp_kernel_load(uint64_t module, const void *data)
{
    const struct image *image = image_read(data);
    module_add(module, image);
    RP_NOTE(image, RP_U(module), RP_T(image->ptx ? "PTX" : "opaque"), RP_U(image->hash.low64),
            RP_U(0), RP_U(image->entry_count));
}

void rp_kernel_load_unseen(uint64_t module, const char *why)
{
    struct image *image = calloc(1, sizeof *image);
    if (!image)
        return;
    image->unproved = why;
    module_add(module, image);
}

static size_t slot_of(uint64_t function)
{
    size_t at = (size_t)(function * 0x9e3779b97f4a7c15u >> 20) & (slot_count - 1);
    while (slots[at] && slots[at]->function != function)
        at = (at + 1) & (slot_count - 1);
    return at;
}

static bool rehash(size_t count, uint64_t without_module)
{
    struct rp_kernel **old = slots;
    size_t old_count = slot_count;
    struct rp_kernel **fresh = calloc(count, sizeof(void *));
    if (!fresh)
        return false;
    slots = fresh;
    slot_count = count;
    for (size_t i = 0; i < old_count; i++) {
        if (!old[i])
            continue;
        if (without_module && old[i]->module == without_module) {
            free(old[i]);
            kernel_count--;
        } else {
            slots[slot_of(old[i]->function)] = old[i];
        }
    }
    free(old);
    return true;
}

void rp_kernel_unload(uint64_t handle, void (*buried)(rp_alloc_id id))
{
    struct module *module = module_find(handle);
    if (!module)
        return;
    for (size_t i = 0; i < module->global_count; i++) {
        if (buried)
            buried(module->globals[i].id);
        free(module->globals[i].symbol);
    }
    free(module->globals);
    *module = modules[--module_count];
    if (slot_count)
        rehash(slot_count, handle);
}

static struct rp_kernel *kernel_add(uint64_t function)
{
    if (kernel_count * 2 >= slot_count && !rehash(slot_count ? slot_count * 2 : 256, 0))
        return NULL;
    size_t at = slot_of(function);
    if (!slots[at]) {
        slots[at] = calloc(1, sizeof *slots[at]);
        kernel_count += slots[at] != NULL;
    }
    if (slots[at])
        *slots[at] = (struct rp_kernel){.function = function};
    return slots[at];
}

static const struct proved *proved_find(const struct image *image, const char *name)
{
    for (size_t i = 0; image && i < image->entry_count; i++)
        if (strcmp(image->entries[i].entry->name, name) == 0)
            return &image->entries[i];
    return NULL;
}

static const char *verdict_word(const struct rp_kernel *kernel)
{
    return kernel->proof ? rp_verdict_name(rp_proof_writes(kernel->proof)) : "reachable";
}

void rp_kernel_got(uint64_t function, uint64_t handle, const char *name)
{
    const struct module *module = module_find(handle);
    const struct image *image = module ? module->image : NULL;
    const struct proved *proved = proved_find(image, name);
    struct rp_kernel *kernel = kernel_add(function);
    if (!kernel)
        return;
    kernel->module = handle;
    kernel->name = rp_names_id(rp_core.names, name);
    kernel->text = rp_name(kernel->name);
    if (proved) {
        kernel->proof = proved->proof;
        kernel->params = proved->params;
        kernel->param_count = (uint32_t)proved->entry->param_count;
        kernel->param_bytes = (uint32_t)proved->entry->param_bytes;
        kernel->params_known = true;
    } else {
        kernel->unproved = image && image->unproved ? image->unproved
                                                    : "its image was not seen by the layer";
    }
    RP_NOTE(kernel, RP_U(function), RP_T(kernel->text), RP_T(verdict_word(kernel)),
            RP_T(kernel->proof ? rp_proof_text(kernel->proof) : kernel->unproved));
}

void rp_kernel_same(uint64_t function, uint64_t known)
{
    const struct rp_kernel *original = rp_kernel_find(known);
    struct rp_kernel copy = *original;
    struct rp_kernel *kernel = kernel_add(function);
    copy.function = function;
    if (kernel)
        *kernel = copy;
}

const struct rp_kernel *rp_kernel_find(uint64_t function)
{
    if (slot_count) {
        size_t at = slot_of(function);
        if (slots[at])
            return slots[at];
    }
    static struct rp_kernel stranger;
    stranger = (struct rp_kernel){.function = function,
                                  .name = rp_names_id(rp_core.names, "(unknown kernel)"),
                                  .text = "(unknown kernel)",
                                  .unproved = "its module was loaded out of the layer's sight"};
    return &stranger;
}

void rp_kernel_globals(uint64_t handle, rp_kernel_global_fn visit, void *ctx)
{
    const struct module *module = module_find(handle);
    const struct rp_ptx_module *ptx = module ? module->image->ptx : NULL;
    for (size_t i = 0; ptx && i < ptx->global_count; i++) {
        const struct rp_ptx_var *var = &ptx->globals[i];
        if (var->space == RP_PTX_GLOBAL || var->space == RP_PTX_CONST)
            visit(ctx, var->name, var->bytes);
    }
}

void rp_kernel_global_found(uint64_t handle, const char *symbol, uint64_t address, uint64_t bytes,
                            rp_alloc_id id)
{
    struct module *module = module_find(handle);
    if (!module)
        return;
    struct global *bigger =
        realloc(module->globals, (module->global_count + 1) * sizeof *bigger);
    if (!bigger)
        return;
    module->globals = bigger;
    char *copy = strdup(symbol);
    if (copy)
        module->globals[module->global_count++] = (struct global){copy, address, bytes, id};
}

uint64_t rp_kernel_symbol(void *ctx, const char *symbol, uint64_t *bytes)
{
    const struct rp_kernel *kernel = ctx;
    const struct module *module = module_find(kernel->module);
    for (size_t i = 0; module && i < module->global_count; i++) {
        if (strcmp(module->globals[i].symbol, symbol) != 0)
            continue;
        if (bytes)
            *bytes = module->globals[i].bytes;
        return module->globals[i].address;
    }
    return 0;
}

void rp_kernels_each(rp_kernel_fn visit, void *ctx)
{
    for (size_t i = 0; i < slot_count; i++)
        if (slots[i])
            visit(ctx, slots[i]);
}

void rp_kernels_forget(void)
{
    for (size_t i = 0; i < slot_count; i++)
        free(slots[i]);
    free(slots);
    slots = NULL;
    slot_count = kernel_count = 0;
    module_count = 0;
}
