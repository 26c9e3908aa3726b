/* SPDX-License-Identifier: Apache-2.0 */
/* The training kernels of tests/kernels, and what their results are held against. */
#ifndef RP_TESTS_SIMT_KERNELS_H
#define RP_TESTS_SIMT_KERNELS_H

#include "tests/soft/simt/rig.h"

/* First in main: the program's one argument is how many threads run kernels. */
void begin_kernels(int argc, char **argv);
/* The file `name` of the folder that the environment variable KERNELS names. */
void open_kernels(struct rig *rig, const char *name);

float unit(uint32_t *state); /* [-1, 1), the next of a sequence */
float *random_floats(struct rig *rig, size_t count, uint32_t seed);
/* Fails with the name of what it is and its place unless |is - wanted| <= absolute + relative *
 * |wanted|. */
void near(float is, double wanted, double relative, double absolute, const char *what,
          size_t at);

#endif
