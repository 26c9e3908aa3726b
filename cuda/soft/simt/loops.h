/* SPDX-License-Identifier: Apache-2.0 */
/* Turns the rows of a .def file into lane loops. */
#ifndef RP_SOFT_SIMT_LOOPS_H
#define RP_SOFT_SIMT_LOOPS_H

#include "cuda/soft/simt/lanes.h"

#define OP1(id, TD, TA, ...)                                                                    \
    LANE_LOOP(id)                                                                               \
    {                                                                                           \
        UNUSED_WARP;                                                                            \
        TD *d = ROW(TD, op->d);                                                                 \
        const TA *pa = ROW(TA, op->a);                                                          \
        const int64_t imm = op->imm;                                                            \
        (void)imm;                                                                              \
        LANE_BODY(TD, { const TA a = pa[i]; result = (TD)(__VA_ARGS__); })                      \
    }
#define OP2(id, TD, TA, TB, ...)                                                                \
    LANE_LOOP(id)                                                                               \
    {                                                                                           \
        UNUSED_WARP;                                                                            \
        TD *d = ROW(TD, op->d);                                                                 \
        const TA *pa = ROW(TA, op->a);                                                          \
        const TB *pb = ROW(TB, op->b);                                                          \
        LANE_BODY(TD, {                                                                         \
            const TA a = pa[i];                                                                 \
            const TB b = pb[i];                                                                 \
            (void)a;                                                                            \
            (void)b;                                                                            \
            result = (TD)(__VA_ARGS__);                                                         \
        })                                                                                      \
    }
#define OP3(id, TD, TA, TB, TC, ...)                                                            \
    LANE_LOOP(id)                                                                               \
    {                                                                                           \
        UNUSED_WARP;                                                                            \
        TD *d = ROW(TD, op->d);                                                                 \
        const TA *pa = ROW(TA, op->a);                                                          \
        const TB *pb = ROW(TB, op->b);                                                          \
        const TC *pc = ROW(TC, op->c);                                                          \
        const int64_t imm = op->imm;                                                            \
        (void)imm;                                                                              \
        LANE_BODY(TD, {                                                                         \
            const TA a = pa[i];                                                                 \
            const TB b = pb[i];                                                                 \
            const TC c = pc[i];                                                                 \
            result = (TD)(__VA_ARGS__);                                                         \
        })                                                                                      \
    }
#define OP4(id, TD, TA, TB, TC, TE, ...)                                                        \
    LANE_LOOP(id)                                                                               \
    {                                                                                           \
        UNUSED_WARP;                                                                            \
        TD *d = ROW(TD, op->d);                                                                 \
        const TA *pa = ROW(TA, op->a);                                                          \
        const TB *pb = ROW(TB, op->b);                                                          \
        const TC *pc = ROW(TC, op->c);                                                          \
        const TE *pe = ROW(TE, op->e);                                                          \
        LANE_BODY(TD, {                                                                         \
            const TA a = pa[i];                                                                 \
            const TB b = pb[i];                                                                 \
            const TC c = pc[i];                                                                 \
            const TE e = pe[i];                                                                 \
            result = (TD)(__VA_ARGS__);                                                         \
        })                                                                                      \
    }
#define SELECT(id, T)                                                                           \
    LANE_LOOP(id)                                                                               \
    {                                                                                           \
        UNUSED_WARP;                                                                            \
        T *d = ROW(T, op->d);                                                                   \
        const T *pa = ROW(T, op->a), *pb = ROW(T, op->b);                                       \
        const uint32_t picked = MASK(op->c);                                                    \
        T value[SIMT_LANES] __attribute__((aligned(64)));                                       \
        LANES_BY_MASK(T, picked) value[i] = ON(T, part, i) ? pa[i] : pb[i];                     \
        if (mask == SIMT_FULL) {                                                                \
            LANES d[i] = value[i];                                                              \
        } else {                                                                                \
            LANES_BY_MASK(T, mask) d[i] = ON(T, part, i) ? value[i] : d[i];                     \
        }                                                                                       \
    }
#define COMPARE(id, T, ...)                                                                     \
    LANE_LOOP(id)                                                                               \
    {                                                                                           \
        UNUSED_WARP;                                                                            \
        const T *pa = ROW(T, op->a), *pb = ROW(T, op->b);                                       \
        uint32_t truth[SIMT_LANES] __attribute__((aligned(64)));                                \
        LANES                                                                                   \
        {                                                                                       \
            const T a = pa[i], b = pb[i];                                                       \
            (void)b;                                                                            \
            truth[i] = (__VA_ARGS__) ? 0xffffffffu : 0;                                         \
        }                                                                                       \
        write_mask(rows, op->d, mask, pack_mask(truth) ^ (uint32_t)op->imm);                    \
    }
#define PREDICATE(id, ...)                                                                      \
    LANE_LOOP(id)                                                                               \
    {                                                                                           \
        UNUSED_WARP;                                                                            \
        const uint32_t a = MASK(op->a), b = MASK(op->b);                                        \
        (void)b;                                                                                \
        write_mask(rows, op->d, mask, (__VA_ARGS__));                                           \
    }
#define COLD1(id, ...)
#define COLD2(id, ...)
#define COLD3(id, ...)
#define CUSTOM(id, control)
#define SCALAR(id, control)
#define KEY(text, id)

/* `body` sets `result` for lane i; one loop writes all lanes, one only those of the mask. */
#define LANE_BODY(TD, ...)                                                                      \
    if (mask == SIMT_FULL) {                                                                    \
        LANES                                                                                   \
        {                                                                                       \
            TD result;                                                                          \
            __VA_ARGS__                                                                         \
            d[i] = result;                                                                      \
        }                                                                                       \
    } else {                                                                                    \
        LANES_BY_MASK(TD, mask)                                                                 \
        {                                                                                       \
            TD result;                                                                          \
            __VA_ARGS__                                                                         \
            d[i] = ON(TD, part, i) ? result : d[i];                                             \
        }                                                                                       \
    }

/* An expression of x (y, z) for given halves; used by half.def. */
#define HALF_OF1(expr, v) __extension__({ const uint32_t x = (v); (expr); })
#define HALF_OF2(expr, v, w)                                                                    \
    __extension__({ const uint32_t x = (v), y = (w); (expr); })
#define HALF_OF3(expr, v, w, u)                                                                 \
    __extension__({ const uint32_t x = (v), y = (w), z = (u); (expr); })

#endif
