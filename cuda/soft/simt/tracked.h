/* SPDX-License-Identifier: Apache-2.0 */
/* Slots as the dispatcher uses them. */
#ifndef RP_SOFT_SIMT_TRACKED_H
#define RP_SOFT_SIMT_TRACKED_H

#include "cuda/soft/simt/bits.h"
#include "cuda/soft/simt/compact.h"

/* The lanes of a quarter of the warp. */
typedef uint32_t eight ALIAS __attribute__((vector_size(32)));
typedef uint64_t eight_wide ALIAS __attribute__((vector_size(64)));

#define SLOT(offset) simt_slot_of(rows + (offset))

static inline bool one_uniform(const struct simt_slot *a, const struct simt_slot *b)
{
    return (a->state | b->state) & SIMT_UNIFORM;
}

/* Have these numbers no bit of `mask`? */
static inline bool none(const simt_numbers *numbers, const simt_numbers *mask)
{
#if defined(__AVX512F__)
    const __m512i *n = (const __m512i *)(const void *)numbers;
    return _mm512_test_epi64_mask(*n, *(const __m512i *)(const void *)mask) == 0;
#elif defined(__AVX2__)
    const __m256i *n = (const __m256i *)(const void *)numbers;
    const __m256i *m = (const __m256i *)(const void *)mask;
    return _mm256_testz_si256(n[0], m[0]) & _mm256_testz_si256(n[1], m[1]);
#else
    uint64_t any = 0;
    for (int i = 0; i < 8; i++)
        any |= (*numbers)[i] & (*mask)[i];
    return any == 0;
#endif
}

#define SIGNED(x) (((x) ^ UINT64_C(0x80000000)) - UINT64_C(0x80000000)) /* sign extension */
/* The same for the steps alone. */
#define SIGN_BIT UINT64_C(0x80000000)
#define STEPS_OF(bit, base) (simt_numbers){bit, bit, bit, bit, bit, base, 0, 0}
#define STEPS_SIGNED(x) (((x) ^ STEPS_OF(SIGN_BIT, 0)) - STEPS_OF(SIGN_BIT, 0))

/* Do the 32-bit lanes rise and fall between these two without wrapping? */
static __attribute__((noinline)) bool between(const struct simt_slot *slot, int64_t base,
                                              int64_t least, int64_t most)
{
    int64_t lo = base, hi = base;
    for (int k = 0; k < SIMT_LANE_BITS; k++) {
        const int64_t step = (int32_t)slot->step[k];
        lo += step < 0 ? step : 0;
        hi += step > 0 ? step : 0;
    }
    return lo >= least && hi <= most;
}

/* Taken as signed or as unsigned numbers? Nearly always they are small enough to see it at
 * once: a base of 31 bits and steps of 26, of which five do not make up for the rest. */
#define BIG STEPS_OF(UINT64_C(0xfc000000), SIGN_BIT)
static inline bool fits_signed(const struct simt_slot *slot)
{
    const simt_numbers big = BIG;
    const simt_numbers up = slot->numbers + STEPS_OF(UINT64_C(1) << 25, UINT64_C(1) << 30);
    return none(&up, &big) || between(slot, (int32_t)slot->base, INT32_MIN, INT32_MAX);
}

static inline bool fits_unsigned(const struct simt_slot *slot)
{
    const simt_numbers big = BIG;
    return none(&slot->numbers, &big) || between(slot, (int64_t)slot->base, 0, UINT32_MAX);
}

/* Has no bit more than one of the numbers? Then nothing carries when they are added up, and each
 * bit of a lane is a bit of one number. */
static inline bool apart(const struct simt_slot *slot)
{
    if (slot->state & SIMT_UNIFORM)
        return true;
    const uint64_t *step = slot->step;
    const uint64_t all = slot->base | step[0] | step[1] | step[2] | step[3] | step[4];
    const uint64_t sum = slot->base + step[0] + step[1] + step[2] + step[3] + step[4];
    return all == sum && all >> 60 == 0; /* so that the sum has not wrapped either */
}

/* Have all lanes of `slot` zeros from the uniform one's highest bit down? */
static inline bool unites(const struct simt_slot *uniform, const struct simt_slot *slot)
{
    if (slot->state & SIMT_UNIFORM)
        return true;
    const uint64_t low = uniform->base ? UINT64_MAX >> __builtin_clzll(uniform->base) : 0;
    const simt_numbers below = STEPS_OF(low, low);
    return none(&slot->numbers, &below);
}

/* ---- the short way ------------------------------------------------------------- */

/* compact_ID: computes the operation on slots alone, or answers that it can't be done. The
 * destination may be one of the operands. */
#define IN_u32(...) ((__VA_ARGS__) & UINT32_MAX)
#define IN_u64(...) (__VA_ARGS__)
#define KINDS (SIMT_COMPACT | SIMT_UNIFORM)
/* The tail is stored with the numbers: who loads them all would wait for a store of its own. */
#define TAIL_OF(slot, state)                                                                    \
    ((uint64_t)(slot)->looks << 32 | (uint64_t)(state) | SIMT_STALE | SIMT_MAYBE)
#define COMPACT(id, T, state_, condition, ...)                                                  \
    static inline bool compact_##id(char *rows, const struct simt_op *op)                       \
    {                                                                                           \
        struct simt_slot *const D = SLOT(op->d);                                                \
        const struct simt_slot *const A = SLOT(op->a), *const B = SLOT(op->b);                  \
        const struct simt_slot *const C = SLOT(op->c);                                          \
        /* Of a product: the factor that is uniform, and the other. */                          \
        const struct simt_slot *const U = B->state & SIMT_UNIFORM ? B : A;                      \
        const struct simt_slot *const V = B->state & SIMT_UNIFORM ? A : B;                      \
        (void)U, (void)V;                                                                       \
        const uint32_t state = (state_) & KINDS;                                                \
        if (!(state & SIMT_COMPACT) || !(condition))                                            \
            return false;                                                                       \
        const simt_numbers a = A->numbers, b = B->numbers, c = C->numbers, v = V->numbers;      \
        const uint64_t u = U->base;                                                             \
        (void)a, (void)b, (void)c, (void)v, (void)u;                                            \
        simt_numbers result = IN_##T(__VA_ARGS__);                                              \
        result[SIMT_TAIL] = TAIL_OF(D, state);                                                  \
        D->numbers = result;                                                                    \
        return true;                                                                            \
    }
#define COMPACT1(id, T, condition, ...) COMPACT(id, T, A->state, condition, __VA_ARGS__)
#define COMPACT2(id, T, condition, ...) COMPACT(id, T, A->state & B->state, condition, __VA_ARGS__)
#define COMPACT3(id, T, condition, ...)                                                         \
    COMPACT(id, T, A->state & B->state & C->state, condition, __VA_ARGS__)

#define UNIFORM(id, T, TB, state_, expr)                                                        \
    static inline bool compact_##id(char *rows, const struct simt_op *op)                       \
    {                                                                                           \
        struct simt_slot *const D = SLOT(op->d);                                                \
        const struct simt_slot *const A = SLOT(op->a), *const B = SLOT(op->b);                  \
        if (!((state_) & SIMT_UNIFORM))                                                         \
            return false;                                                                       \
        const T a = (T)A->base;                                                                 \
        const TB b = (TB)B->base;                                                               \
        (void)b;                                                                                \
        const T result = (T)(expr);                                                             \
        const uint64_t value = (uint64_t)result & (sizeof(T) == 4 ? UINT32_MAX : UINT64_MAX);   \
        D->numbers = (simt_numbers){0, 0, 0, 0, 0, value, TAIL_OF(D, KINDS), 0};                \
        return true;                                                                            \
    }
#define UNIFORM1(id, T, TB, expr) UNIFORM(id, T, TB, A->state, expr)
#define UNIFORM2(id, T, TB, expr) UNIFORM(id, T, TB, A->state & B->state, expr)
#define UNIFORM_COMPARE(id, T, expr)                                                            \
    static inline bool compact_##id(char *rows, const struct simt_op *op)                       \
    {                                                                                           \
        const struct simt_slot *const A = SLOT(op->a), *const B = SLOT(op->b);                  \
        if (!(A->state & B->state & SIMT_UNIFORM))                                              \
            return false;                                                                       \
        const T a = (T)A->base, b = (T)B->base;                                                 \
        MASK(op->d) = ((expr) ? SIMT_FULL : 0) ^ (uint32_t)op->imm;                             \
        return true;                                                                            \
    }
#include "cuda/soft/simt/tracked.def"

/* ---- and the long one ---------------------------------------------------------- */

#define EXPANDED(V, T)                                                                          \
    const T s0 = (T)slot->step[0], s1 = (T)slot->step[1], s2 = (T)slot->step[2];                \
    const V first = (V){0, s0, s1, s0 + s1, s2, s2 + s0, s2 + s1, s2 + s1 + s0};                \
    const T third = (T)slot->step[3], fourth = (T)slot->step[4], base = (T)slot->base;          \
    ((V *)(void *)row)[0] = first + base;                                                       \
    ((V *)(void *)row)[1] = first + (base + third);                                             \
    ((V *)(void *)row)[2] = first + (base + fourth);                                            \
    ((V *)(void *)row)[3] = first + (base + third + fourth)
static inline void expand_slot(char *row, bool wide)
{
    struct simt_slot *slot = simt_slot_of(row);
    row = __builtin_assume_aligned(row, 64);
    if (wide) {
        EXPANDED(eight_wide, uint64_t);
    } else {
        EXPANDED(eight, uint32_t);
    }
    slot->state &= ~SIMT_STALE;
}

/* After lanes have been apart everything is in rows. So when they have met, each register is
 * looked at twice, and found to be compact or not to be worth it. A slot's `looks` are the
 * reunion that they belong to, and how many there were. */
enum { LOOKS = 2, LOOK_BITS = 2 };

static inline uint32_t looked_enough(const struct simt_warp *warp)
{
    return warp->reunions << LOOK_BITS | LOOKS;
}

static inline bool worth_a_look(const struct simt_slot *slot, uint32_t enough)
{
    return (slot->state & (SIMT_MAYBE | SIMT_COMPACT)) == SIMT_MAYBE && slot->looks != enough;
}

static inline bool look(char *row, uint32_t enough, bool wide)
{
    struct simt_slot *slot = simt_slot_of(row);
    if (!worth_a_look(slot, enough))
        return false;
    if (slot->looks >> LOOK_BITS != enough >> LOOK_BITS)
        slot->looks = enough - LOOKS;
    slot->looks++;
    return simt_slot_compress(row, wide ? 8 : 4);
}

/* Nothing to do: the row holds, and there is no hope that it is compact. */
static inline bool settled(const struct simt_slot *slot, uint32_t enough)
{
    return !(slot->state & SIMT_STALE) && !worth_a_look(slot, enough);
}

/* Before a tracked operation runs on rows: its operands get theirs. True when an operand
 * turned out to be compact, so that the short way is worth another try. */
static inline bool fall_back(const struct simt_warp *warp, char *rows, const struct simt_op *op,
                             uint32_t active)
{
    const uint32_t flags = op->flags, enough = looked_enough(warp);
    const bool has_d = flags & SIMT_HAS_D;
    if (settled(SLOT(op->a), enough) && settled(SLOT(op->b), enough) &&
        settled(SLOT(op->c), enough) && (!has_d || SLOT(op->d)->state == SIMT_MAYBE))
        return false;
    if (active == SIMT_FULL) {
        bool found = look(rows + op->a, enough, flags & SIMT_WIDE_A);
        if (flags & SIMT_HAS_B)
            found |= look(rows + op->b, enough, flags & SIMT_WIDE_B);
        if (flags & SIMT_HAS_C)
            found |= look(rows + op->c, enough, flags & SIMT_WIDE_C);
        if (found)
            return true;
    }
    if (SLOT(op->a)->state & SIMT_STALE)
        expand_slot(rows + op->a, flags & SIMT_WIDE_A);
    if (flags & SIMT_HAS_B && SLOT(op->b)->state & SIMT_STALE)
        expand_slot(rows + op->b, flags & SIMT_WIDE_B);
    if (flags & SIMT_HAS_C && SLOT(op->c)->state & SIMT_STALE)
        expand_slot(rows + op->c, flags & SIMT_WIDE_C);
    if (has_d) {
        if (active != SIMT_FULL && SLOT(op->d)->state & SIMT_STALE)
            expand_slot(rows + op->d, flags & SIMT_WIDE_D);
        SLOT(op->d)->state = SIMT_MAYBE;
    }
    return false;
}

#endif
