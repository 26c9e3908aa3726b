/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/image.h"

#include "cuda/image/cubin.h"
#include "cuda/ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct entry {
    struct rp_image_kernel out;
    char *name;
    const struct rp_ptx_module *ptx; /* with `function`: where its text is, or NULL */
    const struct rp_ptx_function *function;
    unsigned texts, codes; /* how many parts of the image define it */
    struct rp_kernel_param *params; /* of the machine code */
    uint32_t param_count, param_bytes;
    bool codes_agree;
    bool decided;
};

struct variable {
    char *name;
    uint64_t bytes;
};

struct rp_image {
    XXH128_hash_t hash;
    const char *kind, *doubt;
    const char *met_with; /* the doubt that reading it started from */
    bool has_code; /* machine code that the device may prefer to the PTX */
    struct rp_ptx_module **texts; /* parsed: kernels are proved when they are asked for */
    size_t text_count, text_capacity;
    struct entry *entries; /* sorted by name once all are there */
    size_t entry_count, entry_capacity;
    struct variable *variables;
    size_t variable_count, variable_capacity;
};

static struct rp_image **images;
static size_t image_count;
static struct rp_image out_of_memory = {.kind = "unseen", .doubt = "the host is out of memory"};

/* ---- gathering ------------------------------------------------------------------ */

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
static struct entry *find_or_add(struct rp_image *image, const char *name, size_t known)
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
    struct entry *entry = &image->entries[image->entry_count++];
    *entry = (struct entry){.name = copy, .codes_agree = true};
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
    image->variables[image->variable_count++] = (struct variable){copy, bytes};
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
        struct entry *entry = find_or_add(image, function->name, known);
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

static bool same_layout(const struct entry *entry, const struct rp_cubin_kernel *kernel)
{
    return entry->params && kernel->params && entry->param_count == kernel->param_count &&
           entry->param_bytes == kernel->param_bytes &&
           memcmp(entry->params, kernel->params,
                  kernel->param_count * sizeof *kernel->params) == 0;
}

static enum rp_status add_code_kernel(struct rp_image *image, struct rp_cubin_kernel *kernel,
                                      size_t known)
{
    struct entry *entry = find_or_add(image, kernel->name, known);
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
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static enum rp_status gather(struct rp_image *image, const struct rp_content *content)
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

/* ---- images --------------------------------------------------------------------- */

static XXH128_hash_t hash_of(const struct rp_content *content)
{
    XXH128_hash_t hash = {content->text_count, content->code_count};
    const struct rp_content_part *const parts[] = {content->texts, content->codes};
    const size_t counts[] = {content->text_count, content->code_count};
    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < counts[kind]; i++) {
            XXH128_hash_t part = XXH3_128bits(parts[kind][i].bytes, parts[kind][i].size);
            XXH128_hash_t both[2] = {hash, part};
            hash = XXH3_128bits(both, sizeof both);
        }
    return hash;
}

static struct rp_image *image_add(const struct rp_image *like)
{
    struct rp_image **bigger = realloc(images, (image_count + 1) * sizeof(void *));
    struct rp_image *image = bigger ? malloc(sizeof *image) : NULL;
    if (bigger)
        images = bigger;
    if (!image)
        return &out_of_memory;
    *image = *like;
    return images[image_count++] = image;
}

/* Takes the content. */
static const struct rp_image *image_of(struct rp_content *content)
{
    struct rp_image like = {.hash = hash_of(content), .kind = content->kind,
                            .doubt = content->doubt, .met_with = content->doubt};
    struct rp_image *image = NULL;
    for (size_t i = 0; i < image_count && !image; i++)
        if (XXH128_isEqual(images[i]->hash, like.hash) && images[i]->kind == like.kind &&
            images[i]->met_with == like.met_with)
            image = images[i];
    if (!image) {
        image = image_add(&like);
        if (image != &out_of_memory && gather(image, content) != RP_OK)
            image->doubt = out_of_memory.doubt;
    }
    rp_content_release(content);
    return image;
}

const struct rp_image *rp_image_read(const void *data, size_t bytes,
                                     const struct rp_target *target)
{
    struct rp_content content;
    if (rp_content_read(data, bytes, target, &content) != RP_OK)
        return &out_of_memory;
    return image_of(&content);
}

const struct rp_image *rp_image_read_linked(const void *data, const struct rp_linked *linked)
{
    struct rp_content content;
    if (rp_content_read_linked(data, linked, &content) != RP_OK)
        return &out_of_memory;
    return image_of(&content);
}

const struct rp_image *rp_image_unseen(const char *why)
{
    for (size_t i = 0; i < image_count; i++)
        if (images[i]->doubt == why && strcmp(images[i]->kind, "unseen") == 0)
            return images[i];
    return image_add(&(struct rp_image){.kind = "unseen", .doubt = why});
}

const char *rp_image_kind_text(const struct rp_image *image)
{
    return image->kind;
}

uint64_t rp_image_hash(const struct rp_image *image)
{
    return image->hash.low64;
}

size_t rp_image_kernel_count(const struct rp_image *image)
{
    return image->entry_count;
}

const char *rp_image_doubt(const struct rp_image *image)
{
    return image->doubt ? image->doubt : "its image does not define it";
}

void rp_image_globals(const struct rp_image *image, rp_image_global_fn visit, void *ctx)
{
    for (size_t i = 0; i < image->variable_count; i++)
        visit(ctx, image->variables[i].name, image->variables[i].bytes);
}

/* ---- kernels -------------------------------------------------------------------- */

/* Why the PTX at hand proves nothing of what will run, or NULL. */
static const char *objection(const struct rp_image *image, const struct entry *entry,
                             bool trust_ptx)
{
    if (image->doubt)
        return image->doubt;
    if (!entry->texts)
        return "its image holds it as machine code only";
    if (image->has_code && !trust_ptx)
        return "machine code runs, and \"trust_ptx\" is not set for the PTX beside it";
    if (entry->texts > 1)
        return "several PTX texts of its image define it";
    return NULL;
}

static void use_text_layout(struct entry *entry)
{
    const struct rp_ptx_function *function = entry->function;
    struct rp_kernel_param *params = malloc((function->param_count + 1) * sizeof *params);
    if (!params)
        return;
    for (size_t i = 0; i < function->param_count; i++) {
        params[i] = (struct rp_kernel_param){(uint32_t)function->params[i].offset,
                                             (uint32_t)function->params[i].bytes};
        entry->out.aligned_widely |= function->params[i].align > 16;
    }
    entry->out.layout = (struct rp_kernel_layout){
        params, (uint32_t)function->param_count, (uint32_t)function->param_bytes, true};
}

static void use_code_layout(struct entry *entry)
{
    if (entry->codes && entry->codes_agree)
        entry->out.layout = (struct rp_kernel_layout){entry->params, entry->param_count,
                                                      entry->param_bytes, true};
}

static void prove(struct entry *entry)
{
    struct rp_proof *proof;
    use_text_layout(entry);
    if (entry->out.layout.known && rp_proof_build(entry->ptx, entry->function, &proof) == RP_OK)
        entry->out.proof = proof;
    else
        entry->out.unproved = out_of_memory.doubt;
}

static void decide(const struct rp_image *image, struct entry *entry, bool trust_ptx)
{
    entry->decided = true;
    entry->out.name = entry->name;
    entry->out.unproved = objection(image, entry, trust_ptx);
    if (!entry->out.unproved) {
        prove(entry);
    } else if (entry->codes) {
        use_code_layout(entry);
    } else if (entry->texts == 1 && !image->has_code) {
        use_text_layout(entry); /* doubtful as a whole, but this is what is compiled */
    }
}

const struct rp_image_kernel *rp_image_kernel(const struct rp_image *image, const char *name,
                                              bool trust_ptx)
{
    size_t lo = 0, hi = image->entry_count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        struct entry *entry = &image->entries[middle];
        int order = strcmp(name, entry->name);
        if (!order) {
            if (!entry->decided)
                decide(image, entry, trust_ptx);
            return &entry->out;
        }
        lo = order > 0 ? middle + 1 : lo;
        hi = order < 0 ? middle : hi;
    }
    return NULL;
}
