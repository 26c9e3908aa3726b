/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/linker.h"

#include "cuda/image/cubin.h"
#include "cuda/image/fatbin.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct link {
    struct link *next;
    uint64_t state;      /* 0 once it is destroyed: what it made may be loaded later */
    struct rp_linked made;
    XXH128_hash_t hash;  /* of the result */
    size_t bytes;        /* and its length; 0 before it is complete */
};

static struct link *links;

static struct link *find(uint64_t state)
{
    struct link *link = links;
    while (link && link->state != state)
        link = link->next;
    return link;
}

static struct link *find_or_add(uint64_t state)
{
    struct link *link = find(state);
    if (link)
        return link;
    link = calloc(1, sizeof *link);
    if (link) {
        *link = (struct link){.next = links, .state = state};
        links = link;
    }
    return link;
}

static void release(struct link *link)
{
    for (size_t i = 0; i < link->made.text_count; i++)
        free(link->made.texts[i].bytes);
    free(link->made.texts);
    free(link);
}

static bool add_text(struct rp_linked *made, const void *text, size_t bytes)
{
    struct rp_content_part *bigger =
        realloc(made->texts, (made->text_count + 1) * sizeof *bigger);
    unsigned char *copy = bigger ? malloc(bytes + 1) : NULL;
    if (bigger)
        made->texts = bigger;
    if (!copy)
        return false;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    bytes = strlen((const char *)copy); /* the job may count the zero, too */
    made->texts[made->text_count++] = (struct rp_content_part){.bytes = copy, .size = bytes};
    return true;
}

void rp_link_add(uint64_t state, const void *text, size_t bytes)
{
    struct link *link = find_or_add(state);
    if (!link)
        return;
    if (!text || !add_text(&link->made, text, bytes))
        link->made.has_others = true;
}

/* As the image itself tells it: whoever loads it has no other measure. */
static size_t length_of(const void *image)
{
    switch (rp_image_kind(image)) {
    case RP_IMAGE_CUBIN: return rp_cubin_bytes(image);
    case RP_IMAGE_PTX: return strlen(image) + 1;
    case RP_IMAGE_UNKNOWN: case RP_IMAGE_FATBIN: case RP_IMAGE_WRAPPER: return 0;
    }
    return 0;
}

void rp_link_complete(uint64_t state, const void *image, size_t bytes)
{
    struct link *link = find(state);
    size_t length = bytes < 64 ? 0 : length_of(image);
    if (!link || !length || length > bytes)
        return;
    link->hash = XXH3_128bits(image, length);
    link->bytes = length;
}

void rp_link_destroy(uint64_t state)
{
    for (struct link **at = &links; *at; at = &(*at)->next) {
        struct link *link = *at;
        if (link->state != state)
            continue;
        link->state = 0;
        if (!link->bytes) {
            *at = link->next;
            release(link);
        }
        return;
    }
}

const struct rp_linked *rp_link_find(const void *image)
{
    size_t bytes = links ? length_of(image) : 0;
    XXH128_hash_t hash = {0, 0};
    bool hashed = false;
    for (const struct link *link = links; bytes && link; link = link->next) {
        if (link->bytes != bytes)
            continue;
        if (!hashed)
            hash = XXH3_128bits(image, bytes);
        hashed = true;
        if (XXH128_isEqual(link->hash, hash))
            return &link->made;
    }
    return NULL;
}

void rp_links_forget(void)
{
    while (links) {
        struct link *next = links->next;
        release(links);
        links = next;
    }
}
