/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"
#include "options.h"
#include "train.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void fail_file(const char *path)
{
    fprintf(stderr, "digits: %s: %s\n", path, strerror(errno));
    exit(1);
}

static FILE *open_file(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (file == NULL)
        fail_file(path);
    return file;
}

/* A full disk must not pass for a run. */
static void close_file(FILE *file, const char *path)
{
    if (ferror(file) != 0 || fclose(file) != 0)
        fail_file(path);
}

/* The whole text with a zero byte behind it, as the driver wants it. */
static char *read_text(const char *path)
{
    FILE *file = open_file(path, "rb");
    if (fseek(file, 0, SEEK_END) != 0)
        fail_file(path);
    long size = ftell(file);
    if (size < 0)
        fail_file(path);
    rewind(file);
    char *text = memory_take((size_t)size + 1, 1);
    if (fread(text, 1, (size_t)size, file) != (size_t)size)
        fail_file(path);
    fclose(file);
    return text;
}

/* The PTX beside the program. */
static char *kernels_path(void)
{
    static const char name[] = "kernels.ptx";
    char path[4096 + sizeof name];
    ssize_t length = readlink("/proc/self/exe", path, 4096);
    if (length < 0)
        fail_file("/proc/self/exe");
    path[length] = '\0';
    char *end = strrchr(path, '/') + 1;
    memcpy(end, name, sizeof name);
    return strdup(path);
}

static float train(struct model *model, const struct samples *samples,
                   const struct options *options)
{
    struct trainer trainer;
    trainer_open(&trainer, model, samples, options->batch, options->steps, options->checkpoint,
                 options->seed);
    FILE *losses = options->losses != NULL ? open_file(options->losses, "w") : NULL;
    float loss = 0.0f;
    while (trainer.step < options->steps) {
        loss = trainer_step(&trainer);
        if (losses != NULL)
            fprintf(losses, "%a\n", (double)loss);
    }
    if (losses != NULL)
        close_file(losses, options->losses);
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
    FILE *dump = dump_path != NULL ? open_file(dump_path, "wb") : NULL;
    for (int i = 0; i < STATE_POOLS; i++) {
        size_t size = state[i].pool->bytes;
        unsigned char *bytes = memory_take(size, 1);
        CU(MemcpyDtoH, bytes, state[i].pool->base, size);
        printf("%s %016" PRIx64 "\n", state[i].name, digest(bytes, size));
        if (dump != NULL)
            fwrite(bytes, 1, size, dump);
        free(bytes);
    }
    if (dump != NULL)
        close_file(dump, dump_path);
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
    char *path = options.kernels != NULL ? strdup(options.kernels) : kernels_path();
    char *ptx = read_text(path);

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
    free(path);
    data_release(&data);
    close_file(stdout, "standard output");
    return 0;
}
