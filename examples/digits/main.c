/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"
#include "host.h"
#include "options.h"
#include "train.h"

#include <inttypes.h>

static float train(struct model *model, const struct samples *samples,
                   const struct options *options)
{
    struct trainer trainer;
    trainer_open(&trainer, model, samples, options->batch, options->steps, options->checkpoint,
                 options->seed);
    FILE *losses = options->losses != NULL ? file_open(options->losses, "w") : NULL;
    float loss = 0.0f;
    while (trainer.step < options->steps) {
        loss = trainer_step(&trainer);
        if (losses != NULL)
            fprintf(losses, "%a\n", (double)loss);
    }
    if (losses != NULL)
        file_close(losses, options->losses);
    trainer_close(&trainer);
    return loss;
}

/* FNV-1a, 64 bits. */
static uint64_t digest(const unsigned char *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

static void print_state(const struct model *model, const char *dump_path)
{
    struct state_pool state[STATE_POOLS];
    model_state(model, state);
    FILE *dump = dump_path != NULL ? file_open(dump_path, "wb") : NULL;
    for (int i = 0; i < STATE_POOLS; i++) {
        size_t size = state[i].pool->bytes;
        unsigned char *bytes = host_alloc(size, 1);
        CU(MemcpyDtoH, bytes, state[i].pool->base, size);
        printf("%s %016" PRIx64 "\n", state[i].name, digest(bytes, size));
        if (dump != NULL)
            fwrite(bytes, 1, size, dump);
        free(bytes);
    }
    if (dump != NULL)
        file_close(dump, dump_path);
}

int main(int argc, char **argv)
{
    struct options options;
    options_parse(&options, argc, argv);
    struct data data;
    data_load(&data, options.data);
    if (data.train.count < options.batch) {
        fprintf(stderr, "digits: %d samples don't make a batch of %d\n", data.train.count,
                options.batch);
        return 2;
    }
    char *beside = file_beside_program("kernels.ptx");
    char *ptx = file_read_text(options.kernels != NULL ? options.kernels : beside);
    free(beside);

    driver_open();
    struct model model;
    model_create(&model, ptx, options.seed);
    float loss = train(&model, &data.train, &options);
    int correct = model_count_correct(&model, &data.test);

    printf("steps %d\n", options.steps);
    printf("loss %a %.6f\n", (double)loss, (double)loss);
    printf("test_accuracy %.4f %d/%d\n", (double)correct / data.test.count, correct,
           data.test.count);
    print_state(&model, options.dump);

    model_destroy(&model);
    free(ptx);
    data_release(&data);
    file_close(stdout, "standard output");
    return 0;
}
