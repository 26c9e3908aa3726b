/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/soft/simt/kernels.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static unsigned workers = 2;

void begin_kernels(int argc, char **argv)
{
    if (argc > 1)
        workers = (unsigned)strtoul(argv[1], NULL, 10);
}

void open_kernels(struct rig *rig, const char *name)
{
    char path[512];
    const char *folder = getenv("KERNELS");

    snprintf(path, sizeof path, "%s/%s.ptx", folder ? folder : "tests/kernels", name);
    rig_open_file(rig, path, workers);
}

float unit(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(int32_t)*state * 0x1p-31f;
}

float *random_floats(struct rig *rig, size_t count, uint32_t seed)
{
    float *at = rig_buffer(rig, count * sizeof *at);

    for (size_t i = 0; i < count; i++)
        at[i] = unit(&seed);
    return at;
}

void near(float is, double wanted, double relative, double absolute, const char *what,
          size_t at)
{
    const double error = fabs((double)is - wanted);

    if (!(error <= absolute + relative * fabs(wanted)))
        fail_msg("%s[%zu] is %.9g, not %.9g", what, at, (double)is, wanted);
}
