/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from identities (1, 2, 3, ...; 0 is none) to pointers that others own.
 *
 * Internal to tracker/. Open addressing at a load of at most one half; no tombstones, so
 * that a long run of births and deaths leaves it as fast as it was. A zeroed map is an
 * empty one. Not thread-safe. */
#ifndef RP_TRACKER_IDMAP_H
#define RP_TRACKER_IDMAP_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_idmap_slot {
    uint64_t id; /* 0: empty */
    void *value;
};

struct rp_idmap {
    struct rp_idmap_slot *slots; /* a power of two of them */
    size_t slot_count;
    size_t count;
};

void rp_idmap_release(struct rp_idmap *map);
/* NULL when `id` is not there. */
void *rp_idmap_find(const struct rp_idmap *map, uint64_t id);
/* `id` must not be there yet and must not be 0; `value` must not be NULL. */
enum rp_status rp_idmap_insert(struct rp_idmap *map, uint64_t id, void *value);
/* Returns what was removed, NULL when `id` is not there. */
void *rp_idmap_remove(struct rp_idmap *map, uint64_t id);
bool rp_idmap_validate(const struct rp_idmap *map);

#endif
