/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/access/frozen.h"

#include "analyser_version.h"
#include "cuda/access/build.h"
#include "cuda/access/run.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* An array of the proof: where its pointer and its count stand. */
struct section {
    size_t items, count, size;
};

#define SECTION(items_, count_)                                                                  \
    {offsetof(struct rp_proof, items_), offsetof(struct rp_proof, count_),                       \
     sizeof(*((struct rp_proof *)NULL)->items_)}

static const struct section sections[] = {
    SECTION(ops, op_count),           SECTION(phi_args, phi_arg_count),
    SECTION(blocks, block_count),     SECTION(loops, loop_count),
    SECTION(test_ops, test_op_count), SECTION(walk_ops, walk_op_count),
    SECTION(walk_args, walk_arg_count), SECTION(walk_blocks, walk_block_count),
    SECTION(walk_touches, walk_touch_count), SECTION(unread, unread_bytes),
    SECTION(roots, root_count),
    SECTION(touches, touch_count)};

enum { SECTIONS = sizeof sections / sizeof *sections };

void rp_analyser_version(uint64_t version[2])
{
    static const char text[] = RP_ANALYSER_VERSION "/" __VERSION__;
    XXH128_hash_t hash = XXH3_128bits(text, sizeof text);
    uint64_t all[3 + SECTIONS] = {hash.low64, hash.high64, sizeof(struct rp_proof)};
    for (size_t i = 0; i < SECTIONS; i++)
        all[3 + i] = sections[i].size;
    hash = XXH3_128bits(all, sizeof all);
    version[0] = hash.low64;
    version[1] = hash.high64;
}

static size_t count_of(const struct rp_proof *proof, const struct section *section)
{
    size_t count;
    memcpy(&count, (const char *)proof + section->count, sizeof count);
    return count;
}

static void *items_of(const struct rp_proof *proof, const struct section *section)
{
    void *items;
    memcpy(&items, (const char *)proof + section->items, sizeof items);
    return items;
}

static void set_items(struct rp_proof *proof, const struct section *section, void *items)
{
    memcpy((char *)proof + section->items, &items, sizeof items);
}

static size_t padded(size_t bytes) /* so that every array is aligned as malloc aligns */
{
    return (bytes + 15) & ~(size_t)15;
}

/* ---- freezing -------------------------------------------------------------------- */

/* Texts follow the arrays; a pointer to one becomes its place there, counted from 1. */
struct texts {
    char *bytes; /* NULL: only their length is asked for */
    size_t used;
};

static char *put_text(struct texts *texts, const char *text)
{
    if (!text)
        return NULL;
    size_t at = texts->used, bytes = strlen(text) + 1;
    if (texts->bytes)
        memcpy(texts->bytes + at, text, bytes);
    texts->used += bytes;
    return (char *)(uintptr_t)(at + 1);
}

/* In the order in which they are put. */
static size_t text_bytes(const struct rp_proof *proof)
{
    struct texts texts = {0};
    for (size_t i = 0; i < proof->root_count; i++)
        put_text(&texts, proof->roots[i].name);
    for (size_t i = 0; i < proof->touch_count; i++)
        put_text(&texts, proof->touches[i].reason);
    put_text(&texts, proof->text);
    put_text(&texts, proof->refused);
    return texts.used;
}

static void freeze_texts(struct rp_proof *frozen, struct rp_root *roots, struct rp_touch *touches,
                         char *bytes)
{
    struct texts texts = {bytes, 0};
    for (size_t i = 0; i < frozen->root_count; i++) {
        roots[i].name = put_text(&texts, roots[i].name);
        roots[i].symbol = roots[i].symbol ? roots[i].name : NULL;
    }
    for (size_t i = 0; i < frozen->touch_count; i++)
        touches[i].reason = put_text(&texts, touches[i].reason);
    frozen->text = put_text(&texts, frozen->text);
    frozen->refused = put_text(&texts, frozen->refused);
    frozen->reasons = NULL;
    frozen->arena = NULL;
}

enum rp_status rp_proof_freeze(const struct rp_proof *proof, void **bytes, size_t *size)
{
    size_t total = padded(sizeof *proof), places[SECTIONS];
    for (size_t i = 0; i < SECTIONS; i++) {
        places[i] = total;
        total += padded(count_of(proof, &sections[i]) * sections[i].size);
    }
    *size = total + text_bytes(proof);
    char *out = *bytes = calloc(1, *size);
    if (!out)
        return RP_NO_MEMORY;
    struct rp_proof *frozen = (struct rp_proof *)(void *)out;
    memcpy(frozen, proof, sizeof *proof);
    for (size_t i = 0; i < SECTIONS; i++) {
        size_t count = count_of(proof, &sections[i]);
        if (count)
            memcpy(out + places[i], items_of(proof, &sections[i]), count * sections[i].size);
        set_items(frozen, &sections[i], NULL);
    }
    freeze_texts(frozen, (struct rp_root *)(void *)(out + places[SECTIONS - 2]),
                 (struct rp_touch *)(void *)(out + places[SECTIONS - 1]), out + total);
    return RP_OK;
}

/* ---- thawing --------------------------------------------------------------------- */

/* From a place to the text there; false when no text is there. */
static bool get_text(char *texts, size_t bytes, char **text)
{
    size_t place = (uintptr_t)*text;
    if (place > bytes)
        return false;
    *text = place ? texts + place - 1 : NULL;
    return true;
}

static bool thaw_texts(struct rp_proof *proof, char *texts, size_t bytes)
{
    bool good = !bytes || texts[bytes - 1] == '\0';
    for (size_t i = 0; good && i < proof->root_count; i++) {
        struct rp_root *root = &proof->roots[i];
        good = get_text(texts, bytes, &root->name);
        root->symbol = root->symbol ? root->name : NULL;
    }
    for (size_t i = 0; good && i < proof->touch_count; i++) {
        char *reason = (char *)(uintptr_t)proof->touches[i].reason;
        good = get_text(texts, bytes, &reason);
        proof->touches[i].reason = reason;
    }
    char *refused = (char *)(uintptr_t)proof->refused;
    good = good && get_text(texts, bytes, &proof->text) && get_text(texts, bytes, &refused) &&
           proof->text;
    proof->refused = refused;
    return good;
}

/* `bytes` belongs to the proof already. */
static bool find_parts(struct rp_proof *proof, char *bytes, size_t size)
{
    size_t at = padded(sizeof *proof);
    for (size_t i = 0; i < SECTIONS; i++) {
        size_t count = count_of(proof, &sections[i]), left = size - at;
        if (count > left / sections[i].size || padded(count * sections[i].size) > left)
            return false;
        set_items(proof, &sections[i], bytes + at);
        at += padded(count * sections[i].size);
    }
    return thaw_texts(proof, bytes + at, size - at);
}

enum rp_status rp_proof_thaw(const void *bytes, size_t size, struct rp_proof **out)
{
    *out = NULL;
    if (size < padded(sizeof(struct rp_proof)))
        return RP_DAMAGED;
    struct rp_proof *proof = malloc(sizeof *proof);
    void *arena = NULL;
    char *copy = rp_arena_copy(&arena, bytes, size);
    if (!proof || !copy) {
        rp_arena_release(arena);
        free(proof);
        return RP_NO_MEMORY;
    }
    memcpy(proof, copy, sizeof *proof);
    proof->arena = arena;
    if (!find_parts(proof, copy, size)) {
        rp_proof_destroy(proof);
        return RP_DAMAGED;
    }
    proof->scratch_bytes = rp_run_scratch_bytes(proof);
    *out = proof;
    return RP_OK;
}
