/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/document.h"

#include "tracker/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reading ------------------------------------------------------------------ */

enum rp_status rp_document_load(struct rp_json *json, const char *path, char *message,
                                size_t message_size)
{
    return rp_json_load(json, strcmp(path, "-") == 0 ? "/dev/stdin" : path, message,
                        message_size);
}

bool rp_document_version(struct rp_json *json, unsigned version)
{
    json_t *found = json_object_get(json->root, "version");

    if (found == NULL)
        return rp_json_wrong(json, json->root, "the file needs \"version\"; the one known is %u",
                             version);
    if (!json_is_integer(found) || json_integer_value(found) != (json_int_t)version)
        return rp_json_wrong_value(json, json->root, "version",
                                   "this version is not known; the one known is %u", version);
    return true;
}

bool rp_document_purpose(struct rp_json *json, struct rp_purpose *purpose)
{
    static const struct rp_json_key keys[] = {
        {"job", RP_JSON_TEXT, false, NULL},
        {"device", RP_JSON_TEXT, false, NULL},
        {"contract", RP_JSON_TEXT, false, NULL},
        {"segments", RP_JSON_TEXT, false, NULL},
    };
    static const struct rp_json_shape shape = {"\"made_for\"", keys, 4};
    json_t *made_for = json_object_get(json->root, "made_for");

    *purpose = (struct rp_purpose){rp_json_text(made_for, "job"), rp_json_text(made_for, "device"),
                                   rp_json_text(made_for, "contract")};
    return made_for == NULL || rp_json_check(json, made_for, &shape);
}

bool rp_document_measure(struct rp_json *json, json_t *object, struct rp_measure *measure)
{
    static const char *const sources[] = {"absent",  "measured",    "derived",     "stated",
                                          "counted", "cuda-events", "model-clock", "cupti", NULL};
    static const struct rp_json_key keys[] = {
        {"value", RP_JSON_COUNT, true, NULL},
        {"source", RP_JSON_WORD, true, sources},
    };
    static const struct rp_json_shape shape = RP_JSON_SHAPE("a figure", keys);

    if (!rp_json_check(json, object, &shape))
        return false;
    measure->value = rp_json_count(object, "value", 0);
    measure->source = (enum rp_source)rp_json_word(object, "source", sources, RP_SOURCE_ABSENT);
    return true;
}

/* ---- writing ------------------------------------------------------------------ */

json_t *rp_document_text(const char *text)
{
    size_t length = strlen(text), size = 4 * length + 4;
    json_t *value = json_string(text);

    if (value != NULL)
        return value;
    char *escaped = malloc(size);
    if (escaped != NULL)
        value = json_string(rp_text_escape(escaped, size, text, length));
    free(escaped);
    return value;
}

bool rp_document_set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

bool rp_document_append(json_t *list, json_t *value)
{
    return json_array_append_new(list, value) == 0;
}

json_t *rp_document_finish(json_t *value, bool good)
{
    if (good)
        return value;
    json_decref(value);
    return NULL;
}

json_t *rp_document_made_for(const char *job, const char *device, const char *contract)
{
    json_t *made_for = json_object();
    bool good = made_for != NULL;

    good = good && (job == NULL || rp_document_set(made_for, "job", rp_document_text(job)));
    good = good &&
           (device == NULL || rp_document_set(made_for, "device", rp_document_text(device)));
    good = good && (contract == NULL ||
                    rp_document_set(made_for, "contract", rp_document_text(contract)));
    return rp_document_finish(made_for, good);
}

json_t *rp_document_of_measure(struct rp_measure measure)
{
    return json_pack("{s:I, s:s}", "value", (json_int_t)measure.value, "source",
                     rp_source_name(measure.source));
}

/* A job writes where others may, too: what lies there is not followed, and not theirs to read. */
static enum rp_status write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (file == NULL) {
        if (fd >= 0)
            close(fd);
        return RP_IO;
    }
    bool good = fputs(text, file) >= 0;
    good = fclose(file) == 0 && good;
    return good ? RP_OK : RP_IO;
}

enum rp_status rp_document_write(const char *path, const char *text)
{
    size_t size = strlen(path) + 32;
    char *beside = malloc(size);
    enum rp_status status;

    if (beside == NULL)
        return RP_NO_MEMORY;
    snprintf(beside, size, "%s.%ld.tmp", path, (long)getpid());
    unlink(beside); /* of an earlier process of this number that was killed */
    status = write_file(beside, text);
    if (status == RP_OK && rename(beside, path) != 0)
        status = RP_IO;
    int why = errno;
    if (status != RP_OK)
        unlink(beside);
    free(beside);
    errno = why;
    return status;
}
