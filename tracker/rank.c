/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/rank.h"

#include <stdlib.h>
#include <string.h>

const char *rp_rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                            "SLURM_PROCID", "RANK"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *rank = getenv(variables[i]);
        if (rank && *rank && strlen(rank) < 10 && strspn(rank, "0123456789") == strlen(rank))
            return rank;
    }
    return NULL;
}
