/* SPDX-License-Identifier: Apache-2.0 */
/* Each page has the accesses to it that matter still. An access stops to matter, byte by byte,
 * when one that comes after it touches the byte as strongly: who races with the older one
 * races with the newer one too, or has been told. */
#include "cuda/soft/api/races.h"

#include "cuda/soft/api/context.h"
#include "cuda/soft/api/memory.h"
#include "cuda/soft/api/output.h"
#include "cuda/soft/api/past.h"
#include "cuda/soft/api/touched.h"
#include "cuda/soft/api/vmm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TOLD 1000

/* Who accessed: an operation that has ended, as far as it is told. */
struct party {
    unsigned references;
    char title[128];
    uint64_t seq, stream;
    bool is_value; /* a word that streams write and wait for */
    struct soft_past *past;
};

struct access {
    struct access *next;
    struct party *party;
    uint64_t bits[SOFT_SIDES][SOFT_PAGE_WORDS];
};

struct shadow {   /* of a page */
    uint64_t key; /* 0: empty */
    struct access *accesses;
};

/* What one operation and one earlier party have in common in one allocation. */
struct conflict {
    const struct party *other;
    uint64_t allocation, base, bytes; /* its identity, address and size */
    uint64_t lo, hi, count;           /* first byte, past the last, and how many */
    bool writes, other_writes;
};

static struct {
    int file;               /* -1: nobody wants to know */
    struct shadow *shadows; /* open addressing; the capacity is a power of two */
    size_t count, capacity;
    uint64_t *told; /* hashes of the pairs that were told */
    size_t told_count;
    bool said;
} races = {.file = -1};

static void complain(void)
{
    if (!races.said)
        soft_say("races: no host memory; some may be missed");
    races.said = true;
}

bool soft_races_start(void)
{
    if (!soft_output_open("REPRISE_SOFT_RACES", &races.file))
        return false;
    if (races.file >= 0)
        soft_past_keep();
    return true;
}

bool soft_races_are_wanted(void)
{
    return races.file >= 0;
}

/* ---- pages ------------------------------------------------------------------------- */

static struct shadow *probe(struct shadow *shadows, size_t capacity, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (capacity - 1);
    while (shadows[at].key != 0 && shadows[at].key != key)
        at = (at + 1) & (capacity - 1);
    return &shadows[at];
}

static bool grow(void)
{
    size_t capacity = races.capacity ? 2 * races.capacity : 1024;
    struct shadow *shadows = calloc(capacity, sizeof *shadows);
    if (shadows == NULL)
        return false;
    for (size_t i = 0; i < races.capacity; i++)
        if (races.shadows[i].key != 0)
            *probe(shadows, capacity, races.shadows[i].key) = races.shadows[i];
    free(races.shadows);
    races.shadows = shadows;
    races.capacity = capacity;
    return true;
}

static struct shadow *shadow_of(uint64_t key)
{
    if (2 * (races.count + 1) > races.capacity && !grow())
        return NULL;
    struct shadow *shadow = probe(races.shadows, races.capacity, key);
    races.count += shadow->key == 0;
    shadow->key = key;
    return shadow;
}

/* Mapped memory goes by what is mapped, so that its aliases meet. */
static uint64_t key_of(uint64_t address, const struct soft_allocation *allocation)
{
    if (allocation == NULL || allocation->kind != SOFT_MEMORY_MAPPED)
        return address >> SOFT_PAGE_SHIFT;
    return UINT64_C(1) << 63 | allocation->physical->block_id << 36 |
           (address - allocation->address + allocation->offset) >> SOFT_PAGE_SHIFT;
}

/* ---- accesses ---------------------------------------------------------------------- */

static struct party *make_party(const struct soft_op *op)
{
    const struct soft_work_type *type = op->work->type;
    struct party *party = calloc(1, sizeof *party);
    if (party == NULL)
        return NULL;
    if (type->title != NULL)
        snprintf(party->title, sizeof party->title, "%s %s", type->name, type->title(op->work));
    else
        snprintf(party->title, sizeof party->title, "%s", type->name);
    party->references = 1;
    party->seq = op->seq;
    party->stream = op->stream;
    party->is_value = strncmp(type->name, "value ", 6) == 0;
    party->past = soft_past_retain(op->past);
    return party;
}

static void release_party(struct party *party)
{
    if (--party->references > 0)
        return;
    soft_past_release(party->past);
    free(party);
}

static bool any(const uint64_t *bits)
{
    uint64_t all = 0;
    for (unsigned i = 0; i < SOFT_PAGE_WORDS; i++)
        all |= bits[i];
    return all != 0;
}

/* Takes out of an older access what the page's newer one makes matter no more. */
static bool supersede(struct access *older, const struct soft_page *page)
{
    for (unsigned i = 0; i < SOFT_PAGE_WORDS; i++) {
        older->bits[SOFT_READS][i] &= ~(page->bits[SOFT_READS][i] | page->bits[SOFT_WRITES][i]);
        older->bits[SOFT_WRITES][i] &= ~page->bits[SOFT_WRITES][i];
    }
    return !any(older->bits[SOFT_READS]) && !any(older->bits[SOFT_WRITES]);
}

static void add_access(struct shadow *shadow, struct party *party, const struct soft_page *page)
{
    struct access *access = malloc(sizeof *access);
    if (access == NULL) {
        complain();
        return;
    }
    memcpy(access->bits, page->bits, sizeof access->bits);
    party->references++;
    access->party = party;
    access->next = shadow->accesses;
    shadow->accesses = access;
}

/* ---- conflicts --------------------------------------------------------------------- */

struct finding {
    struct party *party;
    struct conflict *conflicts;
    size_t count, capacity;
};

/* Allocations begin at multiples of 64 bytes, except what the program has registered. */
static struct conflict *conflict_of(struct finding *finding, const struct party *other,
                                    uint64_t address)
{
    const struct soft_allocation *allocation = soft_memory_next(address, address + 64);
    uint64_t identity = allocation != NULL ? allocation->buffer_id : 0;
    for (size_t i = 0; i < finding->count; i++)
        if (finding->conflicts[i].other == other && finding->conflicts[i].allocation == identity)
            return &finding->conflicts[i];
    if (finding->count == finding->capacity) {
        size_t capacity = finding->capacity ? 2 * finding->capacity : 4;
        struct conflict *conflicts = realloc(finding->conflicts, capacity * sizeof *conflicts);
        if (conflicts == NULL)
            return NULL;
        finding->conflicts = conflicts;
        finding->capacity = capacity;
    }
    finding->conflicts[finding->count] = (struct conflict){
        .other = other,
        .allocation = identity,
        .base = allocation != NULL ? allocation->address : address,
        .bytes = allocation != NULL ? allocation->bytes : 0,
        .lo = UINT64_MAX,
    };
    return &finding->conflicts[finding->count++];
}

static uint64_t clashes(const struct access *other, const struct soft_page *page, unsigned i)
{
    return (page->bits[SOFT_WRITES][i] &
            (other->bits[SOFT_READS][i] | other->bits[SOFT_WRITES][i])) |
           (page->bits[SOFT_READS][i] & other->bits[SOFT_WRITES][i]);
}

static void note_word(struct conflict *conflict, uint64_t address, uint64_t bits)
{
    uint64_t lo = address + (unsigned)__builtin_ctzll(bits);
    uint64_t hi = address + 64 - (unsigned)__builtin_clzll(bits);
    conflict->lo = lo < conflict->lo ? lo : conflict->lo;
    conflict->hi = hi > conflict->hi ? hi : conflict->hi;
    conflict->count += (uint64_t)__builtin_popcountll(bits);
}

static void compare(struct finding *finding, const struct access *other,
                    const struct soft_page *page)
{
    uint64_t base = page->number << SOFT_PAGE_SHIFT;
    for (unsigned i = 0; i < SOFT_PAGE_WORDS; i++) {
        uint64_t bits = clashes(other, page, i);
        if (bits == 0)
            continue;
        struct conflict *conflict = conflict_of(finding, other->party, base + 64 * i);
        if (conflict == NULL) {
            complain();
            return;
        }
        note_word(conflict, base + 64 * i, bits);
        conflict->writes |= (bits & page->bits[SOFT_WRITES][i]) != 0;
        conflict->other_writes |= (bits & other->bits[SOFT_WRITES][i]) != 0;
    }
}

static void check_page(struct finding *finding, const struct soft_page *page)
{
    uint64_t address = page->number << SOFT_PAGE_SHIFT;
    const struct soft_allocation *allocation = soft_memory_next(address, address + SOFT_PAGE_BYTES);
    struct shadow *shadow = shadow_of(key_of(address, allocation));
    if (shadow == NULL) {
        complain();
        return;
    }
    for (struct access **at = &shadow->accesses; *at != NULL;) {
        struct access *each = *at;
        bool ordered = soft_past_contains(finding->party->past, each->party->past);
        if (!ordered && !(finding->party->is_value && each->party->is_value))
            compare(finding, each, page);
        if (ordered && supersede(each, page)) {
            *at = each->next;
            release_party(each->party);
            free(each);
        } else {
            at = &each->next;
        }
    }
    add_access(shadow, finding->party, page);
}

/* ---- telling ----------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* FNV-1a of who and where; the pair counts in either order. */
static uint64_t hash_of(const struct party *party)
{
    uint64_t hash = mix(UINT64_C(0xcbf29ce484222325), party->title, strlen(party->title));
    return mix(hash, &party->stream, sizeof party->stream);
}

static bool is_new(const struct party *party, const struct conflict *conflict)
{
    uint64_t hash = hash_of(party) + hash_of(conflict->other);
    hash = mix(hash, &conflict->allocation, sizeof conflict->allocation);
    for (size_t i = 0; i < races.told_count; i++)
        if (races.told[i] == hash)
            return false;
    if (races.told == NULL)
        races.told = calloc(MOST_TOLD, sizeof *races.told);
    if (races.told != NULL && races.told_count < MOST_TOLD) {
        races.told[races.told_count++] = hash;
        return true;
    }
    return false;
}

/* The call that was submitted first comes first, whichever ran first. */
static void tell(const struct party *party, const struct conflict *conflict)
{
    bool is_first = party->seq < conflict->other->seq;
    const struct party *first = is_first ? party : conflict->other;
    const struct party *second = is_first ? conflict->other : party;
    bool first_writes = is_first ? conflict->writes : conflict->other_writes;
    bool second_writes = is_first ? conflict->other_writes : conflict->writes;

    soft_output_line(races.file,
                     "race: %s (operation %llu, stream %llu) %s and %s (operation %llu, stream "
                     "%llu) %s bytes %llu to %llu (%llu of them) of the %llu bytes at %#llx, and "
                     "nothing orders the two",
                     first->title, (unsigned long long)first->seq,
                     (unsigned long long)first->stream, first_writes ? "writes" : "reads",
                     second->title, (unsigned long long)second->seq,
                     (unsigned long long)second->stream, second_writes ? "writes" : "reads",
                     (unsigned long long)(conflict->lo - conflict->base),
                     (unsigned long long)(conflict->hi - 1 - conflict->base),
                     (unsigned long long)conflict->count, (unsigned long long)conflict->bytes,
                     (unsigned long long)conflict->base);
}

void soft_races_check(const struct soft_op *op)
{
    size_t count;
    const struct soft_page *pages = soft_touched_pages(op->touched, &count);
    struct finding finding = {.party = make_party(op)};

    if (finding.party == NULL) {
        complain();
        return;
    }
    for (size_t i = 0; i < count; i++)
        check_page(&finding, &pages[i]);
    for (size_t i = 0; i < finding.count; i++)
        if (is_new(finding.party, &finding.conflicts[i]))
            tell(finding.party, &finding.conflicts[i]);
    free(finding.conflicts);
    release_party(finding.party);
}

void soft_races_witness(const struct soft_op *op, uint64_t address)
{
    const struct soft_allocation *allocation = soft_memory_find(address);
    unsigned byte = (unsigned)(address & (SOFT_PAGE_BYTES - 1));
    if (races.file < 0 || allocation == NULL)
        return;
    struct shadow *shadow = shadow_of(key_of(address, allocation));
    for (const struct access *each = shadow != NULL ? shadow->accesses : NULL; each != NULL;
         each = each->next)
        if (each->bits[SOFT_WRITES][byte / 64] >> byte % 64 & 1)
            soft_past_witness(op->past, each->party->past);
}
