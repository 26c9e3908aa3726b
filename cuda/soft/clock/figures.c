/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/soft/clock/figures.h"
#include "cuda/soft/clock/document.h"

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
    enum rp_status *status; /* of what went wrong */
    char *message;
    size_t size;
};

static bool fail(const struct reading *reading, const char *what, const char *key)
{
    *reading->status = RP_INVALID;
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

static enum soft_document_status load(const char *which, struct soft_document *document,
                                      json_error_t *error)
{
    for (const struct soft_figures_text *text = soft_figures_texts; text->name != NULL; text++)
        if (strcmp(text->name, which) == 0)
            return soft_document_parse(document, text->json, error);
    return soft_document_load(document, which, error);
}

static bool read_which(const struct reading *reading, int depth)
{
    struct soft_document document;
    json_error_t error;
    if (depth == DEPTH)
        return fail(reading, "too many documents on each other by base", NULL);
    switch (load(reading->which, &document, &error)) {
    case SOFT_DOCUMENT_READ: break;
    case SOFT_DOCUMENT_ABSENT:
        *reading->status = RP_INVALID;
        snprintf(reading->message, reading->size,
                 "%s is no device that the clock knows, and no file of one", reading->which);
        return false;
    case SOFT_DOCUMENT_LONG: return fail(reading, "more than 64 KiB", NULL);
    case SOFT_DOCUMENT_NO_MEMORY:
        fail(reading, "no memory to read it", NULL);
        *reading->status = RP_NO_MEMORY;
        return false;
    case SOFT_DOCUMENT_BAD:
        *reading->status = RP_INVALID;
        snprintf(reading->message, reading->size, "%s:%d:%d: %s", reading->which, error.line,
                 error.column, error.text);
        return false;
    }
    bool good = read_document(reading, document.root, depth);
    soft_document_close(&document);
    return good;
}

enum rp_status soft_figures_read(const char *which, struct soft_figures *out, char *message,
                                 size_t size)
{
    enum rp_status status = RP_OK;
    const struct reading reading = {out, which, &status, message, size};

    *out = (struct soft_figures){.bytes_scale = 1, .ops_scale = 1};
    snprintf(out->name, sizeof out->name, "%s", which);
    if (!read_which(&reading, 0))
        return status;
    for (size_t i = 0; i < FIGURES; i++) {
        if (!(*figure_of(out, i) > 0)) {
            fail(&reading, "missing figure", table[i].name);
            return status;
        }
    }
    return RP_OK;
}
