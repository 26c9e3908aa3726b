/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/clock/figures.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset;
} table[] = {
#define X(name) {#name, offsetof(struct soft_figures, name)},
    SOFT_FIGURES(X)
#undef X
};
enum { FIGURES = sizeof table / sizeof table[0], DEPTH = 4 };

struct reading {
    struct soft_figures *out;
    const char *which; /* for messages */
    char *message;
    size_t size;
};

static bool fail(const struct reading *reading, const char *what, const char *key)
{
    snprintf(reading->message, reading->size, "%s: %s%s%s", reading->which, what,
             key != NULL ? " " : "", key != NULL ? key : "");
    return false;
}

static double *figure_of(struct soft_figures *figures, size_t index)
{
    return (double *)(void *)((char *)figures + table[index].offset);
}

/* ---- the parts of a document ------------------------------------------------------- */

static bool read_number(const struct reading *reading, const json_t *value, const char *key,
                        double *out)
{
    if (json_is_object(value))
        value = json_object_get(value, "value");
    double number = json_is_number(value) ? json_number_value(value) : 0;
    if (!(number > 0) || isinf(number))
        return fail(reading, "expected a number above 0, or one as \"value\", for", key);
    *out = number;
    return true;
}

static bool read_figures(const struct reading *reading, json_t *figures)
{
    const char *key;
    json_t *value;

    if (!json_is_object(figures))
        return fail(reading, "expected an object for figures", NULL);
    json_object_foreach(figures, key, value)
    {
        size_t i = 0;
        while (i < FIGURES && strcmp(table[i].name, key) != 0)
            i++;
        if (i == FIGURES)
            return fail(reading, "unknown figure", key);
        if (!read_number(reading, value, key, figure_of(reading->out, i)))
            return false;
    }
    return true;
}

static bool read_scales(const struct reading *reading, const json_t *document)
{
    const json_t *bytes = json_object_get(document, "bytes_scale");
    const json_t *ops = json_object_get(document, "ops_scale");
    if (bytes != NULL && !read_number(reading, bytes, "bytes_scale", &reading->out->bytes_scale))
        return false;
    return ops == NULL || read_number(reading, ops, "ops_scale", &reading->out->ops_scale);
}

static bool keys_are_known(const struct reading *reading, json_t *document)
{
    static const char *const known[] = {"version", "name",        "base",
                                        "figures", "bytes_scale", "ops_scale"};
    const char *key;
    json_t *value;

    json_object_foreach(document, key, value)
    {
        bool is_known = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            is_known |= strcmp(known[i], key) == 0;
        if (!is_known)
            return fail(reading, "unknown key", key);
    }
    return true;
}

static bool read_which(const struct reading *reading, int depth);

static bool read_document(const struct reading *reading, json_t *document, int depth)
{
    const char *name = json_string_value(json_object_get(document, "name"));
    const char *base = json_string_value(json_object_get(document, "base"));
    const json_t *version = json_object_get(document, "version");
    json_t *figures = json_object_get(document, "figures");

    if (!json_is_object(document) || json_integer_value(version) != 1)
        return fail(reading, "expected an object with \"version\": 1", NULL);
    if (!keys_are_known(reading, document))
        return false;
    if (base != NULL) {
        struct reading below = *reading;
        below.which = base;
        if (!read_which(&below, depth + 1))
            return false;
    }
    if (name != NULL)
        snprintf(reading->out->name, sizeof reading->out->name, "%s", name);
    return (figures == NULL || read_figures(reading, figures)) && read_scales(reading, document);
}

/* ---- documents --------------------------------------------------------------------- */

static json_t *load(const char *which, json_error_t *error)
{
    for (const struct soft_figures_text *text = soft_figures_texts; text->name != NULL; text++)
        if (strcmp(text->name, which) == 0)
            return json_loads(text->json, JSON_REJECT_DUPLICATES, error);
    return json_load_file(which, JSON_REJECT_DUPLICATES, error);
}

static bool read_which(const struct reading *reading, int depth)
{
    json_error_t error;
    if (depth == DEPTH)
        return fail(reading, "too many documents on each other by base", NULL);
    json_t *document = load(reading->which, &error);
    if (document == NULL) {
        if (error.line > 0)
            snprintf(reading->message, reading->size, "%s:%d:%d: %s", reading->which, error.line,
                     error.column, error.text);
        else
            snprintf(reading->message, reading->size,
                     "%s is no device that the clock knows, and no file of one", reading->which);
        return false;
    }
    bool good = read_document(reading, document, depth);
    json_decref(document);
    return good;
}

bool soft_figures_read(const char *which, struct soft_figures *out, char *message, size_t size)
{
    const struct reading reading = {out, which, message, size};

    *out = (struct soft_figures){.bytes_scale = 1, .ops_scale = 1};
    snprintf(out->name, sizeof out->name, "%s", which);
    if (!read_which(&reading, 0))
        return false;
    for (size_t i = 0; i < FIGURES; i++)
        if (!(*figure_of(out, i) > 0))
            return fail(&reading, "missing figure", table[i].name);
    return true;
}
