/* SPDX-License-Identifier: Apache-2.0 */
/* The digits network again, in double precision and plain loops: what its forward pass has to
 * give. There is no backward pass here; gradients are checked by differences of losses. */
#ifndef TESTS_DIGITS_REFERENCE_H
#define TESTS_DIGITS_REFERENCE_H

#include "model.h"

enum { RUNNING_FLOATS = 128 + 96 };

struct reference {
    int rows;
    const float *pixels;
    const int *labels;
    double *parameters; /* in the order of the pool */
    double queue[QUEUE_ROWS][KEY_SIZE];
    int queue_labels[QUEUE_ROWS];
    uint64_t seed, offset; /* of dropout */

    /* What reference_forward finds: the statistics of the batch, the variance unbiased. */
    double mean[RUNNING_FLOATS], variance[RUNNING_FLOATS];
    double (*keys)[KEY_SIZE]; /* one a row, the caller's memory */
};

/* The loss of a training step. */
double reference_forward(struct reference *reference);

/* How many samples come out right with the given statistics and no dropout. */
int reference_count_correct(const struct reference *reference, const float *mean,
                            const float *variance);

/* Philox 4x32-10. */
void reference_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

#endif
