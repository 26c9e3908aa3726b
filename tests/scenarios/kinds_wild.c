/* SPDX-License-Identifier: Apache-2.0 */
/* Programs without a theme: several segments over shared state and generators, other work before,
 * between and after them, replays in any order. Comes only by its name. */
#include "tests/scenarios/kinds.h"

#include <string.h>

enum { WILD_STATES = 4, WILD_GENERATORS = 2, MOST_ALIVE = 6 };

typedef unsigned long long bytes_t;

static bytes_t sizes[WILD_STATES];

/* A view of a state that is as long as an input. */
static const char *view(struct scene *scene)
{
    static char text[48];
    static const char *const ways[] = {"", "", "", "/boxed"};
    unsigned state = below(scene, WILD_STATES);
    bytes_t room = sizes[state] - scene->bytes;
    bytes_t offset = room ? below(scene, (unsigned)(room / 4) + 1) * 4u : 0;
    snprintf(text, sizeof text, "S%u:%llu:%llu%s", state, offset, (bytes_t)scene->bytes,
             pick(scene, ways, 4));
    return text;
}

static void update(struct scene *scene, const char *from)
{
    static const char *const updates[] = {"ema", "add", "atomic", "decay", "highest"};
    line(scene, "%s %s %s", pick(scene, updates, 5), view(scene), from);
}

static void overwrite(struct scene *scene, const char *from)
{
    const char *to = view(scene);
    bool boxed = strchr(to, '/');
    switch (below(scene, 5)) {
    case 0: line(scene, "fill %s k=%u", to, value(scene)); break;
    case 1: line(scene, "put %s %s", to, from); break;
    case 2: line(scene, boxed ? "put %s %s" : "copy %s %s", to, from); break;
    case 3: line(scene, boxed ? "fill %s k=%u" : "set %s k=%u", to, below(scene, 256)); break;
    default: line(scene, boxed ? "fill %s k=%u" : "upload %s k=%u", to, value(scene)); break;
    }
}

static void forward_line(struct scene *scene, int instance, const char *input)
{
    switch (below(scene, 8)) {
    case 0: line(scene, "drawnext R%u Y%d k=%u", below(scene, WILD_GENERATORS), instance,
                 1 + below(scene, 99)); break;
    case 1: line(scene, "draw R%u Y%d", below(scene, WILD_GENERATORS), instance); break;
    case 2: line(scene, "bump R%u:4:4 k=%u", below(scene, WILD_GENERATORS), value(scene)); break;
    case 3: line(scene, "evolve %s %s Y%d", view(scene), input, instance); break;
    case 4:
        /* State that is written and not read looks like an output: it has to be declared. */
        if (scene->variant)
            overwrite(scene, input);
        else
            update(scene, input);
        break;
    case 5: line(scene, "use %s %s Y%d", view(scene), input, instance); break;
    default: update(scene, input); break;
    }
}

static void forward(struct scene *scene, int instance)
{
    char input[16];
    snprintf(input, sizeof input, "X%d", instance);
    line(scene, "forward %c k%d as f%d_%d", 'a' + instance % scene->buffers, instance, scene->step,
         instance);
    scene->lines = 0;
    line(scene, "use %s %s Y%d", view(scene), input, instance);
    for (unsigned more = 1 + below(scene, 4); more > 0; more--)
        forward_line(scene, instance, input);
    int lines = scene->lines;
    line(scene, "end");
    scene->lines = lines;
}

static void outside(struct scene *scene)
{
    switch (below(scene, 6)) {
    case 0: update(scene, "X0"); break;
    case 1: overwrite(scene, "X0"); break;
    case 2: line(scene, "bump R%u:4:4 k=1", below(scene, WILD_GENERATORS)); break;
    case 3: line(scene, "use %s X0 L", view(scene)); break;
    default: break;
    }
}

static void backward(struct scene *scene, const int *lines)
{
    int order[MOST_ALIVE], count = scene->alive;
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; i > 0; i--) {
        int j = (int)below(scene, (unsigned)i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    count -= count > 1 && chance(scene, 30);
    for (int i = 0; i < count; i++)
        line(scene, "drop Y%d", order[i]);
    for (int i = 0; i < count; i++) {
        line(scene, "replay %c k%d\nagain f%d_%d 0 %d\nend\ngrad G Y%d\ncheck",
             'a' + order[i] % scene->buffers, order[i], scene->step, order[i],
             lines[order[i]] - 1, order[i]);
        outside(scene);
    }
}

static void wild_step(struct scene *scene)
{
    int lines[MOST_ALIVE];
    line(scene, "begin");
    for (int i = 0; i < scene->alive; i++)
        line(scene, "fill X%d k=%u", i, value(scene));
    for (int i = 0; i < scene->alive; i++) {
        forward(scene, i);
        lines[i] = scene->lines;
        outside(scene);
    }
    backward(scene, lines);
    line(scene, "check\nfinish");
}

static void write_wild(struct scene *scene)
{
    for (int i = 0; i < scene->buffers; i++)
        line(scene, "segment %c key", 'a' + i);
    line(scene, "buffer G %llu\nbuffer L %llu", (bytes_t)scene->bytes, (bytes_t)scene->bytes);
    for (int i = 0; i < scene->alive; i++)
        line(scene, "buffer X%d %llu\nbuffer Y%d %llu", i, (bytes_t)scene->bytes, i,
             (bytes_t)scene->bytes);
    for (int i = 0; i < WILD_STATES; i++) {
        sizes[i] = scene->bytes + 4 * below(scene, (unsigned)scene->bytes / 2 + 1);
        line(scene, "buffer S%d %llu state\nfill S%d k=%u", i, sizes[i], i, value(scene));
    }
    for (int i = 0; i < WILD_GENERATORS; i++)
        line(scene, "buffer R%d 8 state\nfill R%d k=%u", i, i, value(scene));
    for (scene->step = 0; scene->step < scene->steps; scene->step++)
        wild_step(scene);
}

static void choose_wild(struct scene *scene)
{
    scene->control = false;
    scene->variant = chance(scene, 40);
    if (scene->variant)
        word(scene, "declared");
    scene->alive = 1 + (int)below(scene, MOST_ALIVE);
    scene->buffers = 1 + (int)below(scene, 3); /* segments */
    scene->bytes = 4 * (1 + below(scene, chance(scene, 10) ? 20000 : 500));
}

const struct kind wild_kind = {.name = "wild", .choose = choose_wild, .write = write_wild};
