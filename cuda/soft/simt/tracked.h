/* SPDX-License-Identifier: Apache-2.0 */
/* Slots as the dispatcher uses them. */
#ifndef RP_SOFT_SIMT_TRACKED_H
#define RP_SOFT_SIMT_TRACKED_H

#include "cuda/soft/simt/bits.h"
#include "cuda/soft/simt/compact.h"

/* The lanes of a quarter. */
typedef uint32_t eight ALIAS __attribute__((vector_size(32)));
typedef uint64_t eight_wide ALIAS __attribute__((vector_size(64)));

#define SLOT(offset) simt_slot_of(rows + (offset))

static inline bool one_uniform(const struct simt_slot *a, const struct simt_slot *b)
{
    return (a->state | b->state) & SIMT_UNIFORM;
}

#define ANY(bases) ((bases)[0] | (bases)[1] | (bases)[2] | (bases)[3])
#define SIGNED(x) (((x) ^ UINT64_C(0x80000000)) - UINT64_C(0x80000000)) /* sign extension */

/* Do the 32-bit lanes rise without wrapping, taken as signed or as unsigned numbers? */
static inline bool linear_signed(const struct simt_slot *slot)
{
    if (slot->state & SIMT_UNIFORM)
        return true;
    const uint64_t rise = 7 * SIGNED(slot->stride);
    const simt_bases last = SIGNED(slot->bases) + rise, wrapped = last ^ SIGNED(last & UINT32_MAX);
    return ANY(wrapped) == 0;
}

static inline bool linear_unsigned(const struct simt_slot *slot)
{
    if (slot->state & SIMT_UNIFORM)
        return true;
    const uint64_t rise = 7 * SIGNED(slot->stride);
    const simt_bases wrapped = (slot->bases + rise) >> 32;
    return ANY(wrapped) == 0;
}

/* ---- the short way ------------------------------------------------------------- */

/* compact_ID: computes the operation on slots alone, or answers that it can't be done. The
 * destination may be one of the operands. */
#define IN_u32(x) ((x) & UINT32_MAX)
#define IN_u64(x) (x)
#define KINDS (SIMT_COMPACT | SIMT_UNIFORM | SIMT_LINEAR)
#define COMPACT(id, T, state_, condition, bases_, stride_, check)                               \
    static inline bool compact_##id(char *rows, const struct simt_op *op)                       \
    {                                                                                           \
        struct simt_slot *const D = SLOT(op->d);                                                \
        const struct simt_slot *const A = SLOT(op->a), *const B = SLOT(op->b);                  \
        const struct simt_slot *const C = SLOT(op->c);                                          \
        uint32_t state = (state_) & KINDS;                                                      \
        if (!(state & SIMT_COMPACT) || !(condition))                                            \
            return false;                                                                       \
        uint64_t stride;                                                                        \
        {                                                                                       \
            const uint64_t a = A->base[0], b = B->base[0]; /* of the factor that is uniform */  \
            const uint64_t sa = A->stride, sb = B->stride, sc = C->stride;                      \
            (void)a, (void)b, (void)sa, (void)sb, (void)sc;                                     \
            stride = IN_##T(stride_);                                                           \
        }                                                                                       \
        const simt_bases a = A->bases, b = B->bases, c = C->bases;                              \
        (void)b, (void)c;                                                                       \
        D->bases = IN_##T(bases_);                                                              \
        D->stride = stride;                                                                     \
        check D->state = state | SIMT_STALE | SIMT_MAYBE;                                       \
        return true;                                                                            \
    }
#define COMPACT1(id, T, condition, bases_, stride_)                                             \
    COMPACT(id, T, A->state, condition, bases_, stride_, )
#define COMPACT2(id, T, condition, bases_, stride_)                                             \
    COMPACT(id, T, A->state & B->state, condition, bases_, stride_, )
#define COMPACT3(id, T, condition, bases_, stride_)                                             \
    COMPACT(id, T, A->state & B->state & C->state, condition, bases_, stride_, )
/* A 32-bit row may wrap between its quarters, and be linear no longer when it is widened. */
#define CHECK_LINEAR                                                                            \
    const simt_bases off_line = D->bases - (D->base[0] + 8 * stride * (simt_bases){0, 1, 2, 3}); \
    state &= ANY(off_line) ? ~SIMT_LINEAR : ~0u;
#define WIDEN1(id, T, condition, bases_, stride_)                                               \
    COMPACT(id, T, A->state, condition, bases_, stride_, CHECK_LINEAR)
#define WIDEN2(id, T, condition, bases_, stride_)                                               \
    COMPACT(id, T, A->state & B->state, condition, bases_, stride_, CHECK_LINEAR)
#define WIDEN3(id, T, condition, bases_, stride_)                                               \
    COMPACT(id, T, A->state & B->state & C->state, condition, bases_, stride_, CHECK_LINEAR)

#define UNIFORM(id, T, TB, state_, expr)                                                        \
    static inline bool compact_##id(char *rows, const struct simt_op *op)                       \
    {                                                                                           \
        struct simt_slot *const D = SLOT(op->d);                                                \
        const struct simt_slot *const A = SLOT(op->a), *const B = SLOT(op->b);                  \
        if (!((state_) & SIMT_UNIFORM))                                                         \
            return false;                                                                       \
        const T a = (T)A->base[0];                                                              \
        const TB b = (TB)B->base[0];                                                            \
        (void)b;                                                                                \
        const T result = (T)(expr);                                                             \
        const uint64_t value = (uint64_t)result & (sizeof(T) == 4 ? UINT32_MAX : UINT64_MAX);   \
        D->bases = (simt_bases){value, value, value, value};                                    \
        D->stride = 0;                                                                          \
        D->state = KINDS | SIMT_STALE | SIMT_MAYBE;                                             \
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
        const T a = (T)A->base[0], b = (T)B->base[0];                                           \
        MASK(op->d) = ((expr) ? SIMT_FULL : 0) ^ (uint32_t)op->imm;                             \
        return true;                                                                            \
    }
#include "cuda/soft/simt/tracked.def"

/* ---- and the long one ---------------------------------------------------------- */

static inline void expand_slot(char *row, bool wide)
{
    struct simt_slot *slot = simt_slot_of(row);
    row = __builtin_assume_aligned(row, 64);
    if (wide) {
        const eight_wide rise = (eight_wide){0, 1, 2, 3, 4, 5, 6, 7} * slot->stride;
        for (int q = 0; q < SIMT_QUARTERS; q++)
            ((eight_wide *)(void *)row)[q] = slot->base[q] + rise;
    } else {
        const eight rise = (eight){0, 1, 2, 3, 4, 5, 6, 7} * (uint32_t)slot->stride;
        for (int q = 0; q < SIMT_QUARTERS; q++)
            ((eight *)(void *)row)[q] = (uint32_t)slot->base[q] + rise;
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
