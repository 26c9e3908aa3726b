/* SPDX-License-Identifier: Apache-2.0 */
/* The COLD rows of the tables: instructions that programs rarely use, lane by lane, built
 * once for all instruction sets. */
#include "cuda/soft/simt/convert.h"
#include "cuda/soft/simt/scalar.h"

#define LOOP_OVER(id, TD, ...)                                                                  \
    SCALAR_LOOP(id)                                                                             \
    {                                                                                           \
        (void)warp;                                                                             \
        TD *d = ROW(TD, op->d);                                                                 \
        EACH_LANE(mask, i)                                                                      \
        {                                                                                       \
            __VA_ARGS__                                                                         \
        }                                                                                       \
    }
#define COLD1(id, TD, TA, ...)                                                                  \
    LOOP_OVER(id, TD, const TA a = ROW(TA, op->a)[i]; d[i] = (TD)(__VA_ARGS__);)
#define COLD2(id, TD, TA, TB, ...)                                                              \
    LOOP_OVER(id, TD, const TA a = ROW(TA, op->a)[i]; const TB b = ROW(TB, op->b)[i];           \
              d[i] = (TD)(__VA_ARGS__);)
#define COLD3(id, TD, TA, TB, TC, ...)                                                          \
    LOOP_OVER(id, TD, const TA a = ROW(TA, op->a)[i]; const TB b = ROW(TB, op->b)[i];           \
              const TC c = ROW(TC, op->c)[i]; d[i] = (TD)(__VA_ARGS__);)
#define OP1(id, ...)
#define OP2(id, ...)
#define OP3(id, ...)
#define OP4(id, ...)
#define SELECT(id, T)
#define COMPARE(id, ...)
#define PREDICATE(id, ...)
#define CUSTOM(id, control)
#define SCALAR(id, control)
#define KEY(text, id)
#include "cuda/soft/simt/all.def"
