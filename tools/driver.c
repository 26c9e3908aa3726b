/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/driver.h"

#include "cuda/find_driver.h"
#include "tools/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct looking {
    struct rp_driver_choice *choice;
    char soft[PATH_MAX]; /* never taken for a real driver, whatever path leads to it */
    char reject[PATH_MAX + 64];
    bool names_soft; /* a candidate was the software device */
};

static bool consider(void *ctx, const char *path, enum rp_driver_verdict verdict)
{
    struct looking *looking = ctx;
    char real[PATH_MAX];

    if (verdict == RP_DRIVER_USABLE && realpath(path, real) && strcmp(real, looking->soft) == 0) {
        snprintf(looking->reject, sizeof(looking->reject), "%s is the software device", path);
        looking->names_soft = true;
        return false;
    }
    if (verdict == RP_DRIVER_USABLE) {
        snprintf(looking->choice->path, sizeof(looking->choice->path), "%s", path);
        return true;
    }
    snprintf(looking->reject, sizeof(looking->reject), "%s is %s", path,
             rp_driver_verdict_text(verdict));
    return false;
}

static bool find_real(struct looking *looking)
{
    struct rp_driver_search search;
    char layer[PATH_MAX], soft[PATH_MAX];

    if (rp_place_of(RP_PART_SOFT_DEVICE, soft) && !realpath(soft, looking->soft))
        looking->soft[0] = 0;
    rp_driver_search_default(&search);
    if (rp_place_of(RP_PART_LAYER, layer))
        search.itself = layer;
    return rp_driver_find(&search, consider, looking);
}

/* Whoever names a driver wants that one, and no other in its place. */
static bool is_named(void)
{
    struct rp_driver_search search;
    rp_driver_search_default(&search);
    return search.chosen && *search.chosen;
}

bool rp_driver_choose(const char *device, struct rp_driver_choice *choice, char *message,
                      size_t size)
{
    struct looking looking = {.choice = choice};
    bool real_wanted = strcmp(device, "soft") != 0, soft_wanted = strcmp(device, "cuda") != 0;

    *choice = (struct rp_driver_choice){0};
    if (real_wanted && find_real(&looking))
        return true;
    if (real_wanted && is_named() && !looking.names_soft) {
        snprintf(message, size, "REPRISE_DRIVER names no driver: %s", looking.reject);
        return false;
    }
    if (soft_wanted && rp_place_of(RP_PART_SOFT_DEVICE, choice->path)) {
        choice->soft = true;
        return true;
    }
    if (soft_wanted)
        snprintf(message, size, "no %s: %s is missing",
                 real_wanted ? "driver and no software device" : "software device",
                 choice->path);
    else
        snprintf(message, size, "no CUDA driver found%s%s; --device soft needs none",
                 looking.reject[0] ? ": " : "", looking.reject);
    return false;
}
