/* SPDX-License-Identifier: Apache-2.0 */
/* What an image proves of its kernels, when they are first asked for. */
#include "interpose/calls/image_parts.h"

#include "cuda/access/cache.h"

#include <stdlib.h>
#include <string.h>

static const char *cache; /* the folder of kept proofs, or NULL */
static struct rp_image_figures figures;

void rp_image_keep_proofs(const char *folder)
{
    cache = folder;
}

struct rp_image_figures rp_image_proof_figures(void)
{
    return figures;
}

/* Why the PTX at hand proves nothing of what will run, or NULL. */
static const char *objection(const struct rp_image *image, const struct rp_image_entry *entry,
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

static void use_text_layout(struct rp_image_entry *entry)
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

static void use_code_layout(struct rp_image_entry *entry)
{
    if (entry->codes && entry->codes_agree)
        entry->out.layout = (struct rp_kernel_layout){entry->params, entry->param_count,
                                                      entry->param_bytes, true};
}

/* All that a proof follows from: the texts are among what the image's hash is of. */
static struct rp_cache_key key_of(const struct rp_image *image, const struct rp_image_entry *entry)
{
    XXH128_hash_t both[2] = {image->hash, XXH3_128bits(entry->name, strlen(entry->name))};
    XXH128_hash_t hash = XXH3_128bits(both, sizeof both);
    return (struct rp_cache_key){hash.low64, hash.high64};
}

/* As it was proved in an earlier run, or now. */
static struct rp_proof *find_or_build(const struct rp_image *image, struct rp_image_entry *entry)
{
    struct rp_proof *proof = NULL;
    struct rp_cache_key key = key_of(image, entry);
    enum rp_status found = cache ? rp_cache_find(cache, &key, &proof) : RP_NOT_FOUND;
    figures.recalled += found == RP_OK;
    figures.damaged += entry->out.was_damaged = found == RP_DAMAGED;
    if (found == RP_OK || rp_proof_build(entry->ptx, entry->function, &proof) != RP_OK)
        return proof;
    figures.kept += cache && rp_cache_keep(cache, &key, proof) == RP_OK;
    return proof;
}

static void prove(const struct rp_image *image, struct rp_image_entry *entry)
{
    use_text_layout(entry);
    if (entry->out.layout.known)
        entry->out.proof = find_or_build(image, entry);
    if (!entry->out.proof)
        entry->out.unproved = "the host is out of memory";
}

static void decide(const struct rp_image *image, struct rp_image_entry *entry, bool trust_ptx)
{
    entry->decided = true;
    entry->out.name = entry->name;
    entry->out.unproved = objection(image, entry, trust_ptx);
    if (!entry->out.unproved) {
        prove(image, entry);
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
        struct rp_image_entry *entry = &image->entries[middle];
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
