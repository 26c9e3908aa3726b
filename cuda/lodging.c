/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/lodging.h"

/* The first began before the watch, and some jobs take turns between two kinds of steps. */
enum { STEPS = 4 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct rp_lodging_size *find(struct rp_lodging *lodging, uint64_t bytes)
{
    for (size_t i = 0; i < lodging->size_count; i++)
        if (lodging->sizes[i].bytes == bytes)
            return &lodging->sizes[i];
    return NULL;
}

void rp_lodging_step(struct rp_lodging *lodging)
{
    for (size_t i = 0; i < lodging->size_count; i++)
        lodging->sizes[i].steps++;
}

void rp_lodging_relearn(struct rp_lodging *lodging)
{
    for (size_t i = 0; i < lodging->size_count; i++) {
        lodging->sizes[i].steps = 0;
        lodging->sizes[i].free = UINT64_MAX;
    }
}

void rp_lodging_watch(struct rp_lodging *lodging, uint64_t bytes, uint64_t out)
{
    if (!find(lodging, bytes) && lodging->size_count < COUNT(lodging->sizes))
        lodging->sizes[lodging->size_count++] =
            (struct rp_lodging_size){.bytes = bytes, .out = out, .free = UINT64_MAX};
}

bool rp_lodging_allows(const struct rp_lodging *lodging, uint64_t bytes, uint64_t waste)
{
    bool known = false;
    if (lodging->guest_count == COUNT(lodging->guests))
        return false;
    for (size_t i = 0; i < lodging->size_count; i++) {
        const struct rp_lodging_size *size = &lodging->sizes[i];
        bool same = size->bytes == bytes;
        known |= same && size->steps >= STEPS;
        /* The waste stands beside that of the guests of other sizes, for as long as theirs. */
        if ((same || size->guests) && size->free < lodging->waste + waste)
            return false;
    }
    return known;
}

void rp_lodging_settle(struct rp_lodging *lodging, rp_device_ptr at, uint64_t bytes, uint64_t host)
{
    struct rp_lodging_size *size = find(lodging, bytes);
    if (size)
        size->guests++;
    lodging->guests[lodging->guest_count++] = (struct rp_lodging_guest){at, bytes, host};
    lodging->waste += host - bytes;
}

uint64_t rp_lodging_leave(struct rp_lodging *lodging, rp_device_ptr at, uint64_t bytes)
{
    for (size_t i = 0; i < lodging->guest_count; i++) {
        const struct rp_lodging_guest guest = lodging->guests[i];
        if (guest.at != at)
            continue;
        struct rp_lodging_size *size = find(lodging, guest.bytes);
        if (size)
            size->guests--;
        lodging->waste -= guest.host - guest.bytes;
        lodging->guests[i] = lodging->guests[--lodging->guest_count];
        return guest.host;
    }
    return bytes;
}

void rp_lodging_count(struct rp_lodging *lodging, uint64_t bytes, bool out)
{
    struct rp_lodging_size *size = find(lodging, bytes);
    if (size)
        size->out = out ? size->out + 1 : size->out - 1;
}

void rp_lodging_see(struct rp_lodging *lodging, uint64_t free)
{
    for (size_t i = 0; i < lodging->size_count; i++)
        if (lodging->sizes[i].out && free < lodging->sizes[i].free)
            lodging->sizes[i].free = free;
}
