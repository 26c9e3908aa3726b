/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/state.h"

#include "tracker/array.h"

#include <stdlib.h>
#include <string.h>

struct found {
    rp_alloc_id id;
    uint64_t lo, hi;
    char *name;
};

struct owner {
    rp_alloc_id id;
    struct rp_spans spans;
};

struct rp_state {
    struct found *found; /* in order of declaration: the first name wins */
    size_t found_count, found_capacity;
    struct owner *owners; /* one an allocation, any order: there are few */
    size_t owner_count, owner_capacity;
};

enum rp_status rp_state_create(struct rp_state **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? RP_OK : RP_NO_MEMORY;
}

static struct owner *owner_find(const struct rp_state *state, rp_alloc_id id)
{
    for (size_t i = 0; i < state->owner_count; i++)
        if (state->owners[i].id == id)
            return &state->owners[i];
    return NULL;
}

static struct owner *owner_get(struct rp_state *state, rp_alloc_id id)
{
    struct owner *owner = owner_find(state, id);
    if (owner)
        return owner;
    struct owner *bigger = rp_array_reserve(state->owners, &state->owner_capacity,
                                            state->owner_count + 1, sizeof *bigger);
    if (!bigger)
        return NULL;
    state->owners = bigger;
    owner = &state->owners[state->owner_count++];
    *owner = (struct owner){.id = id};
    return owner;
}

static bool is_of_family(const char *member, const char *family)
{
    size_t length = strlen(family);
    return strncmp(member, family, length) == 0 &&
           (member[length] == '\0' || member[length] == '[');
}

bool rp_state_has(const struct rp_state *state, const char *name, rp_alloc_id id, uint64_t lo,
                  uint64_t hi)
{
    for (size_t i = 0; i < state->found_count; i++) {
        const struct found *found = &state->found[i];
        if (found->id == id && found->lo == lo && found->hi == hi &&
            is_of_family(found->name, name))
            return true;
    }
    return false;
}

static enum rp_status remember(struct rp_state *state, const char *name, struct found found)
{
    struct found *bigger = rp_array_reserve(state->found, &state->found_capacity,
                                            state->found_count + 1, sizeof *bigger);
    if (!bigger)
        return RP_NO_MEMORY;
    state->found = bigger;
    found.name = strdup(name);
    if (!found.name)
        return RP_NO_MEMORY;
    state->found[state->found_count++] = found;
    return RP_OK;
}

enum rp_status rp_state_add(struct rp_state *state, const char *name, rp_alloc_id id, uint64_t lo,
                            uint64_t hi, bool *added)
{
    bool is_new = lo < hi && !rp_state_has(state, name, id, lo, hi);
    if (added)
        *added = is_new;
    if (!is_new)
        return RP_OK;
    struct owner *owner = owner_get(state, id);
    if (!owner)
        return RP_NO_MEMORY;
    enum rp_status status = rp_spans_add(&owner->spans, lo, hi);
    struct found found = {.id = id, .lo = lo, .hi = hi};
    return status == RP_OK ? remember(state, name, found) : status;
}

void rp_state_forget(struct rp_state *state, rp_alloc_id id)
{
    struct owner *owner = owner_find(state, id);
    if (!owner)
        return;
    rp_spans_release(&owner->spans);
    *owner = state->owners[--state->owner_count];
    size_t kept = 0;
    for (size_t i = 0; i < state->found_count; i++) {
        if (state->found[i].id == id)
            free(state->found[i].name);
        else
            state->found[kept++] = state->found[i];
    }
    state->found_count = kept;
}

const struct rp_spans *rp_state_of(const struct rp_state *state, rp_alloc_id id)
{
    const struct owner *owner = owner_find(state, id);
    return owner ? &owner->spans : NULL;
}

enum rp_status rp_state_each(const struct rp_state *state, rp_state_fn visit, void *ctx)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < state->owner_count; i++) {
        const struct owner *owner = &state->owners[i];
        for (size_t j = 0; status == RP_OK && j < owner->spans.count; j++)
            status = visit(ctx, owner->id, owner->spans.items[j].lo, owner->spans.items[j].hi);
    }
    return status;
}

const char *rp_state_name(const struct rp_state *state, rp_alloc_id id, uint64_t lo, uint64_t hi,
                          uint64_t *lo_out, uint64_t *hi_out)
{
    for (size_t i = 0; i < state->found_count; i++) {
        const struct found *found = &state->found[i];
        if (found->id != id || found->hi <= lo || hi <= found->lo)
            continue;
        if (lo_out)
            *lo_out = found->lo;
        if (hi_out)
            *hi_out = found->hi;
        return found->name;
    }
    return NULL;
}
