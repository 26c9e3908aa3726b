/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/party.h"

#include "cuda/switches.h"
#include "tracker/array.h"

#include <stdlib.h>

void rp_party_release(struct rp_party *party)
{
    free(party->others);
    party->others = NULL;
    party->count = party->capacity = 0;
}

enum rp_status rp_party_gather(const struct rp_party *party)
{
    return rp_switch_on(RP_SWITCH_ORDER) ? rp_order_gather(party->order, party->leader) : RP_OK;
}

enum rp_status rp_party_let_in(const struct rp_party *party)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < party->count; i++)
        if (rp_switch_on(RP_SWITCH_ORDER))
            status = rp_order_after(party->order, party->others[i], party->leader);
    return status;
}

static bool has(const struct rp_party *party, rp_stream stream)
{
    bool found = stream == party->leader;
    for (size_t i = 0; !found && i < party->count; i++)
        found = party->others[i] == stream;
    return found;
}

static enum rp_status meet(const struct rp_party *party, rp_stream stream, rp_stream earlier)
{
    enum rp_status status = rp_order_meet(party->order, stream);
    return status == RP_OK ? rp_order_after(party->order, stream, earlier) : status;
}

enum rp_status rp_party_join(struct rp_party *party, rp_stream stream)
{
    if (has(party, stream))
        return RP_OK;
    rp_stream *bigger = rp_array_reserve(party->others, &party->capacity, party->count + 1,
                                         sizeof *bigger);
    if (!bigger)
        return RP_NO_MEMORY;
    party->others = bigger;
    party->others[party->count++] = stream;
    return rp_switch_on(RP_SWITCH_ORDER) ? meet(party, stream, party->leader) : RP_OK;
}

enum rp_status rp_party_join_last(struct rp_party *party, rp_stream stream)
{
    const bool is_new = !has(party, stream);
    enum rp_status status = rp_party_join(party, stream);
    if (!rp_switch_on(RP_SWITCH_ORDER))
        return status;
    if (status == RP_OK && !is_new)
        status = rp_order_after(party->order, stream, party->leader);
    for (size_t i = 0; status == RP_OK && i < party->count; i++)
        status = rp_order_after(party->order, stream, party->others[i]);
    return status;
}

static bool captures(const struct rp_driver *driver, rp_stream stream)
{
    bool yes = true;
    return driver->capturing(driver->self, stream, &yes) != RP_OK || yes;
}

static void remove_other(struct rp_party *party, rp_stream stream)
{
    size_t left = 0;
    for (size_t i = 0; i < party->count; i++)
        if (party->others[i] != stream)
            party->others[left++] = party->others[i];
    party->count = left;
}

enum rp_status rp_party_leave(struct rp_party *party, rp_stream stream, rp_stream heir, bool holds)
{
    remove_other(party, stream);
    if (party->leader != stream)
        return RP_OK;
    for (size_t i = 0; i < party->count; i++)
        if (!captures(party->driver, party->others[i]))
            heir = party->others[i];
    party->leader = heir;
    if (!holds || !rp_switch_on(RP_SWITCH_ORDER))
        return RP_OK;
    return captures(party->driver, heir) ? RP_UNSUPPORTED : meet(party, heir, stream);
}
