/* SPDX-License-Identifier: Apache-2.0 */
/* Members of JSON objects. What the host has no memory for is left out, and known to shortage.h. */
#ifndef RP_INTERPOSE_JSON_H
#define RP_INTERPOSE_JSON_H

#include <jansson.h>
#include <stdint.h>

void rp_json_put_count(json_t *object, const char *key, uint64_t value);
/* Any bytes: what is not ASCII becomes a question mark in a text that is not UTF-8, such as a stray
 * kernel name, of which the first 255 bytes are put. */
void rp_json_put_text(json_t *object, const char *key, const char *text);

#endif
