/* SPDX-License-Identifier: Apache-2.0 */
/* Access sets: what one driver call may read and may write, with the proof of it.
 *
 * A proof is made once for each kernel of an image (L1) and evaluated for each launch with
 * its arguments and geometry. Any doubt moves a verdict up. Evaluation allocates nothing
 * beyond the growth of the caller's set and takes well under a microsecond. */
#ifndef RP_CUDA_ACCESS_ACCESS_H
#define RP_CUDA_ACCESS_ACCESS_H

#include "tracker/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_ptx_module;
struct rp_ptx_function;

/* The lattice, from the surest to the least sure. */
enum rp_verdict {
    RP_VERDICT_NONE,      /* touches nothing */
    RP_VERDICT_EXACT,     /* exactly these bytes, all of them */
    RP_VERDICT_BOUNDED,   /* some of these bytes, none outside */
    RP_VERDICT_ROOT,      /* some bytes of the allocation that a named root points into */
    RP_VERDICT_REACHABLE, /* whatever the arguments may lead to: speculation */
    RP_VERDICT_EVERYTHING /* any live byte */
};
const char *rp_verdict_name(enum rp_verdict verdict); /* "none", "exact", "bounded", "root", ... */

enum rp_effect { RP_READ = 1, RP_WRITE = 2, RP_READ_WRITE = 3 };

/* One line of an access set, in addresses. For NONE..BOUNDED the bytes are [lo, hi). For ROOT only
 * `root` counts: the whole allocation that holds it, or ends there. `exact` on a write means that
 * every byte of [lo, hi) is certainly written; on a read that it is certainly read. An order of
 * effect is implied within one call: reads see the bytes before the call's own writes. What a
 * thread loads of what it has certainly stored before is no read. */
struct rp_access {
    uint64_t lo, hi;       /* device addresses */
    uint64_t root;         /* the pointer that it was derived from: an argument, a global, or from a
                            * table that was known; 0: of none, or of several */
    uint32_t root_param;   /* byte offset of the root in the parameter block, or UINT32_MAX */
    uint8_t effect;        /* enum rp_effect: READ or WRITE; both are two entries */
    uint8_t verdict;       /* enum rp_verdict */
    bool exact;
    bool atomic : 1;       /* by nothing but read-modify-writes: no byte is written that is
                            * not read, and none that does not depend on what was there */
    bool updates : 1;      /* a write: of nothing but what the same thread has read before */
};

struct rp_access_set {
    struct rp_access *items;
    size_t count, capacity;
    enum rp_verdict reads, writes; /* the highest verdict on either side */
    const char *reason;            /* why it is no better; static text or owned by the proof */
};
void rp_access_set_clear(struct rp_access_set *set);
void rp_access_set_release(struct rp_access_set *set);
enum rp_status rp_access_set_add(struct rp_access_set *set, const struct rp_access *access);

/* What stands in memory when the launch runs, before it writes: copies the bytes at `address` to
 * `out`, or returns false where that is not known. Asked for tables of pointers. */
typedef bool (*rp_known_fn)(void *ctx, uint64_t address, uint64_t bytes, void *out);

/* Where the tensor lies of which these 128 bytes are the map (CUtensorMap); false: not known. */
typedef bool (*rp_map_fn)(const unsigned char *map, uint64_t *address);
#define RP_MAP_BYTES 128

struct rp_launch {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    const unsigned char *params; /* the parameter block, copied before the call */
    size_t param_bytes;
    rp_known_fn known; /* NULL: nothing is */
    void *known_ctx;
    rp_map_fn map; /* NULL: of no map */
};

/* Where module globals stand at run time: returns 0 when `symbol` is unknown. */
typedef uint64_t (*rp_symbol_fn)(void *ctx, const char *symbol, uint64_t *bytes);

struct rp_proof; /* immutable, shared by all launches of a kernel */

/* Analyses one entry. Never fails for what it cannot understand: the proof then says
 * "root", "reachable" or "everything" and why. RP_NO_MEMORY is the only error. */
enum rp_status rp_proof_build(const struct rp_ptx_module *module,
                              const struct rp_ptx_function *entry, struct rp_proof **out);
void rp_proof_destroy(struct rp_proof *proof);

/* The set of one launch, reads before writes, added to `out` (cleared first). `symbols` serves
 * kernels that touch module globals. */
enum rp_status rp_proof_evaluate(const struct rp_proof *proof, const struct rp_launch *launch,
                                 rp_symbol_fn symbols, void *symbols_ctx,
                                 struct rp_access_set *out);

/* The best verdicts that the proof can give at all, before any launch. */
enum rp_verdict rp_proof_reads(const struct rp_proof *proof);
enum rp_verdict rp_proof_writes(const struct rp_proof *proof);
/* Why the kernel may write other bytes when it is launched again with the same memory: a clock, the
 * order of atomic operations, what the driver does for it. NULL when there is no reason. */
const char *rp_proof_varies(const struct rp_proof *proof);
/* Whether every byte of the parameters may be loaded. What is not is padding, or of no use: it
 * tells nothing of what the launch does. */
bool rp_proof_reads_all_params(const struct rp_proof *proof);
/* Of the eight bytes from `at` in the parameter block, all ones where one may be loaded and zeros
 * where none is. */
uint64_t rp_proof_read_params(const struct rp_proof *proof, uint64_t at);
/* The proof in words, one line for each root: "writes param 3 (y): [y + 4*i), i < n, all of
 * it". Owned by the proof. */
const char *rp_proof_text(const struct rp_proof *proof);

#endif
