/* SPDX-License-Identifier: Apache-2.0 */
/* The network and everything that it carries from step to step.
 *
 *     pixels 64 -> block 128 -> block 96 -> features -> dense 10, cross-entropy
 *                                                 \-> dense 32, unit length -> contrast
 *
 * Two blocks unless more are asked for; each of those has 96 outputs too. A block is dense, batch
 * normalisation, rectifier, dropout. The contrast is a supervised
 * loss against a queue of the keys of earlier steps. All of it lives in device memory, in a
 * few pooled allocations; the pointers below point into them. Offsets are in bytes. */
#ifndef DIGITS_MODEL_H
#define DIGITS_MODEL_H

#include "data.h"
#include "ops.h"

enum { BLOCKS = 2, MOST_BLOCKS = 32, KEY_SIZE = 32, QUEUE_ROWS = 512 };

#define BETA1 0.9
#define BETA2 0.999
#define ADAM_EPSILON 1e-8f
#define BN_EPSILON 1e-5f
#define BN_MOMENTUM 0.1f
#define KEEP 0.8f       /* what dropout lets through */
#define SHARPNESS 5.0f  /* one over the temperature of the contrast */
#define CONTRAST_WEIGHT 0.2f

/* A parameter in the pool of parameters, its gradient in the pool of gradients. */
struct parameter {
    CUdeviceptr value, gradient;
};

struct dense {
    int inputs, outputs;
    struct parameter weight, bias;
};

struct norm {
    struct parameter gamma, beta;
    CUdeviceptr running_mean, running_variance; /* floats */
    CUdeviceptr batches;                        /* a 64-bit count */
};

struct block {
    struct dense dense;
    struct norm norm;
};

/* One allocation. */
struct pool {
    CUdeviceptr base;
    size_t bytes;
};

struct model {
    struct ops ops;
    struct block block[MOST_BLOCKS];
    int blocks;
    struct dense project, classify;
    int parameter_count;

    struct pool parameters, gradients;
    struct pool moments;   /* Adam's first moments, then the second ones */
    struct pool running;   /* of each block: mean, variance, count */
    struct pool queue;     /* QUEUE_ROWS keys, then their labels */
    struct pool generator; /* seed and offset of dropout */
    struct pool seen;      /* how often each class was trained on, 32-bit counts */
    CUdeviceptr queue_labels;
};

/* Starts a model of so many blocks, at least BLOCKS; what is random in it comes from `seed`. */
void model_create(struct model *model, const char *ptx, int blocks, uint64_t seed);
void model_destroy(struct model *model);

/* The pools that make up the state after a run, in the order of a dump. */
enum { STATE_POOLS = 6 };
struct state_pool {
    const char *name;
    const struct pool *pool;
};
void model_state(const struct model *model, struct state_pool state[STATE_POOLS]);

/* The features of all samples, by running statistics and without dropout, in device memory that
 * the caller frees. */
CUdeviceptr model_features(const struct model *model, const struct samples *samples);
/* How many samples the network gets right, by running statistics and without dropout. */
int model_count_correct(const struct model *model, const struct samples *samples);

#endif
