/* SPDX-License-Identifier: Apache-2.0 */
#include "ops.h"

#define GET(name) CU(ModuleGetFunction, &ops->name, ops->module, #name);

void ops_create(struct ops *ops, const char *ptx)
{
    CUcontext context;
    CU(Init, 0);
    CU(DeviceGet, &ops->device, 0);
    CU(DevicePrimaryCtxRetain, &context, ops->device);
    CU(CtxSetCurrent, context);
    CU(StreamCreate, &ops->stream, CU_STREAM_DEFAULT);
    CU(ModuleLoadData, &ops->module, ptx);
    OPS(GET)
}

void ops_destroy(struct ops *ops)
{
    CU(ModuleUnload, ops->module);
    CU(StreamDestroy, ops->stream);
    CU(CtxSetCurrent, NULL);
    CU(DevicePrimaryCtxRelease, ops->device);
}

struct shape {
    unsigned grid_x, grid_y, block_x, block_y;
};

static struct shape blocks(int count, int threads)
{
    return (struct shape){(unsigned)count, 1, (unsigned)threads, 1};
}

/* One thread an element. */
static struct shape vector(int n)
{
    return blocks((n + 127) / 128, 128);
}

/* One thread an element, a warp along the columns. */
static struct shape matrix(int rows, int columns)
{
    return (struct shape){(unsigned)(columns + 31) / 32, (unsigned)(rows + 3) / 4, 32, 4};
}

static void launch(const struct ops *ops, CUfunction kernel, struct shape shape,
                   void **arguments)
{
    CU(LaunchKernel, kernel, shape.grid_x, shape.grid_y, 1, shape.block_x, shape.block_y, 1, 0,
       ops->stream, arguments, NULL);
}

#define LAUNCH(name, shape, ...) launch(ops, ops->name, shape, (void *[]){__VA_ARGS__})

void dense_forward(const struct ops *ops, CUdeviceptr x, CUdeviceptr weight, CUdeviceptr bias,
                   CUdeviceptr y, int rows, int inputs, int outputs)
{
    LAUNCH(dense_forward, matrix(rows, outputs), &x, &weight, &bias, &y, &rows, &inputs, &outputs);
}

void dense_backward_input(const struct ops *ops, CUdeviceptr dy, CUdeviceptr weight,
                          CUdeviceptr dx, int rows, int inputs, int outputs)
{
    LAUNCH(dense_backward_input, matrix(rows, inputs), &dy, &weight, &dx, &rows, &inputs, &outputs);
}

void dense_backward_weight(const struct ops *ops, CUdeviceptr x, CUdeviceptr dy,
                           CUdeviceptr dweight, int rows, int inputs, int outputs)
{
    LAUNCH(dense_backward_weight, matrix(inputs, outputs), &x, &dy, &dweight, &rows, &inputs,
           &outputs);
}

void dense_backward_bias(const struct ops *ops, CUdeviceptr dy, CUdeviceptr dbias, int rows,
                         int outputs)
{
    LAUNCH(dense_backward_bias, vector(outputs), &dy, &dbias, &rows, &outputs);
}

void bn_batch_stats(const struct ops *ops, CUdeviceptr x, CUdeviceptr mean, CUdeviceptr variance,
                    int rows, int columns)
{
    LAUNCH(bn_batch_stats, vector(columns), &x, &mean, &variance, &rows, &columns);
}

void bn_update_running(const struct ops *ops, CUdeviceptr mean, CUdeviceptr variance,
                       CUdeviceptr running_mean, CUdeviceptr running_variance,
                       CUdeviceptr batches, int rows, int columns, float momentum)
{
    LAUNCH(bn_update_running, vector(columns), &mean, &variance, &running_mean, &running_variance,
           &batches, &rows, &columns, &momentum);
}

void bn_relu_forward(const struct ops *ops, CUdeviceptr x, CUdeviceptr mean,
                     CUdeviceptr variance, CUdeviceptr gamma, CUdeviceptr beta, CUdeviceptr y,
                     int rows, int columns, float epsilon)
{
    LAUNCH(bn_relu_forward, matrix(rows, columns), &x, &mean, &variance, &gamma, &beta, &y, &rows,
           &columns, &epsilon);
}

void bn_relu_backward(const struct ops *ops, CUdeviceptr x, CUdeviceptr y, CUdeviceptr mean,
                      CUdeviceptr variance, CUdeviceptr gamma, CUdeviceptr dy, CUdeviceptr dx,
                      CUdeviceptr dgamma, CUdeviceptr dbeta, int rows, int columns,
                      float epsilon)
{
    LAUNCH(bn_relu_backward, vector(columns), &x, &y, &mean, &variance, &gamma, &dy, &dx, &dgamma,
           &dbeta, &rows, &columns, &epsilon);
}

void dropout_forward(const struct ops *ops, CUdeviceptr x, CUdeviceptr y, CUdeviceptr kept,
                     CUdeviceptr generator, int n, float keep)
{
    LAUNCH(dropout_forward, vector(n), &x, &y, &kept, &generator, &n, &keep);
}

void dropout_backward(const struct ops *ops, CUdeviceptr dy, CUdeviceptr kept, CUdeviceptr dx,
                      int n, float keep)
{
    LAUNCH(dropout_backward, vector(n), &dy, &kept, &dx, &n, &keep);
}

void philox_advance(const struct ops *ops, CUdeviceptr generator, uint64_t count)
{
    LAUNCH(philox_advance, blocks(1, 32), &generator, &count);
}

void normalize_rows(const struct ops *ops, CUdeviceptr x, CUdeviceptr y, CUdeviceptr norms,
                    int rows, int columns)
{
    LAUNCH(normalize_rows, blocks(rows, 32), &x, &y, &norms, &columns);
}

void normalize_rows_backward(const struct ops *ops, CUdeviceptr y, CUdeviceptr norms,
                             CUdeviceptr dy, CUdeviceptr dx, int rows, int columns,
                             float scale)
{
    LAUNCH(normalize_rows_backward, blocks(rows, 32), &y, &norms, &dy, &dx, &columns, &scale);
}

void queue_logits(const struct ops *ops, CUdeviceptr keys, CUdeviceptr queue, CUdeviceptr logits,
                  int rows, int queue_rows, int columns, float sharpness)
{
    LAUNCH(queue_logits, matrix(rows, queue_rows), &keys, &queue, &logits, &rows, &queue_rows,
           &columns, &sharpness);
}

void contrast_loss(const struct ops *ops, CUdeviceptr logits, CUdeviceptr labels,
                   CUdeviceptr queue_labels, CUdeviceptr losses, CUdeviceptr residual, int rows,
                   int queue_rows)
{
    LAUNCH(contrast_loss, blocks(rows, 128), &logits, &labels, &queue_labels, &losses, &residual,
           &queue_rows);
}

void queue_pull(const struct ops *ops, CUdeviceptr residual, CUdeviceptr queue, CUdeviceptr pull,
                int rows, int queue_rows, int columns, float sharpness)
{
    LAUNCH(queue_pull, matrix(rows, columns), &residual, &queue, &pull, &rows, &queue_rows,
           &columns, &sharpness);
}

void enqueue_keys(const struct ops *ops, CUdeviceptr keys, CUdeviceptr labels, CUdeviceptr queue,
                  CUdeviceptr queue_labels, int at, int rows, int columns)
{
    LAUNCH(enqueue_keys, matrix(rows, columns), &keys, &labels, &queue, &queue_labels, &at, &rows,
           &columns);
}

void count_classes(const struct ops *ops, CUdeviceptr labels, CUdeviceptr seen, int n)
{
    LAUNCH(count_classes, vector(n), &labels, &seen, &n);
}

void softmax_xent(const struct ops *ops, CUdeviceptr logits, CUdeviceptr labels,
                  CUdeviceptr losses, CUdeviceptr dlogits, int rows, int classes)
{
    LAUNCH(softmax_xent, vector(rows), &logits, &labels, &losses, &dlogits, &rows, &classes);
}

void mean_loss(const struct ops *ops, CUdeviceptr a, CUdeviceptr b, CUdeviceptr loss, int rows,
               float weight)
{
    LAUNCH(mean_loss, blocks(1, 128), &a, &b, &loss, &rows, &weight);
}

void accumulate(const struct ops *ops, CUdeviceptr x, CUdeviceptr y, int n)
{
    LAUNCH(accumulate, vector(n), &x, &y, &n);
}

void adam_step(const struct ops *ops, CUdeviceptr parameters, CUdeviceptr gradients,
               CUdeviceptr first, CUdeviceptr second, int n, float rate, float beta1,
               float beta2, float epsilon)
{
    LAUNCH(adam_step, vector(n), &parameters, &gradients, &first, &second, &n, &rate, &beta1,
           &beta2, &epsilon);
}
