/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"
#include "host.h"
#include "options.h"
#include "probe.h"
#include "state.h"
#include "train.h"

static float train(struct model *model, const struct samples *samples,
                   const struct options *options)
{
    struct trainer trainer;
    trainer_open(&trainer, model, samples, options->batch, options->steps, options->checkpoint,
                 options->seed);
    trainer.contrast = options->contrast;
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
    if (options.pool)
        device_use_pool();
    struct model model;
    model_create(&model, ptx, options.blocks, options.seed);
    float loss = train(&model, &data.train, &options);
    if (options.contrast)
        loss = probe_train(&model, &data.train, options.probe);
    int correct = model_count_correct(&model, &data.test);

    printf("steps %d\n", options.steps);
    printf("loss %a %.6f\n", (double)loss, (double)loss);
    printf("test_accuracy %.4f %d/%d\n", (double)correct / data.test.count, correct,
           data.test.count);
    state_print(&model, options.dump);

    model_destroy(&model);
    free(ptx);
    data_release(&data);
    file_close(stdout, "standard output");
    return 0;
}
