/* SPDX-License-Identifier: Apache-2.0 */
/* The digits network on several ranks: each trains on batches of its own, and the gradients are
 * averaged over MPI before the optimizer. After any step all ranks have the same parameters;
 * their running statistics, queues and generators are their own. Options are those of digits. */
#include "file.h"
#include "options.h"
#include "state.h"
#include "train.h"

#include <mpi.h>
#include <stdlib.h>

struct ranks {
    int rank, count;
    float *gradients; /* page-locked */
};

static void share_gradients(struct trainer *trainer, void *ctx)
{
    const struct model *model = trainer->model;
    struct ranks *ranks = ctx;
    size_t bytes = (size_t)model->parameter_count * sizeof(float);

    CU(MemcpyDtoHAsync, ranks->gradients, model->gradients.base, bytes, model->ops.stream);
    CU(StreamSynchronize, model->ops.stream);
    MPI_Allreduce(MPI_IN_PLACE, ranks->gradients, model->parameter_count, MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
    for (int i = 0; i < model->parameter_count; i++)
        ranks->gradients[i] /= (float)ranks->count;
    CU(MemcpyHtoDAsync, model->gradients.base, ranks->gradients, bytes, model->ops.stream);
}

static float train(struct model *model, const struct samples *samples,
                   const struct options *options, struct ranks *ranks)
{
    struct trainer trainer;
    float loss = 0.0f;

    /* The seed of the batches alone differs by rank. */
    trainer_open(&trainer, model, samples, options->batch, options->steps, options->checkpoint,
                 options->seed + 1000u * (unsigned)(ranks->rank + 1));
    trainer.share = share_gradients;
    trainer.share_ctx = ranks;
    CU(MemAllocHost, (void **)&ranks->gradients,
       (size_t)model->parameter_count * sizeof(float));
    while (trainer.step < options->steps)
        loss = trainer_step(&trainer);
    CU(MemFreeHost, ranks->gradients);
    trainer_close(&trainer);
    return loss;
}

int main(int argc, char **argv)
{
    struct ranks ranks;
    struct options options;
    struct data data;
    struct model model;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
    options_parse(&options, argc, argv);
    data_load(&data, options.data);
    char *beside = file_beside_program("kernels.ptx");
    char *ptx = file_read_text(options.kernels != NULL ? options.kernels : beside);
    free(beside);

    driver_open();
    model_create(&model, ptx, options.blocks, options.seed);
    float loss = train(&model, &data.train, &options, &ranks);
    printf("rank %d\nloss %a\n", ranks.rank, (double)loss);
    state_print(&model, NULL);

    model_destroy(&model);
    free(ptx);
    data_release(&data);
    MPI_Finalize();
    return 0;
}
