/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a step that can be run again: forward functions, the activations that they
 * leave, and the backward functions that need those.
 *
 * A forward function does not know whether it runs for the first time. It allocates its
 * activations, reads and updates the state of the model, and launches the same work each
 * time. `..._drop` frees all activations but the output, as a checkpointing framework does;
 * `..._release` frees the output too. All work is queued on the stream of the model. */
#ifndef DIGITS_SEGMENT_H
#define DIGITS_SEGMENT_H

#include "model.h"

#include <stdbool.h>

/* dense, batch statistics, running statistics, normalise and rectify, dropout */
struct block_pass {
    CUdeviceptr input; /* the caller's */
    CUdeviceptr linear, statistics, normal, kept;
    CUdeviceptr output;
};

void block_forward(const struct model *model, const struct block *block, CUdeviceptr input,
                   int rows, struct block_pass *pass);
/* Adds to the gradients of the block's parameters. Returns the gradient of the input, which
 * the caller frees, or 0 when it is not wanted. */
CUdeviceptr block_backward(const struct model *model, const struct block *block,
                           const struct block_pass *pass, CUdeviceptr doutput, int rows,
                           bool wants_input);
void block_drop(struct block_pass *pass);
void block_release(struct block_pass *pass);

/* project, normalise, logits against the queue, loss, enqueue, count classes */
struct contrast_pass {
    CUdeviceptr input, labels; /* the caller's */
    CUdeviceptr linear, keys, norms, logits, residual, pull;
    CUdeviceptr losses; /* the output: one a row */
};

/* The keys of step number `step` go to the queue's rows that follow those of the step before,
 * around the end. */
void contrast_forward(const struct model *model, CUdeviceptr input, CUdeviceptr labels, int rows,
                      int step, struct contrast_pass *pass);
CUdeviceptr contrast_backward(const struct model *model, const struct contrast_pass *pass,
                              int rows);
void contrast_drop(struct contrast_pass *pass);
void contrast_release(struct contrast_pass *pass);

/* The classifier and the step's whole loss; it is never run again. */
struct head_pass {
    CUdeviceptr input; /* the caller's */
    CUdeviceptr losses, dlogits;
};

void head_forward(const struct model *model, CUdeviceptr input, CUdeviceptr labels,
                  CUdeviceptr contrast_losses, CUdeviceptr loss, int rows,
                  struct head_pass *pass);
CUdeviceptr head_backward(const struct model *model, const struct head_pass *pass, int rows);
void head_release(struct head_pass *pass);

#endif
