/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/landing.h"

#include "cuda/switches.h"
#include "interpose/run/core.h"
#include "interpose/run/host.h"
#include "interpose/run/keep.h"
#include "interpose/run/remark.h"
#include "interpose/run/report.h"

#include <sys/uio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MOST_BYTES (UINT64_C(16) << 20) /* to look at more would cost more than the copy does */

/* By the kernel's hand: the place may be no memory any more, which it says, and we would not live
 * to hear. */
static bool read_content(uint64_t at, uint64_t bytes, uint64_t *content)
{
    static unsigned char piece[64 << 10];
    *content = bytes;
    for (uint64_t done = 0; done < bytes;) {
        uint64_t left = bytes - done;
        size_t size = left < sizeof piece ? (size_t)left : sizeof piece;
        const struct iovec to = {piece, size}, from = {(void *)(uintptr_t)(at + done), size};
        if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)size)
            return false;
        *content = XXH3_64bits_withSeed(piece, size, *content);
        done += size;
    }
    return true;
}

struct rp_landed rp_landing_of(const struct rp_footprint *call)
{
    struct rp_landed landed = {.at = call->host.landing.at, .bytes = call->host.landing.bytes};
    if (landed.at && call->host.landing.is_over && landed.bytes && landed.bytes <= MOST_BYTES)
        landed.is_known = read_content(landed.at, landed.bytes, &landed.content);
    return landed;
}

/* ---- in a replay -------------------------------------------------------------------- */

enum finding { NOT_THERE, ALIKE, OTHER, UNKNOWN };

/* Of rows no more is known than where the first begins. */
static bool meets(const struct rp_landed *landed, const struct rp_landing *landing)
{
    uint64_t bytes = landed->bytes ? landed->bytes : 1, more = landing->bytes ? landing->bytes : 1;
    return landed->at && landed->at < landing->at + more && landing->at < landed->at + bytes;
}

/* What any of the forward's copies left there may stand there, of those that end in one place. */
static enum finding look(const struct rp_execution *execution, const struct rp_landing *landing)
{
    enum finding found = NOT_THERE;
    uint64_t content = 0;
    bool looked = false, readable = false;
    for (size_t i = 0; i < execution->log_count; i++) {
        const struct rp_landed *landed = &execution->log[i].landed;
        if (!meets(landed, landing))
            continue;
        if (!looked && landing->bytes <= MOST_BYTES)
            readable = read_content(landing->at, landing->bytes, &content);
        looked = true;
        if (!readable || !landed->is_known || landed->at != landing->at ||
            landed->bytes != landing->bytes)
            found = UNKNOWN;
        else if (landed->content == content)
            return ALIKE;
        else if (found == NOT_THERE)
            found = OTHER;
    }
    return found;
}

/* It will stand again after the replay. */
static bool is_state(const struct rp_execution *execution, const struct rp_footprint *call)
{
    bool is_tracked = false, all = true;
    struct rp_spans state = {0}, rest = {0};
    for (size_t i = 0; all && i < call->count; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (reach->effect != RP_WRITE)
            continue;
        is_tracked = true;
        all = rp_keep_state(execution, reach->id, reach->lo, reach->hi, &state) == RP_OK &&
              rp_spans_missing(&state, reach->lo, reach->hi, &rest) == RP_OK && !rest.count;
    }
    rp_spans_release(&state);
    rp_spans_release(&rest);
    return is_tracked ? all : rp_host_holds(call->host.landing.at, call->host.landing.bytes);
}

static bool writes_nothing_tracked(const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count; i++)
        if (call->reaches[i].effect == RP_WRITE)
            return false;
    return true;
}

void rp_landing_meet(const struct rp_scope *scope, const struct rp_footprint *call)
{
    const struct rp_execution *execution = scope->execution;
    if (!call->host.landing.at || !rp_switch_on(RP_SWITCH_DOUBTS) ||
        (execution->serves && writes_nothing_tracked(call)) || is_state(execution, call))
        return;
    enum finding found = look(execution, &call->host.landing);
    if (found == OTHER)
        rp_report_landed(execution, call);
    else if (found == UNKNOWN)
        rp_remark(rp_name(call->name), RP_UNVOUCHED_LANDING);
}
