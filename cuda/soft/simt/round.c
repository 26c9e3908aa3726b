/* SPDX-License-Identifier: Apache-2.0 */
/* f64 in directed rounding modes: the machine's own, switched for one operation. Operands
 * pass through volatile variables, which the compiler can't move across the calls. */
#include "cuda/soft/simt/convert.h"

#include <fenv.h>

static const int machine_mode[] = {
    [SIMT_ROUND_rz] = FE_TOWARDZERO, [SIMT_ROUND_rm] = FE_DOWNWARD, [SIMT_ROUND_rp] = FE_UPWARD};

#define DIRECTED(expr)                                                                          \
    const int before = fegetround();                                                            \
    fesetround(machine_mode[mode]);                                                             \
    const volatile double result = (expr);                                                      \
    fesetround(before);                                                                         \
    return result

#define TWO(name, operator)                                                                     \
    double simt_##name##_f64(enum simt_rounding mode, double a, double b)                       \
    {                                                                                           \
        const volatile double x = a, y = b;                                                     \
        DIRECTED(x operator y);                                                                 \
    }
TWO(add, +)
TWO(sub, -)
TWO(mul, *)
TWO(div, /)

double simt_fma_f64(enum simt_rounding mode, double a, double b, double c)
{
    const volatile double x = a, y = b, z = c;
    DIRECTED(fma(x, y, z));
}

double simt_sqrt_f64(enum simt_rounding mode, double a)
{
    const volatile double x = a;
    DIRECTED(sqrt(x));
}

double simt_signed_to_f64(enum simt_rounding mode, int64_t x)
{
    const volatile int64_t from = x;
    DIRECTED((double)from);
}

double simt_unsigned_to_f64(enum simt_rounding mode, uint64_t x)
{
    /* In two exact halves, so that one rounding is left. */
    const volatile double high = (double)(x >> 32) * 0x1p32, low = (double)(uint32_t)x;
    DIRECTED(high + low);
}
