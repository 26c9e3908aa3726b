/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that each look into a bank of vectors, and write a few of them in each step.
 *
 *     part j of layer k:   a = softsign(x weight[j] + bank, from a place of the part's own on)
 *     layer k:             y = x + the sum of its parts
 *
 * The parts are the activations: the backward pass needs them all. The bank is state: a layer's
 * forward reads all of it, then moves WRITES short stretches of it, at places that the step
 * draws. All work is queued on one stream; sizes are in elements of four bytes. */
#ifndef BANKS_NET_H
#define BANKS_NET_H

#include "driver.h"
#include "random.h"

#include <stdbool.h>

enum { WIDTH = 16, MOST_LAYERS = 64, MOST_PARTS = 32, WRITES = 4, LOSSES = 256 };

struct layer {
    int parts, bank_n;
    CUdeviceptr bank;
    CUdeviceptr weights; /* parts x WIDTH x WIDTH */
};

#define BANKS_KERNELS(X) \
    X(part_forward) X(add_parts) X(bank_write) X(slope) X(input_backward) X(weight_backward) \
    X(weight_step) X(draw) X(residual)

struct net {
    CUmodule module;
    CUstream stream;
#define KERNEL_MEMBER(name) CUfunction name;
    BANKS_KERNELS(KERNEL_MEMBER)
#undef KERNEL_MEMBER
    struct layer layers[MOST_LAYERS];
    int count;
    int n;      /* elements of a layer's input: rows x WIDTH */
    int chunks; /* of rows, in sums over them */
    CUdeviceptr partial; /* chunks x WIDTH x WIDTH */
};

/* What one forward of a layer leaves. The input is the caller's. */
struct pass {
    CUdeviceptr input, parts, output;
};

/* The layers have their sizes; the rest is made here. What is random in it comes from `seed`. */
void net_create(struct net *net, const char *ptx, uint64_t seed);
void net_destroy(struct net *net);

/* Fills an input, the same for the same seed. */
void net_draw(const struct net *net, CUdeviceptr x, int n, unsigned seed);
/* Does the same work, at the same places of the bank, whenever it is called with one step. */
void layer_forward(const struct net *net, int k, CUdeviceptr x, unsigned step, struct pass *pass);
/* Steps the layer's weights, and turns *gradient, that of its output, into that of its input. */
void layer_backward(const struct net *net, int k, const struct pass *pass, CUdeviceptr *gradient);
/* Frees the parts; the parts and the output. */
void pass_drop(struct pass *pass);
void pass_release(struct pass *pass);
/* The gradient of the loss by `y`; `losses` gets LOSSES sums of squares. */
void net_residual(const struct net *net, CUdeviceptr x, CUdeviceptr y, CUdeviceptr dy,
                  CUdeviceptr losses);

#endif
