/* SPDX-License-Identifier: Apache-2.0 */
/* The short ways of loads and stores. The addresses of a warp are nearly always one address,
 * or consecutive, or rise in steps (see compact.h); all are found by looking at the slot or the
 * row, checked as a whole and copied as a whole.
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
    SHAPE_UNIFORM = SIMT_WALK_ONE,        /* full mask, one address */
    SHAPE_SEQUENCE = SIMT_WALK_SEQUENCE,  /* full mask, consecutive */
    SHAPE_STEPS = SIMT_WALK_STEPS,        /* full mask, and compact */
    SHAPE_SCATTERED = SIMT_WALK_SCATTERED /* none of these, or not known to be allowed */
};

/* Where the lanes are, as in a slot. Of a sequence or one address the base is enough. */
struct access {
    const int64_t *step;
    uint64_t base;
};

static inline enum shape shape_of_one(const struct simt_warp *warp, const struct simt_op *op,
                                      struct access *access, uint64_t address, uint32_t bytes)
{
    access->base = address;
    return known(warp, op, address, bytes, bytes) ? SHAPE_UNIFORM : SHAPE_SCATTERED;
}

static inline enum shape shape_of_sequence(const struct simt_warp *warp,
                                           const struct simt_op *op, struct access *access,
                                           uint64_t address, uint32_t bytes)
{
    access->base = address;
    return known(warp, op, address, (uint64_t)SIMT_LANES * bytes, bytes) ? SHAPE_SEQUENCE
                                                                         : SHAPE_SCATTERED;
}

static inline bool is_sequence(const struct simt_slot *slot, uint32_t bytes)
{
    const simt_numbers steps = STEPS_OF(UINT64_MAX, 0);
    const simt_numbers off_line =
        slot->numbers ^ bytes * (simt_numbers){1, 2, 4, 8, 16, 0, 0, 0};
    return none(&off_line, &steps);
}

/* Has the slot the steps that the walk is about? */
static inline bool walks_on(const struct simt_walk *walk, const struct simt_slot *slot)
{
    const simt_numbers steps = STEPS_OF(UINT64_MAX, 0);
    const simt_numbers other = walk->seen ^ slot->numbers;
    return none(&other, &steps);
}

/* All lanes together, from the lowest to the highest. */
static inline enum shape shape_of_walk(const struct simt_warp *warp, const struct simt_op *op,
                                       const struct simt_walk *walk, uint64_t base,
                                       uint32_t bytes, struct access *access)
{
    access->base = base;
    access->step = walk->step;
    const uint64_t lo = base + (uint64_t)walk->below;
    if (!known(warp, op, lo, (uint64_t)(walk->above - walk->below) + bytes, bytes))
        return SHAPE_SCATTERED;
    /* One by one, so that each way on is a straight line. */
    return walk->shape == SIMT_WALK_STEPS      ? SHAPE_STEPS
           : walk->shape == SIMT_WALK_SEQUENCE ? SHAPE_SEQUENCE
           : walk->shape == SIMT_WALK_ONE      ? SHAPE_UNIFORM
                                               : SHAPE_SCATTERED;
}

enum { FAR = 48 }; /* bits of steps that don't wrap when they are added up */
#define SHAPE(A, T)                                                                             \
    static inline __attribute__((always_inline)) enum shape shape_##A(                          \
        const struct simt_warp *warp, char *rows, const struct simt_op *op, uint32_t bytes,     \
        struct access *access)                                                                  \
    {                                                                                           \
        const struct simt_slot *slot = SLOT(op->a);                                             \
        const T base = (T)(slot->base + (uint64_t)op->imm);                                     \
        if (slot->state & SIMT_UNIFORM)                                                         \
            return shape_of_one(warp, op, access, base, bytes);                                 \
        if (slot->state & SIMT_COMPACT) {                                                       \
            if (is_sequence(slot, bytes))                                                       \
                return shape_of_sequence(warp, op, access, base, bytes);                        \
            struct simt_walk *walk = &warp->walks[op->target];                                  \
            if (!walks_on(walk, slot))                                                          \
                simt_walk_anew(walk, slot, sizeof(T) == 8, 1, FAR, bytes);                      \
            return shape_of_walk(warp, op, walk, base, bytes, access);                          \
        }                                                                                       \
        const T *address = ROW(T, op->a);                                                       \
        const T step = address[1] - address[0];                                                 \
        const uint64_t first = access->base = (T)(address[0] + (T)op->imm);                     \
        if (step == bytes && known(warp, op, first, (uint64_t)SIMT_LANES * bytes, bytes) &&     \
            in_steps_##A(rows, op->a, bytes))                                                   \
            return SHAPE_SEQUENCE;                                                              \
        if (step == 0 && known(warp, op, first, bytes, bytes) && in_steps_##A(rows, op->a, 0))  \
            return SHAPE_UNIFORM;                                                               \
        return SHAPE_SCATTERED;                                                                 \
    }
SHAPE(a32, u32)
SHAPE(a64, u64)

/* An element of an array: the index in row a, plus the lower half of imm; the array in row f,
 * plus the upper half; the flags say how far elements are apart (see index.c). */
static inline uint64_t address_of_element(const struct simt_op *op, uint64_t array,
                                          uint32_t index)
{
    const int64_t at = (int32_t)(index + (uint32_t)op->imm);
    return array + (uint64_t)(at * (op->flags & SIMT_SCALE) + (op->imm >> 32));
}

/* An index whose base is small and whose steps are smaller yet does not wrap. */
enum { NEAR = 27 };
#define MIDDLE (UINT32_C(1) << 30)

/* Nobody else may look at the index: see tracked.h. */
static inline enum shape shape_ix(const struct simt_warp *warp, char *rows,
                                  const struct simt_op *op, uint32_t bytes,
                                  struct access *access)
{
    const struct simt_slot *index = SLOT(op->a), *array = SLOT(op->f);
    if (!(index->state & SIMT_COMPACT))
        look(rows + op->a, looked_enough(warp), false);
    const uint64_t base = address_of_element(op, array->base, (uint32_t)index->base);
    if (index->state & array->state & SIMT_UNIFORM)
        return shape_of_one(warp, op, access, base, bytes);
    if (!(index->state & SIMT_COMPACT) || !(array->state & SIMT_UNIFORM) ||
        (uint32_t)index->base + (uint32_t)op->imm + MIDDLE >= 2 * MIDDLE)
        return SHAPE_SCATTERED;
    struct simt_walk *walk = &warp->walks[op->target];
    if (!walks_on(walk, index))
        simt_walk_anew(walk, index, false, op->flags & SIMT_SCALE, NEAR, bytes);
    return shape_of_walk(warp, op, walk, base, bytes, access);
}

#define AT(T, address) ((const T *)(uintptr_t)(address))
#define AT_MUT(T, address) ((T *)(uintptr_t)(address))

/* ---- steps ----------------------------------------------------------------------- */

static inline void addresses_of_lanes(const struct access *access, uint64_t at[SIMT_LANES])
{
    at[0] = access->base;
    for (int k = 0; k < SIMT_LANE_BITS; k++) {
        for (int i = 0; i < 1 << k; i++)
            at[i + (1 << k)] = at[i] + (uint64_t)access->step[k];
    }
}

enum { QUARTERS = 4 };
typedef uint32_t loose_eight ALIAS __attribute__((vector_size(32), aligned(4)));

static inline bool steps_are_dense(const struct access *access)
{
    return access->step[0] == 4 && access->step[1] == 8 && access->step[2] == 16;
}

/* Eight lanes, each address loaded once. */
static inline void load_quarter(uint64_t base, const struct access *access, eight *to)
{
    const int64_t s0 = access->step[0], s1 = access->step[1], s2 = access->step[2];
#define LANE_AT(...) (*AT(u32, base + (uint64_t)(__VA_ARGS__)))
    if (steps_are_dense(access)) {
        *to = *AT(loose_eight, base);
    } else if ((s0 | s1 | s2) == 0) {
        *to = (eight){0} + LANE_AT(0);
    } else if ((s0 | s1) == 0) {
        const uint32_t a = LANE_AT(0), b = LANE_AT(s2);
        *to = (eight){a, a, a, a, b, b, b, b};
    } else if (s2 == 0) {
        const uint32_t a = LANE_AT(0), b = LANE_AT(s0), c = LANE_AT(s1), d = LANE_AT(s0 + s1);
        *to = (eight){a, b, c, d, a, b, c, d};
    } else {
        *to = (eight){LANE_AT(0), LANE_AT(s0), LANE_AT(s1), LANE_AT(s0 + s1),
                      LANE_AT(s2), LANE_AT(s0 + s2), LANE_AT(s1 + s2), LANE_AT(s0 + s1 + s2)};
    }
#undef LANE_AT
}

/* A row is written in pieces as wide as those it is read in: a load that needs two stores
 * before it waits for both to reach the cache. */
static inline void put_quarters(const eight part[QUARTERS], u32 *to)
{
#ifdef __AVX512F__
    typedef uint32_t half ALIAS __attribute__((vector_size(64)));
#define JOIN(x, y)                                                                              \
    __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
    ((half *)(void *)to)[0] = JOIN(part[0], part[1]);
    ((half *)(void *)to)[1] = JOIN(part[2], part[3]);
#undef JOIN
#else
    for (int q = 0; q < QUARTERS; q++)
        ((eight *)(void *)to)[q] = part[q];
#endif
}

/* Element k of vectors, lane by lane. */
static inline void load_steps(const struct access *access, int k, u32 *to)
{
    const uint64_t base = access->base + (uint64_t)k * 4;
    const uint64_t s3 = (uint64_t)access->step[3], s4 = (uint64_t)access->step[4];
    eight part[QUARTERS];
    load_quarter(base, access, &part[0]);
    part[1] = part[0];
    if (s3)
        load_quarter(base + s3, access, &part[1]);
    part[2] = part[0];
    part[3] = part[1];
    if (s4) {
        load_quarter(base + s4, access, &part[2]);
        part[3] = part[2];
        if (s3)
            load_quarter(base + s3 + s4, access, &part[3]);
    }
    put_quarters(part, to);
}

/* Consecutive in each quarter. */
static inline void store_quarters(const struct access *access, const u32 *from)
{
    const eight *part = (const eight *)(const void *)from;
    for (int q = 0; q < QUARTERS; q++) {
        const int64_t rise = (q & 1) * access->step[3] + (q >> 1) * access->step[4];
        *AT_MUT(loose_eight, access->base + (uint64_t)rise) = part[q];
    }
}

/* ---- elements -------------------------------------------------------------------- */

/* Element k of an N-vector of M, into rows of R. */
#define LOAD_ELEMENT(M, R, N, k, row)                                                           \
    do {                                                                                        \
        R *d_ = ROW(R, row);                                                                    \
        if (shape == SHAPE_SEQUENCE) {                                                          \
            const M *from_ = AT(M, access.base) + (k);                                       \
            LANES d_[i] = (R)from_[(N) * i];                                                    \
        } else if (shape == SHAPE_UNIFORM) {                                                    \
            const R value_ = (R)AT(M, access.base)[k];                                       \
            LANES d_[i] = value_;                                                               \
        } else if (sizeof(M) == 4 && sizeof(R) == 4) {                                          \
            load_steps(&access, (k), (u32 *)(void *)d_);                                        \
        } else {                                                                                \
            uint64_t at_[SIMT_LANES];                                                           \
            addresses_of_lanes(&access, at_);                                                   \
            for (int lane_ = 0; lane_ < SIMT_LANES; lane_++)                                    \
                d_[lane_] = (R)AT(M, at_[lane_])[k];                                            \
        }                                                                                       \
    } while (0)

/* Where lanes meet, the last one wins. */
#define STORE_ELEMENT(M, R, N, k, row)                                                          \
    do {                                                                                        \
        const R *s_ = ROW(R, row);                                                              \
        if (shape == SHAPE_SEQUENCE) {                                                          \
            M *to_ = AT_MUT(M, access.base) + (k);                                           \
            LANES to_[(N) * i] = (M)s_[i];                                                      \
        } else if (shape == SHAPE_UNIFORM) {                                                    \
            AT_MUT(M, access.base)[k] = (M)s_[SIMT_LANES - 1];                               \
        } else if (sizeof(M) == 4 && sizeof(R) == 4 && (N) == 1 && steps_are_dense(&access)) { \
            store_quarters(&access, (const u32 *)(const void *)s_);                             \
        } else {                                                                                \
            uint64_t at_[SIMT_LANES];                                                           \
            addresses_of_lanes(&access, at_);                                                   \
            for (int lane_ = 0; lane_ < SIMT_LANES; lane_++)                                    \
                AT_MUT(M, at_[lane_])[k] = (M)s_[lane_];                                        \
        }                                                                                       \
    } while (0)

/* Vector elements lie in d, b, c, e. Sources and addresses may share rows with
 * destinations: an address is not read after resolving. */
#define EACH_ELEMENT_1(X, M, R) X(M, R, 1, 0, op->d);
#define EACH_ELEMENT_2(X, M, R) X(M, R, 2, 0, op->d); X(M, R, 2, 1, op->b);
#define EACH_ELEMENT_4(X, M, R)                                                                 \
    X(M, R, 4, 0, op->d); X(M, R, 4, 1, op->b); X(M, R, 4, 2, op->c); X(M, R, 4, 3, op->e);

#endif
