/* SPDX-License-Identifier: Apache-2.0 */
/* What no layer can put right: to be reported, and where nothing tells what was meant, to be warned
 * of. */
#include "tests/scenarios/kinds.h"

typedef unsigned long long bytes_t;

/* ---- the job replays other work ------------------------------------------------------------ */

static void host_decides(struct scene *scene, int instance)
{
    if (scene->variant == 0) /* a seed of the host's own */
        line(scene, "seeded Y%d k=host", instance);
    else if (scene->variant == 1) /* data of the host's own */
        line(scene, "upload Y%d k=host", instance);
    else if (scene->variant == 6) /* not the same twice */
        line(scene, "racy X%d Y%d", instance, instance);
    else
        line(scene, "use A%s X%d Y%d", scene->via, instance, instance);
}

static void replay_otherwise(struct scene *scene, int instance)
{
    switch (scene->variant) {
    case 2: /* the adapter was switched */
        line(scene, "replaying use Z%s X%d Y%d", scene->via, instance, instance);
        break;
    case 3: /* another kernel */
        line(scene, "replaying readrows A%s X%d Y%d k=1", scene->via, instance, instance);
        line(scene, "replaying bump Y%d k=1", instance);
        break;
    case 4: /* nothing is left to do */
        break;
    default: /* once too often */
        line(scene, "replaying use A%s X%d Y%d", scene->via, instance, instance);
        line(scene, "replaying grad Y%d X%d", instance, instance);
    }
}

static void make_adapters(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "buffer A %llu\nfill A k=%u\nbuffer Z %llu\nfill Z k=%u", (bytes_t)scene->bytes,
         value(scene), (bytes_t)scene->bytes, value(scene));
}

static void choose_other_work(struct scene *scene)
{
    static const char *const ways[] = {"", "", "/boxed"};
    scene->forward = host_decides;
    scene->via = pick(scene, ways, 3);
    scene->variant = (int)below(scene, 7);
    if (scene->control) {
        scene->variant = 2;
        return;
    }
    if (scene->variant == 6) {
        word(scene, "noise");
        return;
    }
    if (scene->variant >= 2)
        scene->replay = replay_otherwise;
    word(scene, scene->variant == 2 ? "report says=foreign-read" : "report says=diverged");
}

/* ---- state that looks like output ---------------------------------------------------------- */

/* The segment writes the state and does not read it. */
static void write_unread(struct scene *scene, int instance)
{
    line(scene, "put S%s:0:%llu X%d", scene->via, (bytes_t)scene->bytes, instance);
    line(scene, "use X%d X%d Y%d", instance, instance, instance);
}

/* What it has written is gone before the replay: overwritten, or carried on somewhere else. */
static void overwrite_unread(struct scene *scene, int unused)
{
    (void)unused;
    bytes_t bytes = (bytes_t)scene->bytes;
    switch (scene->variant) {
    case 0: beside(scene, "fill S k=%u", value(scene)); break;
    case 1: beside(scene, "upload S k=%u", value(scene)); break;
    default:
        line(scene, "copy T S:0:%llu", bytes);
        line(scene, "add T X0");
        line(scene, "copy S:0:%llu T", bytes);
    }
}

static void make_unread(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "buffer S %llu state", (bytes_t)scene->bytes + 4 + 4 * below(scene, 8));
    line(scene, "buffer T %llu", (bytes_t)scene->bytes);
}

static void choose_unread(struct scene *scene)
{
    scene->forward = write_unread;
    scene->between = overwrite_unread;
    scene->variant = (int)below(scene, 3);
    word(scene, "report says=assumed of=S discovered");
}

/* ---- output that looks like state ---------------------------------------------------------- */

/* The segment adds to what the job zeroes before it, by other calls each time. */
static void step_zeroed(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "begin\nfill X0 k=%u", value(scene));
    line(scene, scene->variant ? "copy S Z" : "set S k=0");
    line(scene, "forward s x as f%d_0\nadd S:0:%llu X0\nuse X0 X0 Y0\nend", scene->step,
         (bytes_t)scene->bytes);
    line(scene, "drop Y0");
    line(scene, scene->variant ? "replaying set S k=0" : "replaying copy S Z");
    line(scene, "replay s x\nagain f%d_0 0 1\nend", scene->step);
    line(scene, "grad G Y0\ncheck\nfinish");
}

static void make_zeroed(struct scene *scene, int unused)
{
    (void)unused;
    bytes_t bytes = (bytes_t)scene->bytes + 4 + 4 * below(scene, 8);
    line(scene, "buffer S %llu state\nbuffer Z %llu", bytes, bytes);
}

static void choose_zeroed(struct scene *scene)
{
    scene->whole_step = step_zeroed;
    scene->variant = (int)below(scene, 2);
    scene->alive = 1;
    scene->second = false;
    word(scene, "report says=assumed of=S discovered");
}

/* ---- inputs that change places ------------------------------------------------------------- */

static void use_both(struct scene *scene, int instance)
{
    if (scene->variant == 0) { /* of one call */
        line(scene, "use A Z Y%d", instance);
        return;
    }
    if (scene->variant == 1) /* which one call has made */
        line(scene, "put P A");
    line(scene, "use %s X%d Y%d", scene->variant == 1 ? "P:0:64" : "A", instance, instance);
    line(scene, "use %s X%d V%d", scene->variant == 1 ? "P:64:64" : "Z", instance, instance);
}

static void use_crosswise(struct scene *scene, int instance)
{
    if (scene->variant == 0) {
        line(scene, "replaying use Z A Y%d", instance);
        return;
    }
    if (scene->variant == 1)
        line(scene, "replaying put P A");
    line(scene, "replaying use %s X%d Y%d", scene->variant == 1 ? "P:64:64" : "Z", instance,
         instance);
    line(scene, "replaying use %s X%d V%d", scene->variant == 1 ? "P:0:64" : "A", instance,
         instance);
}

static void make_both(struct scene *scene, int unused)
{
    (void)unused;
    bytes_t bytes = (bytes_t)scene->bytes;
    line(scene, "buffer A %llu\nfill A k=%u\nbuffer Z %llu\nfill Z k=%u\nbuffer P 128",
         scene->variant == 1 ? 128 : bytes, value(scene), bytes, value(scene));
    for (int i = 0; i < scene->alive; i++)
        line(scene, "buffer V%d %llu", i, bytes);
}

static void choose_crosswise(struct scene *scene)
{
    scene->forward = use_both;
    scene->replay = use_crosswise;
    scene->variant = (int)below(scene, 3);
    if (scene->variant == 1)
        scene->bytes = 64;
    word(scene, scene->variant ? "report says=assumed" : "report says=diverged");
}

/* ---- the kind ------------------------------------------------------------------------------ */

static void make_for_report(struct scene *scene, int unused)
{
    if (scene->forward == use_both)
        make_both(scene, unused);
    else if (scene->forward == write_unread)
        make_unread(scene, unused);
    else if (scene->whole_step)
        make_zeroed(scene, unused);
    else
        make_adapters(scene, unused);
}

static void choose_report(struct scene *scene)
{
    unsigned what = scene->control ? 0 : below(scene, 10);
    if (what < 6) {
        choose_other_work(scene);
        return;
    }
    scene->pinned = false;
    if (what == 6)
        choose_zeroed(scene);
    else if (what == 7)
        choose_crosswise(scene);
    else
        choose_unread(scene);
}

const struct kind report_kinds[] = {
    {.name = "H15", .choose = choose_report, .setup = make_for_report},
    {.name = NULL},
};
