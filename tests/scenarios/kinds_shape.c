/* SPDX-License-Identifier: Apache-2.0 */
/* Replays of other shapes than their forwards. */
#include "tests/scenarios/kinds.h"

typedef unsigned long long bytes_t;

/* Streams of two threads: their own, each its default one, and one in each context. */
static const char *const pairs[][2] = {{" @1", " @2"}, {" @8", " @8"}, {" @1", " @5"}};

/* ---- H13: how often, how far, inside what -------------------------------------------------- */

static void three_updates(struct scene *scene, int instance)
{
    if (scene->control) {
        line(scene, "use S X%d Y%d", instance, instance);
        line(scene, "use X%d X%d Y%d:0:4", instance, instance, instance);
        line(scene, "use S Y%d Y%d", instance, instance);
        return;
    }
    line(scene, "evolve S%s X%d Y%d", scene->via, instance, instance);
    line(scene, "bump N k=1");
    line(scene, "ema T X%d", instance);
}

static void inner_updates(struct scene *scene, int instance)
{
    line(scene, "add T X%d", instance);
    line(scene, "forward t x as i%d_%d", scene->step, instance);
    if (!scene->control)
        line(scene, "bump N k=1");
    line(scene, scene->control ? "use S X%d Y%d" : "evolve S X%d Y%d", instance, instance);
    line(scene, "end");
}

/* The outer replay runs the inner forward again; that run is then replayed. */
static void replay_inner(struct scene *scene, int instance)
{
    line(scene, "again f%d_%d 0 %d", scene->step, instance, scene->control ? 3 : 4);
    line(scene, "replay t x\nagain i%d_%d 0 %d\nend", scene->step, instance, !scene->control);
}

/* Two segments on two threads, at the same time: forwards, and replays with what they rewind. */
static void replay_one(struct scene *scene, int i)
{
    line(scene, "replay %c x &%d+\nagain f%d_%d 0 1 &%d+\nend", 's' + i, i + 1, scene->step, i,
         i + 1);
}

static void forward_one(struct scene *scene, int i)
{
    const char *stream = pairs[scene->buffers][i];
    line(scene, "forward %c x as f%d_%d &%d+", 's' + i, scene->step, i, i + 1);
    line(scene, "%s S%d X%d Y%d%s &%d+", scene->control ? "use" : "evolve", i, i, i, stream, i + 1);
    line(scene, "use X%d X%d Y%d:0:4%s &%d+\nend", i, i, i, stream, i + 1);
}

static void step_side_by_side(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "begin\nfill X0 k=%u\nfill X1 k=%u\nsync", value(scene), value(scene));
    forward_one(scene, 0);
    forward_one(scene, 1);
    line(scene, "sync\ndrop Y0\ndrop Y1\nsync");
    replay_one(scene, 0);
    replay_one(scene, 1);
    line(scene, "sync\ngrad G Y0\ngrad G Y1\ncheck\nfinish");
}

static void make_side_by_side(struct scene *scene)
{
    line(scene, "segment t lifo");
    for (int i = 0; i < 2; i++)
        line(scene, "buffer S%d %llu state%s", i, (bytes_t)scene->bytes,
             i && scene->buffers == 2 ? " second" : "");
}

static void make_updates(struct scene *scene, int unused)
{
    (void)unused;
    bytes_t bytes = scene->bytes;
    if (scene->whole_step) {
        make_side_by_side(scene);
        return;
    }
    if (scene->variant == 3)
        line(scene, "segment t lifo");
    line(scene, "buffer S %llu state\nbuffer T %llu state\nbuffer N 8 state", bytes, bytes);
    line(scene, "fill S k=%u", value(scene));
}

static void choose_side_by_side(struct scene *scene)
{
    scene->whole_step = step_side_by_side;
    scene->alive = 2;
    scene->buffers = (int)below(scene, 3);
    scene->order = SCENE_LIFO;
    scene->pinned = scene->second = false;
}

static void choose_shape(struct scene *scene)
{
    scene->variant = (int)below(scene, 5);
    scene->forward = three_updates;
    if (scene->alive > 1 && (scene->variant == 1 || scene->variant == 2))
        scene->order = SCENE_KEY; /* by order alone nobody could tell whose the second one is */
    if (scene->variant == 0) {
        scene->stop_after = scene->control ? 3 : 1 + (int)below(scene, 2);
    } else if (scene->variant == 1) {
        scene->replays = 2 + (int)below(scene, 2);
        if (scene->control)
            word(scene, "needs=own-output");
    } else if (scene->variant == 2) {
        scene->fails_first = true;
    } else if (scene->variant == 4) {
        choose_side_by_side(scene);
    } else {
        scene->forward = inner_updates;
        scene->replay = replay_inner;
        scene->alive = 1;
        scene->control = false; /* the outer update is a hazard anyway */
    }
}

/* ---- H14: first runs that create or fill --------------------------------------------------- */

static void create_lazily(struct scene *scene, int instance)
{
    bytes_t bytes = scene->bytes;
    bool first = scene->step == 0 && instance == 0;
    if (first && scene->variant == 0)
        line(scene, "buffer S %llu state", bytes);
    if (scene->variant == 2 || (first && scene->variant == 1))
        line(scene, "put S W");
    scene->skip = scene->variant == 2 || first;
    if (scene->control)
        line(scene, "use S X%d Y%d", instance, instance);
    else
        line(scene, "evolve S X%d Y%d", instance, instance);
}

/* What the forward has made for itself is gone when its replay wants to find it ready. */
static void overwrite_ready(struct scene *scene, int unused)
{
    (void)unused;
    beside(scene, "fill S k=%u", value(scene));
}

static void make_lazy(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "buffer W %llu\nfill W k=%u", (bytes_t)scene->bytes, value(scene));
    if (scene->variant != 0)
        line(scene, "buffer S %llu state", (bytes_t)scene->bytes);
}

static void choose_lazy(struct scene *scene)
{
    scene->forward = create_lazily;
    scene->variant = (int)below(scene, scene->control ? 2 : 3);
    scene->alive = 1;
    word(scene, scene->control ? "needs=first-run" : "needs=absence");
    if (scene->variant != 2)
        return;
    scene->between = overwrite_ready;
    /* Discovery expects it of a first run only: after that, these are activations. */
    word(scene, chance(scene, 50) ? "declared" : "discovered report says=foreign-read");
    scene->pinned = false;
}

const struct kind shape_kinds[] = {
    {.name = "H13", .choose = choose_shape, .setup = make_updates},
    {.name = "H14", .choose = choose_lazy, .setup = make_lazy},
    {.name = NULL},
};
