/* SPDX-License-Identifier: Apache-2.0 */
/* What others do to the bytes that a segment read, before and while it is replayed. */
#include "tests/scenarios/kinds.h"

typedef unsigned long long bytes_t;

/* ---- H09: inputs overwritten through other views ------------------------------------------- */

/* The view lies in the middle half of B. */
static void read_view(struct scene *scene, int instance)
{
    bytes_t quarter = scene->bytes;
    line(scene, "use B:%llu:%llu%s X%d Y%d", quarter, quarter, scene->via, instance, instance);
}

/* One byte of the view, to another value than `fill` gave it. */
static void set_byte(struct scene *scene, bytes_t at)
{
    uint32_t filled = (uint32_t)scene->buffers + (uint32_t)(at / 4) * 2654435761u;
    unsigned other = ((filled >> at % 4 * 8) & 255) ^ (1 + below(scene, 255));
    beside(scene, "set B:%llu:1 k=%u", at, other);
}

static void overwrite(struct scene *scene, bytes_t at, bytes_t bytes)
{
    static const char *const ways[] = {"", "/boxed"};
    const char *via = pick(scene, ways, 2);
    switch (below(scene, 5)) {
    case 0: beside(scene, "fill B:%llu:%llu%s k=%u", at, bytes, via, value(scene)); break;
    case 1: beside(scene, "upload B:%llu:%llu k=%u", at, bytes, value(scene)); break;
    case 2: beside(scene, "copy B:%llu:%llu Z:%llu:%llu", at, bytes, at, bytes); break;
    case 3: beside(scene, "slow B:%llu:%llu%s k=%u", at, bytes, via, value(scene)); break;
    default: beside(scene, "set B:%llu:%llu k=%u", at, bytes, below(scene, 256)); break;
    }
}

static void overwrite_view(struct scene *scene, int unused)
{
    (void)unused;
    bytes_t quarter = scene->bytes;
    if (scene->control) { /* right beside it, on both sides */
        beside(scene, "set B:%llu:1 k=%u", quarter - 1, below(scene, 256));
        overwrite(scene, 2 * quarter, quarter);
        return;
    }
    switch (scene->variant) {
    case 0: set_byte(scene, quarter + below(scene, (unsigned)quarter)); break;
    case 1: overwrite(scene, quarter / 8 * 4, quarter); break; /* the first half of it */
    case 2: overwrite(scene, 0, 4 * quarter); break;
    default: /* three writers, three places */
        set_byte(scene, quarter);
        set_byte(scene, quarter + quarter / 2);
        set_byte(scene, 2 * quarter - 1);
    }
}

static void make_view(struct scene *scene, int unused)
{
    (void)unused;
    bytes_t bytes = 4 * scene->bytes;
    scene->buffers = (int)value(scene);
    line(scene, "buffer B %llu state\nfill B k=%d\nbuffer Z %llu\nfill Z k=%u", bytes,
         scene->buffers, bytes, value(scene));
}

static void choose_view(struct scene *scene)
{
    static const char *const ways[] = {"", "", "/boxed"};
    scene->forward = read_view;
    scene->between = overwrite_view;
    scene->all = true;
    scene->variant = (int)below(scene, 4);
    scene->via = pick(scene, ways, 3);
    scene->late = *scene->stream && chance(scene, 60);
}

/* ---- H10: recycled slots, movers in other streams ------------------------------------------ */

static void refill(struct scene *scene, int slot)
{
    bytes_t at = scene->bytes * (unsigned)slot;
    if (chance(scene, 50))
        beside(scene, "upload P:%llu:%llu k=%u", at, (bytes_t)scene->bytes, value(scene));
    else
        beside(scene, "copy P:%llu:%llu W:%u:%llu", at, (bytes_t)scene->bytes,
               4 * below(scene, 16), (bytes_t)scene->bytes);
}

/* Before a forward its slot is filled: that of another instance, where there are fewer slots. */
static void fill_next(struct scene *scene, int instance)
{
    if (instance + 1 < scene->alive)
        refill(scene, (instance + 1) % scene->buffers);
}

static void use_slot(struct scene *scene, int instance)
{
    bytes_t at = scene->bytes * (unsigned)(instance % scene->buffers);
    line(scene, "use P:%llu:%llu%s X%d Y%d", at, (bytes_t)scene->bytes, scene->via, instance,
         instance);
}

/* A temporary comes and goes; its address is another's by the time of the replay. */
static void use_temporary(struct scene *scene, int instance)
{
    line(scene, "buffer T %llu", (bytes_t)scene->bytes);
    line(scene, "put T X%d", instance);
    line(scene, "use T X%d Y%d", instance, instance);
    if (!scene->control)
        line(scene, "ema P:0:%llu T", (bytes_t)scene->bytes);
    line(scene, "free T");
}

static void reuse_address(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "buffer U%d %llu", scene->step, (bytes_t)scene->bytes);
    beside(scene, "fill U%d k=%u", scene->step, value(scene));
}

/* The gather is the segment's own: its replay fills the slot with what it held long ago. */
static void gather_and_use(struct scene *scene, int instance)
{
    line(scene, "copy P:0:%llu W:%d:%llu", (bytes_t)scene->bytes, 4 * (instance % 16),
         (bytes_t)scene->bytes);
    line(scene, "use P:0:%llu X%d Y%d", (bytes_t)scene->bytes, instance, instance);
}

static void make_slots(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "buffer P %llu state\nbuffer W %llu\nfill W k=%u",
         (bytes_t)scene->bytes * (unsigned)scene->buffers, (bytes_t)scene->bytes + 64,
         value(scene));
    line(scene, "fill P k=%u", value(scene));
}

/* A mover that waits for nobody, nor is waited for: the job is wrong with and without replays. */
static void leave_unordered(struct scene *scene)
{
    scene->stream = " @2";
    scene->lane = "";
    scene->ordered = scene->graphs = false;
    word(scene, "race");
}

static void choose_slots(struct scene *scene)
{
    static const char *const ways[] = {"", "", "/boxed"};
    scene->variant = (int)below(scene, 5);
    scene->buffers = 1 + (int)below(scene, 4);
    scene->via = pick(scene, ways, 3);
    scene->all = true;
    if (scene->variant == 2) {
        scene->forward = use_temporary;
        scene->between = reuse_address;
        scene->late = *scene->stream;
        scene->graphs = false; /* a graph would go on using the address of the first temporary */
        stay_in_first(scene);  /* to free it does not wait for the other context */
    } else if (scene->variant == 3) {
        scene->forward = gather_and_use;
        scene->alive = scene->control ? 1 : scene->alive + 1;
        scene->order = SCENE_LIFO; /* the last to be replayed is then not the last to be run */
        word(scene, "declared");
        if (scene->control)
            word(scene, "idempotent");
    } else {
        if (scene->variant == 4 && !scene->control)
            leave_unordered(scene);
        scene->forward = use_slot;
        scene->after_forward = fill_next;
        scene->alive = scene->buffers + (scene->control ? 0 : 1 + (int)below(scene, 4));
    }
}

/* ---- H11: weights that change, copies that are derived from them --------------------------- */

static void use_weight(struct scene *scene, int instance)
{
    line(scene, "use %s%s X%d Y%d", scene->variant == 1 ? "C" : "W", scene->via, instance,
         instance);
    if (scene->variant == 1 && chance(scene, 50))
        line(scene, "use W Y%d Y%d", instance, instance);
}

static void update_weight(struct scene *scene, int unused)
{
    (void)unused;
    if (scene->variant == 2) /* an average takes its place */
        beside(scene, "copy W E");
    else
        beside(scene, "add W X0");
    if (scene->variant == 1)
        beside(scene, "put C W");
    line(scene, "ema E W");
}

static void make_weight(struct scene *scene, int unused)
{
    (void)unused;
    bytes_t bytes = scene->bytes;
    line(scene, "buffer W %llu state\nbuffer E %llu state\nbuffer C %llu state", bytes, bytes,
         bytes);
    line(scene, "fill W k=%u\nfill E k=%u\nput C W", value(scene), value(scene));
}

static void choose_weight(struct scene *scene)
{
    static const char *const ways[] = {"", "", "/boxed"};
    scene->forward = use_weight;
    scene->variant = (int)below(scene, 3);
    scene->via = pick(scene, ways, 3);
    scene->all = true;
    if (scene->control)
        scene->after_step = update_weight;
    else
        scene->between = update_weight;
}

/* ---- H12: live writes that must survive ---------------------------------------------------- */

static void evolve_state(struct scene *scene, int instance)
{
    if (scene->control)
        line(scene, "use S:0:%llu X%d Y%d", (bytes_t)scene->bytes, instance, instance);
    else
        line(scene, "evolve S:0:%llu%s X%d Y%d", (bytes_t)scene->bytes, scene->via, instance,
             instance);
    line(scene, "use X%d X%d Y%d:0:4", instance, instance, instance);
}

/* While the state is rewound, somebody writes a result into its own allocation. */
static void write_result(struct scene *scene, int instance)
{
    bytes_t bytes = scene->bytes, part = bytes / 12 * 4;
    if (scene->variant == 0 && part && !scene->control)
        beside(scene, "fill S:%llu:%llu k=%u", bytes - part, part, value(scene));
    else if (scene->variant == 1)
        beside(scene, "add S:%llu:%llu X%d", bytes, bytes, instance);
    else
        beside(scene, "set S:%llu:1 k=%u", scene->control ? bytes : bytes - 1, below(scene, 256));
}

/* Somebody outside looks at the state just then, in the segment's stream or from another thread:
 * the order of the two is a mistake that only the replay makes. */
static void look_at_rewound(struct scene *scene, int instance)
{
    line(scene, "readrows S:0:%llu X%d L k=1%s%s", (bytes_t)scene->bytes, instance, scene->lane,
         chance(scene, 50) ? " &2" : "");
}

static void make_shared(struct scene *scene, int unused)
{
    (void)unused;
    line(scene, "buffer S %llu state", (bytes_t)scene->bytes * 2);
    if (scene->live == look_at_rewound)
        line(scene, "buffer L %llu", (bytes_t)scene->bytes);
}

static void choose_live(struct scene *scene)
{
    static const char *const ways[] = {"", "", "/boxed"};
    scene->forward = evolve_state;
    scene->live = write_result;
    scene->late = *scene->stream && chance(scene, 60);
    scene->variant = (int)below(scene, 4);
    scene->via = pick(scene, ways, 3);
    if (scene->variant == 3 && !scene->control) {
        scene->live = look_at_rewound;
        word(scene, "report says=live-read");
    }
    if (scene->variant != 1)
        scene->alive = 1; /* else the next replay's past is not what its forward saw */
    else
        word(scene, "regions"); /* as a whole, what lies beside the state would be rewound too */
}

const struct kind order_kinds[] = {
    {.name = "H09", .choose = choose_view, .setup = make_view},
    {.name = "H10", .choose = choose_slots, .setup = make_slots},
    {.name = "H11", .choose = choose_weight, .setup = make_weight},
    {.name = "H12", .choose = choose_live, .setup = make_shared},
    {.name = NULL},
};
