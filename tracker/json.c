/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/json.h"

#include "tracker/array.h"
#include "tracker/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

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

void rp_json_release(struct rp_json *json)
{
    json_decref(json->root);
    free(json->text);
    *json = (struct rp_json){0};
}

static enum rp_status refuse(struct rp_json *json, enum rp_status status)
{
    rp_json_release(json);
    return status;
}

const char *rp_json_found(json_t *value)
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

    if (errno == ENOMEM) { /* jansson blames the text for it */
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
    errno = 0;
    json->root =
        json_loadb(json->text, json->length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (json->root == NULL)
        return not_json(json, &error);
    if (!json_is_object(json->root)) {
        snprintf(json->message, json->message_size,
                 "%s:1:1: the file must hold an object, { ... }, not %s", json->label,
                 rp_json_found(json->root));
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
