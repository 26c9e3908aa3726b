/* SPDX-License-Identifier: Apache-2.0 */
/* A naive PTX evaluator: one thread after the other, one instruction after the other.
 *
 * It knows nothing of what the analysis does, and only the opcodes that the generated
 * kernels use. Memory has no contents: what a load brings is made up from a counter, since
 * what is claimed of a kernel must hold for any contents: of four seeds one brings anything, one
 * small numbers, one nothing but zeros, and one nothing but ones. Barriers do nothing. */
#ifndef RP_TESTS_ACCESS_SCALAR_H
#define RP_TESTS_ACCESS_SCALAR_H

#include "cuda/access/access.h"
#include "cuda/ptx/ptx.h"

struct scalar_range {
    uint64_t lo, hi;
};

struct scalar_ranges { /* sorted and disjoint after scalar_run */
    struct scalar_range *items;
    size_t count, capacity;
};

enum scalar_result {
    SCALAR_DONE,
    SCALAR_ENDLESS, /* a thread did not end within its budget of instructions */
    SCALAR_UNKNOWN  /* an opcode that is not understood: see `message` */
};

/* `seed` says what is in memory. `adrift`, unless NULL, is told where the address of a write was
 * made of what a load has brought: near which multiples of 2^56 such addresses lie. */
struct scalar_adrift {
    uint64_t bits[4];
};
bool scalar_is_adrift(const struct scalar_adrift *adrift, uint64_t address);
/* `found` is what was read but for loads of what the same thread had written before. */
enum scalar_result scalar_run(const struct rp_ptx_function *entry, const struct rp_launch *launch,
                              uint64_t seed, struct scalar_ranges *reads,
                              struct scalar_ranges *found, struct scalar_ranges *writes,
                              struct scalar_adrift *adrift, char message[128]);
/* Adds what `from` has. */
void scalar_unite(struct scalar_ranges *ranges, const struct scalar_ranges *from);
bool scalar_equal(const struct scalar_ranges *a, const struct scalar_ranges *b);
void scalar_release(struct scalar_ranges *ranges);
/* Are all bytes of [lo, hi) in the ranges? */
bool scalar_covers(const struct scalar_ranges *ranges, uint64_t lo, uint64_t hi);

#endif
