/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch is expected to be said to touch, written down beside the kernel. */
#ifndef RP_TESTS_ACCESS_CLAIM_H
#define RP_TESTS_ACCESS_CLAIM_H

#include "cuda/access/access.h"
#include "cuda/ptx/ptx.h"

#define CLAIM_MAX 24
#define CLAIM_PARAM_BYTES 512

/* One line of a set. Pointers are letters; bytes count from where the letter points. */
struct claim {
    enum rp_effect effect; /* 0 ends a list */
    char root;             /* '*' for REACHABLE and EVERYTHING; '?' of none: bytes are addresses */
    enum rp_verdict verdict;
    int64_t lo, hi;
    bool atomic;
};

#define READS(root, lo, hi) {RP_READ, root, RP_VERDICT_EXACT, lo, hi, false}
#define WRITES(root, lo, hi) {RP_WRITE, root, RP_VERDICT_EXACT, lo, hi, false}
#define MAY_READ(root, lo, hi) {RP_READ, root, RP_VERDICT_BOUNDED, lo, hi, false}
#define MAY_WRITE(root, lo, hi) {RP_WRITE, root, RP_VERDICT_BOUNDED, lo, hi, false}
#define READS_IN(root) {RP_READ, root, RP_VERDICT_ROOT, 0, 0, false}
#define WRITES_IN(root) {RP_WRITE, root, RP_VERDICT_ROOT, 0, 0, false}
#define ADDS(root, lo, hi) \
    {RP_READ, root, RP_VERDICT_EXACT, lo, hi, true}, \
    {RP_WRITE, root, RP_VERDICT_EXACT, lo, hi, true}
#define ADDS_IN(root) \
    {RP_READ, root, RP_VERDICT_ROOT, 0, 0, true}, {RP_WRITE, root, RP_VERDICT_ROOT, 0, 0, true}
#define READS_ANY {RP_READ, '*', RP_VERDICT_REACHABLE, 0, 0, false}
#define WRITES_ANY {RP_WRITE, '*', RP_VERDICT_REACHABLE, 0, 0, false}
#define READS_ALL {RP_READ, '*', RP_VERDICT_EVERYTHING, 0, 0, false}
#define WRITES_ALL {RP_WRITE, '*', RP_VERDICT_EVERYTHING, 0, 0, false}

struct claim_size {
    uint32_t x, y, z;
};

/* The parameter block of `entry` from words: letters are pointers, f1.5 a float, anything else
 * an integer. roots[i] is where letter 'A' + i points. */
void claim_params(const struct rp_ptx_function *entry, const char *words, const uint64_t roots[26],
                  unsigned char params[CLAIM_PARAM_BYTES]);
/* Where a letter points when the test does not care. */
uint64_t claim_address(char letter);

/* Evaluates and compares; the order of lines does not matter. Fails the test with both sets. */
void claim_check(const struct rp_ptx_module *module, const char *kernel, struct claim_size grid,
                 struct claim_size block, const char *words, const struct claim *expected);
void claim_check_launch(const struct rp_ptx_module *module, const char *kernel,
                        const struct rp_launch *launch, const struct claim *expected);
/* The same where something is known of memory. */
void claim_check_knowing(const struct rp_ptx_module *module, const char *kernel,
                         struct claim_size grid, struct claim_size block, const char *words,
                         rp_known_fn known, void *known_ctx, const struct claim *expected);

char *claim_file(const char *path, size_t *length); /* to be freed; a missing file fails */

#endif
