/* SPDX-License-Identifier: Apache-2.0 */
/* One training step of the digits example against a double-precision forward pass: losses and
 * state directly, gradients by differences of losses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reference.h"

#include "file.h"
#include "host.h"
#include "train.h"

#include <math.h>
#include <string.h>

/* No multiple of a warp or of a block, so that every kernel has idle threads; and in step 73
 * the queue's end is met after one row. */
enum { ROWS = 7, STEP = 73, STEPS = 100, FIRST_QUEUE_ROW = 511 };

struct fixture {
    struct model model;
    struct trainer trainer;
    struct samples samples;
    struct reference reference;
    int count; /* of parameters */
    float *before, *after, *gradients, *moments;
    float queue_before[QUEUE_ROWS][KEY_SIZE];
    struct running {
        float mean1[128], variance1[128];
        long long batches1;
        float mean2[96], variance2[96];
        long long batches2;
    } running_before, running;
    float loss;
};

static void download(void *to, CUdeviceptr from, size_t bytes)
{
    CU(MemcpyDtoH, to, from, bytes);
}

static float *download_floats(CUdeviceptr from, int count)
{
    float *floats = host_alloc((size_t)count, sizeof *floats);
    download(floats, from, (size_t)count * sizeof *floats);
    return floats;
}

static void make_samples(struct samples *samples, struct random *random)
{
    samples->count = ROWS;
    samples->pixels = host_alloc(ROWS * PIXELS, sizeof *samples->pixels);
    samples->labels = host_alloc(ROWS, sizeof *samples->labels);
    for (int i = 0; i < ROWS * PIXELS; i++)
        samples->pixels[i] = random_between(random, -1.0f, 1.0f);
    for (int row = 0; row < ROWS; row++)
        samples->labels[row] = (row * 3) % CLASSES;
}

/* Nothing may be left at a start value that hides an error, as zero biases would. The class of
 * the last sample is not in the queue: its row has no contrast. */
static void stir(struct fixture *f, struct random *random)
{
    struct model *model = &f->model;
    float *parameters = download_floats(model->parameters.base, f->count);
    for (int i = 0; i < f->count; i++)
        parameters[i] += random_between(random, -0.2f, 0.2f);
    CU(MemcpyHtoD, model->parameters.base, parameters, model->parameters.bytes);
    free(parameters);

    int labels[QUEUE_ROWS];
    for (int k = 0; k < QUEUE_ROWS; k++) {
        labels[k] = k % 11 - 1;
        if (labels[k] == f->samples.labels[ROWS - 1])
            labels[k] = -1;
    }
    CU(MemcpyHtoD, model->queue_labels, labels, sizeof labels);

    assert_int_equal(model->running.bytes, sizeof f->running);
    struct running *running = &f->running_before;
    for (int j = 0; j < 128; j++) {
        running->mean1[j] = random_between(random, -0.5f, 0.5f);
        running->variance1[j] = random_between(random, 0.5f, 2.0f);
    }
    for (int j = 0; j < 96; j++) {
        running->mean2[j] = random_between(random, -0.5f, 0.5f);
        running->variance2[j] = random_between(random, 0.5f, 2.0f);
    }
    running->batches1 = 5;
    running->batches2 = INT64_C(1) << 40;
    CU(MemcpyHtoD, model->running.base, running, sizeof *running);
    uint64_t generator[2] = {UINT64_C(0x0123456789abcdef), UINT64_C(0xffffffa0)};
    CU(MemcpyHtoD, model->generator.base, generator, sizeof generator);
}

static void take_state(struct fixture *f)
{
    struct reference *reference = &f->reference;
    f->before = download_floats(f->model.parameters.base, f->count);
    reference->parameters = host_alloc((size_t)f->count, sizeof *reference->parameters);
    for (int i = 0; i < f->count; i++)
        reference->parameters[i] = (double)f->before[i];
    download(f->queue_before, f->model.queue.base, sizeof f->queue_before);
    for (int k = 0; k < QUEUE_ROWS; k++)
        for (int i = 0; i < KEY_SIZE; i++)
            reference->queue[k][i] = (double)f->queue_before[k][i];
    download(reference->queue_labels, f->model.queue_labels, sizeof reference->queue_labels);
    uint64_t generator[2];
    download(generator, f->model.generator.base, sizeof generator);
    reference->seed = generator[0];
    reference->offset = generator[1];
}

static int set_up(void **state)
{
    struct fixture *f = host_alloc(1, sizeof *f);
    struct random random = {20};
    char *ptx = file_read_text(DIGITS_KERNELS);
    make_samples(&f->samples, &random);
    driver_open();
    model_create(&f->model, ptx, BLOCKS, 3);
    free(ptx);
    f->count = f->model.parameter_count;
    trainer_open(&f->trainer, &f->model, &f->samples, ROWS, STEPS, false, 4);
    f->trainer.step = STEP;
    stir(f, &random);
    take_state(f);

    f->loss = trainer_step(&f->trainer);

    f->reference.rows = ROWS;
    f->reference.pixels = f->trainer.host_pixels;
    f->reference.labels = f->trainer.host_labels;
    f->reference.keys = host_alloc(ROWS, sizeof *f->reference.keys);
    f->after = download_floats(f->model.parameters.base, f->count);
    f->gradients = download_floats(f->model.gradients.base, f->count);
    f->moments = download_floats(f->model.moments.base, 2 * f->count);
    download(&f->running, f->model.running.base, sizeof f->running);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    trainer_close(&f->trainer);
    model_destroy(&f->model);
    free(f->samples.pixels);
    free(f->samples.labels);
    free(f->reference.parameters);
    free(f->reference.keys);
    free(f->before);
    free(f->after);
    free(f->gradients);
    free(f->moments);
    free(f);
    return 0;
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.9g is not %.9g within %.3g", value, expected, tolerance);
}

/* Known answers that the authors of Philox publish with it. */
static void test_reference_philox(void **state)
{
    (void)state;
    const uint32_t zero[4] = {0}, ones[4] = {~0u, ~0u, ~0u, ~0u};
    const uint32_t of_zero[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    const uint32_t of_ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    uint32_t words[4];
    reference_philox(zero, zero, words);
    assert_memory_equal(words, of_zero, sizeof words);
    reference_philox(ones, ones, words);
    assert_memory_equal(words, of_ones, sizeof words);
}

static void test_loss(void **state)
{
    struct fixture *f = *state;
    assert_near((double)f->loss, reference_forward(&f->reference), 2e-5);
}

static void test_running_statistics(void **state)
{
    struct fixture *f = *state;
    const struct running *was = &f->running_before, *is = &f->running;
    reference_forward(&f->reference);
    const double *mean = f->reference.mean, *variance = f->reference.variance;
    for (int j = 0; j < 128; j++) {
        assert_near((double)is->mean1[j], 0.9 * (double)was->mean1[j] + 0.1 * mean[j], 1e-5);
        assert_near((double)is->variance1[j],
                    0.9 * (double)was->variance1[j] + 0.1 * variance[j], 1e-4);
    }
    for (int j = 0; j < 96; j++) {
        assert_near((double)is->mean2[j], 0.9 * (double)was->mean2[j] + 0.1 * mean[128 + j],
                    1e-4);
        assert_near((double)is->variance2[j],
                    0.9 * (double)was->variance2[j] + 0.1 * variance[128 + j], 1e-3);
    }
    assert_int_equal(is->batches1, was->batches1 + 1);
    assert_int_equal(is->batches2, was->batches2 + 1);
}

/* Four elements share a counter; both blocks round up. */
static void test_generator_moves_past_what_was_drawn(void **state)
{
    struct fixture *f = *state;
    uint64_t generator[2];
    download(generator, f->model.generator.base, sizeof generator);
    assert_int_equal(generator[0], f->reference.seed);
    assert_int_equal(generator[1], f->reference.offset + ROWS * 128 / 4 + ROWS * 96 / 4);
}

/* The step's keys lie in the last row and, around the end, the first six; the rest is as it
 * was. The loss and the gradients above are those of the queue before. */
static void test_queue(void **state)
{
    struct fixture *f = *state;
    float queue[QUEUE_ROWS][KEY_SIZE];
    int labels[QUEUE_ROWS];
    download(queue, f->model.queue.base, sizeof queue);
    download(labels, f->model.queue_labels, sizeof labels);
    reference_forward(&f->reference);
    for (int row = 0; row < ROWS; row++) {
        int at = (FIRST_QUEUE_ROW + row) % QUEUE_ROWS;
        assert_int_equal(labels[at], f->reference.labels[row]);
        for (int i = 0; i < KEY_SIZE; i++)
            assert_near((double)queue[at][i], f->reference.keys[row][i], 1e-5);
    }
    for (int at = ROWS - 1; at < FIRST_QUEUE_ROW; at++) {
        assert_int_equal(labels[at], f->reference.queue_labels[at]);
        assert_memory_equal(queue[at], f->queue_before[at], sizeof queue[at]);
    }
}

static void test_class_counts(void **state)
{
    struct fixture *f = *state;
    int expected[CLASSES] = {0}, seen[CLASSES];
    for (int row = 0; row < ROWS; row++)
        expected[f->reference.labels[row]]++;
    download(seen, f->model.seen.base, sizeof seen);
    assert_memory_equal(seen, expected, sizeof seen);
}

/* The slope of the loss along a direction in the space of parameters. */
static double slope(struct fixture *f, const double *direction)
{
    const double distance = 1e-6;
    double loss[2];
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < f->count; i++)
            f->reference.parameters[i] =
                (double)f->before[i] + (side == 0 ? -distance : distance) * direction[i];
        loss[side] = reference_forward(&f->reference);
    }
    for (int i = 0; i < f->count; i++)
        f->reference.parameters[i] = (double)f->before[i];
    return (loss[1] - loss[0]) / (2.0 * distance);
}

/* Compares along a direction of +1 and -1 on `picks` random parameters of [first, last). */
static void check_slope(struct fixture *f, struct random *random, int first, int last, int picks)
{
    double *direction = host_alloc((size_t)f->count, sizeof *direction);
    double expected = 0.0, scale = 0.0;
    for (int pick = 0; pick < picks; pick++) {
        uint64_t draw = random_next(random);
        int i = first + (int)(draw % (uint64_t)(last - first));
        direction[i] = (draw >> 40) % 2 == 0 ? 1.0 : -1.0;
    }
    for (int i = first; i < last; i++) {
        expected += (double)f->gradients[i] * direction[i];
        scale += fabs((double)f->gradients[i] * direction[i]);
    }
    assert_near(slope(f, direction), expected, 2e-4 * scale + 1e-6);
    free(direction);
}

static void test_gradients(void **state)
{
    struct fixture *f = *state;
    struct random random = {21};
    int first = 0;
    const int tensors[] = {64 * 128, 128, 128, 128, 128 * 96, 96, 96, 96,
                           96 * KEY_SIZE, KEY_SIZE, 96 * CLASSES, CLASSES};
    for (size_t t = 0; t < sizeof tensors / sizeof *tensors; t++) {
        for (int trial = 0; trial < 3; trial++) {
            check_slope(f, &random, first, first + tensors[t], 1);
            check_slope(f, &random, first, first + tensors[t], 12);
            check_slope(f, &random, first, first + tensors[t], 4 * tensors[t]);
        }
        first += tensors[t];
    }
    assert_int_equal(first, f->count);
}

/* The first step of Adam from its gradients: the moments are young, the rate has fallen to
 * what the step number says. */
static void test_adam(void **state)
{
    struct fixture *f = *state;
    double rate = 4e-3 * (1.0 - (double)STEP / STEPS) * sqrt(1.0 - 0.999) / (1.0 - 0.9);
    for (int i = 0; i < f->count; i++) {
        double gradient = (double)f->gradients[i];
        double m = 0.1 * gradient, v = 0.001 * gradient * gradient;
        assert_near((double)f->moments[i], m, 1e-6 * fabs(m) + 1e-30);
        assert_near((double)f->moments[f->count + i], v, 1e-4 * v + 1e-30);
        double expected = (double)f->before[i] - rate * m / (sqrt(v) + 1e-8);
        assert_near((double)f->after[i], expected, 1e-6);
    }
}

/* One sample at a time, tried as each of the digits. */
static void test_evaluation(void **state)
{
    struct fixture *f = *state;
    struct reference reference = f->reference;
    float mean[RUNNING_FLOATS], variance[RUNNING_FLOATS];
    memcpy(mean, f->running.mean1, sizeof f->running.mean1);
    memcpy(mean + 128, f->running.mean2, sizeof f->running.mean2);
    memcpy(variance, f->running.variance1, sizeof f->running.variance1);
    memcpy(variance + 128, f->running.variance2, sizeof f->running.variance2);
    CU(MemcpyHtoD, f->model.parameters.base, f->before, f->model.parameters.bytes);

    struct samples one = f->samples;
    one.count = reference.rows = 1;
    for (int row = 0; row < ROWS; row++) {
        one.pixels = f->samples.pixels + row * PIXELS;
        reference.pixels = one.pixels;
        for (int label = 0; label < CLASSES; label++) {
            one.labels = &label;
            reference.labels = &label;
            assert_int_equal(model_count_correct(&f->model, &one),
                             reference_count_correct(&reference, mean, variance));
        }
    }
    CU(MemcpyHtoD, f->model.parameters.base, f->after, f->model.parameters.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_philox),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_running_statistics),
        cmocka_unit_test(test_generator_moves_past_what_was_drawn),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_class_counts),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_adam),
        cmocka_unit_test(test_evaluation),
    };
    return cmocka_run_group_tests_name("digits step", tests, set_up, tear_down);
}
