/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/scenarios/generate.h"

#include "tests/scenarios/kinds.h"

#include <stdlib.h>
#include <string.h>

static const struct kind *const tables[] = {state_kinds, order_kinds, shape_kinds,
                                             report_kinds};

static const struct kind *find(const char *name, unsigned nth)
{
    unsigned seen = 0;
    if (name && strcmp(name, wild_kind.name) == 0)
        return &wild_kind;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (const struct kind *kind = tables[i]; kind->name; kind++)
            if (name ? strcmp(kind->name, name) == 0 : seen++ == nth)
                return kind;
    return NULL;
}

static unsigned count_kinds(void)
{
    unsigned count = 0;
    while (find(NULL, count))
        count++;
    return count;
}

/* Streams of the first context, of the second, and the calling thread's own. */
static const char *choose_stream(struct scene *scene)
{
    static const char *const streams[] = {" @1", " @2", " @3", " @1", " @2", " @3", " @4", " @5",
                                          " @6", " @8"};
    return pick(scene, streams, 10);
}

/* Defaults that a kind may change: a few steps of a few forwards, state reached directly. */
static void begin(struct scene *scene)
{
    scene->control = chance(scene, 20);
    scene->steps = 2 + (int)below(scene, 2);
    scene->alive = chance(scene, 50) ? 1 : 2 + (int)below(scene, 3);
    scene->order = (enum scene_order)below(scene, 3);
    scene->bytes = size(scene);
    scene->state_bytes = size(scene);
    scene->via = scene->stream = scene->lane = scene->thread = "";
    scene->replays = 1;
    if (chance(scene, 30)) {
        scene->stream = choose_stream(scene);
        scene->ordered = true;
    }
    scene->pinned = chance(scene, 10);
    scene->graphs = chance(scene, 12);
    if (chance(scene, 25))
        scene->lane = choose_stream(scene);
    if (chance(scene, 15))
        scene->thread = " &1";
    scene->second = chance(scene, 10);
}

/* What host code does to pinned memory nobody sees: discovery is refused there. */
static const struct { const char *in_text, *word; } told[] = {
    {"@", " order"}, {" graph", " graph"}, {" pinned", " declared"}, {"&", " threads"},
    {"@4", " contexts"}, {"@5", " contexts"}, {"@6", " contexts"},
};

static void write_head(FILE *out, const struct scene *scene, uint64_t seed, const char *kind,
                       const char *text)
{
    fprintf(out, "program p%llu %s%s%s", (unsigned long long)seed, kind,
            scene->control ? " control" : "", scene->words);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (strstr(text, told[i].in_text))
            fputs(told[i].word, out);
    fputc('\n', out);
}

int generate(FILE *out, uint64_t seed, const char *name)
{
    /* Kinds take turns, so that every run has them all. */
    const struct kind *kind = find(name, (unsigned)(seed % count_kinds()));
    if (!kind)
        return -1;
    char *text;
    size_t bytes;
    struct scene scene = {.random = seed, .out = open_memstream(&text, &bytes)};
    begin(&scene);
    kind->choose(&scene);
    if (strcmp(scene.via, "/global") == 0)
        stay_in_first(&scene); /* in the other context, the variable is another one */
    if (kind->write)
        kind->write(&scene);
    else
        scene_write(&scene, kind->setup);
    fclose(scene.out);
    write_head(out, &scene, seed, kind->name, text);
    fputs(text, out);
    free(text);
    return 0;
}
