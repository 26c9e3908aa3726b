/* SPDX-License-Identifier: Apache-2.0 */
/* State that the segment itself moves on. */
#include "tests/scenarios/kinds.h"

/* ---- H01: double-stepped dense accumulators ------------------------------------------------ */

static void accumulate(struct scene *scene, int instance)
{
    static const char *const updates[] = {"ema", "add", "atomic"};
    if (scene->control) { /* a maximum of the same numbers is the same maximum */
        if (scene->variant & 1)
            line(scene, "highest S0%s X%d", scene->via, instance);
        line(scene, "use S0%s X%d Y%d", scene->via, instance, instance);
        return;
    }
    if (scene->variant & 1)
        line(scene, "evolve S0%s X%d Y%d", scene->via, instance, instance);
    else
        line(scene, "use X%d X%d Y%d", instance, instance, instance);
    for (int i = scene->variant & 1; i < scene->buffers; i++)
        line(scene, "%s S%d%s X%d", updates[(scene->variant + i) % 3], i, scene->via, instance);
    line(scene, "bump N k=1");
}

static void make_accumulators(struct scene *scene, int unused)
{
    (void)unused;
    for (int i = 0; i < scene->buffers; i++)
        line(scene, "buffer S%d %llu state%s", i, (unsigned long long)scene->bytes,
             *scene->via == '/' && scene->via[1] == 'g' ? " pool" : "");
    line(scene, "buffer N 8 state");
}

static void choose_accumulators(struct scene *scene)
{
    static const char *const ways[] = {"", "", "/boxed", "/tabled", "/global"};
    scene->forward = accumulate;
    scene->variant = (int)below(scene, 6);
    scene->buffers = 1 + (int)below(scene, chance(scene, 10) ? 40 : 4);
    scene->via = pick(scene, ways, 5);
    if (scene->control && (scene->variant & 1))
        scene->alive = 1; /* else the maximum would be another's */
    if (scene->control && (scene->variant & 1))
        word(scene, "idempotent");
    if (scene->via[0] && scene->via[1] == 'g') {
        scene->buffers = 1;
        scene->bytes = scene->bytes > 65536 ? 65536 : scene->bytes;
    }
    if (scene->via[0] && scene->via[1] == 't')
        word(scene, "declared loose needs=table");
}

/* ---- H02: counters of generators ----------------------------------------------------------- */

static void draw(struct scene *scene, int instance)
{
    if (scene->control) {
        line(scene, "seeded Y%d k=%u", instance, value(scene));
    } else if (scene->variant == 0) {
        line(scene, "drawnext R:0:8%s Y%d k=4", scene->via, instance);
    } else {
        line(scene, "draw R:0:8%s Y%d", scene->via, instance);
        line(scene, "bump R:4:4 k=%u", 1 + below(scene, 64));
    }
    if (scene->variant == 2 && !scene->control)
        line(scene, "drawnext Q X%d k=%u", instance, 1 + below(scene, 9));
}

static void make_generators(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "buffer R %llu state", (unsigned long long)scene->state_bytes);
    line(scene, "buffer Q 8 state");
    line(scene, "fill R:0:8 k=%u\nfill Q k=%u", value(scene), value(scene));
}

static void choose_generators(struct scene *scene)
{
    static const char *const ways[] = {"", "", "/boxed"};
    scene->forward = draw;
    scene->variant = (int)below(scene, 3);
    scene->via = pick(scene, ways, 3);
    scene->state_bytes = 16 + 4 * below(scene, 13);
}

/* ---- H03: generators where no framework looks ---------------------------------------------- */

static void draw_named(struct scene *scene, int instance)
{
    if (scene->control)
        line(scene, "draw R%d%s:0:8 Y%d", instance % scene->buffers, "", instance);
    else if (scene->variant == 0) /* deep inside a library's own memory */
        line(scene, "drawnext R%d:%llu:8/boxed Y%d k=3", instance % scene->buffers,
             (unsigned long long)(scene->state_bytes / 8 * 4), instance);
    else if (scene->variant == 1)
        line(scene, "drawnext R%d:0:8%s Y%d k=5", instance % scene->buffers, scene->via, instance);
    else
        line(scene, "drawnext P:%d:8/global Y%d k=7", instance % scene->buffers * 0, instance);
}

static void make_private(struct scene *scene, int unused)
{
    (void)unused;
    for (int i = 0; i < scene->buffers; i++)
        line(scene, "buffer R%d %llu state\nfill R%d k=%u", i,
             (unsigned long long)scene->state_bytes + 4 * (unsigned)i, i, value(scene));
    line(scene, "buffer P 64 state pool\nfill P k=%u", value(scene));
}

static void choose_private(struct scene *scene)
{
    scene->forward = draw_named;
    scene->variant = (int)below(scene, 3);
    scene->buffers = 1 + (int)below(scene, 3);
    scene->alive = 1 + (int)below(scene, 4);
    if (scene->variant == 2)
        stay_in_first(scene); /* in the other context, the variable is another one */
    scene->state_bytes = chance(scene, 8) ? 2 << 20 : 1024 + 64 * below(scene, 32);
}

/* ---- H04: histories that are rolled, scales that come late --------------------------------- */

static void cast(struct scene *scene, int instance)
{
    uint64_t row = scene->bytes;
    line(scene, "use C X%d Y%d", instance, instance);
    if (!scene->control)
        line(scene, "%s H:0:%llu X%d", scene->variant & 1 ? "ema" : "highest",
             (unsigned long long)row, instance);
}

static void roll(struct scene *scene, int unused)
{
    (void)unused;
    uint64_t row = scene->bytes, rest = row * (uint64_t)(scene->buffers - 1);
    if (scene->control)
        return;
    line(scene, "roll H:%llu:%llu H:0:%llu k=%d", (unsigned long long)row,
         (unsigned long long)rest, (unsigned long long)rest, scene->buffers - 1);
    line(scene, "set H:0:%llu k=0", (unsigned long long)row);
    line(scene, "reduce H C k=%d", scene->buffers);
}

static void make_history(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "buffer H %llu state\nbuffer C %llu state",
         (unsigned long long)scene->bytes * (unsigned)scene->buffers,
         (unsigned long long)scene->bytes);
}

static void choose_history(struct scene *scene)
{
    scene->forward = cast;
    scene->variant = (int)below(scene, 4);
    scene->buffers = 2 + (int)below(scene, 15);
    scene->bytes = 4 * (1 + below(scene, 64));
    /* The roll after the replay spoils it only where a second update is another one. */
    if (scene->variant == 1 || scene->variant == 3)
        scene->after_step = roll;
    else
        scene->between = roll;
}

/* ---- H05: sparse counters ------------------------------------------------------------------ */

static void count(struct scene *scene, int instance)
{
    unsigned long long words = scene->state_bytes / 4;
    line(scene, "use X%d X%d Y%d", instance, instance, instance);
    if (scene->control)
        return;
    if (scene->variant == 0)
        line(scene, "count T X%d k=%llu", instance, words);
    else /* one element of a tracker that all layers share */
        line(scene, "atomic T:%llu:4 X%d:0:4", (unsigned long long)instance % words * 4, instance);
}

static void count_outside(struct scene *scene, int unused)
{
    (void)unused;
    if (scene->variant == 0)
        beside(scene, "count T X0 k=%llu", (unsigned long long)scene->state_bytes / 4);
    else
        beside(scene, "bump T k=3");
}

static void make_counters(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "buffer T %llu state", (unsigned long long)scene->state_bytes);
}

static void choose_counters(struct scene *scene)
{
    scene->forward = count;
    scene->variant = (int)below(scene, 2);
    scene->state_bytes = 4 * (1 + below(scene, 256));
    scene->alive = 1 + (int)below(scene, 6);
    if (chance(scene, 50))
        scene->between = count_outside;
    scene->late = scene->between && *scene->stream && chance(scene, 60);
    if (scene->variant == 0)
        word(scene, "loose");
}

/* ---- H06: rings, caches, queues ------------------------------------------------------------ */

static unsigned row_of(const struct scene *scene, int instance)
{
    return (unsigned)(scene->step * 3 + instance) % (unsigned)scene->buffers;
}

static void attend(struct scene *scene, int instance)
{
    unsigned long long bytes = scene->bytes;
    line(scene, "readrows Q%s X%d Y%d k=%d", scene->via, instance, instance, scene->buffers);
    if (scene->control)
        return;
    if (scene->variant == 0)
        line(scene, "put Q:%llu:%llu X%d", row_of(scene, instance) * bytes, bytes, instance);
    if (scene->variant == 1) { /* the row is in device memory */
        line(scene, "scatter Q X%d I k=%d", instance, scene->buffers);
        line(scene, "bump I k=1");
    }
}

static void enqueue(struct scene *scene, int unused)
{
    (void)unused;
    unsigned long long bytes = scene->bytes;
    if (!scene->control)
        beside(scene, "put Q:%llu:%llu X0", row_of(scene, 1) * bytes, bytes);
}

static void make_queue(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "buffer Q %llu state\nbuffer I 4 state",
         (unsigned long long)scene->bytes * (unsigned)scene->buffers);
}

static void choose_queue(struct scene *scene)
{
    static const char *const ways[] = {"", "", "/boxed"};
    scene->forward = attend;
    scene->variant = (int)below(scene, 3);
    scene->buffers = 2 + (int)below(scene, 15);
    scene->via = pick(scene, ways, 3);
    scene->bytes = scene->bytes > 65536 ? 65536 : scene->bytes;
    if (scene->variant == 2 || chance(scene, 40))
        scene->between = enqueue;
    scene->late = scene->between && *scene->stream && chance(scene, 60);
    if (scene->variant == 1)
        word(scene, "loose");
}

/* ---- H07: carried recurrent state ---------------------------------------------------------- */

static void recur(struct scene *scene, int instance)
{
    if (scene->control && (scene->variant & 1))
        line(scene, "use S X%d Y%d", instance, instance);
    else if (scene->control) { /* rewriting a cache with what it holds anyway */
        line(scene, "put S X%d", instance);
        line(scene, "use S X%d Y%d", instance, instance);
    } else
        line(scene, "evolve S%s X%d Y%d", scene->via, instance, instance);
}

static void make_recurrent(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "buffer S %llu state", (unsigned long long)scene->bytes);
}

static void choose_recurrent(struct scene *scene)
{
    static const char *const ways[] = {"", "/boxed"};
    scene->forward = recur;
    scene->via = pick(scene, ways, 2);
    scene->variant = (int)below(scene, 2);
    scene->alive = 2 + (int)below(scene, chance(scene, 10) ? 63 : 7);
    if (scene->alive > 8)
        scene->bytes = 4 * (1 + below(scene, 64));
    if (scene->control && !(scene->variant & 1))
        scene->alive = 1; /* else the cache would hold another's */
    if (scene->control && !(scene->variant & 1))
        word(scene, "idempotent");
}

/* ---- H08: tables edited inside the forward ------------------------------------------------- */

static void edit_table(struct scene *scene, int instance)
{
    unsigned long long part = scene->bytes / 8 * 4;
    line(scene, "use E%s X%d Y%d", scene->via, instance, instance);
    for (int round = 0; !scene->control && round < scene->buffers; round++) {
        if (part && chance(scene, 50))
            line(scene, "add E:%llu:%llu X%d:0:%llu", part, part, instance, part);
        else
            line(scene, "ema E Y%d", instance);
        line(scene, "use E%s Y%d Y%d", scene->via, instance, instance);
    }
}

static void read_table(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "use E X0 G");
}

static void make_table(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "buffer E %llu state\nfill E k=%u", (unsigned long long)scene->bytes,
         value(scene));
}

static void choose_table(struct scene *scene)
{
    static const char *const ways[] = {"", "", "/boxed", "/tabled"};
    scene->forward = edit_table;
    scene->via = pick(scene, ways, 4);
    scene->buffers = 1 + (int)below(scene, 8); /* rounds */
    if (chance(scene, 40))
        scene->after_step = read_table;
    if (scene->via[0] && scene->via[1] == 't')
        word(scene, "declared loose needs=table");
}

const struct kind state_kinds[] = {
    {.name = "H01", .choose = choose_accumulators, .setup = make_accumulators},
    {.name = "H02", .choose = choose_generators, .setup = make_generators},
    {.name = "H03", .choose = choose_private, .setup = make_private},
    {.name = "H04", .choose = choose_history, .setup = make_history},
    {.name = "H05", .choose = choose_counters, .setup = make_counters},
    {.name = "H06", .choose = choose_queue, .setup = make_queue},
    {.name = "H07", .choose = choose_recurrent, .setup = make_recurrent},
    {.name = "H08", .choose = choose_table, .setup = make_table},
    {.name = NULL},
};
