/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/footprint.h"

#include "interpose/run/core.h"
#include "interpose/run/remark.h"

#include <stdlib.h>

/* Free ones, as many as were ever out at once: as many as the job has threads in the driver. */
static struct pooled {
    struct rp_footprint footprint; /* first: one is turned into the other */
    struct pooled *next;
} *pool;
static _Thread_local struct rp_footprint last_resort;

struct rp_footprint *rp_footprint_take(void)
{
    struct pooled *pooled = pool;
    if (pooled)
        pool = pooled->next;
    else
        pooled = calloc(1, sizeof *pooled);
    return pooled ? &pooled->footprint : &last_resort;
}

void rp_footprint_give(struct rp_footprint *call)
{
    if (call == &last_resort)
        return;
    struct pooled *pooled = (struct pooled *)(void *)call;
    pooled->next = pool;
    pool = pooled;
}

void rp_footprint_begin(struct rp_footprint *call, uint32_t name, rp_stream stream)
{
    struct rp_reach *reaches = call->reaches;
    size_t capacity = call->capacity;
    *call = (struct rp_footprint){.name = name, .stream = stream, .signature = name,
                             .remarks = rp_remarks_made(), .reaches = reaches,
                             .capacity = capacity};
}

/* Reads stay in front, as a call reads before it writes. */
struct rp_reach *rp_footprint_room(struct rp_footprint *call, enum rp_effect effect)
{
    if (call->count == call->capacity) {
        size_t capacity = call->capacity ? call->capacity * 2 : 32;
        struct rp_reach *bigger = realloc(call->reaches, capacity * sizeof *bigger);
        if (!bigger) { /* what can't be listed may be anything */
            rp_footprint_say(call, effect, RP_VERDICT_EVERYTHING);
            return NULL;
        }
        call->reaches = bigger;
        call->capacity = capacity;
    }
    size_t at = call->count++;
    for (; effect == RP_READ && at > 0 && call->reaches[at - 1].effect == RP_WRITE; at--)
        call->reaches[at] = call->reaches[at - 1];
    return &call->reaches[at];
}

enum rp_status rp_footprint_add(struct rp_footprint *call, struct rp_reach reach)
{
    struct rp_reach *added = rp_footprint_room(call, reach.effect);
    if (!added)
        return RP_NO_MEMORY;
    rp_footprint_say(call, reach.effect, reach.verdict);
    *added = reach;
    return RP_OK;
}

struct reaching {
    struct rp_footprint *call;
    const struct rp_reach *like;
    uint64_t address; /* where the access begins */
    bool unknown;
};

static enum rp_status add_piece(void *ctx, uint64_t address, uint64_t length, rp_alloc_id id,
                                uint64_t offset)
{
    struct reaching *reaching = ctx;
    if (!id) {
        reaching->unknown = true;
        return RP_OK;
    }
    struct rp_reach reach = *reaching->like;
    reach.id = id;
    reach.lo = offset;
    reach.hi = offset + length;
    reach.from = address - reaching->address;
    return rp_footprint_add(reaching->call, reach);
}

enum rp_status rp_footprint_reach_like(struct rp_footprint *call, uint64_t address, uint64_t bytes,
                                       const struct rp_reach *like, bool *unknown)
{
    struct reaching reaching = {.call = call, .like = like, .address = address};
    enum rp_status status =
        rp_memory_resolve(rp_core.bench.memory, address, bytes, add_piece, &reaching);
    if (unknown)
        *unknown = reaching.unknown;
    return status;
}

enum rp_status rp_footprint_root(struct rp_footprint *call, uint64_t address,
                                 struct rp_reach like)
{
    uint64_t start, end;
    enum rp_status status = rp_memory_run(rp_core.bench.memory, address, &start, &end);
    like.certain = false;
    return status == RP_OK ? rp_footprint_reach(call, start, end - start, like, NULL) : status;
}

/* ---- sight ---------------------------------------------------------------------- */

enum { MOST_STRETCHES = 256 }; /* of one version each; a call that reads more is not vouched for */
enum { MOST_ALIKE = 64, MOST_WAYS = 64 }; /* to name what it reads, where several have made it */

/* Stretches of what one call made in one go, wherever memory or its mappings are divided. */
struct seeing {
    uint64_t hash;
    rp_version maker;    /* of the latest stretch so far ... */
    uint64_t begin, end; /* ... and which bytes of what that call made it is */
    unsigned stretches;
    const struct rp_versions *known; /* NULL: each is named for who made it */
    unsigned way, ways;              /* which of how many, where it may be others */
};

/* Those by whose name the other may know the bytes. */
struct naming {
    const struct rp_versions *known;
    struct rp_provenance names[MOST_ALIKE];
    unsigned count, visited;
};

static enum rp_status take_name(void *ctx, struct rp_provenance name)
{
    struct naming *naming = ctx;
    if (rp_versions_have(naming->known, name))
        naming->names[naming->count++] = name;
    return ++naming->visited < MOST_ALIKE ? RP_OK : RP_END;
}

/* Copies of what is not trusted are bytes of their own, and what was seen before nobody knows. */
static rp_version maker_of(const struct rp_writer *writer)
{
    rp_version maker = rp_writer_maker(writer);
    return rp_versions_trust(rp_core.bench.versions, maker) ? maker
                                                            : writer->version | UINT64_C(1) << 63;
}

static struct rp_provenance name_of(struct seeing *seeing, uint64_t lo, uint64_t hi,
                                    const struct rp_writer *writer)
{
    struct naming naming = {.known = seeing->known};
    /* Absence has no places. */
    struct rp_provenance own = {maker_of(writer), writer->version ? lo - writer->place : 0,
                                hi - lo};
    if (!seeing->known)
        return own;
    (void)take_name(&naming, own);
    (void)rp_versions_each_alike(rp_core.bench.versions, lo, hi, writer, take_name, &naming);
    if (!naming.count)
        return own;
    unsigned nth = seeing->way / seeing->ways % naming.count;
    if (seeing->ways <= MOST_WAYS)
        seeing->ways *= naming.count;
    return naming.names[nth];
}

static uint64_t mix(uint64_t hash, uint64_t word) /* FNV-1a over 64-bit words, folded */
{
    hash = (hash ^ word) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static void end_stretch(struct seeing *seeing)
{
    seeing->hash = mix(mix(mix(seeing->hash, seeing->begin), seeing->end), seeing->maker);
}

static enum rp_status see(void *ctx, uint64_t lo, uint64_t hi, const struct rp_writer *writer)
{
    struct seeing *seeing = ctx;
    if (++seeing->stretches > MOST_STRETCHES || writer->speculative)
        return RP_END;
    struct rp_provenance name = name_of(seeing, lo, hi, writer);
    if (seeing->maker != name.maker || (name.begin && seeing->end != name.begin)) {
        end_stretch(seeing);
        seeing->maker = name.maker;
        seeing->begin = seeing->end = name.begin;
    }
    seeing->end += hi - lo;
    return RP_OK;
}

static uint64_t sight_of(const struct rp_footprint *call, struct seeing *seeing)
{
    seeing->hash = 0xcbf29ce484222325u;
    if (call->reads >= RP_VERDICT_REACHABLE)
        return 0;
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++) {
        const struct rp_reach *reach = &call->reaches[i];
        if (rp_versions_read(rp_core.bench.versions, reach->id, reach->lo, reach->hi, see,
                             seeing) != RP_OK)
            return 0;
    }
    end_stretch(seeing);
    return seeing->hash ? seeing->hash : 1;
}

uint64_t rp_footprint_sight(const struct rp_footprint *call)
{
    struct seeing seeing = {.ways = 1};
    return sight_of(call, &seeing);
}

bool rp_footprint_sees(const struct rp_footprint *call, uint64_t sight,
                       const struct rp_versions *known)
{
    unsigned ways = 1;
    if (sight && rp_footprint_sight(call) == sight)
        return true;
    for (unsigned way = 0; sight && way < ways && way < MOST_WAYS; way++) {
        struct seeing seeing = {.known = known, .way = way, .ways = 1};
        if (sight_of(call, &seeing) == sight)
            return true;
        ways = seeing.ways;
    }
    return false;
}

uint64_t rp_footprint_bytes_read(const struct rp_footprint *call)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++)
        bytes += call->reaches[i].hi - call->reaches[i].lo;
    return bytes;
}

static enum rp_status count_absent(void *ctx, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *writer)
{
    *(uint64_t *)ctx += writer->version ? 0 : hi - lo;
    return RP_OK;
}

uint64_t rp_footprint_bytes_absent(const struct rp_footprint *call)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++)
        if (call->reaches[i].certain)
            (void)rp_versions_read(rp_core.bench.versions, call->reaches[i].id, call->reaches[i].lo,
                                   call->reaches[i].hi, count_absent, &bytes);
    return bytes;
}

bool rp_footprint_steps(const struct rp_footprint *call)
{
    for (size_t i = 0; i < call->count && call->reaches[i].effect == RP_READ; i++)
        for (size_t j = i + 1; j < call->count; j++)
            if (call->reaches[j].effect == RP_WRITE && call->reaches[j].id == call->reaches[i].id &&
                call->reaches[j].lo < call->reaches[i].hi &&
                call->reaches[i].lo < call->reaches[j].hi)
                return true;
    return false;
}

uint64_t rp_footprint_deed(const struct rp_footprint *call)
{
    uint64_t sight = call->host.is_content_doubtful ? 0 : rp_footprint_sight(call);
    if (!sight)
        return 0;
    uint64_t hash = mix(mix(mix(sight, call->signature), call->values), call->host.content);
    return hash ? hash : 1;
}

struct suspecting {
    struct rp_footprint *call;
    bool reads, writes;
};

static enum rp_status suspect(void *ctx, rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    const struct suspecting *suspecting = ctx;
    struct rp_reach reach = {.id = id, .lo = lo, .hi = hi, .verdict = RP_VERDICT_REACHABLE};
    enum rp_status status = RP_OK;
    reach.effect = RP_READ;
    if (suspecting->reads)
        status = rp_footprint_add(suspecting->call, reach);
    reach.effect = RP_WRITE;
    return status == RP_OK && suspecting->writes ? rp_footprint_add(suspecting->call, reach)
                                                 : status;
}

enum rp_status rp_footprint_suspect_state(struct rp_footprint *call)
{
    struct suspecting suspecting = {call, call->reads == RP_VERDICT_REACHABLE,
                                    call->writes == RP_VERDICT_REACHABLE};
    if (!suspecting.reads && !suspecting.writes)
        return RP_OK;
    return rp_state_each(rp_core.state, suspect, &suspecting);
}

struct sweeping {
    struct rp_footprint *call;
    enum rp_effect effect;
    enum rp_status status;
};

static void add_allocation(void *ctx, const struct rp_alloc *alloc)
{
    struct sweeping *sweeping = ctx;
    if (sweeping->status == RP_OK)
        sweeping->status = rp_footprint_add(sweeping->call, (struct rp_reach){
                                                    .id = alloc->id, .hi = alloc->bytes,
                                                    .effect = sweeping->effect,
                                                    .verdict = RP_VERDICT_EVERYTHING});
}

enum rp_status rp_footprint_everything(struct rp_footprint *call, enum rp_effect effect)
{
    struct sweeping sweeping = {call, effect, RP_OK};
    rp_memory_each(rp_core.bench.memory, add_allocation, &sweeping);
    return sweeping.status;
}
