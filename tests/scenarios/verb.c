/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/scenarios/verb.h"

#include <stddef.h>
#include <string.h>

static const struct verb verbs[] = {
    {.name = "fill", .effects = "w--", .exact = true},
    {.name = "put", .effects = "wr-", .exact = true},
    {.name = "slow", .effects = "w--", .exact = true},
    {.name = "evolve", .effects = "mrw", .exact = true},
    {.name = "ema", .effects = "mr-", .exact = true},
    {.name = "add", .effects = "mr-", .exact = true},
    {.name = "highest", .effects = "mr-", .exact = true},
    {.name = "decay", .effects = "mr-", .exact = true},
    {.name = "bump", .effects = "m--", .exact = true},
    {.name = "atomic", .effects = "mr-", .exact = true},
    {.name = "use", .effects = "rrw", .exact = true, .counted = 2},
    {.name = "scale", .effects = "rrw", .exact = true, .counted = 2},
    {.name = "grad", .effects = "mr-", .exact = true},
    {.name = "draw", .effects = "r-w", .exact = true, .counted = 2},
    {.name = "seeded", .effects = "w--", .exact = true},
    {.name = "drawnext", .effects = "m-w", .exact = true, .counted = 2, .single = true},
    {.name = "count", .effects = "ur-", .counted = 1},
    {.name = "patch", .effects = "ur-"},
    {.name = "scatter", .effects = "urr", .counted = 1},
    {.name = "gather", .effects = "rrw", .counted = 2},
    {.name = "roll", .effects = "wr-", .exact = true, .rows = true},
    {.name = "reduce", .effects = "r-w", .exact = true, .counted = 2},
    {.name = "readrows", .effects = "rrw", .exact = true, .counted = 2},
    {.name = "column", .effects = "ur-", .counted = 1},
    {.name = "racy", .effects = "-rw", .exact = true, .counted = 2},
    {.name = "set", .kind = VERB_SET, .effects = "w--", .exact = true},
    {.name = "copy", .kind = VERB_COPY, .effects = "wr-", .exact = true},
    {.name = "upload", .kind = VERB_UPLOAD, .effects = "w--", .exact = true},
    {.name = "drop", .kind = VERB_CONTROL, .effects = "w--", .exact = true},
};

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

int verb_views(const struct verb *verb)
{
    int views = 0;
    for (const char *at = verb->effects; *at; at++)
        views += *at != '-';
    return views;
}
