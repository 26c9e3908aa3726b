/* SPDX-License-Identifier: Apache-2.0 */
#include "net.h"

#include "host.h"

#define RATE 0.02f
#define KEEP 0.75f

enum { THREADS = 128, MOST_CHUNKS = 1024, CHUNK_ROWS = 64 };

static size_t bytes_of(int count)
{
    return (size_t)count * sizeof(float);
}

static CUdeviceptr vector(int count)
{
    return device_alloc(bytes_of(count));
}

static void launch(const struct net *net, CUfunction kernel, int blocks, int threads,
                   void **arguments)
{
    CU(LaunchKernel, kernel, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, 0, net->stream,
       arguments, NULL);
}

#define LAUNCH(kernel, blocks, threads, ...) \
    launch(net, net->kernel, blocks, threads, (void *[]){__VA_ARGS__})
/* One thread an element. */
#define LAUNCH_EACH(kernel, n, ...) \
    LAUNCH(kernel, (n + THREADS - 1) / THREADS, THREADS, __VA_ARGS__)

static CUdeviceptr weight_of(const struct layer *layer, int part)
{
    return layer->weights + bytes_of(part * WIDTH * WIDTH);
}

/* ---- a net ------------------------------------------------------------------------- */

static void start_weights(const struct layer *layer, struct random *random)
{
    int count = layer->parts * WIDTH * WIDTH;
    float *weights = host_alloc((size_t)count, sizeof *weights);
    for (int i = 0; i < count; i++)
        weights[i] = random_between(random, -0.25f, 0.25f);
    CU(MemcpyHtoD, layer->weights, weights, bytes_of(count));
    free(weights);
}

static int chunks_of(int rows)
{
    int chunks = rows / CHUNK_ROWS;
    return chunks < 1 ? 1 : chunks > MOST_CHUNKS ? MOST_CHUNKS : chunks;
}

void net_create(struct net *net, const char *ptx, uint64_t seed)
{
    struct random random = {seed};
    CU(StreamCreate, &net->stream, CU_STREAM_DEFAULT);
    CU(ModuleLoadData, &net->module, ptx);
#define GET_KERNEL(name) CU(ModuleGetFunction, &net->name, net->module, #name);
    BANKS_KERNELS(GET_KERNEL)
#undef GET_KERNEL
    net->chunks = chunks_of(net->n / WIDTH);
    net->partial = vector(net->chunks * WIDTH * WIDTH);
    for (int k = 0; k < net->count; k++) {
        struct layer *layer = &net->layers[k];
        layer->weights = vector(layer->parts * WIDTH * WIDTH);
        layer->bank = vector(layer->bank_n);
        start_weights(layer, &random);
        net_draw(net, layer->bank, layer->bank_n, (unsigned)random_next(&random));
    }
}

void net_destroy(struct net *net)
{
    for (int k = 0; k < net->count; k++) {
        device_free(&net->layers[k].bank);
        device_free(&net->layers[k].weights);
    }
    device_free(&net->partial);
    CU(ModuleUnload, net->module);
    CU(StreamDestroy, net->stream);
}

void net_draw(const struct net *net, CUdeviceptr x, int n, unsigned seed)
{
    LAUNCH_EACH(draw, n, &x, &n, &seed);
}

void net_residual(const struct net *net, CUdeviceptr x, CUdeviceptr y, CUdeviceptr dy,
                  CUdeviceptr losses)
{
    int n = net->n;
    LAUNCH(residual, LOSSES, 256, &x, &y, &dy, &losses, &n);
}

/* ---- a layer ----------------------------------------------------------------------- */

static CUdeviceptr part_of(const struct net *net, const struct pass *pass, int part)
{
    return pass->parts + (size_t)part * bytes_of(net->n);
}

static void write_bank(const struct net *net, int k, CUdeviceptr a, unsigned step)
{
    const struct layer *layer = &net->layers[k];
    struct random random = {((uint64_t)step << 32) + (uint64_t)k};
    int share = layer->bank_n / WRITES; /* a stretch in each quarter: they never meet */
    int count = layer->bank_n / 64 < net->n ? layer->bank_n / 64 : net->n;
    float keep = KEEP;
    for (int i = 0; i < WRITES; i++) {
        int at = i * share + (int)(random_next(&random) % (uint64_t)(share - count + 1));
        CUdeviceptr bank = layer->bank;
        LAUNCH_EACH(bank_write, count, &a, &bank, &at, &count, &keep);
    }
}

void layer_forward(const struct net *net, int k, CUdeviceptr x, unsigned step, struct pass *pass)
{
    const struct layer *layer = &net->layers[k];
    int n = net->n, bank_n = layer->bank_n;
    CUdeviceptr bank = layer->bank;
    *pass = (struct pass){
        .input = x, .parts = device_alloc((size_t)layer->parts * bytes_of(n)), .output = vector(n)};
    for (int j = 0; j < layer->parts; j++) {
        CUdeviceptr weight = weight_of(layer, j), a = part_of(net, pass, j);
        int shift = bank_n / layer->parts * j;
        LAUNCH_EACH(part_forward, n, &x, &weight, &bank, &a, &n, &bank_n, &shift);
    }
    int parts = layer->parts;
    LAUNCH_EACH(add_parts, n, &x, &pass->parts, &pass->output, &n, &parts);
    write_bank(net, k, pass->parts, step);
}

static void step_weight(const struct net *net, CUdeviceptr x, CUdeviceptr dz, CUdeviceptr weight)
{
    int rows = net->n / WIDTH, chunks = net->chunks;
    int chunk_rows = (rows + chunks - 1) / chunks;
    float rate = RATE;
    CUdeviceptr partial = net->partial;
    LAUNCH(weight_backward, chunks, WIDTH * WIDTH, &x, &dz, &partial, &rows, &chunk_rows);
    LAUNCH(weight_step, 1, WIDTH * WIDTH, &partial, &weight, &chunks, &rate);
}

void layer_backward(const struct net *net, int k, const struct pass *pass, CUdeviceptr *gradient)
{
    const struct layer *layer = &net->layers[k];
    int n = net->n;
    CUdeviceptr dz = vector(n), dx = vector(n), dy = *gradient, x = pass->input;
    CU(MemcpyDtoDAsync, dx, dy, bytes_of(n), net->stream); /* what passes the parts by */
    for (int j = 0; j < layer->parts; j++) {
        CUdeviceptr weight = weight_of(layer, j), a = part_of(net, pass, j);
        LAUNCH_EACH(slope, n, &a, &dy, &dz, &n);
        LAUNCH_EACH(input_backward, n, &dz, &weight, &dx, &n);
        step_weight(net, x, dz, weight);
    }
    device_free(&dz);
    device_free(gradient);
    *gradient = dx;
}

void pass_drop(struct pass *pass)
{
    device_free(&pass->parts);
}

void pass_release(struct pass *pass)
{
    pass_drop(pass);
    device_free(&pass->output);
}
