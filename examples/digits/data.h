/* SPDX-License-Identifier: Apache-2.0 */
/* Handwritten digits: images of 8x8 pixels and which digit each shows. */
#ifndef DIGITS_DATA_H
#define DIGITS_DATA_H

#include "random.h"

enum { PIXELS = 64, CLASSES = 10 };

struct samples {
    int count;
    float *pixels; /* count x PIXELS, from -1 (paper) to 1 (ink) */
    int *labels;
};

struct data {
    struct samples train, test;
};

/* Reads the file that tools/develop/fetch_digits.py writes, and splits it: one sample in six is for
 * testing. The split depends on the file alone. Failure ends the program with one line. */
void data_load(struct data *data, const char *path);
void data_release(struct data *data);

/* An endless walk through the samples in batches: each epoch in an order of its own, the
 * samples that don't fill a batch left for another epoch. */
struct batches {
    const struct samples *samples;
    struct random random;
    int *order;
    int batch, next;
};

void batches_open(struct batches *batches, const struct samples *samples, int batch,
                  uint64_t seed);
void batches_close(struct batches *batches);
void batches_next(struct batches *batches, float *pixels, int *labels);

#endif
