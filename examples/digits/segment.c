/* SPDX-License-Identifier: Apache-2.0 */
#include "segment.h"

static CUdeviceptr matrix_alloc(int rows, int columns)
{
    return device_alloc((size_t)rows * (size_t)columns * sizeof(float));
}

static CUdeviceptr dense_apply(const struct ops *ops, const struct dense *dense, CUdeviceptr x,
                               int rows)
{
    CUdeviceptr y = matrix_alloc(rows, dense->outputs);
    dense_forward(ops, x, dense->weight.value, dense->bias.value, y, rows, dense->inputs,
                  dense->outputs);
    return y;
}

static CUdeviceptr dense_backward(const struct ops *ops, const struct dense *dense, CUdeviceptr x,
                                  CUdeviceptr dy, int rows, bool wants_input)
{
    dense_backward_weight(ops, x, dy, dense->weight.gradient, rows, dense->inputs,
                          dense->outputs);
    dense_backward_bias(ops, dy, dense->bias.gradient, rows, dense->outputs);
    if (!wants_input)
        return 0;
    CUdeviceptr dx = matrix_alloc(rows, dense->inputs);
    dense_backward_input(ops, dy, dense->weight.value, dx, rows, dense->inputs, dense->outputs);
    return dx;
}

/* The batch's means, then its variances. */
static CUdeviceptr variances(CUdeviceptr statistics, int columns)
{
    return statistics + (size_t)columns * sizeof(float);
}

void block_forward(const struct model *model, const struct block *block, CUdeviceptr input,
                   int rows, struct block_pass *pass)
{
    const struct ops *ops = &model->ops;
    const struct norm *norm = &block->norm;
    int columns = block->dense.outputs;
    int n = rows * columns;

    *pass = (struct block_pass){.input = input};
    pass->linear = dense_apply(ops, &block->dense, input, rows);
    pass->statistics = matrix_alloc(2, columns);
    CUdeviceptr mean = pass->statistics;
    CUdeviceptr variance = variances(mean, columns);
    bn_batch_stats(ops, pass->linear, mean, variance, rows, columns);
    bn_update_running(ops, mean, variance, norm->running_mean, norm->running_variance,
                      norm->batches, rows, columns, BN_MOMENTUM);
    pass->normal = matrix_alloc(rows, columns);
    bn_relu_forward(ops, pass->linear, mean, variance, norm->gamma.value, norm->beta.value,
                    pass->normal, rows, columns, BN_EPSILON);
    pass->kept = device_alloc((size_t)n);
    pass->output = matrix_alloc(rows, columns);
    dropout_forward(ops, pass->normal, pass->output, pass->kept, model->generator.base, n, KEEP);
    philox_advance(ops, model->generator.base, (uint64_t)(n + 3) / 4);
}

CUdeviceptr block_backward(const struct model *model, const struct block *block,
                           const struct block_pass *pass, CUdeviceptr doutput, int rows,
                           bool wants_input)
{
    const struct ops *ops = &model->ops;
    const struct norm *norm = &block->norm;
    int columns = block->dense.outputs;

    CUdeviceptr dnormal = matrix_alloc(rows, columns);
    dropout_backward(ops, doutput, pass->kept, dnormal, rows * columns, KEEP);
    CUdeviceptr dlinear = matrix_alloc(rows, columns);
    bn_relu_backward(ops, pass->linear, pass->normal, pass->statistics,
                     variances(pass->statistics, columns), norm->gamma.value, dnormal, dlinear,
                     norm->gamma.gradient, norm->beta.gradient, rows, columns, BN_EPSILON);
    device_free(&dnormal);
    CUdeviceptr dinput =
        dense_backward(ops, &block->dense, pass->input, dlinear, rows, wants_input);
    device_free(&dlinear);
    return dinput;
}

void block_drop(struct block_pass *pass)
{
    device_free(&pass->linear);
    device_free(&pass->statistics);
    device_free(&pass->normal);
    device_free(&pass->kept);
}

void block_release(struct block_pass *pass)
{
    block_drop(pass);
    device_free(&pass->output);
}

/* The ring may end within a step's keys; each launch writes one straight run of rows. */
static void enqueue(const struct model *model, CUdeviceptr keys, CUdeviceptr labels, int rows,
                    int step)
{
    int at = (int)((int64_t)step * rows % QUEUE_ROWS);
    int straight = rows < QUEUE_ROWS - at ? rows : QUEUE_ROWS - at;
    enqueue_keys(&model->ops, keys, labels, model->queue.base, model->queue_labels, at, straight,
                 KEY_SIZE);
    if (straight < rows)
        enqueue_keys(&model->ops, keys + (size_t)straight * KEY_SIZE * sizeof(float),
                     labels + (size_t)straight * sizeof(int), model->queue.base,
                     model->queue_labels, 0, rows - straight, KEY_SIZE);
}

void contrast_forward(const struct model *model, CUdeviceptr input, CUdeviceptr labels, int rows,
                      int step, struct contrast_pass *pass)
{
    const struct ops *ops = &model->ops;
    CUdeviceptr queue = model->queue.base;

    *pass = (struct contrast_pass){.input = input, .labels = labels};
    pass->linear = dense_apply(ops, &model->project, input, rows);
    pass->keys = matrix_alloc(rows, KEY_SIZE);
    pass->norms = matrix_alloc(rows, 1);
    normalize_rows(ops, pass->linear, pass->keys, pass->norms, rows, KEY_SIZE);
    pass->logits = matrix_alloc(rows, QUEUE_ROWS);
    queue_logits(ops, pass->keys, queue, pass->logits, rows, QUEUE_ROWS, KEY_SIZE, SHARPNESS);
    pass->losses = matrix_alloc(rows, 1);
    pass->residual = matrix_alloc(rows, QUEUE_ROWS);
    contrast_loss(ops, pass->logits, labels, model->queue_labels, pass->losses, pass->residual,
                  rows, QUEUE_ROWS);
    pass->pull = matrix_alloc(rows, KEY_SIZE);
    queue_pull(ops, pass->residual, queue, pass->pull, rows, QUEUE_ROWS, KEY_SIZE, SHARPNESS);
    count_classes(ops, labels, model->seen.base, rows);
    enqueue(model, pass->keys, labels, rows, step);
}

CUdeviceptr contrast_backward(const struct model *model, const struct contrast_pass *pass,
                              int rows)
{
    const struct ops *ops = &model->ops;
    CUdeviceptr dlinear = matrix_alloc(rows, KEY_SIZE);
    normalize_rows_backward(ops, pass->keys, pass->norms, pass->pull, dlinear, rows, KEY_SIZE,
                            CONTRAST_WEIGHT / (float)rows);
    CUdeviceptr dinput = dense_backward(ops, &model->project, pass->input, dlinear, rows, true);
    device_free(&dlinear);
    return dinput;
}

void contrast_drop(struct contrast_pass *pass)
{
    device_free(&pass->linear);
    device_free(&pass->keys);
    device_free(&pass->norms);
    device_free(&pass->logits);
    device_free(&pass->residual);
    device_free(&pass->pull);
}

void contrast_release(struct contrast_pass *pass)
{
    contrast_drop(pass);
    device_free(&pass->losses);
}

void head_forward(const struct model *model, CUdeviceptr input, CUdeviceptr labels,
                  CUdeviceptr contrast_losses, CUdeviceptr loss, int rows,
                  struct head_pass *pass)
{
    const struct ops *ops = &model->ops;
    *pass = (struct head_pass){.input = input};
    CUdeviceptr logits = dense_apply(ops, &model->classify, input, rows);
    pass->losses = matrix_alloc(rows, 1);
    pass->dlogits = matrix_alloc(rows, CLASSES);
    softmax_xent(ops, logits, labels, pass->losses, pass->dlogits, rows, CLASSES);
    device_free(&logits);
    mean_loss(ops, pass->losses, contrast_losses, loss, rows, CONTRAST_WEIGHT);
}

CUdeviceptr head_backward(const struct model *model, const struct head_pass *pass, int rows)
{
    return dense_backward(&model->ops, &model->classify, pass->input, pass->dlogits, rows, true);
}

void head_release(struct head_pass *pass)
{
    device_free(&pass->losses);
    device_free(&pass->dlogits);
}
