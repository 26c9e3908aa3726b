/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of which a test gives the body only.
 *
 * Each has the parameters a, b, c (pointers), n, m (32 bits), l (64 bits) and s, a struct of
 * {u32, pointer, u64}; %rd1-3 hold the pointers, %r1 and %r2 hold n and m, %r3 is
 * ctaid.x * ntid.x + tid.x, %r4 tid.x, %r5 ctaid.x and %r6 ntid.x. */
#ifndef RP_TESTS_ACCESS_BODY_H
#define RP_TESTS_ACCESS_BODY_H

#include "tests/access/claim.h"

/* Stores 4 bytes at %rd1 + 4 * r. */
#define STORE(r) "mul.wide.s32 %rd90, " r ", 4; add.s64 %rd91, %rd1, %rd90;" \
    "st.global.u32 [%rd91], 0;\n"
#define CLAIMS(...) ((const struct claim[]){__VA_ARGS__, {0}})
#define NOTHING ((const struct claim[]){{0}})

/* Threads: more than are looked at one by one. */
enum { MANY = 1 << 20 };

/* A module with kernel "k", behind what `before` defines. The test fails where it can't be read. */
struct rp_ptx_module *body_module(const char *before, const char *body);

/* claim_check of it. */
void prove_in(const char *before, const char *body, struct claim_size grid,
              struct claim_size block, const char *words, const struct claim *expected);
void prove(const char *body, unsigned blocks, unsigned threads, const char *words,
           const struct claim *expected);

#endif
