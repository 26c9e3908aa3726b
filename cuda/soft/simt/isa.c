/* SPDX-License-Identifier: Apache-2.0 */
/* Picks the build of the dispatcher for this machine. */
#include "cuda/soft/simt/machine.h"

#include <stdlib.h>
#include <string.h>

extern const struct simt_isa simt_baseline_isa;
#ifdef SIMT_HAVE_X86
extern const struct simt_isa simt_avx2_isa, simt_avx512_isa;
#endif

static bool supported(const struct simt_isa *isa)
{
#ifdef SIMT_HAVE_X86
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi2");
    if (isa == &simt_avx2_isa)
        return avx2;
    if (isa == &simt_avx512_isa)
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
#endif
    return isa == &simt_baseline_isa;
}

static const struct simt_isa *const best_first[] = {
#ifdef SIMT_HAVE_X86
    &simt_avx512_isa, &simt_avx2_isa,
#endif
    &simt_baseline_isa};

static const struct simt_isa *chosen;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* REPRISE_SOFT_ISA forces one; one that the machine does not have is passed over. */
static void choose(void)
{
    const char *wanted = secure_getenv("REPRISE_SOFT_ISA");
    for (size_t i = 0; i < sizeof best_first / sizeof best_first[0]; i++) {
        const struct simt_isa *isa = best_first[i];
        if (!supported(isa))
            continue;
        if (!chosen || (wanted && !strcmp(wanted, isa->name)))
            chosen = isa;
    }
}

const struct simt_isa *simt_isa_chosen(void)
{
    pthread_once(&once, choose);
    return chosen;
}

const char *simt_isa_name(void)
{
    return simt_isa_chosen()->name;
}
