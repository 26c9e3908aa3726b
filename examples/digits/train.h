/* SPDX-License-Identifier: Apache-2.0 */
/* One training step, with or without activation checkpointing. */
#ifndef DIGITS_TRAIN_H
#define DIGITS_TRAIN_H

#include "segment.h"

struct trainer {
    struct model *model;
    bool checkpoint; /* drop activations after the forward pass, replay before backward */
    int rows;        /* samples a batch */
    int steps;       /* of the whole run: the rate falls to 0 at its end */
    int step;        /* steps done */
    struct batches batches;
    double decay1, decay2; /* beta1 and beta2 to the power of the steps done */
    /* Called between backward and optimizer: for ranks that share their gradients. May be NULL. */
    void (*share)(struct trainer *trainer, void *ctx);
    void *share_ctx;

    bool contrast; /* trains by the contrast alone, without the classifier */

    CUdeviceptr pixels, labels, loss;
    float *host_pixels; /* pinned, as what is copied asynchronously has to be */
    int *host_labels;
    float *host_loss;
};

void trainer_open(struct trainer *trainer, struct model *model, const struct samples *samples,
                  int rows, int steps, bool checkpoint, uint64_t seed);
void trainer_close(struct trainer *trainer);

/* Returns the loss of the batch: the contrast's, where there is no other. */
float trainer_step(struct trainer *trainer);

#endif
