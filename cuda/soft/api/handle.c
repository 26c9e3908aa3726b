/* SPDX-License-Identifier: Apache-2.0 */
/* An open-addressing table with linear probing. Removal shifts later entries back, so there
 * are no tombstones and the table never degrades. */
#include "cuda/soft/api/handle.h"

#include <stdint.h>
#include <stdlib.h>

struct entry {
    const void *object; /* NULL: empty */
    enum soft_handle_kind kind;
};

static struct entry *table;
static size_t capacity, count; /* capacity is 0 or a power of two */

static size_t home_of(const void *object)
{
    uint64_t bits = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(bits >> 20) & (capacity - 1);
}

/* The entry of `object`, or the empty one where it would go. */
static size_t probe(const void *object)
{
    size_t at = home_of(object);
    while (table[at].object != NULL && table[at].object != object)
        at = (at + 1) & (capacity - 1);
    return at;
}

static bool grow(void)
{
    struct entry *old = table;
    size_t old_capacity = capacity;
    size_t wanted = capacity ? 2 * capacity : 64;
    struct entry *fresh = calloc(wanted, sizeof *fresh);
    if (fresh == NULL)
        return false;
    table = fresh;
    capacity = wanted;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].object != NULL)
            table[probe(old[i].object)] = old[i];
    free(old);
    return true;
}

bool soft_handle_add(const void *object, enum soft_handle_kind kind)
{
    if (2 * (count + 1) > capacity && !grow())
        return false;
    table[probe(object)] = (struct entry){object, kind};
    count++;
    return true;
}

void soft_handle_remove(const void *object)
{
    if (capacity == 0 || object == NULL)
        return;
    size_t hole = probe(object);
    if (table[hole].object == NULL)
        return;
    count--;
    for (size_t at = hole;;) {
        at = (at + 1) & (capacity - 1);
        if (table[at].object == NULL)
            break;
        size_t home = home_of(table[at].object);
        bool may_move = ((at - home) & (capacity - 1)) >= ((at - hole) & (capacity - 1));
        if (may_move) {
            table[hole] = table[at];
            hole = at;
        }
    }
    table[hole].object = NULL;
}

bool soft_handle_is(const void *object, enum soft_handle_kind kind)
{
    if (capacity == 0 || object == NULL)
        return false;
    const struct entry *entry = &table[probe(object)];
    return entry->object != NULL && entry->kind == kind;
}
