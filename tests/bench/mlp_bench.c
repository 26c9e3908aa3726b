/* SPDX-License-Identifier: Apache-2.0 */
/* Training steps a second of a perceptron 784-128-10, batch 64, Adam, on one core and on two:
 * the kernels are those of tests/kernels, launched as plainly as a beginner would. */
#include "cuda/soft/simt.h"
#include "tests/bench/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 64, INPUTS = 784, HIDDEN = 128, CLASSES = 10, STEPS = 60 };
#define PROTOTYPE_RATE 82.0 /* of the first interpreter, on two cores; gcc -O2 makes 146 on one */

struct network {
    struct simt_pool *pool;
    const struct simt_module *products, *adam, *rest;
    float *x, *w1, *b1, *h, *w2, *logits, *gradient, *loss, *hidden_gradient;
    struct parameter {
        float *value, *gradient, *m, *v;
        int count;
    } parameters[2];
    int *label;
};

static bool anywhere(void *ctx, uint64_t address, uint64_t bytes, uint64_t *lo, uint64_t *hi)
{
    (void)ctx;
    *lo = 4096;
    *hi = UINT64_C(1) << 47;
    return address >= *lo && address + bytes <= *hi;
}

static uint64_t no_storage(void *ctx, const struct rp_ptx_var *var)
{
    (void)ctx, (void)var;
    return 0;
}

static const struct simt_module *load(const char *folder, const char *name)
{
    char path[512], message[256] = "cannot be read";
    static char text[1 << 20];
    struct rp_ptx_module *ptx;
    struct simt_module *module;
    snprintf(path, sizeof path, "%s/%s.ptx", folder, name);
    FILE *file = fopen(path, "r");
    const size_t length = file ? fread(text, 1, sizeof text, file) : 0;
    if (!length || rp_ptx_parse(text, length, &ptx, message, sizeof message) != RP_OK ||
        simt_module_create(ptx, no_storage, NULL, &module, message, sizeof message) != RP_OK) {
        fprintf(stderr, "%s: %s\n", path, message);
        exit(1);
    }
    fclose(file);
    return module;
}

static void launch(const struct network *net, const struct simt_module *module, const char *name,
                   uint32_t width, uint32_t height, uint32_t block_width, uint32_t block_height,
                   const void *params)
{
    struct simt_fault fault;
    const struct simt_launch launch = {.kernel = simt_module_kernel(module, name),
                                       .grid = {(width + block_width - 1) / block_width,
                                                (height + block_height - 1) / block_height, 1},
                                       .block = {block_width, block_height, 1},
                                       .params = params,
                                       .bounds = anywhere};
    if (simt_run(net->pool, &launch, &fault) != RP_OK || fault.kind != SIMT_FAULT_NONE) {
        fprintf(stderr, "%s: fault %d at line %u\n", name, (int)fault.kind, fault.line);
        exit(1);
    }
}

/* Columns are n: 32 threads go along them. */
static void product(const struct network *net, const struct simt_module *module, const char *name,
                    const float *a, const float *b, float *c, int m, int n, int k)
{
    struct {
        const float *a, *b;
        float *c;
        int m, n, k;
    } params = {a, b, c, m, n, k};
    launch(net, module, name, (uint32_t)n, (uint32_t)m, 32, 8, &params);
}

static void forward(const struct network *net)
{
    struct {
        const float *a, *b, *bias;
        float *c;
        int m, n, k;
    } first = {net->x, net->w1, net->b1, net->h, BATCH, HIDDEN, INPUTS};
    launch(net, net->products, "matmul_bias_relu", HIDDEN, BATCH, 32, 8, &first);
    product(net, net->products, "matmul_naive", net->h, net->w2, net->logits, BATCH, CLASSES,
            HIDDEN);
    struct {
        const float *logits;
        const int *label;
        float *gradient, *loss;
        int rows, classes;
    } loss = {net->logits, net->label, net->gradient, net->loss, BATCH, CLASSES};
    launch(net, net->rest, "cross_entropy", BATCH, 1, 32, 1, &loss);
}

static void backward(const struct network *net)
{
    product(net, net->products, "matmul_tn", net->h, net->gradient, net->parameters[1].gradient,
            HIDDEN, CLASSES, BATCH);
    product(net, net->rest, "matmul_nt", net->gradient, net->w2, net->hidden_gradient, BATCH,
            HIDDEN, CLASSES);
    struct {
        const float *y;
        float *gradient;
        int n;
    } relu = {net->h, net->hidden_gradient, BATCH * HIDDEN};
    launch(net, net->rest, "relu_backward", BATCH * HIDDEN, 1, 128, 1, &relu);
    product(net, net->products, "matmul_tn", net->x, net->hidden_gradient,
            net->parameters[0].gradient, INPUTS, HIDDEN, BATCH);
}

static void update(const struct network *net, int step)
{
    for (int i = 0; i < 2; i++) {
        const struct parameter *p = &net->parameters[i];
        struct {
            float *p;
            const float *g;
            float *m, *v;
            int n;
            float lr, b1, b2, eps, wd;
            int t;
        } adam = {p->value, p->gradient, p->m,  p->v, p->count, 1e-3f,
                  0.9f,     0.999f,      1e-8f, 0.0f, step};
        launch(net, net->adam, "adam", (uint32_t)p->count, 1, 256, 1, &adam);
    }
}

static float *floats(int count, float scale, uint32_t seed)
{
    float *at = aligned_alloc(256, ((size_t)count * sizeof *at + 255) & ~(size_t)255);
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        at[i] = (float)(int32_t)seed * 0x1p-31f * scale;
    }
    return at;
}

static void create(struct network *net, unsigned workers, const char *folder)
{
    if (simt_pool_create(workers, &net->pool) != RP_OK)
        exit(1);
    net->products = load(folder, "02_matmul_naive");
    net->adam = load(folder, "08_adam");
    net->rest = load(folder, "17_mlp");
    net->x = floats(BATCH * INPUTS, 1, 1);
    net->w1 = floats(INPUTS * HIDDEN, 0.05f, 2);
    net->b1 = floats(HIDDEN, 0, 3);
    net->h = floats(BATCH * HIDDEN, 0, 4);
    net->w2 = floats(HIDDEN * CLASSES, 0.1f, 5);
    net->logits = floats(BATCH * CLASSES, 0, 6);
    net->gradient = floats(BATCH * CLASSES, 0, 7);
    net->loss = floats(BATCH, 0, 8);
    net->hidden_gradient = floats(BATCH * HIDDEN, 0, 9);
    net->label = calloc(BATCH, sizeof *net->label);
    for (int i = 0; i < BATCH; i++)
        net->label[i] = i * 7 % CLASSES;
    float *const values[] = {net->w1, net->w2};
    const int counts[] = {INPUTS * HIDDEN, HIDDEN * CLASSES};
    for (int i = 0; i < 2; i++)
        net->parameters[i] =
            (struct parameter){values[i], floats(counts[i], 0, 0), floats(counts[i], 0, 0),
                               floats(counts[i], 0, 0), counts[i]};
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double mean_loss(const struct network *net)
{
    double sum = 0;
    for (int i = 0; i < BATCH; i++)
        sum += (double)net->loss[i];
    return sum / BATCH;
}

int main(int argc, char **argv)
{
    for (unsigned workers = 1; workers <= 2; workers++) {
        struct network net = {0};
        double first = 0, start = 0;
        create(&net, workers, argc > 1 ? argv[1] : "tests/kernels");
        for (int step = 1; step <= STEPS; step++) {
            forward(&net);
            backward(&net);
            update(&net, step);
            if (step == 1) {
                first = mean_loss(&net);
                start = seconds();
            }
        }
        const double rate = (STEPS - 1) / (seconds() - start);
        printf("%u workers: %6.1f steps/s, loss %.4f -> %.4f\n", workers, rate, first,
               mean_loss(&net));
        if (workers == 2)
            figure_write(&(struct figure){.name = "simt.perceptron", .unit = "steps/s",
                                          .goal = ">= 100", .value = rate, .low = rate,
                                          .high = rate, .runs = 1,
                                          .published = PROTOTYPE_RATE});
        if (!(mean_loss(&net) < 0.5 * first))
            return 1;
        simt_pool_destroy(net.pool);
    }
    return 0;
}
