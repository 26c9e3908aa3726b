/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/json.h"

#include <string.h>

void rp_json_put_count(json_t *object, const char *key, uint64_t value)
{
    /* JSON readers stop at 63 bits; no count of ours comes near. */
    json_object_set_new(object, key, json_integer((json_int_t)(value & INT64_MAX)));
}

void rp_json_put_text(json_t *object, const char *key, const char *text)
{
    json_t *value = json_string(text);
    if (!value) { /* jansson refuses what is not UTF-8 */
        char clean[256];
        size_t length = strlen(text);
        if (length >= sizeof clean)
            length = sizeof clean - 1;
        for (size_t i = 0; i < length; i++)
            clean[i] = (text[i] & 0x80) ? '?' : text[i];
        clean[length] = '\0';
        value = json_string(clean);
    }
    json_object_set_new(object, key, value);
}
