/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/rank.h"

#include <stdlib.h>
#include <string.h>

const char *rp_rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                            "SLURM_PROCID", "RANK"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *rank = secure_getenv(variables[i]);
        if (rank && *rank && strlen(rank) < 10 && strspn(rank, "0123456789") == strlen(rank))
            return rank;
    }
    return NULL;
}

bool rp_rank_among_others(void)
{
    /* Slurm tells a batch script how many tasks there will be, too: only a step's count. */
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                            "SLURM_STEP_NUM_TASKS", "WORLD_SIZE"};
    for (size_t i = 0; rp_rank() && i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *size = secure_getenv(variables[i]);
        if (size && strtoul(size, NULL, 10) > 1)
            return true;
    }
    return false;
}
