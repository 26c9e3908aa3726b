/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: products that are added up one after the other, each sum in a register of its own, as
 * unrolled inner loops have them. A link's sum goes on to the next link as it is, while it is
 * being stored: waiting for it to come back from its row would take longer than the product.
 *
 * Results are those of the single operations, bit for bit. */
#ifndef RP_SOFT_SIMT_CHAIN_H
#define RP_SOFT_SIMT_CHAIN_H

#include "cuda/soft/simt/lanes.h"

#ifdef __FMA__
#include <immintrin.h>

#ifdef __AVX512F__
typedef __m512 reals;
#define REALS_LOAD _mm512_load_ps
#define REALS_STORE _mm512_store_ps
#define REALS_FMA _mm512_fmadd_ps
static inline reals reals_canon(reals x)
{
    const reals nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fffffff));
    return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
}
#else
typedef __m256 reals;
#define REALS_LOAD _mm256_load_ps
#define REALS_STORE _mm256_store_ps
#define REALS_FMA _mm256_fmadd_ps
static inline reals reals_canon(reals x)
{
    const reals nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    return _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
#endif

enum { REALS_LANES = sizeof(reals) / sizeof(float), REALS_PARTS = SIMT_LANES / REALS_LANES };

/* Does the next operation add to the sum of this one? An operation always has a next one. */
static inline bool chain_goes_on(const struct simt_op *op)
{
    return op[1].opcode == op->opcode && op[1].c == op->d;
}

/* Runs the fma.rn.f32 at `op` for all lanes, and all links behind it; answers what comes next.
 * Whoever has the label of `op` has a link behind it. */
static inline const struct simt_op *chain_fma_f32(char *rows, const struct simt_op *op)
{
    const void *const label = op->label;
    reals sum[REALS_PARTS];
    for (int part = 0; part < REALS_PARTS; part++)
        sum[part] = REALS_LOAD(ROW(float, op->c) + part * REALS_LANES);
    for (;;) {
        const float *a = ROW(float, op->a), *b = ROW(float, op->b);
        float *d = ROW(float, op->d);
        for (int part = 0; part < REALS_PARTS; part++) {
            const int at = part * REALS_LANES;
            sum[part] = reals_canon(REALS_FMA(REALS_LOAD(a + at), REALS_LOAD(b + at), sum[part]));
        }
        for (int part = 0; part < REALS_PARTS; part++)
            REALS_STORE(d + part * REALS_LANES, sum[part]);
        if ((op++)->label != label)
            return op;
    }
}
#else
/* Without the instruction a product takes longer than any wait. */
static inline bool chain_goes_on(const struct simt_op *op)
{
    (void)op;
    return false;
}

static inline const struct simt_op *chain_fma_f32(char *rows, const struct simt_op *op)
{
    (void)rows;
    return op;
}
#endif

#endif
