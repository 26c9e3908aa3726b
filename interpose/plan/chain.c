/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/chain.h"

#include "interpose/run/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 320 };

struct link {
    uint32_t segment, key; /* the rule and the id of the key's text */
    uint32_t name;
};

/* Steps are alike: a link that stands where it stood in the step before keeps its name, and
 * nothing is put together anew. `same` counts those from the beginning. */
static struct {
    struct link *links;
    size_t count, known, capacity;
    bool same;
} chain = {.same = true};

void rp_chain_step_began(void)
{
    chain.known = chain.count;
    chain.count = 0;
    chain.same = true;
}

void rp_chain_forget(void)
{
    chain.count = chain.known = 0; /* the names' ids were the parent's */
    chain.same = true;
}

size_t rp_chain_length(void)
{
    return chain.count;
}

uint32_t rp_chain_name(uint32_t place)
{
    return place < chain.count ? chain.links[place].name : 0;
}

static size_t earlier(uint32_t segment, uint32_t key)
{
    size_t count = 0;
    for (size_t i = 0; i < chain.count; i++)
        count += chain.links[i].segment == segment && chain.links[i].key == key;
    return count;
}

static uint32_t name_of(uint32_t segment, const char *key, size_t before)
{
    char text[NAME_BYTES], count[24] = "";
    if (before)
        snprintf(count, sizeof count, "[%zu]", before);
    snprintf(text, sizeof text, "%s%s%s%s", rp_core.config.contract->segments[segment].name,
             *key ? "/" : "", key, count);
    return rp_names_id(rp_core.names, text);
}

static bool make_room(void)
{
    if (chain.count < chain.capacity)
        return true;
    size_t capacity = chain.capacity ? chain.capacity * 2 : 32;
    struct link *bigger = realloc(chain.links, capacity * sizeof *bigger);
    if (!bigger)
        return false;
    chain.links = bigger;
    chain.capacity = capacity;
    return true;
}

uint32_t rp_chain_join(uint32_t segment, const char *key)
{
    uint32_t key_id = rp_names_id(rp_core.names, key);
    if (!make_room())
        return (uint32_t)chain.count; /* its name is then 0, which no plan knows */
    struct link *link = &chain.links[chain.count];
    chain.same = chain.same && chain.count < chain.known && link->segment == segment &&
                 link->key == key_id;
    if (!chain.same)
        *link = (struct link){segment, key_id, name_of(segment, key, earlier(segment, key_id))};
    return (uint32_t)chain.count++;
}
