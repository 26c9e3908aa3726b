/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/calls/image_parts.h"

#include <stdlib.h>
#include <string.h>

static struct rp_image **images;
static size_t image_count;
static struct rp_image out_of_memory = {.kind = "unseen", .doubt = "the host is out of memory"};

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
        if (image != &out_of_memory && rp_image_gather(image, content) != RP_OK)
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
