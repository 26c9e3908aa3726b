/* SPDX-License-Identifier: Apache-2.0 */
/* A naive PTX evaluator: one thread after the other, one instruction after the other.
 *
 * It knows nothing of what the analysis does, and only the opcodes that the generated
 * kernels use. But for tables memory has no contents: what a load brings is made up from a counter,
 * since what is claimed of a kernel must hold for any contents: of four seeds one brings anything,
 * one small numbers, one nothing but zeros, and one nothing but ones. Barriers do nothing. */
#ifndef RP_TESTS_ACCESS_SCALAR_H
#define RP_TESTS_ACCESS_SCALAR_H

#include "cuda/access/access.h"
#include "cuda/ptx/ptx.h"

struct scalar_range {
    uint64_t lo, hi;
};

struct scalar_ranges { /* sorted and disjoint when tidy */
    struct scalar_range *items;
    size_t count, capacity;
};

enum scalar_result {
    SCALAR_DONE,
    SCALAR_ENDLESS, /* a thread did not end within its budget of instructions */
    SCALAR_UNKNOWN  /* an opcode that is not understood: see `message` */
};

/* Where the address of a write was made of what a load has brought: near which multiples of 2^56
 * such addresses lie. */
struct scalar_adrift {
    uint64_t bits[4];
};
bool scalar_is_adrift(const struct scalar_adrift *adrift, uint64_t address);

/* What is in memory. */
#define SCALAR_TABLES 2
struct scalar_memory {
    uint64_t seed; /* for all but these: */
    struct scalar_table {
        uint64_t address; /* 0: there is none */
        unsigned char bytes[128];
    } tables[SCALAR_TABLES];
};

/* What a launch did. `found` is what was read but for loads of what the same thread had written
 * before. Of several runs `adrift` is what all of them show. */
struct scalar_trace {
    struct scalar_ranges reads, found, writes;
    struct scalar_adrift adrift;
    char message[128];
};
void scalar_trace_release(struct scalar_trace *trace);

enum scalar_result scalar_run(const struct rp_ptx_module *module,
                              const struct rp_ptx_function *entry, const struct rp_launch *launch,
                              const struct scalar_memory *memory, struct scalar_trace *trace);

/* One more, at the end; scalar_tidy sorts them and makes them disjoint. */
void scalar_add(struct scalar_ranges *ranges, uint64_t lo, uint64_t hi);
void scalar_tidy(struct scalar_ranges *ranges);
/* Are all bytes in ranges as they came? */
bool scalar_holds(const struct scalar_ranges *ranges, uint64_t lo, uint64_t hi);
/* Adds what `from` has. */
void scalar_unite(struct scalar_ranges *ranges, const struct scalar_ranges *from);
bool scalar_equal(const struct scalar_ranges *a, const struct scalar_ranges *b);
void scalar_release(struct scalar_ranges *ranges);
/* Are all bytes of [lo, hi) in the ranges? */
bool scalar_covers(const struct scalar_ranges *ranges, uint64_t lo, uint64_t hi);

#endif
