/* SPDX-License-Identifier: Apache-2.0 */
/* Growing and splicing plain arrays: what every sorted array of the tracker is made of.
 *
 * For the sources of this project, not installed. An array is a pointer, a count and a
 * capacity in its owner. */
#ifndef RP_TRACKER_ARRAY_H
#define RP_TRACKER_ARRAY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* `items` with room for `need` items of `size` bytes, or NULL when the host is out of memory
 * (then `items` is still good). Grows by half, so that appending is amortised O(1). */
static inline void *rp_array_reserve(void *items, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity && items != NULL)
        return items;
    size_t room = *capacity + *capacity / 2;
    if (room < need)
        room = need;
    if (room < 4)
        room = 4;
    if (room > SIZE_MAX / size)
        return NULL;
    void *grown = realloc(items, room * size);
    if (grown != NULL)
        *capacity = room;
    return grown;
}

/* Replaces items [first, last) by the `n` items at `with`. The caller has reserved the room;
 * `with` must not lie inside the array. */
static inline void rp_array_splice(void *items, size_t *count, size_t first, size_t last,
                                   const void *with, size_t n, size_t size)
{
    char *base = items;
    size_t tail = *count - last;

    if (last - first != n && tail > 0)
        memmove(base + (first + n) * size, base + last * size, tail * size);
    if (n > 0)
        memcpy(base + first * size, with, n * size);
    *count = first + n + tail;
}

#endif
