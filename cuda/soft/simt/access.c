/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores of every form. What has no short way goes lane by lane, after one vector
 * pass over the bounds. */
#include "cuda/soft/simt/access.h"
#include "cuda/soft/simt/table.h"

/* The slow checks, lane by lane. */
static bool check_lanes(struct simt_warp *warp, const struct simt_op *op, uint32_t mask,
                        const uint64_t *address, uint32_t bytes, bool is_write)
{
    const bool is_own = op->flags & (is_write ? SIMT_OWN_TO : SIMT_OWN_FROM);
    if (warp->observed && !is_own && simt_memory_observe_all(warp, mask, address, bytes, is_write))
        return true;
    EACH_LANE(mask, i)
    {
        if (!simt_memory_check(warp, op, (int)i, address[i], bytes, is_write))
            return false;
    }
    if (warp->observed)
        simt_memory_observe(warp, mask, address, bytes, is_write);
    return true;
}

static void expand_if_stale(char *row, bool wide)
{
    if (simt_slot_of(row)->state & SIMT_STALE)
        expand_slot(row, wide);
}

/* Lanes on their own: may all of them? Fills in their addresses. */
#define SCATTER(A, row_of_lanes, address)                                                       \
    static bool scatter_##A(struct simt_warp *warp, char *rows, const struct simt_op *op,       \
                            uint32_t mask, uint32_t bytes, bool is_write, uint64_t *lane)       \
    {                                                                                           \
        row_of_lanes                                                                            \
        const struct simt_range *site = &warp->sites[op->target];                               \
        const uint64_t span = site->hi - site->lo, room = span >= bytes ? span - bytes : 0;     \
        uint64_t wrong = span < bytes;                                                          \
        LANES                                                                                   \
        {                                                                                       \
            const uint64_t at = (address);                                                      \
            const uint64_t outside = (at - site->lo > room) | (at & (bytes - 1));               \
            lane[i] = at;                                                                       \
            wrong |= ON(u64, mask, i) ? outside : 0;                                            \
        }                                                                                       \
        return __builtin_expect(wrong == 0, 1) ||                                               \
               check_lanes(warp, op, mask, lane, bytes, is_write);                              \
    }
#define ADDRESSES(T)                                                                            \
    expand_if_stale(rows + op->a, sizeof(T) == 8);                                              \
    const T *base = ROW(T, op->a);                                                              \
    const T imm = (T)op->imm;
#define ELEMENTS                                                                                \
    expand_if_stale(rows + op->a, false);                                                       \
    expand_if_stale(rows + op->f, true);                                                        \
    const u32 *index = ROW(u32, op->a);                                                         \
    const u64 *array = ROW(u64, op->f);
SCATTER(a32, ADDRESSES(u32), (u32)(base[i] + imm))
SCATTER(a64, ADDRESSES(u64), base[i] + imm)
SCATTER(ix, ELEMENTS, address_of_element(op, array[i], index[i]))

/* Element k of each lane's vector, gathered before the row is written (see put_quarters). */
static inline __attribute__((always_inline)) void load_lanes(const uint64_t *lane, int k, u32 *to)
{
    eight part[QUARTERS];
#define LANE_AT(i) AT(u32, lane[8 * q + (i)])[k]
    for (int q = 0; q < QUARTERS; q++)
        part[q] = (eight){LANE_AT(0), LANE_AT(1), LANE_AT(2), LANE_AT(3),
                          LANE_AT(4), LANE_AT(5), LANE_AT(6), LANE_AT(7)};
#undef LANE_AT
    put_quarters(part, to);
}

#define LOAD_SCATTERED(M, R, N, k, row)                                                         \
    do {                                                                                        \
        R *d_ = ROW(R, row);                                                                    \
        if (mask == SIMT_FULL && sizeof(M) == 4 && sizeof(R) == 4) {                            \
            load_lanes(lane, (k), (u32 *)(void *)d_);                                           \
        } else if (mask == SIMT_FULL) {                                                         \
            for (int i = 0; i < SIMT_LANES; i++)                                                \
                d_[i] = (R)AT(M, lane[i])[k];                                                   \
        } else {                                                                                \
            EACH_LANE(mask, i) d_[i] = (R)AT(M, lane[i])[k];                                    \
        }                                                                                       \
    } while (0)
#define STORE_SCATTERED(M, R, N, k, row)                                                        \
    do {                                                                                        \
        const R *s_ = ROW(R, row);                                                              \
        EACH_LANE(mask, i) AT_MUT(M, lane[i])[k] = (M)s_[i];                                    \
    } while (0)

#define ACCESS(name, KIND, M, R, N, A, is_write)                                                \
    static __attribute__((noinline)) LANE_LOOP(name##_##M##_##R##_v##N##_##A##_scattered)       \
    {                                                                                           \
        uint64_t lane[SIMT_LANES] __attribute__((aligned(64)));                                 \
        if (!scatter_##A(warp, rows, op, mask, (uint32_t)sizeof(M) * N, is_write, lane))        \
            return;                                                                             \
        EACH_ELEMENT_##N(KIND##_SCATTERED, M, R)                                                \
    }                                                                                           \
    LANE_LOOP(name##_##M##_##R##_v##N##_##A)                                                    \
    {                                                                                           \
        struct access access;                                                                   \
        const enum shape shape =                                                                \
            mask == SIMT_FULL ? shape_##A(warp, rows, op, (uint32_t)sizeof(M) * N, &access)     \
                              : SHAPE_SCATTERED;                                                \
        if (shape == SHAPE_SCATTERED) {                                                         \
            ISA(name##_##M##_##R##_v##N##_##A##_scattered)(warp, rows, op, mask);               \
            return;                                                                             \
        }                                                                                       \
        EACH_ELEMENT_##N(KIND##_ELEMENT, M, R)                                                  \
    }
#define EACH_FORM(name, KIND, M, R, w)                                                          \
    ACCESS(name, KIND, M, R, 1, a32, w) ACCESS(name, KIND, M, R, 1, a64, w)               \
    ACCESS(name, KIND, M, R, 2, a32, w) ACCESS(name, KIND, M, R, 2, a64, w)               \
    ACCESS(name, KIND, M, R, 4, a32, w) ACCESS(name, KIND, M, R, 4, a64, w)
#define LOAD(M, R) EACH_FORM(ld, LOAD, M, R, false)
#define STORE(M, R) EACH_FORM(st, STORE, M, R, true)
SIMT_LOADS(LOAD)
SIMT_STORES(STORE)
ACCESS(ld, LOAD, u32, u32, 1, ix, false) ACCESS(ld, LOAD, u32, u32, 2, ix, false)
ACCESS(ld, LOAD, u32, u32, 4, ix, false) ACCESS(st, STORE, u32, u32, 1, ix, true)
ACCESS(st, STORE, u32, u32, 2, ix, true) ACCESS(st, STORE, u32, u32, 4, ix, true)
