/* SPDX-License-Identifier: Apache-2.0 */
/* The short ways of loads and stores. The addresses of a warp are nearly always one address,
 * or consecutive, or that in each quarter of the warp; all are found by looking at the slot
 * or the row, checked as a whole and copied as a whole.
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
    SHAPE_QUARTERS,  /* full mask, each quarter of the warp one address or consecutive */
    SHAPE_SCATTERED, /* none of these, or not known to be allowed */
};

/* base[0] is the address of lane 0, base[q] of lane 8q; `rising`: consecutive quarters. */
struct access {
    uint64_t base[SIMT_QUARTERS];
    bool rising;
};

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
    if (stride != bytes && stride != 0)
        return SHAPE_SCATTERED;
    bool all = true;
    for (int q = 0; q < SIMT_QUARTERS; q++) {
        access->base[q] = (slot->base[q] + (uint64_t)op->imm) & keep;
        all &= known(warp, op, access->base[q], stride ? 8 * bytes : bytes, bytes);
    }
    access->rising = stride != 0;
    return all ? SHAPE_QUARTERS : SHAPE_SCATTERED;
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
        } else {                                                                                \
            for (int q = 0; q < SIMT_QUARTERS; q++) {                                           \
                const M *from_ = AT(M, access.base[q]) + (k);                                   \
                if (access.rising) {                                                            \
                    VECTORISE for (int i = 0; i < 8; i++) d_[8 * q + i] = (R)from_[(N) * i];    \
                } else {                                                                        \
                    const R value_ = (R)*from_;                                                 \
                    VECTORISE for (int i = 0; i < 8; i++) d_[8 * q + i] = value_;               \
                }                                                                               \
            }                                                                                   \
        }                                                                                       \
    } while (0)

#define STORE_ELEMENT(M, R, N, k, row)                                                          \
    do {                                                                                        \
        const R *s_ = ROW(R, row);                                                              \
        if (shape == SHAPE_SEQUENCE) {                                                          \
            M *to_ = AT_MUT(M, access.base[0]) + (k);                                           \
            LANES to_[(N) * i] = (M)s_[i];                                                      \
        } else if (shape == SHAPE_UNIFORM) {                                                    \
            AT_MUT(M, access.base[0])[k] = (M)s_[SIMT_LANES - 1];                               \
        } else {                                                                                \
            for (int q = 0; q < SIMT_QUARTERS; q++) {                                           \
                M *to_ = AT_MUT(M, access.base[q]) + (k);                                       \
                if (!access.rising)                                                             \
                    *to_ = (M)s_[8 * q + 7];                                                    \
                else                                                                            \
                    VECTORISE for (int i = 0; i < 8; i++) to_[(N) * i] = (M)s_[8 * q + i];      \
            }                                                                                   \
        }                                                                                       \
    } while (0)

/* Vector elements lie in d, b, c, e. Sources and addresses may share rows with
 * destinations: an address is not read after resolving. */
#define EACH_ELEMENT_1(X, M, R) X(M, R, 1, 0, op->d);
#define EACH_ELEMENT_2(X, M, R) X(M, R, 2, 0, op->d); X(M, R, 2, 1, op->b);
#define EACH_ELEMENT_4(X, M, R)                                                                 \
    X(M, R, 4, 0, op->d); X(M, R, 4, 1, op->b); X(M, R, 4, 2, op->c); X(M, R, 4, 3, op->e);

#endif
