/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include "host.h"

#include <math.h>

enum { HIDDEN = 128, FEATURES = 96 };

/* What goes into block `i`: out of the one before it. */
static int size_before(int i)
{
    return i == 0 ? PIXELS : i == 1 ? HIDDEN : FEATURES;
}

static struct pool pool_alloc(size_t bytes)
{
    return (struct pool){device_alloc(bytes), bytes};
}

/* Hands out the pool of parameters and that of gradients side by side. */
static struct parameter take_parameter(struct model *model, int *used, int count)
{
    size_t offset = (size_t)*used * sizeof(float);
    *used += count;
    return (struct parameter){model->parameters.base + offset, model->gradients.base + offset};
}

static void place_dense(struct model *model, int *used, struct dense *dense, int inputs,
                        int outputs)
{
    dense->inputs = inputs;
    dense->outputs = outputs;
    dense->weight = take_parameter(model, used, inputs * outputs);
    dense->bias = take_parameter(model, used, outputs);
}

/* Gives every parameter its place and returns how many floats that takes. */
static int place_parameters(struct model *model)
{
    int used = 0;
    for (int i = 0; i < model->blocks; i++) {
        struct block *block = &model->block[i];
        place_dense(model, &used, &block->dense, size_before(i), size_before(i + 1));
        block->norm.gamma = take_parameter(model, &used, size_before(i + 1));
        block->norm.beta = take_parameter(model, &used, size_before(i + 1));
    }
    place_dense(model, &used, &model->project, FEATURES, KEY_SIZE);
    place_dense(model, &used, &model->classify, FEATURES, CLASSES);
    return used;
}

static size_t place_running(struct model *model)
{
    size_t used = 0;
    for (int i = 0; i < model->blocks; i++) {
        struct norm *norm = &model->block[i].norm;
        size_t bytes = (size_t)size_before(i + 1) * sizeof(float);
        norm->running_mean = model->running.base + used;
        norm->running_variance = norm->running_mean + bytes;
        norm->batches = norm->running_variance + bytes;
        used += 2 * bytes + sizeof(long long);
    }
    return used;
}

static void upload(CUdeviceptr to, const void *from, size_t bytes)
{
    CU(MemcpyHtoD, to, from, bytes);
}

static void upload_zeros(struct pool pool)
{
    if (pool.bytes == 0)
        return;
    void *zeros = host_alloc(1, pool.bytes);
    upload(pool.base, zeros, pool.bytes);
    free(zeros);
}

static void fill(CUdeviceptr to, int count, float value)
{
    float *values = host_alloc((size_t)count, sizeof *values);
    for (int i = 0; i < count; i++)
        values[i] = value;
    upload(to, values, (size_t)count * sizeof *values);
    free(values);
}

/* Uniform, wide enough for the rectifiers to keep the size of what passes; biases stay 0. */
static void start_dense(const struct dense *dense, struct random *random)
{
    int count = dense->inputs * dense->outputs;
    float *weight = host_alloc((size_t)count, sizeof *weight);
    float bound = sqrtf(6.0f / (float)dense->inputs);
    for (int i = 0; i < count; i++)
        weight[i] = random_between(random, -bound, bound);
    upload(dense->weight.value, weight, (size_t)count * sizeof *weight);
    free(weight);
}

static void start_parameters(struct model *model, struct random *random)
{
    upload_zeros(model->parameters);
    upload_zeros(model->moments);
    upload_zeros(model->running);
    for (int i = 0; i < model->blocks; i++) {
        const struct block *block = &model->block[i];
        start_dense(&block->dense, random);
        fill(block->norm.gamma.value, block->dense.outputs, 1.0f);
        fill(block->norm.running_variance, block->dense.outputs, 1.0f);
    }
    start_dense(&model->project, random);
    start_dense(&model->classify, random);
}

/* Unit vectors of no class: they repel every key until real ones have replaced them. */
static void start_queue(struct model *model, struct random *random)
{
    float *keys = host_alloc(QUEUE_ROWS * KEY_SIZE, sizeof *keys);
    int *labels = host_alloc(QUEUE_ROWS, sizeof *labels);
    for (int row = 0; row < QUEUE_ROWS; row++) {
        float *key = keys + row * KEY_SIZE;
        float squares = 0.0f;
        for (int i = 0; i < KEY_SIZE; i++) {
            key[i] = random_between(random, -1.0f, 1.0f);
            squares += key[i] * key[i];
        }
        for (int i = 0; i < KEY_SIZE; i++)
            key[i] /= sqrtf(squares);
        labels[row] = -1;
    }
    upload(model->queue.base, keys, QUEUE_ROWS * KEY_SIZE * sizeof *keys);
    upload(model->queue_labels, labels, QUEUE_ROWS * sizeof *labels);
    free(labels);
    free(keys);
}

void model_create(struct model *model, const char *ptx, int blocks, uint64_t seed)
{
    *model = (struct model){.blocks = blocks};
    ops_create(&model->ops, ptx);
    model->parameter_count = place_parameters(model);
    size_t bytes = (size_t)model->parameter_count * sizeof(float);
    model->parameters = pool_alloc(bytes);
    model->gradients = pool_alloc(bytes);
    model->moments = pool_alloc(2 * bytes);
    model->running = pool_alloc(place_running(model));
    model->queue = pool_alloc(QUEUE_ROWS * (KEY_SIZE * sizeof(float) + sizeof(int)));
    model->queue_labels = model->queue.base + QUEUE_ROWS * KEY_SIZE * sizeof(float);
    model->generator = pool_alloc(2 * sizeof(uint64_t));
    model->seen = pool_alloc(CLASSES * sizeof(int));
    place_parameters(model); /* now that the pools have their addresses */
    place_running(model);

    struct random random = {seed};
    start_parameters(model, &random);
    start_queue(model, &random);
    uint64_t generator[2] = {random_next(&random), 0};
    upload(model->generator.base, generator, sizeof generator);
    upload_zeros(model->seen);
}

void model_destroy(struct model *model)
{
    device_free(&model->parameters.base);
    device_free(&model->gradients.base);
    device_free(&model->moments.base);
    device_free(&model->running.base);
    device_free(&model->queue.base);
    device_free(&model->generator.base);
    device_free(&model->seen.base);
    ops_destroy(&model->ops);
}

void model_state(const struct model *model, struct state_pool state[STATE_POOLS])
{
    state[0] = (struct state_pool){"parameters", &model->parameters};
    state[1] = (struct state_pool){"moments", &model->moments};
    state[2] = (struct state_pool){"running_statistics", &model->running};
    state[3] = (struct state_pool){"queue", &model->queue};
    state[4] = (struct state_pool){"generator", &model->generator};
    state[5] = (struct state_pool){"class_counts", &model->seen};
}

static void apply_dense(const struct ops *ops, const struct dense *dense, CUdeviceptr x,
                        CUdeviceptr y, int rows)
{
    dense_forward(ops, x, dense->weight.value, dense->bias.value, y, rows, dense->inputs,
                  dense->outputs);
}

CUdeviceptr model_features(const struct model *model, const struct samples *samples)
{
    int rows = samples->count;
    CUdeviceptr x = device_alloc((size_t)rows * PIXELS * sizeof(float));
    upload(x, samples->pixels, (size_t)rows * PIXELS * sizeof(float));
    for (int i = 0; i < model->blocks; i++) {
        const struct norm *norm = &model->block[i].norm;
        int columns = model->block[i].dense.outputs;
        CUdeviceptr y = device_alloc((size_t)rows * (size_t)columns * sizeof(float));
        apply_dense(&model->ops, &model->block[i].dense, x, y, rows);
        bn_relu_forward(&model->ops, y, norm->running_mean, norm->running_variance,
                        norm->gamma.value, norm->beta.value, y, rows, columns, BN_EPSILON);
        device_free(&x);
        x = y;
    }
    return x;
}

static int largest(const float *logits)
{
    int best = 0;
    for (int k = 1; k < CLASSES; k++)
        if (logits[k] > logits[best])
            best = k;
    return best;
}

int model_count_correct(const struct model *model, const struct samples *samples)
{
    CUdeviceptr features = model_features(model, samples);
    CUdeviceptr on_device = device_alloc((size_t)samples->count * CLASSES * sizeof(float));
    apply_dense(&model->ops, &model->classify, features, on_device, samples->count);
    device_free(&features);
    float *logits = host_alloc((size_t)samples->count * CLASSES, sizeof *logits);
    CU(StreamSynchronize, model->ops.stream);
    CU(MemcpyDtoH, logits, on_device, (size_t)samples->count * CLASSES * sizeof *logits);
    int correct = 0;
    for (int i = 0; i < samples->count; i++)
        correct += largest(logits + i * CLASSES) == samples->labels[i];
    free(logits);
    device_free(&on_device);
    return correct;
}
