/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/door/next.h"

#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* This file is compiled without sanitizers, and compares and copies by itself: the C
 * library's functions may be intercepted by a runtime that is not ready yet. */

struct object {
    uintptr_t base;
    const ElfW(Sym) *symbols;
    const char *strings;
    const ElfW(Half) *versions; /* NULL: unversioned */
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
};

/* glibc turns the addresses in a dynamic section into real ones, others leave offsets. */
static const void *dynamic_address(uintptr_t base, ElfW(Addr) value)
{
    return (const void *)(value < base ? base + value : value);
}

static void read_dynamic(struct object *object, const ElfW(Dyn) *dynamic)
{
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        const void *address = dynamic_address(object->base, dynamic->d_un.d_ptr);
        if (dynamic->d_tag == DT_SYMTAB)
            object->symbols = address;
        else if (dynamic->d_tag == DT_STRTAB)
            object->strings = address;
        else if (dynamic->d_tag == DT_VERSYM)
            object->versions = address;
        else if (dynamic->d_tag == DT_GNU_HASH)
            object->gnu_hash = address;
        else if (dynamic->d_tag == DT_HASH)
            object->sysv_hash = address;
    }
}

static bool same(const char *a, const char *b)
{
    for (; *a == *b; a++, b++) {
        if (*a == '\0')
            return true;
    }
    return false;
}

/* A definition that an ordinary reference would bind to: not an old version kept for
 * programs linked long ago. */
static void *value_of(const struct object *object, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &object->symbols[index];
    bool old = object->versions != NULL && (object->versions[index] & 0x8000) != 0;
    if (symbol->st_shndx == SHN_UNDEF || old || !same(object->strings + symbol->st_name, name))
        return NULL;
    return (void *)(object->base + symbol->st_value);
}

static void *find_by_gnu_hash(const struct object *object, const char *name)
{
    uint32_t hash = 5381;
    for (const char *c = name; *c != '\0'; c++)
        hash = hash * 33 + (unsigned char)*c;
    uint32_t bucket_count = object->gnu_hash[0], first = object->gnu_hash[1];
    uint32_t bloom_words = object->gnu_hash[2] * (uint32_t)(sizeof(ElfW(Addr)) / 4);
    const uint32_t *buckets = object->gnu_hash + 4 + bloom_words;
    const uint32_t *chain = buckets + bucket_count;
    uint32_t index = bucket_count == 0 ? 0 : buckets[hash % bucket_count];
    if (index < first)
        return NULL;
    for (;; index++) {
        uint32_t entry = chain[index - first];
        void *value = (entry | 1) == (hash | 1) ? value_of(object, index, name) : NULL;
        if (value != NULL || (entry & 1) != 0)
            return value;
    }
}

static void *find_by_sysv_hash(const struct object *object, const char *name)
{
    uint32_t hash = 0;
    for (const char *c = name; *c != '\0'; c++) {
        hash = (hash << 4) + (unsigned char)*c;
        hash = (hash ^ ((hash & 0xf0000000) >> 24)) & 0x0fffffff;
    }
    uint32_t bucket_count = object->sysv_hash[0];
    const uint32_t *buckets = object->sysv_hash + 2;
    const uint32_t *chain = buckets + bucket_count;
    for (uint32_t i = bucket_count == 0 ? 0 : buckets[hash % bucket_count]; i != 0; i = chain[i]) {
        void *value = value_of(object, i, name);
        if (value != NULL)
            return value;
    }
    return NULL;
}

static void *find_symbol(const struct object *object, const char *name)
{
    if (object->symbols == NULL || object->strings == NULL)
        return NULL;
    if (object->gnu_hash != NULL)
        return find_by_gnu_hash(object, name);
    return object->sysv_hash != NULL ? find_by_sysv_hash(object, name) : NULL;
}

struct search {
    bool passed_us;
    void *dlsym, *dlvsym;
};

extern const ElfW(Dyn) our_dynamic[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));

/* Objects behind us in the loader's order. Its list is read as it lies there: dl_iterate_phdr may
 * be intercepted by a runtime that looks up its own functions with this very dlsym. */
static void search_objects(struct search *search)
{
    for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next) {
        struct object object = {.base = map->l_addr};
        if (!search->passed_us) {
            search->passed_us = map->l_ld == our_dynamic;
            continue;
        }
        read_dynamic(&object, map->l_ld);
        if (search->dlsym == NULL)
            search->dlsym = find_symbol(&object, "dlsym");
        if (search->dlvsym == NULL)
            search->dlvsym = find_symbol(&object, "dlvsym");
        if (search->dlsym != NULL && search->dlvsym != NULL)
            return;
    }
}

static void *no_dlsym(void *handle, const char *name)
{
    (void)handle;
    (void)name;
    return NULL;
}

static void *no_dlvsym(void *handle, const char *name, const char *version)
{
    (void)version;
    return no_dlsym(handle, name);
}

/* Object and function pointers are the same thing wherever there is a dlsym. */
union pointer {
    void *object;
    rp_dlsym_fn dlsym;
    rp_dlvsym_fn dlvsym;
};

const struct rp_next *rp_next(void)
{
    static struct rp_next next;
    if (__atomic_load_n(&next.dlvsym, __ATOMIC_ACQUIRE) != NULL)
        return &next;
    struct search search = {0};
    search_objects(&search);
    union pointer plain = {search.dlsym}, versioned = {search.dlvsym};
    __atomic_store_n(&next.dlsym, search.dlsym != NULL ? plain.dlsym : no_dlsym,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&next.dlvsym, search.dlvsym != NULL ? versioned.dlvsym : no_dlvsym,
                     __ATOMIC_RELEASE);
    return &next;
}
