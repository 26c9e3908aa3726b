/* SPDX-License-Identifier: Apache-2.0 */
/* The short ways of loads and stores. The addresses of a warp are nearly always one address,
 * or consecutive, or rise by some stride in each quarter of the warp; all are found by looking
 * at the slot or the row, checked as a whole and copied as a whole.
 *
 * Each access site remembers the range that it last hit (an allocation, the block's shared
 * memory, ...), so that the check is a comparison; simt_memory_check() is asked otherwise. */
#ifndef RP_SOFT_SIMT_ACCESS_H
#define RP_SOFT_SIMT_ACCESS_H

#include "cuda/soft/simt/tracked.h"

static inline bool inside(const struct simt_range *range, uint64_t address, uint64_t bytes)
{
    return address >= range->lo && address < range->hi && range->hi - address >= bytes;
}

/* The whole of an access in one known range, and aligned. Launches with an oracle never
 * know a range. */
static inline bool known(const struct simt_warp *warp, const struct simt_op *op, uint64_t address,
                         uint64_t total, uint32_t bytes)
{
    return inside(&warp->sites[op->target], address, total) && (address & (bytes - 1)) == 0;
}

static inline bool in_steps_a64(const char *rows, uint32_t row, uint32_t step)
{
    const u64 *address = ROW(u64, row);
    uint64_t odd = 0;
    LANES odd |= address[i] ^ (address[0] + (uint64_t)i * step);
    return odd == 0;
}

static inline bool in_steps_a32(const char *rows, uint32_t row, uint32_t step)
{
    const u32 *address = ROW(u32, row);
    uint32_t odd = 0;
    LANES odd |= address[i] ^ (address[0] + (uint32_t)i * step);
    return odd == 0;
}

enum shape {
    SHAPE_UNIFORM,   /* full mask, one address */
    SHAPE_SEQUENCE,  /* full mask, consecutive */
    SHAPE_QUARTERS,  /* full mask, each quarter of the warp rises by one stride */
    SHAPE_SCATTERED, /* none of these, or not known to be allowed */
};

/* Where the lanes are: lane 8q+i at base[q] + i * stride. A sequence has only base[0]. */
struct access {
    uint64_t base[SIMT_QUARTERS];
    int64_t stride;
};

/* All quarters, from their lowest address to their highest. The stride is short, so that
 * nothing wraps in between; `keep` tells where addresses of 32 bits would. */
static inline bool quarters_known(const struct simt_warp *warp, const struct simt_op *op,
                                  const struct access *access, uint64_t keep, uint32_t bytes)
{
    uint64_t lo = access->base[0], hi = lo, odd = (uint64_t)access->stride;
    for (int q = 1; q < SIMT_QUARTERS; q++) {
        lo = access->base[q] < lo ? access->base[q] : lo;
        hi = access->base[q] > hi ? access->base[q] : hi;
    }
    for (int q = 0; q < SIMT_QUARTERS; q++)
        odd |= access->base[q];
    const int64_t rise = 7 * access->stride;
    lo += rise < 0 ? (uint64_t)rise : 0;
    hi += rise > 0 ? (uint64_t)rise : 0;
    return access->stride == (int32_t)access->stride && hi >= lo && hi <= keep &&
           (odd & (bytes - 1)) == 0 && inside(&warp->sites[op->target], lo, hi - lo + bytes);
}

/* Full mask and a compact address. */
static inline enum shape shape_of_slot(const struct simt_warp *warp, const struct simt_op *op,
                                       const struct simt_slot *slot, uint64_t keep,
                                       uint32_t bytes, struct access *access)
{
    const uint64_t first = (slot->base[0] + (uint64_t)op->imm) & keep, stride = slot->stride;
    access->base[0] = first;
    if (slot->state & SIMT_UNIFORM)
        return known(warp, op, first, bytes, bytes) ? SHAPE_UNIFORM : SHAPE_SCATTERED;
    if (stride == bytes && slot->state & SIMT_LINEAR &&
        known(warp, op, first, (uint64_t)SIMT_LANES * bytes, bytes))
        return SHAPE_SEQUENCE;
    for (int q = 1; q < SIMT_QUARTERS; q++)
        access->base[q] = (slot->base[q] + (uint64_t)op->imm) & keep;
    access->stride = keep == UINT32_MAX ? (int32_t)stride : (int64_t)stride;
    return quarters_known(warp, op, access, keep, bytes) ? SHAPE_QUARTERS : SHAPE_SCATTERED;
}

#define SHAPE(A, T)                                                                             \
    static inline enum shape shape_##A(const struct simt_warp *warp, char *rows,                \
                                       const struct simt_op *op, uint32_t bytes,                \
                                       struct access *access)                                   \
    {                                                                                           \
        const struct simt_slot *slot = SLOT(op->a);                                             \
        if (slot->state & SIMT_COMPACT)                                                         \
            return shape_of_slot(warp, op, slot, (T)-1, bytes, access);                         \
        const T *address = ROW(T, op->a);                                                       \
        const T step = address[1] - address[0];                                                 \
        const uint64_t first = access->base[0] = (T)(address[0] + (T)op->imm);                  \
        if (step == bytes && known(warp, op, first, (uint64_t)SIMT_LANES * bytes, bytes) &&     \
            in_steps_##A(rows, op->a, bytes))                                                   \
            return SHAPE_SEQUENCE;                                                              \
        if (step == 0 && known(warp, op, first, bytes, bytes) && in_steps_##A(rows, op->a, 0))  \
            return SHAPE_UNIFORM;                                                               \
        return SHAPE_SCATTERED;                                                                 \
    }
SHAPE(a32, u32)
SHAPE(a64, u64)

#define AT(T, address) ((const T *)(uintptr_t)(address))
#define AT_MUT(T, address) ((T *)(uintptr_t)(address))

/* ---- quarters of 32-bit values --------------------------------------------------- */

typedef uint32_t loose_eight ALIAS __attribute__((vector_size(32), aligned(4)));

static inline uint64_t address_of_lane(const struct access *access, int lane)
{
    return access->base[lane / 8] + (uint64_t)(lane % 8 * access->stride);
}

static inline void gather_quarter(uint64_t base, int64_t stride, eight *to)
{
#define LANE_AT(i) *AT(u32, base + (uint64_t)((i) * stride))
    *to = (eight){LANE_AT(0), LANE_AT(1), LANE_AT(2), LANE_AT(3),
                    LANE_AT(4), LANE_AT(5), LANE_AT(6), LANE_AT(7)};
#undef LANE_AT
}

/* A row is written in pieces as wide as those it is read in: a load that needs two stores
 * before it waits for both to reach the cache. */
static inline void put_quarters(const eight part[SIMT_QUARTERS], u32 *to)
{
#ifdef __AVX512F__
    typedef uint32_t half ALIAS __attribute__((vector_size(64)));
#define JOIN(x, y)                                                                              \
    __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    ((half *)(void *)to)[0] = JOIN(part[0], part[1]);
    ((half *)(void *)to)[1] = JOIN(part[2], part[3]);
#undef JOIN
#else
    for (int q = 0; q < SIMT_QUARTERS; q++)
        ((eight *)(void *)to)[q] = part[q];
#endif
}

static inline bool one_base(const struct access *access)
{
    return access->base[1] == access->base[0] && access->base[2] == access->base[0] &&
           access->base[3] == access->base[0];
}

/* Element k of vectors, lane by lane. */
static inline void load_quarters(const struct access *access, int k, u32 *to)
{
    const uint64_t skip = (uint64_t)k * 4;
    eight part[SIMT_QUARTERS];
    if (access->stride == 4) {
        for (int q = 0; q < SIMT_QUARTERS; q++)
            part[q] = *AT(loose_eight, access->base[q] + skip);
    } else if (access->stride == 0) {
        for (int q = 0; q < SIMT_QUARTERS; q++)
            part[q] = (eight){0} + *AT(u32, access->base[q] + skip);
    } else if (one_base(access)) {
        gather_quarter(access->base[0] + skip, access->stride, &part[0]);
        part[1] = part[2] = part[3] = part[0];
    } else {
        for (int q = 0; q < SIMT_QUARTERS; q++)
            gather_quarter(access->base[q] + skip, access->stride, &part[q]);
    }
    put_quarters(part, to);
}

/* Consecutive in each quarter. */
static inline void store_quarters(const struct access *access, const u32 *from)
{
    for (int q = 0; q < SIMT_QUARTERS; q++)
        *AT_MUT(loose_eight, access->base[q]) = ((const eight *)(const void *)from)[q];
}

/* ---- elements -------------------------------------------------------------------- */

/* Element k of an N-vector of M, into rows of R. */
#define LOAD_ELEMENT(M, R, N, k, row)                                                           \
    do {                                                                                        \
        R *d_ = ROW(R, row);                                                                    \
        if (shape == SHAPE_SEQUENCE) {                                                          \
            const M *from_ = AT(M, access.base[0]) + (k);                                       \
            LANES d_[i] = (R)from_[(N) * i];                                                    \
        } else if (shape == SHAPE_UNIFORM) {                                                    \
            const R value_ = (R)AT(M, access.base[0])[k];                                       \
            LANES d_[i] = value_;                                                               \
        } else if (sizeof(M) == 4 && sizeof(R) == 4) {                                          \
            load_quarters(&access, (k), (u32 *)(void *)d_);                                     \
        } else {                                                                                \
            EACH_QUARTER_LANE d_[lane_] = (R)AT(M, at_)[k];                                     \
        }                                                                                       \
    } while (0)

/* Where lanes meet, the last one wins. */
#define STORE_ELEMENT(M, R, N, k, row)                                                          \
    do {                                                                                        \
        const R *s_ = ROW(R, row);                                                              \
        if (shape == SHAPE_SEQUENCE) {                                                          \
            M *to_ = AT_MUT(M, access.base[0]) + (k);                                           \
            LANES to_[(N) * i] = (M)s_[i];                                                      \
        } else if (shape == SHAPE_UNIFORM) {                                                    \
            AT_MUT(M, access.base[0])[k] = (M)s_[SIMT_LANES - 1];                               \
        } else if (sizeof(M) == 4 && sizeof(R) == 4 && access.stride == 4 && (N) == 1) {        \
            store_quarters(&access, (const u32 *)(const void *)s_);                             \
        } else {                                                                                \
            EACH_QUARTER_LANE AT_MUT(M, at_)[k] = (M)s_[lane_];                                 \
        }                                                                                       \
    } while (0)
#define EACH_QUARTER_LANE                                                                       \
    for (int lane_ = 0; lane_ < SIMT_LANES; lane_++)                                            \
        for (uint64_t at_ = address_of_lane(&access, lane_), once_ = 1; once_; once_ = 0)

/* Vector elements lie in d, b, c, e. Sources and addresses may share rows with
 * destinations: an address is not read after resolving. */
#define EACH_ELEMENT_1(X, M, R) X(M, R, 1, 0, op->d);
#define EACH_ELEMENT_2(X, M, R) X(M, R, 2, 0, op->d); X(M, R, 2, 1, op->b);
#define EACH_ELEMENT_4(X, M, R)                                                                 \
    X(M, R, 4, 0, op->d); X(M, R, 4, 1, op->b); X(M, R, 4, 2, op->c); X(M, R, 4, 3, op->e);

#endif
