/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of byte ranges of one allocation.
 *
 * A span is half-open, [lo, hi), in bytes from the start of its allocation. A span
 * set keeps its spans sorted, disjoint and non-adjacent (touching spans merge), so
 * two equal sets are equal arrays. Sets are plain values owned by whoever holds
 * them; no function here is thread-safe on one set. A zeroed set is an empty one. */
#ifndef RP_TRACKER_SPAN_H
#define RP_TRACKER_SPAN_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rp_span {
    uint64_t lo, hi; /* bytes; lo < hi in every stored span */
};

struct rp_spans {
    struct rp_span *items;
    size_t count;
    size_t capacity;
};

void rp_spans_clear(struct rp_spans *set);   /* empties, keeps the storage */
void rp_spans_release(struct rp_spans *set); /* empties and frees the storage */

/* All three accept lo == hi as "nothing to do". RP_NO_MEMORY leaves the set as it was. */
enum rp_status rp_spans_add(struct rp_spans *set, uint64_t lo, uint64_t hi);
enum rp_status rp_spans_remove(struct rp_spans *set, uint64_t lo, uint64_t hi);
enum rp_status rp_spans_copy(struct rp_spans *to, const struct rp_spans *from);

enum rp_status rp_spans_add_all(struct rp_spans *set, const struct rp_spans *other);
enum rp_status rp_spans_remove_all(struct rp_spans *set, const struct rp_spans *other);

/* out = set ∩ [lo, hi), respectively [lo, hi) \ set. `out` is overwritten and must
 * not be `set`. */
enum rp_status rp_spans_within(const struct rp_spans *set, uint64_t lo, uint64_t hi,
                               struct rp_spans *out);
enum rp_status rp_spans_missing(const struct rp_spans *set, uint64_t lo, uint64_t hi,
                                struct rp_spans *out);

bool rp_spans_overlaps(const struct rp_spans *set, uint64_t lo, uint64_t hi);
bool rp_spans_covers(const struct rp_spans *set, uint64_t lo, uint64_t hi);
uint64_t rp_spans_bytes(const struct rp_spans *set);

/* Index of the first span that ends after `at`, or set->count: where to start walking. */
size_t rp_spans_seek(const struct rp_spans *set, uint64_t at);

/* True when the invariants above hold. For tests after every random operation. */
bool rp_spans_validate(const struct rp_spans *set);

#ifdef __cplusplus
}
#endif

#endif
