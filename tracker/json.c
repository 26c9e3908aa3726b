/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/json.h"

#include "tracker/array.h"
#include "tracker/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define QUOTE_SIZE 48 /* how much of the user's own text a message repeats */

/* ---- places ----------------------------------------------------------------------- */

/* What to look for in the text: a container, or something inside it. */
struct target {
    json_t *container;
    const char *key; /* an object's member, its value or the key itself */
    bool at_key;
    bool is_item; /* a list's item */
    size_t index;
};

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

static const char *skip_string(const char *at)
{
    for (at++; *at != '"'; at++) {
        if (*at == '\\')
            at++;
    }
    return at + 1;
}

static const char *find(json_t *value, const char **at, const struct target *target);

static const char *find_in_object(json_t *object, const char **at, const struct target *target)
{
    for (void *i = json_object_iter(object); i != NULL; i = json_object_iter_next(object, i)) {
        bool wanted = object == target->container && target->key != NULL &&
                      strcmp(json_object_iter_key(i), target->key) == 0;
        const char *key = *at = skip_space(*at + 1); /* behind the brace or the comma */
        *at = skip_space(skip_space(skip_string(key)) + 1);
        if (wanted)
            return target->at_key ? key : *at;
        const char *found = find(json_object_iter_value(i), at, target);
        if (found != NULL)
            return found;
        *at = skip_space(*at);
    }
    return NULL;
}

static const char *find_in_list(json_t *list, const char **at, const struct target *target)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        *at = skip_space(*at + 1);
        if (list == target->container && target->is_item && i == target->index)
            return *at;
        const char *found = find(json_array_get(list, i), at, target);
        if (found != NULL)
            return found;
        *at = skip_space(*at);
    }
    return NULL;
}

/* Walks text and tree side by side: jansson keeps no positions, but it keeps the members of
 * an object in the order of the text. Moves *at behind `value`, unless the target is met. */
static const char *find(json_t *value, const char **at, const struct target *target)
{
    bool is_object = json_is_object(value);

    if (!is_object && !json_is_array(value)) {
        *at = json_is_string(value) ? skip_string(*at) : *at + strcspn(*at, ",]} \t\r\n");
        return NULL;
    }
    if (value == target->container && target->key == NULL && !target->is_item)
        return *at;
    const char *found =
        is_object ? find_in_object(value, at, target) : find_in_list(value, at, target);
    if (found == NULL) { /* an empty container is still at its opening bracket */
        bool empty = is_object ? json_object_size(value) == 0 : json_array_size(value) == 0;
        *at = (empty ? skip_space(*at + 1) : *at) + 1;
    }
    return found;
}

static void place(const struct rp_json *json, const struct target *target, size_t *line,
                  size_t *column)
{
    const char *at = skip_space(json->text);
    const char *found = find(json->root, &at, target);

    *line = *column = 1;
    for (const char *c = json->text; found != NULL && c < found; c++) {
        if (*c == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)*c & 0xC0) != 0x80) {
            ++*column;
        }
    }
}

__attribute__((format(printf, 3, 0))) static void complain_at(const struct rp_json *json,
                                                              const struct target *target,
                                                              const char *format, va_list arguments)
{
    size_t line = 1, column = 1;

    place(json, target, &line, &column);
    int used =
        snprintf(json->message, json->message_size, "%s:%zu:%zu: ", json->label, line, column);
    if (used >= 0 && (size_t)used < json->message_size)
        vsnprintf(json->message + used, json->message_size - (size_t)used, format, arguments);
}

#define COMPLAIN(json, ...)                                                                        \
    do {                                                                                           \
        va_list arguments_;                                                                        \
        va_start(arguments_, format);                                                              \
        complain_at(json, &(struct target){__VA_ARGS__}, format, arguments_);                      \
        va_end(arguments_);                                                                        \
    } while (0)

bool rp_json_wrong_value(struct rp_json *json, json_t *object, const char *key, const char *format,
                         ...)
{
    COMPLAIN(json, .container = object, .key = key);
    return false;
}

bool rp_json_wrong_key(struct rp_json *json, json_t *object, const char *key, const char *format,
                       ...)
{
    COMPLAIN(json, .container = object, .key = key, .at_key = true);
    return false;
}

bool rp_json_wrong_item(struct rp_json *json, json_t *list, size_t index, const char *format, ...)
{
    COMPLAIN(json, .container = list, .is_item = true, .index = index);
    return false;
}

bool rp_json_wrong(struct rp_json *json, json_t *container, const char *format, ...)
{
    COMPLAIN(json, .container = container);
    return false;
}

/* ---- reading ---------------------------------------------------------------------- */

static enum rp_status refuse(struct rp_json *json, enum rp_status status)
{
    json_decref(json->root);
    free(json->text);
    *json = (struct rp_json){0};
    return status;
}

void rp_json_release(struct rp_json *json)
{
    refuse(json, RP_OK);
}

static const char *kind_found(json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "a list";
    case JSON_STRING: return "a text";
    case JSON_INTEGER: return "a whole number";
    case JSON_REAL: return "a number with a fraction";
    case JSON_TRUE: return "true";
    case JSON_FALSE: return "false";
    case JSON_NULL: return "null";
    }
    return "something else";
}

static size_t characters(const char *text, size_t length)
{
    size_t count = 0;

    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

/* jansson names the last column of the token that it stumbled over and puts the token at the
 * end of its text, "... near 'TOKEN'"; people look for the first. */
static int first_column(const json_error_t *error)
{
    const char *near = strstr(error->text, " near '"), *end = strrchr(error->text, '\'');
    int column = error->column;

    if (near != NULL && end > near + 7)
        column -= (int)characters(near + 7, (size_t)(end - near) - 7) - 1;
    return column > 0 ? column : 1;
}

static enum rp_status not_json(struct rp_json *json, const json_error_t *error)
{
    char what[2 * JSON_ERROR_TEXT_LENGTH];

    if (error->text[0] == '\0') { /* how jansson says it most of the time */
        snprintf(json->message, json->message_size, "%s: out of memory", json->label);
        return refuse(json, RP_NO_MEMORY);
    }
    rp_text_escape(what, sizeof(what), error->text, strlen(error->text));
    snprintf(json->message, json->message_size, "%s:%d:%d: this is not JSON: %s", json->label,
             error->line > 0 ? error->line : 1, first_column(error), what);
    return refuse(json, RP_INVALID);
}

/* Parses json->text, which is owned and zero-terminated. */
static enum rp_status parse(struct rp_json *json)
{
    json_error_t error;

    if (json->length >= 3 && memcmp(json->text, "\xEF\xBB\xBF", 3) == 0) {
        snprintf(json->message, json->message_size,
                 "%s:1:1: the file begins with a byte order mark; save it as UTF-8 without one",
                 json->label);
        return refuse(json, RP_INVALID);
    }
    if (strlen(json->text) == json->length && *skip_space(json->text) == '\0') {
        snprintf(json->message, json->message_size,
                 "%s:1:1: the file is empty; it begins with { \"version\": 1",
                 json->label);
        return refuse(json, RP_INVALID);
    }
    json->root =
        json_loadb(json->text, json->length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (json->root == NULL)
        return not_json(json, &error);
    if (!json_is_object(json->root)) {
        snprintf(json->message, json->message_size,
                 "%s:1:1: the file must hold an object, { ... }, not %s", json->label,
                 kind_found(json->root));
        return refuse(json, RP_INVALID);
    }
    return RP_OK;
}

enum rp_status rp_json_parse(struct rp_json *json, const char *text, size_t length,
                             const char *label, char *message, size_t message_size)
{
    *json = (struct rp_json){
        .length = length, .label = label, .message = message, .message_size = message_size};
    json->text = malloc(length + 1);
    if (json->text == NULL) {
        snprintf(message, message_size, "%s: out of memory", label);
        return RP_NO_MEMORY;
    }
    memcpy(json->text, text, length);
    json->text[length] = '\0';
    return parse(json);
}

/* Appends all of `fd` to json->text. errno is set on RP_IO, EFBIG for a file too large. */
static enum rp_status read_all(struct rp_json *json, int fd)
{
    size_t capacity = 0;

    for (;;) {
        char *text = rp_array_reserve(json->text, &capacity, json->length + 4096, 1);
        if (text == NULL)
            return RP_NO_MEMORY;
        json->text = text;
        ssize_t n = read(fd, text + json->length, capacity - json->length - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return RP_IO;
        json->length += (size_t)n;
        text[json->length] = '\0';
        if (n == 0)
            return RP_OK;
        if (json->length > RP_JSON_MAX_BYTES) {
            errno = EFBIG;
            return RP_IO;
        }
    }
}

enum rp_status rp_json_load(struct rp_json *json, const char *path, char *message,
                            size_t message_size)
{
    *json = (struct rp_json){.label = path, .message = message, .message_size = message_size};

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum rp_status status = fd < 0 ? RP_IO : read_all(json, fd);
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (status == RP_OK)
        return parse(json);
    snprintf(message, message_size, "%s: the file can't be read: %s", path,
             status == RP_IO ? strerror(why) : rp_status_text(status));
    return refuse(json, status);
}

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
                                   kind_wanted(key->kind), kind_found(value));
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
                                  kind_found(item));
    return rp_json_check(json, item, shape);
}

bool rp_json_check_text(struct rp_json *json, json_t *list, size_t index)
{
    json_t *item = json_array_get(list, index);

    if (!json_is_string(item))
        return rp_json_wrong_item(json, list, index, "this must be a text, not %s",
                                  kind_found(item));
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
        rp_size_parse(json_string_value(value), &bytes);
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
