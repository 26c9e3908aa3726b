/* SPDX-License-Identifier: Apache-2.0 */
/* Strict reading of JSON files that people write: contracts, and whatever else is like them.
 *
 * The parser is jansson. What this adds is what jansson leaves out: each object is checked
 * against a table of its keys, and each complaint carries the line and column of the key or
 * value that it is about, "FILE:LINE:COLUMN: what is wrong; the way out". Only the first
 * complaint is kept. Columns count characters. */
#ifndef RP_TRACKER_JSON_H
#define RP_TRACKER_JSON_H

#include "tracker/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest number of 63 bits itself stands for "none" in more than one place. */
#define RP_JSON_COUNT_MAX (INT64_MAX - 1)

/* What may stand behind a key. */
enum rp_json_kind {
    RP_JSON_TEXT,  /* not empty */
    RP_JSON_WORD,  /* one of `words` */
    RP_JSON_SIZE,  /* bytes: a whole number, or a text such as "64KiB" */
    RP_JSON_COUNT, /* a whole number from 0 to RP_JSON_COUNT_MAX */
    RP_JSON_FLAG,
    RP_JSON_OBJECT,
    RP_JSON_LIST
};

struct rp_json_key {
    const char *name;
    enum rp_json_kind kind;
    bool required;
    const char *const *words; /* WORD: NULL-terminated */
};

/* The keys of one kind of object. */
struct rp_json_shape {
    const char *title; /* "the contract", "a segment": how messages call it */
    const struct rp_json_key *keys;
    size_t key_count;
};
#define RP_JSON_SHAPE(title, keys) {title, keys, sizeof(keys) / sizeof((keys)[0])}

struct rp_json {
    json_t *root;
    char *text; /* what was parsed, to find places in */
    size_t length;
    const char *label; /* the file's name in messages */
    char *message;     /* the caller's, size message_size */
    size_t message_size;
};

/* Reads a whole file, at most RP_JSON_MAX_BYTES of it, and parses it. The root is an object.
 * On failure `message` is filled and nothing is held. `label` and `message` must outlive
 * the document. */
#define RP_JSON_MAX_BYTES ((size_t)16 << 20)
enum rp_status rp_json_load(struct rp_json *json, const char *path, char *message,
                            size_t message_size);
enum rp_status rp_json_parse(struct rp_json *json, const char *text, size_t length,
                             const char *label, char *message, size_t message_size);
void rp_json_release(struct rp_json *json);

/* True when `object` has the keys of `shape`, all that are required and no other, each with a
 * value of its kind. After this the getters below can't fail. */
bool rp_json_check(struct rp_json *json, json_t *object, const struct rp_json_shape *shape);
/* The same for an item of a list, which may be no object at all. */
bool rp_json_check_item(struct rp_json *json, json_t *list, size_t index,
                        const struct rp_json_shape *shape);
/* True when an item of a list is a text that is not empty. */
bool rp_json_check_text(struct rp_json *json, json_t *list, size_t index);

/* The value behind a checked key, or `otherwise` when it is not there. */
uint64_t rp_json_size(json_t *object, const char *key, uint64_t otherwise);
uint64_t rp_json_count(json_t *object, const char *key, uint64_t otherwise);
bool rp_json_flag(json_t *object, const char *key, bool otherwise);
const char *rp_json_text(json_t *object, const char *key); /* NULL when not there */
/* Index into the key's words. */
size_t rp_json_word(json_t *object, const char *key, const char *const *words,
                    size_t otherwise);

/* "a whole number", "a list" ... */
const char *rp_json_found(json_t *value);

/* Complaints about the value behind a key, the key itself, an item, or an object or list as a
 * whole. `format` makes the text behind the place. All return false, to be returned on. */
bool rp_json_wrong_value(struct rp_json *json, json_t *object, const char *key,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
bool rp_json_wrong_key(struct rp_json *json, json_t *object, const char *key,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));
bool rp_json_wrong_item(struct rp_json *json, json_t *list, size_t index,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));
bool rp_json_wrong(struct rp_json *json, json_t *container, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
