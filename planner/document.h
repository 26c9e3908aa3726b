/* SPDX-License-Identifier: Apache-2.0 */
/* What profile and plan files have in common. Internal to planner/. */
#ifndef RP_PLANNER_DOCUMENT_H
#define RP_PLANNER_DOCUMENT_H

#include "planner/profile.h"
#include "tracker/json.h"

#define RP_PROFILE_FORMAT "reprise-profile"
#define RP_PLAN_FORMAT "reprise-plan"

/* rp_json_load, with "-" for standard input. */
enum rp_status rp_document_load(struct rp_json *json, const char *path, char *message,
                                size_t message_size);

/* Complains about a "version" other than the one known, before anything else in a document
 * of another time is held against its shape. */
bool rp_document_version(struct rp_json *json, unsigned version);

/* "made_for", which may be missing. The texts belong to the document. */
bool rp_document_purpose(struct rp_json *json, struct rp_purpose *purpose);

/* A figure with its source. */
bool rp_document_measure(struct rp_json *json, json_t *object, struct rp_measure *measure);

/* The way back. All return NULL when out of memory. */
json_t *rp_document_text(const char *text); /* odd bytes escaped */
json_t *rp_document_made_for(const char *job, const char *device, const char *contract);
json_t *rp_document_of_measure(struct rp_measure measure);

/* Sets a key to a new value and takes the value over; false when either is NULL or memory is
 * short, so that a row of calls needs one check. */
bool rp_document_set(json_t *object, const char *key, json_t *value);
bool rp_document_append(json_t *list, json_t *value);
/* `value` where that row was good, else NULL, with the value given back. */
json_t *rp_document_finish(json_t *value, bool good);

/* Writes text beside `path`, mode 0600, never following a link, and renames it there. RP_IO leaves
 * errno. */
enum rp_status rp_document_write(const char *path, const char *text);

#endif
