/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/contract_reading.h"

#include <stdlib.h>
#include <string.h>

char *rp_reading_copy(struct rp_reading *r, const char *text)
{
    char *copied = text != NULL ? strdup(text) : NULL;

    if (text != NULL && copied == NULL)
        r->no_memory = true;
    return copied;
}

char *rp_reading_text(struct rp_reading *r, json_t *object, const char *key)
{
    return rp_reading_copy(r, rp_json_text(object, key));
}

void *rp_reading_room(struct rp_reading *r, json_t *list, size_t size, size_t *count)
{
    void *items = json_array_size(list) > 0 ? calloc(json_array_size(list), size) : NULL;

    *count = items != NULL ? json_array_size(list) : 0;
    if (items == NULL && json_array_size(list) > 0)
        r->no_memory = true;
    return items;
}

bool rp_reading_check(struct rp_reading *r, json_t *object, enum rp_contract_object shape)
{
    return rp_json_check(&r->json, object, &rp_contract_shapes[shape]);
}

bool rp_reading_check_item(struct rp_reading *r, json_t *list, size_t i,
                           enum rp_contract_object shape)
{
    return rp_json_check_item(&r->json, list, i, &rp_contract_shapes[shape]);
}

bool rp_reading_at_least_one(struct rp_reading *r, json_t *object, const char *key,
                             const char *advice)
{
    if (rp_json_size(object, key, 1) > 0)
        return true;
    return rp_json_wrong_value(&r->json, object, key, "\"%s\" must be at least 1%s", key, advice);
}

bool rp_reading_name_is_new(struct rp_reading *r, json_t *item, json_t *seen, const char *what)
{
    const char *name = rp_json_text(item, "name");
    char word[RP_READING_QUOTE];

    if (json_object_get(seen, name) != NULL)
        return rp_json_wrong_value(&r->json, item, "name",
                                   "a %s called \"%s\" is there already; give it another name",
                                   what, rp_text_escape(word, sizeof(word), name, strlen(name)));
    if (json_object_set_new(seen, name, json_true()) != 0)
        r->no_memory = true;
    return true;
}
