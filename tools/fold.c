/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fold.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What makes two of them the same. */
static json_t *essence_of(json_t *hazard)
{
    static const char *const own[] = {"pid", "rank", "order", "writer_stream"};
    json_t *essence = json_copy(hazard);

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        json_object_del(essence, own[i]);
    if (json_object_get(hazard, "rank"))
        json_object_set_new(essence, "rank", json_true()); /* and has one */
    return essence;
}

/* Adds the hazard's rank to the one that it is the same as. */
static void join(json_t *one, const json_t *hazard)
{
    if (!json_object_get(one, "ranks"))
        json_object_set_new(one, "ranks", json_pack("[O]", json_object_get(one, "rank")));
    json_array_append(json_object_get(one, "ranks"), json_object_get(hazard, "rank"));
    json_object_del(one, "rank");
    json_object_del(one, "pid");
    if (!json_equal(json_object_get(one, "writer_stream"),
                    json_object_get(hazard, "writer_stream")))
        json_object_del(one, "writer_stream");
}

static json_t *find_same(json_t *folded, const json_t *essences, const json_t *essence)
{
    for (size_t i = 0; i < json_array_size(essences); i++)
        if (json_equal(json_array_get(essences, i), essence))
            return json_array_get(folded, i);
    return NULL;
}

json_t *rp_hazards_fold(const json_t *hazards)
{
    json_t *folded = json_array(), *essences = json_array();

    for (size_t i = 0; folded && essences && i < json_array_size(hazards); i++) {
        json_t *hazard = json_array_get(hazards, i);
        json_t *essence = essence_of(hazard);
        bool ranked = json_object_get(hazard, "rank") != NULL;
        json_t *same = ranked ? find_same(folded, essences, essence) : NULL;
        if (same) {
            join(same, hazard);
        } else {
            json_array_append_new(folded, json_copy(hazard));
            json_array_append(essences, essence);
        }
        json_decref(essence);
    }
    if (!essences) {
        json_decref(folded);
        return NULL;
    }
    json_decref(essences);
    return folded;
}

/* How many of them follow the one at `at`, each greater by one. */
static size_t run_at(const json_t *ranks, size_t at)
{
    json_int_t first = json_integer_value(json_array_get(ranks, at));
    size_t more = 0;

    while (at + more + 1 < json_array_size(ranks) &&
           json_integer_value(json_array_get(ranks, at + more + 1)) == first + (json_int_t)more + 1)
        more++;
    return more;
}

const char *rp_ranks_words(const json_t *ranks, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t at = 0; at < json_array_size(ranks); at++) {
        long long first = json_integer_value(json_array_get(ranks, at));
        size_t more = run_at(ranks, at);
        const char *comma = at ? ", " : "";
        int wrote = more > 1 ? snprintf(text + used, size - used, "%s%lld to %lld", comma, first,
                                        first + (long long)more)
                             : snprintf(text + used, size - used, "%s%lld", comma, first);
        if (wrote < 0 || (size_t)wrote >= size - used) {
            snprintf(text + size - 4, 4, "...");
            return text;
        }
        used += (size_t)wrote;
        at += more > 1 ? more : 0;
    }
    return text;
}
