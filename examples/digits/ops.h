/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of kernels.cu as C functions: each launches one kernel on the stream of the
 * device, in its natural shape. Names and arguments are the kernel's own; what a kernel
 * computes stands there. Matrices are row-major floats, labels 32-bit integers. */
#ifndef DIGITS_OPS_H
#define DIGITS_OPS_H

#include "driver.h"

#include <stdint.h>

#define OPS(X) \
    X(dense_forward) \
    X(dense_backward_input) \
    X(dense_backward_weight) \
    X(dense_backward_bias) \
    X(bn_batch_stats) \
    X(bn_update_running) \
    X(bn_relu_forward) \
    X(bn_relu_backward) \
    X(dropout_forward) \
    X(dropout_backward) \
    X(philox_advance) \
    X(normalize_rows) \
    X(normalize_rows_backward) \
    X(queue_logits) \
    X(contrast_loss) \
    X(queue_pull) \
    X(enqueue_keys) \
    X(count_classes) \
    X(softmax_xent) \
    X(mean_loss) \
    X(accumulate) \
    X(adam_step)

#define OP_MEMBER(name) CUfunction name;
struct ops {
    CUdevice device;
    CUmodule module;
    CUstream stream;
    OPS(OP_MEMBER)
};
#undef OP_MEMBER

/* Takes the first device and its primary context, and loads the kernels from PTX text that
 * ends with a zero byte. */
void ops_create(struct ops *ops, const char *ptx);
void ops_destroy(struct ops *ops);

void dense_forward(const struct ops *ops, CUdeviceptr x, CUdeviceptr weight, CUdeviceptr bias,
                   CUdeviceptr y, int rows, int inputs, int outputs);
void dense_backward_input(const struct ops *ops, CUdeviceptr dy, CUdeviceptr weight,
                          CUdeviceptr dx, int rows, int inputs, int outputs);
void dense_backward_weight(const struct ops *ops, CUdeviceptr x, CUdeviceptr dy,
                           CUdeviceptr dweight, int rows, int inputs, int outputs);
void dense_backward_bias(const struct ops *ops, CUdeviceptr dy, CUdeviceptr dbias, int rows,
                         int outputs);
void bn_batch_stats(const struct ops *ops, CUdeviceptr x, CUdeviceptr mean, CUdeviceptr variance,
                    int rows, int columns);
void bn_update_running(const struct ops *ops, CUdeviceptr mean, CUdeviceptr variance,
                       CUdeviceptr running_mean, CUdeviceptr running_variance,
                       CUdeviceptr batches, int rows, int columns, float momentum);
void bn_relu_forward(const struct ops *ops, CUdeviceptr x, CUdeviceptr mean,
                     CUdeviceptr variance, CUdeviceptr gamma, CUdeviceptr beta, CUdeviceptr y,
                     int rows, int columns, float epsilon);
void bn_relu_backward(const struct ops *ops, CUdeviceptr x, CUdeviceptr y, CUdeviceptr mean,
                      CUdeviceptr variance, CUdeviceptr gamma, CUdeviceptr dy, CUdeviceptr dx,
                      CUdeviceptr dgamma, CUdeviceptr dbeta, int rows, int columns,
                      float epsilon);
void dropout_forward(const struct ops *ops, CUdeviceptr x, CUdeviceptr y, CUdeviceptr kept,
                     CUdeviceptr generator, int n, float keep);
void dropout_backward(const struct ops *ops, CUdeviceptr dy, CUdeviceptr kept, CUdeviceptr dx,
                      int n, float keep);
void philox_advance(const struct ops *ops, CUdeviceptr generator, uint64_t count);
void normalize_rows(const struct ops *ops, CUdeviceptr x, CUdeviceptr y, CUdeviceptr norms,
                    int rows, int columns);
void normalize_rows_backward(const struct ops *ops, CUdeviceptr y, CUdeviceptr norms,
                             CUdeviceptr dy, CUdeviceptr dx, int rows, int columns,
                             float scale);
void queue_logits(const struct ops *ops, CUdeviceptr keys, CUdeviceptr queue, CUdeviceptr logits,
                  int rows, int queue_rows, int columns, float sharpness);
void contrast_loss(const struct ops *ops, CUdeviceptr logits, CUdeviceptr labels,
                   CUdeviceptr queue_labels, CUdeviceptr losses, CUdeviceptr residual, int rows,
                   int queue_rows);
void queue_pull(const struct ops *ops, CUdeviceptr residual, CUdeviceptr queue, CUdeviceptr pull,
                int rows, int queue_rows, int columns, float sharpness);
void enqueue_keys(const struct ops *ops, CUdeviceptr keys, CUdeviceptr labels, CUdeviceptr queue,
                  CUdeviceptr queue_labels, int at, int rows, int columns);
void count_classes(const struct ops *ops, CUdeviceptr labels, CUdeviceptr seen, int n);
void softmax_xent(const struct ops *ops, CUdeviceptr logits, CUdeviceptr labels,
                  CUdeviceptr losses, CUdeviceptr dlogits, int rows, int classes);
void mean_loss(const struct ops *ops, CUdeviceptr a, CUdeviceptr b, CUdeviceptr loss, int rows,
               float weight);
void accumulate(const struct ops *ops, CUdeviceptr x, CUdeviceptr y, int n);
void adam_step(const struct ops *ops, CUdeviceptr parameters, CUdeviceptr gradients,
               CUdeviceptr first, CUdeviceptr second, int n, float rate, float beta1,
               float beta2, float epsilon);

#endif
