/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores. The addresses of a warp are nearly always one address, or consecutive;
 * both are found by looking at them and are checked and copied as a whole. The rest goes
 * lane by lane, after one vector pass over the bounds.
 *
 * Each access site remembers the range that it last hit (an allocation, the block's shared
 * memory, ...), so that the check is a comparison; simt_memory_check() is asked otherwise. */
#include "cuda/soft/simt/table.h"

enum shape {
    SHAPE_REFUSED,    /* a fault has been raised, or nothing is to be done */
    SHAPE_UNIFORM,    /* full mask, one address */
    SHAPE_SEQUENCE,   /* full mask, consecutive */
    SHAPE_SCATTERED,
};

struct access {
    uint64_t base;              /* of lane 0, UNIFORM and SEQUENCE */
    uint64_t lane[SIMT_LANES];  /* SCATTERED */
};

static inline bool inside(const struct simt_range *range, uint64_t address, uint64_t bytes)
{
    return address >= range->lo && address < range->hi && range->hi - address >= bytes;
}

static inline bool consecutive_a64(const char *rows, uint32_t row, uint32_t step)
{
    const u64 *address = ROW(u64, row);
    uint64_t odd = 0;
    LANES odd |= address[i] ^ (address[0] + (uint64_t)i * step);
    return odd == 0;
}

static inline bool consecutive_a32(const char *rows, uint32_t row, uint32_t step)
{
    const u32 *address = ROW(u32, row);
    uint32_t odd = 0;
    LANES odd |= address[i] ^ (address[0] + (uint32_t)i * step);
    return odd == 0;
}

/* The slow checks, lane by lane. */
static bool check_lanes(struct simt_warp *warp, const struct simt_op *op, uint32_t mask,
                        const uint64_t *address, uint32_t bytes, bool is_write)
{
    EACH_LANE(mask, i)
    {
        if (!simt_memory_check(warp, op, (int)i, address[i], bytes, is_write))
            return false;
    }
    return true;
}

static bool resolve_scattered(struct simt_warp *warp, const struct simt_op *op, uint32_t mask,
                              const uint64_t *address, uint32_t bytes, bool is_write)
{
    const struct simt_range *site = &warp->sites[op->target];
    const uint64_t span = site->hi - site->lo;
    const uint64_t room = span >= bytes ? span - bytes : 0;
    uint64_t wrong = span < bytes;
    LANES
    {
        const uint64_t outside = (address[i] - site->lo > room) | (address[i] & (bytes - 1));
        wrong |= ON(u64, mask, i) ? outside : 0;
    }
    if (__builtin_expect(wrong != 0, 0) &&
        !check_lanes(warp, op, mask, address, bytes, is_write))
        return false;
    if (__builtin_expect(warp->observed, 0))
        simt_memory_observe(warp, mask, address, bytes, is_write);
    return true;
}

/* One address or one run: checks the whole of it. When it does not lie in one known range
 * the lanes are checked each for itself, and the access is scattered. */
static inline bool resolve_whole(struct simt_warp *warp, const struct simt_op *op, uint64_t base,
                                 uint64_t total, uint32_t bytes)
{
    return inside(&warp->sites[op->target], base, total) && (base & (bytes - 1)) == 0 &&
           !warp->observed;
}

#define RESOLVE(A, T)                                                                           \
    static inline enum shape resolve_##A(struct simt_warp *warp, const char *rows,              \
                                         const struct simt_op *op, uint32_t mask,               \
                                         uint32_t bytes, bool is_write, struct access *access)  \
    {                                                                                           \
        const T *address = ROW(T, op->a);                                                       \
        if (mask == SIMT_FULL) {                                                                \
            const uint64_t base = (T)(address[0] + (T)op->imm);                                 \
            const T step = address[1] - address[0];                                             \
            access->base = base;                                                                \
            if (step == bytes) {                                                                \
                if (resolve_whole(warp, op, base, (uint64_t)SIMT_LANES * bytes, bytes) &&       \
                    consecutive_##A(rows, op->a, bytes))                                        \
                    return SHAPE_SEQUENCE;                                                      \
            } else if (step == 0) {                                                             \
                if (resolve_whole(warp, op, base, bytes, bytes) &&                              \
                    consecutive_##A(rows, op->a, 0))                                            \
                    return SHAPE_UNIFORM;                                                       \
            }                                                                                   \
        }                                                                                       \
        LANES access->lane[i] = (T)(address[i] + (T)op->imm);                                   \
        return resolve_scattered(warp, op, mask, access->lane, bytes, is_write)                 \
                   ? SHAPE_SCATTERED                                                            \
                   : SHAPE_REFUSED;                                                             \
    }
RESOLVE(a32, u32)
RESOLVE(a64, u64)

#define AT(T, address) ((const T *)(uintptr_t)(address))
#define AT_MUT(T, address) ((T *)(uintptr_t)(address))

/* Element k of an N-vector of M, into rows of R. */
#define LOAD_ELEMENT(M, R, N, k, row)                                                           \
    do {                                                                                        \
        R *d_ = ROW(R, row);                                                                    \
        if (shape == SHAPE_SEQUENCE) {                                                          \
            const M *from_ = AT(M, access.base) + (k);                                          \
            LANES d_[i] = (R)from_[(N) * i];                                                    \
        } else if (shape == SHAPE_UNIFORM) {                                                    \
            const R value_ = (R)AT(M, access.base)[k];                                          \
            LANES d_[i] = value_;                                                               \
        } else if (mask == SIMT_FULL) {                                                         \
            for (int i = 0; i < SIMT_LANES; i++)                                                \
                d_[i] = (R)AT(M, access.lane[i])[k];                                            \
        } else {                                                                                \
            EACH_LANE(mask, i) d_[i] = (R)AT(M, access.lane[i])[k];                             \
        }                                                                                       \
    } while (0)

#define STORE_ELEMENT(M, R, N, k, row)                                                          \
    do {                                                                                        \
        const R *s_ = ROW(R, row);                                                              \
        if (shape == SHAPE_SEQUENCE) {                                                          \
            M *to_ = AT_MUT(M, access.base) + (k);                                              \
            LANES to_[(N) * i] = (M)s_[i];                                                      \
        } else if (shape == SHAPE_UNIFORM) {                                                    \
            AT_MUT(M, access.base)[k] = (M)s_[SIMT_LANES - 1];                                  \
        } else {                                                                                \
            EACH_LANE(mask, i) AT_MUT(M, access.lane[i])[k] = (M)s_[i];                         \
        }                                                                                       \
    } while (0)

/* Vector elements lie in d, b, c, e. Sources and addresses may share rows with
 * destinations: an address is not read after resolving. */
#define EACH_ELEMENT_1(X, M, R) X(M, R, 1, 0, op->d);
#define EACH_ELEMENT_2(X, M, R) X(M, R, 2, 0, op->d); X(M, R, 2, 1, op->b);
#define EACH_ELEMENT_4(X, M, R)                                                                 \
    X(M, R, 4, 0, op->d); X(M, R, 4, 1, op->b); X(M, R, 4, 2, op->c); X(M, R, 4, 3, op->e);

#define ACCESS(name, ELEMENT, M, R, N, A, is_write)                                             \
    LANE_LOOP(name##_##M##_##R##_v##N##_##A)                                                    \
    {                                                                                           \
        struct access access;                                                                   \
        const enum shape shape =                                                                \
            resolve_##A(warp, rows, op, mask, (uint32_t)sizeof(M) * N, is_write, &access);      \
        if (__builtin_expect(shape == SHAPE_REFUSED, 0))                                        \
            return;                                                                             \
        EACH_ELEMENT_##N(ELEMENT, M, R)                                                         \
    }
#define EACH_FORM(name, ELEMENT, M, R, w)                                                       \
    ACCESS(name, ELEMENT, M, R, 1, a32, w) ACCESS(name, ELEMENT, M, R, 1, a64, w)               \
    ACCESS(name, ELEMENT, M, R, 2, a32, w) ACCESS(name, ELEMENT, M, R, 2, a64, w)               \
    ACCESS(name, ELEMENT, M, R, 4, a32, w) ACCESS(name, ELEMENT, M, R, 4, a64, w)
#define LOAD(M, R) EACH_FORM(ld, LOAD_ELEMENT, M, R, false)
#define STORE(M, R) EACH_FORM(st, STORE_ELEMENT, M, R, true)
SIMT_LOADS(LOAD)
SIMT_STORES(STORE)
