/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <math.h>

#define PROBE_RATE 0.03

struct probe {
    const struct model *model;
    int rows;
    CUdeviceptr features, labels, logits, losses, dlogits, loss;
};

static void probe_open(struct probe *probe, const struct model *model,
                       const struct samples *samples)
{
    size_t rows = (size_t)samples->count;
    *probe = (struct probe){.model = model, .rows = samples->count};
    probe->features = model_features(model, samples);
    probe->labels = device_alloc(rows * sizeof(int));
    CU(MemcpyHtoD, probe->labels, samples->labels, rows * sizeof(int));
    probe->logits = device_alloc(rows * CLASSES * sizeof(float));
    probe->dlogits = device_alloc(rows * CLASSES * sizeof(float));
    probe->losses = device_alloc(rows * sizeof(float));
    probe->loss = device_alloc(sizeof(float));
}

static void probe_close(struct probe *probe)
{
    device_free(&probe->features);
    device_free(&probe->labels);
    device_free(&probe->logits);
    device_free(&probe->dlogits);
    device_free(&probe->losses);
    device_free(&probe->loss);
}

/* Adam over the classifier's own stretch of the pools. */
static void optimise(const struct model *model, int step)
{
    const struct dense *dense = &model->classify;
    int count = dense->inputs * dense->outputs + dense->outputs;
    CUdeviceptr first = model->moments.base + (dense->weight.value - model->parameters.base);
    CUdeviceptr second = first + (size_t)model->parameter_count * sizeof(float);
    double rate = PROBE_RATE * sqrt(1.0 - pow(BETA2, step)) / (1.0 - pow(BETA1, step));
    adam_step(&model->ops, dense->weight.value, dense->weight.gradient, first, second, count,
              (float)rate, (float)BETA1, (float)BETA2, ADAM_EPSILON);
}

static void probe_step(const struct probe *probe, int step)
{
    const struct model *model = probe->model;
    const struct ops *ops = &model->ops;
    const struct dense *dense = &model->classify;
    int rows = probe->rows;
    CU(MemsetD8Async, model->gradients.base, 0, model->gradients.bytes, ops->stream);
    dense_forward(ops, probe->features, dense->weight.value, dense->bias.value, probe->logits,
                  rows, dense->inputs, dense->outputs);
    softmax_xent(ops, probe->logits, probe->labels, probe->losses, probe->dlogits, rows, CLASSES);
    mean_loss(ops, probe->losses, probe->losses, probe->loss, rows, 0.0f);
    dense_backward_weight(ops, probe->features, probe->dlogits, dense->weight.gradient, rows,
                          dense->inputs, dense->outputs);
    dense_backward_bias(ops, probe->dlogits, dense->bias.gradient, rows, dense->outputs);
    optimise(model, step);
}

float probe_train(struct model *model, const struct samples *samples, int steps)
{
    struct probe probe;
    float loss = 0.0f;
    probe_open(&probe, model, samples);
    for (int step = 1; step <= steps; step++)
        probe_step(&probe, step);
    CU(StreamSynchronize, model->ops.stream);
    CU(MemcpyDtoH, &loss, probe.loss, sizeof loss);
    probe_close(&probe);
    return loss;
}
