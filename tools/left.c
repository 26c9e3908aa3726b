/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/left.h"

#include "tools/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A name means the same wherever it stands, and so its type is the same; but for `program`, a
 * number in a summary and a text in run.json. */
static const char *const figures[] = {
    "pid", "rank", "min_budget_bytes", "calls", "launches", "steps", "transactions", "trace_lost",
    "forwards", "replays", "unreplayed", "stopped_early", "found", "count", "order", "instance",
    "step", "allocation", "offset", "bytes", "birth_seq", "version_read", "version_wanted",
    "allocation_bytes", "writer_seq", "writer_step", "writer_launch", "reader_launch", "position",
    "planned_ns", "measured_ns", "planned_peak_bytes", "needed_bytes", "overrun_bytes",
    "bytes_kept_on_host",
    "bytes_dropped", "measured_peak_bytes", "recalls", "bytes_preserved", "bytes_held_peak",
    "device_peak_bytes", NULL};
static const char *const texts[] = {
    "mode", "policy", "state", "driver", "device", "name", "hazard", "segment", "buffer", "memory",
    "writer", "writer_stream", "reader", "key", "other", "advice", "taken_for", "call", "reason",
    "refused", "answer", "contract", "trace_error", NULL};
static const char *const flags[] = {"harmless", "warning", "unvouched", "unseen", "taken", NULL};
static const char *const lists[] = {"hazards", "segments", "buffers", "unknown", NULL};
static const char *const objects[] = {"plan", "recompute", "proofs", NULL};

static bool is_among(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

static bool is_figure(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool is_command(const json_t *value)
{
    bool good = json_is_string(value) || json_is_array(value);
    for (size_t i = 0; good && i < json_array_size(value); i++)
        good = json_is_string(json_array_get(value, i));
    return good;
}

/* What the member should be; NULL where it is that, or nothing is known of it. */
static const char *wrong_type(const char *name, const json_t *value)
{
    if (strcmp(name, "program") == 0 && !is_figure(value) && !json_is_string(value))
        return "a whole number";
    if (strcmp(name, "command") == 0 && !is_command(value))
        return "a command";
    if (is_among(figures, name) && !is_figure(value))
        return "a whole number";
    if (is_among(texts, name) && !json_is_string(value))
        return "a text";
    if (is_among(flags, name) && !json_is_boolean(value))
        return "true or false";
    if (is_among(lists, name) && !json_is_array(value))
        return "a list";
    if (is_among(objects, name) && !json_is_object(value))
        return "an object";
    return NULL;
}

/* The members of an object, told by what it is a member of. */
static bool check_members(json_t *object, const char *within, char *why, size_t size)
{
    const char *name, *wanted = json_is_object(object) ? NULL : "an object";
    json_t *value;

    if (wanted)
        snprintf(why, size, "%s: one is not %s", within, wanted);
    json_object_foreach(object, name, value) {
        if (!wanted && (wanted = wrong_type(name, value)) != NULL)
            snprintf(why, size, "%s%s%s is not %s", within, *within ? ": " : "", name, wanted);
    }
    return !wanted;
}

static bool check(json_t *document, char *why, size_t size)
{
    bool good = check_members(document, "", why, size);

    for (size_t i = 0; good && lists[i]; i++) {
        json_t *list = json_object_get(document, lists[i]);
        for (size_t at = 0; good && at < json_array_size(list); at++)
            good = check_members(json_array_get(list, at), lists[i], why, size);
    }
    for (size_t i = 0; good && objects[i]; i++) {
        json_t *object = json_object_get(document, objects[i]);
        good = !object || check_members(object, objects[i], why, size);
    }
    return good;
}

/* Before all else: a newer one may have members of other types. */
static bool check_version(const json_t *document, const char *format, char *why, size_t size)
{
    const char *is = json_string_value(json_object_get(document, "format"));
    const json_t *version = json_object_get(document, "version");

    if (!is || strcmp(is, format) != 0)
        snprintf(why, size, "its format is not \"%s\"", format);
    else if (!json_is_integer(version))
        snprintf(why, size, "it names no version");
    else if (json_integer_value(version) != 1)
        snprintf(why, size, "this build reads version 1 of it, not %lld%s",
                 (long long)json_integer_value(version),
                 json_integer_value(version) > 1 ? "; a newer reprise may" : "");
    else
        return true;
    return false;
}

/* Not a pipe, which nobody may write to. NULL with errno set, or 0 where it is no file. */
static FILE *open_file(const char *path)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return NULL;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        return fdopen(fd, "r");
    close(fd);
    errno = 0;
    return NULL;
}

json_t *rp_left_load(const char *path, const char *format, const char *otherwise)
{
    json_error_t error;
    char why[256] = "";
    FILE *file = open_file(path);

    if (!file) {
        rp_say("%s: %s%s", path, errno ? "can't be read: " : otherwise,
               errno ? strerror(errno) : ": this is no file");
        return NULL;
    }
    json_t *document = json_loadf(file, 0, &error); /* json_loadfd asks the kernel for each byte */
    fclose(file);
    if (document && check_version(document, format, why, sizeof(why)) &&
        check(document, why, sizeof(why)))
        return document;
    rp_say("%s: %s: %s", path, otherwise, document ? why : error.text);
    json_decref(document);
    return NULL;
}
