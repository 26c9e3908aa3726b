/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/picture.h"

#include "planner/duration.h"
#include "tracker/text.h"

#include <stdio.h>
#include <stdlib.h>

#define WIDTH 960
#define HEIGHT 760
#define TICKS 8 /* at most */

/* A rectangle on the page and the figures that its edges stand for. */
struct frame {
    double left, top, right, bottom;
    double x_min, x_max, y_min, y_max;
};

/* Colours that also differ in brightness, for those who see few of them, and a dash for each. */
static const struct {
    const char *colour, *dash;
    double width;
} pens[RP_BASELINE_COUNT] = {
    [RP_BASELINE_EAGER] = {"#999999", "2 3", 1.5},
    [RP_BASELINE_WHOLE] = {"#cc79a7", "2 3", 1.5},
    [RP_BASELINE_OR_WHOLE] = {"#d55e00", "8 3", 1.5},
    [RP_BASELINE_OR_REGIONS] = {"#0072b2", "8 3", 1.5},
    [RP_BASELINE_FIXED] = {"#e69f00", "5 2 1 2", 1.5},
    [RP_BASELINE_GRID] = {"#009e73", "8 3", 1.5},
    [RP_BASELINE_OBLIVIOUS] = {"#56b4e9", "5 2 1 2", 1.5},
    [RP_BASELINE_JOINT] = {"#000000", "none", 2.5},
};

static double along(double value, double min, double max, double from, double to)
{
    return max > min ? from + (value - min) / (max - min) * (to - from) : from;
}

static double x_of(const struct frame *frame, double value)
{
    return along(value, frame->x_min, frame->x_max, frame->left, frame->right);
}

static char *format_time(char *out, uint64_t value)
{
    return rp_duration_format(out, value);
}

/* Marks stand at values that can be written exactly: no two of them look alike. */
static const struct tick_style {
    bool binary;
    char *(*format)(char *out, uint64_t value);
} sizes = {true, rp_size_exact}, times = {false, format_time};

static double y_of(const struct frame *frame, double value)
{
    return along(value, frame->y_min, frame->y_max, frame->bottom, frame->top);
}

/* The distance of marks so that at most TICKS of them fit: a power of two for bytes, a round
 * number otherwise. */
static uint64_t tick_step(const struct tick_style *style, double range)
{
    uint64_t step = 1;

    for (int i = 0; (double)step * TICKS < range && step <= UINT64_MAX / 5; i++)
        step = style->binary ? step * 2 : i % 3 == 1 ? step / 2 * 5 : step * 2;
    return step;
}

/* ---- frames ------------------------------------------------------------------- */

static void draw_frame(FILE *out, const struct frame *frame, const char *title)
{
    fprintf(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' class='frame'/>\n",
            frame->left, frame->top, frame->right - frame->left, frame->bottom - frame->top);
    fprintf(out, "<text x='%.1f' y='%.1f' class='title'>%s</text>\n", frame->left,
            frame->top - 12, title);
}

static void draw_x_ticks(FILE *out, const struct frame *frame)
{
    char text[RP_SIZE_TEXT];

    uint64_t step = tick_step(&sizes, frame->x_max - frame->x_min);
    uint64_t first = ((uint64_t)frame->x_min + step - 1) / step * step;

    for (uint64_t value = first; (double)value <= frame->x_max; value += step) {
        double x = x_of(frame, (double)value);
        fprintf(out, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' class='grid'/>\n", x,
                frame->top, x, frame->bottom);
        fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='middle'>%s</text>\n", x,
                frame->bottom + 18, sizes.format(text, value));
    }
}

static void draw_y_ticks(FILE *out, const struct frame *frame, const struct tick_style *style)
{
    char text[RP_SIZE_TEXT > RP_DURATION_TEXT ? RP_SIZE_TEXT : RP_DURATION_TEXT];

    uint64_t step = tick_step(style, frame->y_max - frame->y_min);
    uint64_t first = ((uint64_t)frame->y_min + step - 1) / step * step;

    for (uint64_t value = first; (double)value <= frame->y_max; value += step) {
        double y = y_of(frame, (double)value);
        fprintf(out, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' class='grid'/>\n",
                frame->left, y, frame->right, y);
        fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='end'>%s</text>\n", frame->left - 8,
                y + 4, style->format(text, value));
    }
}

/* ---- time over budget --------------------------------------------------------- */

static void widen(double *min, double *max, double value)
{
    if (value < *min)
        *min = value;
    if (value > *max)
        *max = value;
}

static struct frame budget_frame(const struct rp_comparison *comparison)
{
    struct frame frame = {110, 50, 740, 350, 0, 0, 0, 0};
    bool first = true;

    frame.x_min = (double)comparison->budgets[0];
    frame.x_max = (double)comparison->budgets[comparison->count - 1];
    for (int b = 0; b < RP_BASELINE_COUNT; b++) {
        for (size_t i = 0; i < comparison->count; i++) {
            const struct rp_trial *trial = &comparison->trials[b][i];
            if (!trial->fits)
                continue;
            if (first)
                frame.y_min = frame.y_max = (double)trial->time;
            first = false;
            widen(&frame.y_min, &frame.y_max, (double)trial->time);
        }
    }
    double margin = (frame.y_max - frame.y_min) * 0.05;
    frame.y_max += margin;
    frame.y_min = frame.y_min > margin ? frame.y_min - margin : 0;
    return frame;
}

/* A staircase: what was found for a budget holds until the next one. */
static void draw_curve(FILE *out, const struct frame *frame,
                       const struct rp_comparison *comparison, enum rp_baseline baseline)
{
    const struct rp_trial *trials = comparison->trials[baseline];
    bool drawing = false;

    for (size_t i = 0; i < comparison->count; i++) {
        double x = x_of(frame, (double)comparison->budgets[i]);
        double y = y_of(frame, (double)trials[i].time);
        if (!trials[i].fits)
            continue;
        if (!drawing)
            fprintf(out, "<path class='curve' stroke='%s' stroke-dasharray='%s' "
                         "stroke-width='%.1f' d='M%.1f %.1f",
                    pens[baseline].colour, pens[baseline].dash, pens[baseline].width, x, y);
        else
            fprintf(out, " H%.1f V%.1f", x, y);
        drawing = true;
    }
    if (drawing)
        fprintf(out, " H%.1f'/>\n", frame->right);
}

static void draw_legend(FILE *out, const struct rp_comparison *comparison, double x, double y)
{
    for (int b = 0; b < RP_BASELINE_COUNT; b++, y += 24) {
        const char *note = comparison->impossible[b] != NULL ? " (not possible)" : "";
        fprintf(out, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='%s' "
                     "stroke-dasharray='%s' stroke-width='%.1f'/>\n",
                x, y, x + 30, y, pens[b].colour, pens[b].dash, pens[b].width);
        fprintf(out, "<text x='%.1f' y='%.1f'>%s%s</text>\n", x + 38, y + 4,
                rp_baseline_name((enum rp_baseline)b), note);
    }
}

static void draw_budgets(FILE *out, const struct rp_comparison *comparison)
{
    char title[80];
    struct frame frame = budget_frame(comparison);
    double knee = x_of(&frame, (double)comparison->budgets[comparison->knee]);

    snprintf(title, sizeof(title), "Time of a step over the memory budget, by the %s model",
             rp_model_name(comparison->model));
    draw_frame(out, &frame, title);
    draw_x_ticks(out, &frame);
    draw_y_ticks(out, &frame, &times);
    fprintf(out, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' class='mark'/>\n", knee, frame.top,
            knee, frame.bottom);
    /* Inside the frame, on whichever side there is room: the legend is right of it. */
    bool is_right = knee > (frame.left + frame.right) / 2;
    fprintf(out, "<text x='%.1f' y='%.1f' class='small' text-anchor='%s'>knee</text>\n",
            is_right ? knee - 4 : knee + 4, frame.top + 14, is_right ? "end" : "start");
    for (int b = 0; b < RP_BASELINE_COUNT; b++)
        if (comparison->impossible[b] == NULL)
            draw_curve(out, &frame, comparison, (enum rp_baseline)b);
    draw_legend(out, comparison, frame.right + 25, frame.top + 10);
}

/* ---- bytes over the step ------------------------------------------------------ */

static void draw_held(FILE *out, const struct frame *frame, const uint64_t *held, size_t events)
{
    fprintf(out, "<path class='held' d='M%.1f %.1f", frame->left, frame->bottom);
    for (size_t i = 0; i < events; i++)
        fprintf(out, " V%.1f H%.1f", y_of(frame, (double)held[i]), x_of(frame, (double)i + 1));
    fprintf(out, " V%.1f Z'/>\n", frame->bottom);
}

static void draw_line(FILE *out, const struct frame *frame, uint64_t value, const char *what)
{
    char text[RP_SIZE_TEXT];
    double y = y_of(frame, (double)value);

    fprintf(out, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' class='mark'/>\n", frame->left, y,
            frame->right, y);
    fprintf(out, "<text x='%.1f' y='%.1f' class='small'>%s %s</text>\n", frame->right + 6, y + 4,
            what, rp_size_format(text, value));
}

static void draw_step(FILE *out, const struct rp_plan *plan, const uint64_t *held)
{
    size_t events = 2 * plan->count + 1;
    struct frame frame = {110, 440, 740, 690, 0, (double)events, 0, 0};
    uint64_t most = plan->peak;

    /* A budget far above the peak would leave the picture empty. */
    bool shows_budget = plan->budget < 2 * plan->peak;
    if (shows_budget && plan->budget > most)
        most = plan->budget;
    frame.y_max = (double)most * 1.05;
    draw_frame(out, &frame, "Bytes that the plan holds, event by event");
    draw_y_ticks(out, &frame, &sizes);
    draw_held(out, &frame, held, events);
    draw_line(out, &frame, plan->peak, "peak");
    if (shows_budget && plan->budget > plan->peak + plan->peak / 16)
        draw_line(out, &frame, plan->budget, "budget");
    double middle = x_of(&frame, (double)plan->count);
    fprintf(out, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' class='grid'/>\n", middle,
            frame.top, middle, frame.bottom);
    fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='middle'>forward, %zu segments</text>\n",
            (frame.left + middle) / 2, frame.bottom + 18, plan->count);
    fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='middle'>backward</text>\n",
            (middle + frame.right) / 2, frame.bottom + 18);
}

/* ---- the page ----------------------------------------------------------------- */

static const char head[] =
    "<?xml version='1.0' encoding='UTF-8'?>\n"
    "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' viewBox='0 0 %d %d'>\n"
    "<style>\n"
    "text { font: 12px sans-serif; fill: #222; }\n"
    ".title { font-size: 15px; font-weight: bold; }\n"
    ".small { font-size: 11px; }\n"
    ".frame { fill: none; stroke: #444; }\n"
    ".grid { stroke: #ddd; }\n"
    ".mark { stroke: #c00; stroke-dasharray: 4 3; }\n"
    ".curve { fill: none; }\n"
    ".held { fill: #9ecae1; stroke: #3182bd; }\n"
    "</style>\n"
    "<rect width='100%%' height='100%%' fill='#fff'/>\n";

char *rp_picture_draw(const struct rp_comparison *comparison, const struct rp_profile *profile,
                      const struct rp_plan *plan)
{
    char *text = NULL;
    size_t size = 0;
    uint64_t peak, time, *held = NULL;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        return NULL;
    fprintf(out, head, WIDTH, HEIGHT, WIDTH, HEIGHT);
    draw_budgets(out, comparison);
    if (plan != NULL)
        held = calloc(2 * plan->count + 1, sizeof(*held));
    if (held != NULL && rp_planner_walk(profile, plan->model, plan->choices, &peak, &time, NULL,
                                        held) == RP_OK)
        draw_step(out, plan, held);
    fprintf(out, "</svg>\n");
    bool good = (plan == NULL || held != NULL) && !ferror(out);
    free(held);
    if (fclose(out) == 0 && good)
        return text;
    free(text);
    return NULL;
}
