/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/damage.h"

#include "tools/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SAID = 4 };

void rp_damage_note(struct rp_damage *damage, const char *message)
{
    if (damage->count++ < MOST_SAID)
        rp_say("%s", message);
    if (!damage->first)
        damage->first = strdup(message);
}

static void add_more(struct rp_damage *damage)
{
    char *both;

    if (asprintf(&both, "%s (and %" PRIu64 " more)", damage->first, damage->count - 1) < 0)
        return;
    free(damage->first);
    damage->first = both;
}

const char *rp_damage_sum_up(struct rp_damage *damage, const char *path)
{
    if (damage->count == 0)
        return NULL;
    if (damage->count > MOST_SAID)
        rp_say("%s: is damaged in %" PRIu64 " more places", path, damage->count - MOST_SAID);
    if (damage->first && damage->count > 1)
        add_more(damage);
    return damage->first ? damage->first : "damaged";
}

void rp_damage_release(struct rp_damage *damage)
{
    free(damage->first);
    *damage = (struct rp_damage){0};
}
