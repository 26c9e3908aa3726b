/* SPDX-License-Identifier: Apache-2.0 */
/* Documents held to their shapes, and what is in them got out. */
#include "tracker/json.h"

#include "tracker/text.h"

#include <stdio.h>
#include <string.h>

#define QUOTE_SIZE 48 /* how much of the user's own text a message repeats */

/* ---- checking --------------------------------------------------------------------- */

static const char *kind_wanted(enum rp_json_kind kind)
{
    switch (kind) {
    case RP_JSON_TEXT:
    case RP_JSON_WORD: return "a text";
    case RP_JSON_SIZE: return "a whole number of bytes or a text such as \"64KiB\"";
    case RP_JSON_COUNT: return "a whole number";
    case RP_JSON_FLAG: return "true or false";
    case RP_JSON_OBJECT: return "an object";
    case RP_JSON_LIST: return "a list";
    }
    return "something else";
}

static bool has_kind(json_t *value, enum rp_json_kind kind)
{
    switch (kind) {
    case RP_JSON_TEXT:
    case RP_JSON_WORD: return json_is_string(value);
    case RP_JSON_SIZE: return json_is_integer(value) || json_is_string(value);
    case RP_JSON_COUNT: return json_is_integer(value);
    case RP_JSON_FLAG: return json_is_boolean(value);
    case RP_JSON_OBJECT: return json_is_object(value);
    case RP_JSON_LIST: return json_is_array(value);
    }
    return false;
}

static char *quote(char out[QUOTE_SIZE], json_t *text)
{
    return rp_text_escape(out, QUOTE_SIZE, json_string_value(text), json_string_length(text));
}

/* ` "a", "b" or "c"` in at most `size` bytes. */
static void enumerate(char *out, size_t size, const char *const *words, size_t count,
                      const char *last)
{
    size_t used = 0;

    *out = '\0';
    for (size_t i = 0; i < count && used < size; i++) {
        const char *before = i == 0 ? "" : i + 1 < count ? ", " : last;
        used += (size_t)snprintf(out + used, size - used, "%s\"%s\"", before, words[i]);
    }
}

static bool check_word(struct rp_json *json, json_t *object, const struct rp_json_key *key,
                       json_t *value)
{
    char word[QUOTE_SIZE], list[256];
    size_t count = 0;

    for (; key->words[count] != NULL; count++) {
        if (strcmp(key->words[count], json_string_value(value)) == 0)
            return true;
    }
    const char *nearest = rp_nearest(json_string_value(value), key->words, count);
    if (nearest != NULL)
        return rp_json_wrong_value(json, object, key->name,
                                   "\"%s\" can't be \"%s\"; did you mean \"%s\"?", key->name,
                                   quote(word, value), nearest);
    enumerate(list, sizeof(list), key->words, count, " or ");
    return rp_json_wrong_value(json, object, key->name, "\"%s\" can't be \"%s\"; it is %s",
                               key->name, quote(word, value), list);
}

static bool check_value(struct rp_json *json, json_t *object, const struct rp_json_key *key,
                        json_t *value)
{
    char word[QUOTE_SIZE];
    uint64_t bytes = 0;

    if (!has_kind(value, key->kind))
        return rp_json_wrong_value(json, object, key->name, "\"%s\" must be %s, not %s", key->name,
                                   kind_wanted(key->kind), rp_json_found(value));
    if (json_is_integer(value) && json_integer_value(value) < 0)
        return rp_json_wrong_value(json, object, key->name,
                                   "\"%s\" must not be negative, as %lld is", key->name,
                                   (long long)json_integer_value(value));
    if (key->kind == RP_JSON_COUNT && json_integer_value(value) > RP_JSON_COUNT_MAX)
        return rp_json_wrong_value(json, object, key->name,
                                   "\"%s\" leaves 63 bits; the most is %lld", key->name,
                                   (long long)RP_JSON_COUNT_MAX);
    if (json_is_string(value) && json_string_length(value) == 0)
        return rp_json_wrong_value(json, object, key->name, "\"%s\" must not be empty", key->name);
    if (key->kind == RP_JSON_SIZE && json_is_string(value) &&
        rp_size_parse(json_string_value(value), &bytes) != RP_OK)
        return rp_json_wrong_value(json, object, key->name, "\"%s\" must be %s, not \"%s\"",
                                   key->name, kind_wanted(RP_JSON_SIZE), quote(word, value));
    return key->kind != RP_JSON_WORD || check_word(json, object, key, value);
}

static bool unknown_key(struct rp_json *json, json_t *object, const char *name,
                        const struct rp_json_shape *shape)
{
    const char *names[32];
    char word[QUOTE_SIZE], list[512];
    size_t count = 0;

    for (; count < shape->key_count && count < 32; count++)
        names[count] = shape->keys[count].name;
    rp_text_escape(word, sizeof(word), name, strlen(name));
    const char *nearest = rp_nearest(name, names, count);
    if (nearest != NULL)
        return rp_json_wrong_key(json, object, name,
                                 "unknown key \"%s\" in %s; did you mean \"%s\"?", word,
                                 shape->title, nearest);
    enumerate(list, sizeof(list), names, count, " and ");
    return rp_json_wrong_key(json, object, name, "unknown key \"%s\" in %s; its keys are %s", word,
                             shape->title, list);
}

static const struct rp_json_key *find_key(const struct rp_json_shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->key_count; i++) {
        if (strcmp(shape->keys[i].name, name) == 0)
            return &shape->keys[i];
    }
    return NULL;
}

bool rp_json_check(struct rp_json *json, json_t *object, const struct rp_json_shape *shape)
{
    for (void *i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i)) {
        const char *name = json_object_iter_key(i);
        const struct rp_json_key *key = find_key(shape, name);
        if (key == NULL)
            return unknown_key(json, object, name, shape);
        if (!check_value(json, object, key, json_object_iter_value(i)))
            return false;
    }
    for (size_t i = 0; i < shape->key_count; i++) {
        if (shape->keys[i].required && json_object_get(object, shape->keys[i].name) == NULL)
            return rp_json_wrong(json, object, "%s needs \"%s\"", shape->title,
                                 shape->keys[i].name);
    }
    return true;
}

bool rp_json_check_item(struct rp_json *json, json_t *list, size_t index,
                        const struct rp_json_shape *shape)
{
    json_t *item = json_array_get(list, index);

    if (!json_is_object(item))
        return rp_json_wrong_item(json, list, index, "%s must be an object, not %s", shape->title,
                                  rp_json_found(item));
    return rp_json_check(json, item, shape);
}

bool rp_json_check_text(struct rp_json *json, json_t *list, size_t index)
{
    json_t *item = json_array_get(list, index);

    if (!json_is_string(item))
        return rp_json_wrong_item(json, list, index, "this must be a text, not %s",
                                  rp_json_found(item));
    if (json_string_length(item) == 0)
        return rp_json_wrong_item(json, list, index, "this must not be empty");
    return true;
}

/* ---- getting ---------------------------------------------------------------------- */

uint64_t rp_json_size(json_t *object, const char *key, uint64_t otherwise)
{
    json_t *value = json_object_get(object, key);
    uint64_t bytes = otherwise;

    if (json_is_integer(value))
        return (uint64_t)json_integer_value(value);
    if (json_is_string(value))
        (void)rp_size_parse(json_string_value(value), &bytes);
    return bytes;
}

uint64_t rp_json_count(json_t *object, const char *key, uint64_t otherwise)
{
    json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : otherwise;
}

bool rp_json_flag(json_t *object, const char *key, bool otherwise)
{
    json_t *value = json_object_get(object, key);

    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

const char *rp_json_text(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

size_t rp_json_word(json_t *object, const char *key, const char *const *words, size_t otherwise)
{
    const char *word = rp_json_text(object, key);

    for (size_t i = 0; word != NULL && words[i] != NULL; i++) {
        if (strcmp(words[i], word) == 0)
            return i;
    }
    return otherwise;
}
