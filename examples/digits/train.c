/* SPDX-License-Identifier: Apache-2.0 */
#include "train.h"

#include <math.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

#define RATE 4e-3

/* NVTX hears of a part of a step. */
static void push_block(const char *what, int block)
{
    char name[32];
    snprintf(name, sizeof name, "%s/block%d", what, block + 1);
    nvtxRangePushA(name);
}

static void *pinned(size_t bytes)
{
    void *memory = NULL;
    CU(MemAllocHost, &memory, bytes);
    return memory;
}

void trainer_open(struct trainer *trainer, struct model *model, const struct samples *samples,
                  int rows, int steps, bool checkpoint, uint64_t seed)
{
    *trainer = (struct trainer){.model = model, .checkpoint = checkpoint, .rows = rows,
                                .steps = steps, .decay1 = 1.0, .decay2 = 1.0};
    batches_open(&trainer->batches, samples, rows, seed);
    size_t pixels = (size_t)rows * PIXELS * sizeof(float);
    size_t labels = (size_t)rows * sizeof(int);
    trainer->pixels = device_alloc(pixels);
    trainer->labels = device_alloc(labels);
    trainer->loss = device_alloc(sizeof(float));
    trainer->host_pixels = pinned(pixels);
    trainer->host_labels = pinned(labels);
    trainer->host_loss = pinned(sizeof(float));
}

void trainer_close(struct trainer *trainer)
{
    device_free(&trainer->pixels);
    device_free(&trainer->labels);
    device_free(&trainer->loss);
    CU(MemFreeHost, trainer->host_pixels);
    CU(MemFreeHost, trainer->host_labels);
    CU(MemFreeHost, trainer->host_loss);
    batches_close(&trainer->batches);
}

static void load_batch(struct trainer *trainer)
{
    CUstream stream = trainer->model->ops.stream;
    size_t rows = (size_t)trainer->rows;
    batches_next(&trainer->batches, trainer->host_pixels, trainer->host_labels);
    CU(MemcpyHtoDAsync, trainer->pixels, trainer->host_pixels, rows * PIXELS * sizeof(float),
       stream);
    CU(MemcpyHtoDAsync, trainer->labels, trainer->host_labels, rows * sizeof(int), stream);
}

/* The activations of one step. */
struct step {
    struct block_pass block[MOST_BLOCKS];
    struct contrast_pass contrast;
    struct head_pass head;
};

static void forward(struct trainer *trainer, struct step *step)
{
    struct model *model = trainer->model;
    CUdeviceptr x = trainer->pixels;
    for (int i = 0; i < model->blocks; i++) {
        push_block("forward", i);
        block_forward(model, &model->block[i], x, trainer->rows, &step->block[i]);
        nvtxRangePop();
        if (trainer->checkpoint)
            block_drop(&step->block[i]);
        x = step->block[i].output;
    }

    nvtxRangePushA("forward/contrast");
    contrast_forward(model, x, trainer->labels, trainer->rows, trainer->step, &step->contrast);
    nvtxRangePop();
    if (trainer->checkpoint)
        contrast_drop(&step->contrast);

    if (trainer->contrast)
        return;
    nvtxRangePushA("head");
    head_forward(model, x, trainer->labels, step->contrast.losses, trainer->loss, trainer->rows,
                 &step->head);
    nvtxRangePop();
}

static CUdeviceptr backward_head(struct trainer *trainer, struct step *step)
{
    nvtxRangePushA("backward/head");
    CUdeviceptr dfeatures = head_backward(trainer->model, &step->head, trainer->rows);
    head_release(&step->head);
    nvtxRangePop();
    return dfeatures;
}

/* Adds what the contrast has to say to the gradient of the features, or is all of it. */
static CUdeviceptr backward_contrast(struct trainer *trainer, struct step *step,
                                     CUdeviceptr dfeatures)
{
    struct model *model = trainer->model;
    struct contrast_pass replayed;
    struct contrast_pass *pass = &step->contrast;
    if (trainer->checkpoint) {
        nvtxRangePushA("recompute/contrast");
        contrast_forward(model, pass->input, pass->labels, trainer->rows, trainer->step,
                         &replayed);
        nvtxRangePop();
        contrast_release(pass);
        pass = &replayed;
    }
    nvtxRangePushA("backward/contrast");
    CUdeviceptr more = contrast_backward(model, pass, trainer->rows);
    if (dfeatures) {
        accumulate(&model->ops, more, dfeatures, trainer->rows * model->project.inputs);
        device_free(&more);
    } else {
        mean_loss(&model->ops, pass->losses, pass->losses, trainer->loss, trainer->rows, 0.0f);
        dfeatures = more;
    }
    contrast_release(pass);
    nvtxRangePop();
    return dfeatures;
}

/* Takes the gradient of the block's output and gives that of its input; 0 for the first. */
static CUdeviceptr backward_through(struct trainer *trainer, struct step *step, int i,
                                    CUdeviceptr doutput)
{
    struct model *model = trainer->model;
    const struct block *block = &model->block[i];
    struct block_pass replayed;
    struct block_pass *pass = &step->block[i];
    if (trainer->checkpoint) {
        push_block("recompute", i);
        block_forward(model, block, pass->input, trainer->rows, &replayed);
        nvtxRangePop();
        block_release(pass);
        pass = &replayed;
    }
    push_block("backward", i);
    CUdeviceptr dinput = block_backward(model, block, pass, doutput, trainer->rows, i > 0);
    device_free(&doutput);
    block_release(pass);
    nvtxRangePop();
    return dinput;
}

static void backward(struct trainer *trainer, struct step *step)
{
    struct pool gradients = trainer->model->gradients;
    nvtxRangePushA("backward");
    CU(MemsetD8Async, gradients.base, 0, gradients.bytes, trainer->model->ops.stream);
    CUdeviceptr gradient = trainer->contrast ? 0 : backward_head(trainer, step);
    gradient = backward_contrast(trainer, step, gradient);
    for (int i = trainer->model->blocks - 1; i >= 0; i--)
        gradient = backward_through(trainer, step, i, gradient);
    nvtxRangePop();
}

static void optimise(struct trainer *trainer)
{
    const struct model *model = trainer->model;
    int count = model->parameter_count;
    trainer->decay1 *= BETA1;
    trainer->decay2 *= BETA2;
    double rate = RATE * (1.0 - (double)trainer->step / trainer->steps);
    rate *= sqrt(1.0 - trainer->decay2) / (1.0 - trainer->decay1);
    nvtxRangePushA("optimizer");
    adam_step(&model->ops, model->parameters.base, model->gradients.base, model->moments.base,
              model->moments.base + (size_t)count * sizeof(float), count, (float)rate,
              (float)BETA1, (float)BETA2, ADAM_EPSILON);
    nvtxRangePop();
}

float trainer_step(struct trainer *trainer)
{
    CUstream stream = trainer->model->ops.stream;
    struct step step;
    nvtxRangePushA("step");
    load_batch(trainer);
    forward(trainer, &step);
    backward(trainer, &step);
    if (trainer->share != NULL)
        trainer->share(trainer, trainer->share_ctx);
    optimise(trainer);
    CU(MemcpyDtoHAsync, trainer->host_loss, trainer->loss, sizeof(float), stream);
    CU(StreamSynchronize, stream);
    trainer->step++;
    nvtxRangePop();
    return *trainer->host_loss;
}
