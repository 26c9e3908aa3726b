/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/progress.h"

#include "tracker/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 1000, NEXT_MS = 100 };

static struct {
    bool silent, shown;
    char what[64];
    uint64_t total, due_ms; /* when to show it next */
} progress;

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void rp_progress_silence(void)
{
    rp_progress_erase();
    progress.silent = true;
}

void rp_progress_begin(const char *what, uint64_t total)
{
    rp_progress_erase();
    snprintf(progress.what, sizeof(progress.what), "%s", what);
    progress.total = total;
    progress.due_ms = progress.silent || !isatty(STDERR_FILENO) ? UINT64_MAX : now_ms() + FIRST_MS;
}

static bool is_due(void)
{
    return progress.due_ms != UINT64_MAX && now_ms() >= progress.due_ms;
}

static void show(const char *how_far)
{
    fprintf(stderr, "\r\033[Kreprise: %s: %s", progress.what, how_far);
    fflush(stderr);
    progress.shown = true;
    progress.due_ms = now_ms() + NEXT_MS;
}

void rp_progress_at(uint64_t done)
{
    char here[RP_SIZE_TEXT], text[RP_SIZE_TEXT + 32];

    if (!is_due())
        return;
    if (progress.total > 0)
        snprintf(text, sizeof(text), "%d %% of %s",
                 (int)(100.0 * (double)done / (double)progress.total),
                 rp_size_format(here, progress.total));
    else
        snprintf(text, sizeof(text), "%s", rp_size_format(here, done));
    show(text);
}

void rp_progress_parts(uint64_t done, uint64_t all, const char *units)
{
    char text[80];

    if (!is_due())
        return;
    if (all > 0)
        snprintf(text, sizeof(text), "%llu of %llu", (unsigned long long)done,
                 (unsigned long long)all);
    else
        snprintf(text, sizeof(text), "%llu %s", (unsigned long long)done, units);
    show(text);
}

void rp_progress_erase(void)
{
    if (progress.shown)
        fputs("\r\033[K", stderr);
    progress.shown = false;
}
