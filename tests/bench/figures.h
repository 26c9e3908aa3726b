/* SPDX-License-Identifier: Apache-2.0 */
/* Figures: what a benchmark measured, for `tools/dev bench`, which makes one table of all.
 *
 * Each is a line of JSON in the file that BENCH_FIGURES names; without one, figure_write() does
 * nothing. Benchmarks print for readers besides, as they like. figures.py is the same in Python. */
#ifndef RP_TESTS_BENCH_FIGURES_H
#define RP_TESTS_BENCH_FIGURES_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct figure {
    const char *name; /* area.what: "trace.bytes-per-call"; no quotes in it */
    const char *unit; /* "ns", "s", "MiB", "1/s" ...; "ratio": comparable between machines */
    const char *goal; /* "<= 0.3", ">= 50"; NULL: none is set */
    double value;     /* the median, where there was more than one run */
    double low, high; /* quartiles, or value twice */
    unsigned runs;    /* how many are behind it */
    double published; /* what another published or what a peer takes; NAN: nothing */
};

static inline void figure_write(const struct figure *figure)
{
    const char *path = getenv("BENCH_FIGURES");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file,
            "{\"name\": \"%s\", \"unit\": \"%s\", \"value\": %.9g, \"low\": %.9g, "
            "\"high\": %.9g, \"runs\": %u",
            figure->name, figure->unit, figure->value, figure->low, figure->high, figure->runs);
    if (figure->goal)
        fprintf(file, ", \"goal\": \"%s\"", figure->goal);
    if (!isnan(figure->published))
        fprintf(file, ", \"published\": %.9g", figure->published);
    fprintf(file, "}\n");
    fclose(file);
}

#endif
