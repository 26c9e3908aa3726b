/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/scenarios/scene.h"

#include "tests/scenarios/verb.h"

#include <stdarg.h>
#include <string.h>

unsigned below(struct scene *scene, unsigned limit)
{
    /* splitmix64 */
    uint64_t z = scene->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (unsigned)((z ^ (z >> 31)) % limit);
}

bool chance(struct scene *scene, unsigned percent)
{
    return below(scene, 100) < percent;
}

unsigned value(struct scene *scene)
{
    return 1 + below(scene, 1000000);
}

uint64_t size(struct scene *scene)
{
    unsigned scale = below(scene, 100);
    unsigned exponent = scale < 80 ? 4 + below(scene, 9) : scale < 99 ? 13 + below(scene, 4)
                                                                      : 17 + below(scene, 5);
    uint64_t bytes = (uint64_t)1 << exponent;
    return (bytes + below(scene, (unsigned)bytes)) & ~(uint64_t)3;
}

/* Only what touches memory is work of a stream. */
static bool has_lane(const char *text)
{
    char name[16];
    return sscanf(text, "%15s", name) == 1 && verb_find(name);
}

/* What the host copies may not be captured: its memory need not stay. */
static bool becomes_node(struct scene *scene, const char *text)
{
    return scene->graphs && strncmp(text, "upload", 6) != 0 && !strstr(text, "k=host") &&
           chance(scene, 60);
}

static void write(struct scene *scene, const char *format, va_list args)
{
    char text[256];
    vsnprintf(text, sizeof text, format, args);
    if ((scene->pinned || scene->second) && strncmp(text, "buffer ", 7) == 0 &&
        strstr(text, " state") && !strstr(text, " pool") && !strchr(text, '\n'))
        strcat(text, scene->pinned ? " pinned" : " second");
    bool works = scene->in_forward && has_lane(text);
    fprintf(scene->out, "%s%s%s\n", text, works && becomes_node(scene, text) ? " graph" : "",
            works ? scene->lane : "");
    scene->lines++;
}

void line(struct scene *scene, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write(scene, format, args);
    va_end(args);
}

void beside(struct scene *scene, const char *format, ...)
{
    bool aside = *scene->stream && scene->ordered;
    va_list args;
    if (aside)
        line(scene, "record 0 @0\nwait 0%s", scene->stream);
    if (aside && chance(scene, 50))
        line(scene, "slow D k=%u%s", value(scene), scene->stream);
    char text[256];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(scene->out, "%s%s%s\n", text, becomes_node(scene, text) ? " graph" : "",
            scene->stream);
    if (aside)
        line(scene, "record 1%s", scene->stream);
    if (aside && !scene->late)
        line(scene, "wait 1 @0");
}

static bool is_second(const char *stream)
{
    return *stream && stream[2] > '3' && stream[2] < '8';
}

void stay_in_first(struct scene *scene)
{
    if (is_second(scene->lane))
        scene->lane = " @1";
    if (is_second(scene->stream))
        scene->stream = " @1";
}

void word(struct scene *scene, const char *text)
{
    strncat(scene->words, " ", sizeof scene->words - strlen(scene->words) - 1);
    strncat(scene->words, text, sizeof scene->words - strlen(scene->words) - 1);
}

const char *pick(struct scene *scene, const char *const *names, unsigned count)
{
    return names[below(scene, count)];
}

static const char *key_of(const struct scene *scene, int instance)
{
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static char text[16];
    if (scene->order != SCENE_KEY)
        return "x"; /* nothing but the order tells them apart */
    if (instance < 8)
        return keys[instance];
    snprintf(text, sizeof text, "n%d", instance);
    return text;
}

static void call(struct scene *scene, scene_fn part, int instance)
{
    if (part)
        part(scene, instance);
}

/* The segment's stream waits for the others, or they for it. */
static void fence(struct scene *scene, bool before, const char *thread)
{
    if (*scene->lane && before)
        line(scene, "record 2 @0\nwait 2%s%s", scene->lane, thread);
    else if (*scene->lane)
        line(scene, "record 3%s%s\nwait 3 @0", scene->lane, thread);
}

static void write_forward(struct scene *scene, int instance)
{
    fence(scene, true, "");
    line(scene, "forward s %s as f%d_%d", key_of(scene, instance), scene->step, instance);
    scene->in_forward = true;
    scene->lines = 0;
    call(scene, scene->forward, instance);
    scene->in_forward = false;
    int lines = scene->lines;
    line(scene, "end");
    fence(scene, false, "");
    scene->lines = lines;
}

static void write_lines(struct scene *scene, int instance, int first, int last)
{
    if (first <= last)
        line(scene, "again f%d_%d %d %d%s", scene->step, instance, first, last, scene->thread);
}

static void write_replay(struct scene *scene, int instance, int last)
{
    int first = scene->skip;
    fence(scene, true, scene->thread);
    line(scene, "replay s %s%s", key_of(scene, instance), scene->thread);
    if (scene->replay) {
        scene->replay(scene, instance);
    } else if (scene->live) {
        write_lines(scene, instance, first, first);
        scene->live(scene, instance);
        write_lines(scene, instance, first + 1, last);
    } else {
        write_lines(scene, instance, first, last);
    }
    line(scene, "end");
    fence(scene, false, scene->thread);
}

static void write_replays(struct scene *scene, int instance, int lines)
{
    int last = (scene->stop_after ? scene->stop_after : lines) - 1;
    if (scene->fails_first)
        write_replay(scene, instance, last - 1);
    for (int i = 0; i < scene->replays; i++)
        write_replay(scene, instance, last);
}

/* The order of the replays; an instance may come once, several times or never. */
static int choose_order(struct scene *scene, int *order)
{
    int count = 0;
    for (int i = 0; i < scene->alive; i++)
        order[count++] = scene->order == SCENE_FIFO ? i : scene->alive - 1 - i;
    for (int i = count - 1; scene->order == SCENE_KEY && i > 0; i--) {
        int j = (int)below(scene, (unsigned)i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    return count;
}

static void write_backward(struct scene *scene, const int *lines)
{
    int order[64], count = choose_order(scene, order);
    /* By order, only the last of the queue may be left out; by key, any. */
    if (count > 1 && !scene->all && chance(scene, 20))
        count--;
    for (int i = 0; i < count; i++)
        line(scene, "drop Y%d", order[i]);
    for (int i = 0; i < count; i++) {
        write_replays(scene, order[i], lines[order[i]]);
        line(scene, "grad G Y%d", order[i]);
        call(scene, scene->after_replay, order[i]);
        if (chance(scene, 25))
            line(scene, "check");
    }
}

static void write_step(struct scene *scene)
{
    int lines[64];
    line(scene, "begin");
    for (int i = 0; i < scene->alive; i++)
        line(scene, "fill X%d k=%u", i, value(scene));
    for (int i = 0; i < scene->alive; i++) {
        write_forward(scene, i);
        lines[i] = scene->lines;
        call(scene, scene->after_forward, i);
    }
    call(scene, scene->between, 0);
    write_backward(scene, lines);
    if (scene->late)
        line(scene, "wait 1 @0");
    call(scene, scene->after_step, 0);
    line(scene, "check");
    line(scene, "finish");
}

void scene_write(struct scene *scene, scene_fn setup)
{
    if (scene->replay)
        scene->thread = ""; /* its lines are written one by one, for the first */
    static const char *const orders[] = {"lifo", "fifo", "key"};
    line(scene, "segment s %s", orders[scene->order]);
    line(scene, "buffer G %llu", (unsigned long long)scene->bytes);
    line(scene, "buffer D %u", 512 + 4 * below(scene, 100));
    for (int i = 0; i < scene->alive; i++)
        line(scene, "buffer X%d %llu\nbuffer Y%d %llu", i, (unsigned long long)scene->bytes, i,
             (unsigned long long)scene->bytes);
    setup(scene, 0);
    for (scene->step = 0; scene->step < scene->steps; scene->step++)
        if (scene->whole_step)
            scene->whole_step(scene, 0);
        else
            write_step(scene);
}
