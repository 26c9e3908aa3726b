/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda/transaction.h"

#include "cuda/party.h"
#include "cuda/switches.h"

#include <stdlib.h>

/* Stashed spans of one allocation that are still to be reinstated. */
struct rewound {
    rp_alloc_id id;
    struct rp_spans spans;
};

struct rp_transaction {
    struct rp_workbench bench;
    struct rp_party party; /* its leader is where bytes are moved */
    uint32_t owner; /* of the copies, for the meter */
    struct rp_copies stash;
    struct rp_versions *live; /* versions of the stashed bytes */
    struct rewound *rewound;
    size_t rewound_count, rewound_capacity;
    uint64_t restored_bytes;
    bool begun; /* all that was wanted at first is restored */
    bool holds; /* bytes that are not live stand somewhere, or have stood */
};

static struct rewound *rewound_find(const struct rp_transaction *transaction, rp_alloc_id id)
{
    for (size_t i = 0; i < transaction->rewound_count; i++)
        if (transaction->rewound[i].id == id)
            return &transaction->rewound[i];
    return NULL;
}

static struct rewound *rewound_get(struct rp_transaction *transaction, rp_alloc_id id)
{
    struct rewound *rewound = rewound_find(transaction, id);
    if (rewound)
        return rewound;
    if (transaction->rewound_count == transaction->rewound_capacity) {
        size_t capacity = transaction->rewound_capacity ? transaction->rewound_capacity * 2 : 8;
        struct rewound *bigger = realloc(transaction->rewound, capacity * sizeof *bigger);
        if (!bigger)
            return NULL;
        transaction->rewound = bigger;
        transaction->rewound_capacity = capacity;
    }
    rewound = &transaction->rewound[transaction->rewound_count++];
    *rewound = (struct rewound){.id = id};
    return rewound;
}

static void transaction_free(struct rp_transaction *transaction)
{
    rp_copies_give(&transaction->stash);
    for (size_t i = 0; i < transaction->rewound_count; i++)
        rp_spans_release(&transaction->rewound[i].spans);
    free(transaction->rewound);
    rp_party_release(&transaction->party);
    rp_versions_destroy(transaction->live);
    free(transaction);
}

struct following {
    struct rp_versions *to;
    rp_alloc_id id;
};

static enum rp_status copy_version(void *ctx, uint64_t lo, uint64_t hi,
                                   const struct rp_writer *writer)
{
    const struct following *following = ctx;
    return rp_versions_write(following->to, following->id, lo, hi, writer);
}

static enum rp_status move_versions(const struct rp_versions *from, struct rp_versions *to,
                                    rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    struct following following = {to, id};
    return rp_versions_read(from, id, lo, hi, copy_version, &following);
}

/* ---- order ------------------------------------------------------------------------------ */

/* Before the first bytes are rewound. Until then nobody has to wait for anybody. */
static enum rp_status hold(struct rp_transaction *transaction)
{
    if (transaction->holds)
        return RP_OK;
    transaction->holds = true;
    enum rp_status status = rp_party_gather(&transaction->party);
    return status == RP_OK ? rp_party_let_in(&transaction->party) : status;
}

/* These bytes were live until now: whoever was given something to read there since the first ones
 * were rewound does so before the replay writes them. */
static enum rp_status gather_late(struct rp_transaction *transaction, rp_stream stream)
{
    if (!transaction->holds)
        return hold(transaction);
    return rp_switch_on(RP_SWITCH_ORDER) ? rp_order_gather(transaction->bench.order, stream)
                                         : RP_OK;
}

/* ---- rewinding -------------------------------------------------------------------------- */

static enum rp_status stash_span(struct rp_transaction *transaction, rp_alloc_id id,
                                 struct rp_span span, rp_stream stream)
{
    const struct rp_workbench *bench = &transaction->bench;
    rp_meter(bench, transaction->owner, RP_COPYING_STASH, span.hi - span.lo, stream);
    enum rp_status status = rp_copy_aside(&transaction->stash, bench, transaction->owner, id,
                                          span.lo, span.hi, stream);
    if (status == RP_OK)
        status = move_versions(bench->versions, transaction->live, id, span.lo, span.hi);
    return status;
}

enum rp_status rp_transaction_stash(struct rp_transaction *transaction, rp_alloc_id id,
                                    uint64_t lo, uint64_t hi, rp_stream stream)
{
    struct rewound *rewound = rewound_get(transaction, id);
    if (!rewound)
        return RP_NO_MEMORY;
    struct rp_spans fresh = {0};
    enum rp_status status = rp_spans_missing(&rewound->spans, lo, hi, &fresh);
    if (status == RP_OK && fresh.count)
        status = transaction->begun ? gather_late(transaction, stream) : hold(transaction);
    for (size_t i = 0; status == RP_OK && i < fresh.count; i++) {
        status = stash_span(transaction, id, fresh.items[i], stream);
        if (status == RP_OK)
            status = rp_spans_add(&rewound->spans, fresh.items[i].lo, fresh.items[i].hi);
    }
    rp_spans_release(&fresh);
    return status;
}

/* Copies of allocations that have died since are of no use: nothing can read them there. */
static bool is_alive(const struct rp_workbench *bench, rp_alloc_id id)
{
    const struct rp_alloc *alloc = rp_memory_get(bench->memory, id);
    return alloc && !alloc->death_seq;
}

static void meter_back(const struct rp_workbench *bench, uint32_t owner, enum rp_copying what,
                       const struct rp_copy *copy, struct rp_span span, rp_stream stream)
{
    rp_meter(bench, owner, what, span.hi - span.lo, stream);
    if (rp_copy_is_abroad(copy, bench))
        rp_meter(bench, owner, RP_COPYING_ABROAD, span.hi - span.lo, stream);
}

/* In the transaction's own stream, whichever stream of the replay asks for it. */
static enum rp_status restore_part(struct rp_transaction *transaction, struct rp_kept *kept,
                                   struct rp_copy *copy, struct rp_span part)
{
    const struct rp_workbench *bench = &transaction->bench;
    rp_stream stream = transaction->party.leader;
    enum rp_status status =
        rp_transaction_stash(transaction, copy->id, part.lo, part.hi, stream);
    meter_back(bench, kept->owner, RP_COPYING_RESTORE, copy, part, stream);
    if (status == RP_OK && rp_switch_on(RP_SWITCH_RESTORE))
        status = rp_copy_in(copy, bench, part.lo, part.hi, stream);
    if (status == RP_OK)
        status = move_versions(kept->versions, bench->versions, copy->id, part.lo, part.hi);
    transaction->restored_bytes += part.hi - part.lo;
    return status;
}

static enum rp_status restore_wanted(struct rp_transaction *transaction, struct rp_kept *kept,
                                     struct rp_copy *copy, rp_transaction_wanted_fn wanted,
                                     void *ctx)
{
    struct rp_spans parts = {0};
    enum rp_status status = wanted ? wanted(ctx, copy->id, copy->lo, copy->hi, &parts)
                                   : rp_spans_add(&parts, copy->lo, copy->hi);
    for (size_t i = 0; status == RP_OK && i < parts.count; i++)
        status = restore_part(transaction, kept, copy, parts.items[i]);
    rp_spans_release(&parts);
    return status;
}

enum rp_status rp_transaction_begin(const struct rp_workbench *bench, struct rp_kept *kept,
                                    rp_transaction_wanted_fn wanted, void *ctx, rp_stream stream,
                                    struct rp_transaction **out)
{
    struct rp_transaction *transaction = calloc(1, sizeof *transaction);
    if (!transaction)
        return RP_NO_MEMORY;
    transaction->bench = *bench;
    transaction->party = (struct rp_party){
        .order = bench->order, .driver = bench->driver, .leader = stream};
    transaction->owner = kept->owner;
    enum rp_status status = rp_versions_create(&transaction->live);
    for (size_t i = 0; status == RP_OK && i < kept->copies.count; i++) {
        struct rp_copy *copy = &kept->copies.items[i];
        if (is_alive(bench, copy->id))
            status = restore_wanted(transaction, kept, copy, wanted, ctx);
    }
    if (status == RP_OK) {
        transaction->begun = true;
        *out = transaction;
        return RP_OK;
    }
    if (!transaction->live)
        free(transaction);
    else if (rp_transaction_end(transaction, NULL) != RP_OK) /* reinstating is the way back */
        status = RP_IO;
    return status;
}

enum rp_status rp_transaction_join(struct rp_transaction *transaction, rp_stream stream)
{
    return rp_party_join(&transaction->party, stream);
}

enum rp_status rp_transaction_outside(struct rp_transaction *transaction, rp_stream stream)
{
    return rp_party_join_last(&transaction->party, stream);
}

enum rp_status rp_transaction_leave(struct rp_transaction *transaction, rp_stream stream,
                                    rp_stream heir)
{
    return rp_party_leave(&transaction->party, stream, heir, transaction->holds);
}

enum rp_status rp_transaction_live_write(struct rp_transaction *transaction, rp_alloc_id id,
                                         uint64_t lo, uint64_t hi)
{
    struct rewound *rewound = rewound_find(transaction, id);
    if (!rewound || !rp_switch_on(RP_SWITCH_LIVE_WRITES))
        return RP_OK;
    return rp_spans_remove(&rewound->spans, lo, hi);
}

enum rp_status rp_transaction_rewound(const struct rp_transaction *transaction, rp_alloc_id id,
                                      uint64_t lo, uint64_t hi, struct rp_spans *out)
{
    rp_spans_clear(out);
    const struct rewound *rewound = rewound_find(transaction, id);
    return rewound ? rp_spans_within(&rewound->spans, lo, hi, out) : RP_OK;
}

enum rp_status rp_transaction_restore(struct rp_transaction *transaction, struct rp_kept *kept,
                                      rp_alloc_id id, uint64_t lo, uint64_t hi)
{
    enum rp_status status = RP_OK;
    for (size_t i = 0; status == RP_OK && i < kept->copies.count; i++) {
        struct rp_copy *copy = &kept->copies.items[i];
        struct rp_span part = {copy->lo > lo ? copy->lo : lo, copy->hi < hi ? copy->hi : hi};
        if (copy->id == id && part.lo < part.hi && is_alive(&transaction->bench, id))
            status = restore_part(transaction, kept, copy, part);
    }
    return status == RP_OK ? rp_party_let_in(&transaction->party) : status;
}

/* ---- for other instances ---------------------------------------------------------- */

struct matching {
    const struct rp_versions *versions, *expected;
    rp_alloc_id id;
    const struct rp_writer *stashed;
    struct rp_spans *out;
};

static enum rp_status match_expected(void *ctx, uint64_t lo, uint64_t hi,
                                     const struct rp_writer *writer)
{
    const struct matching *matching = ctx;
    return rp_versions_same_bytes(matching->versions, lo, hi, writer, matching->stashed)
               ? rp_spans_add(matching->out, lo, hi)
               : RP_OK;
}

static enum rp_status match_stashed(void *ctx, uint64_t lo, uint64_t hi,
                                    const struct rp_writer *writer)
{
    struct matching *matching = ctx;
    matching->stashed = writer;
    return rp_versions_read(matching->expected, matching->id, lo, hi, match_expected, matching);
}

enum rp_status rp_transaction_holds(const struct rp_transaction *transaction,
                                    const struct rp_versions *expected, rp_alloc_id id,
                                    uint64_t lo, uint64_t hi, struct rp_spans *out)
{
    struct matching matching = {transaction->bench.versions, expected, id, NULL, out};
    struct rp_spans rewound = {0};
    enum rp_status status = rp_transaction_rewound(transaction, id, lo, hi, &rewound);
    rp_spans_clear(out);
    for (size_t i = 0; status == RP_OK && i < rewound.count; i++)
        status = rp_versions_read(transaction->live, id, rewound.items[i].lo, rewound.items[i].hi,
                                  match_stashed, &matching);
    rp_spans_release(&rewound);
    return status;
}

const struct rp_versions *rp_transaction_live(const struct rp_transaction *transaction)
{
    return transaction->live;
}

enum rp_status rp_transaction_hand_on(struct rp_transaction *transaction, struct rp_kept *kept,
                                      const struct rp_versions *expected, rp_alloc_id id,
                                      uint64_t lo, uint64_t hi, rp_stream stream,
                                      struct rp_spans *handed)
{
    struct rp_spans part = {0};
    enum rp_status status = rp_transaction_holds(transaction, expected, id, lo, hi, handed);
    for (size_t i = 0; status == RP_OK && i < transaction->stash.count; i++) {
        struct rp_copy *copy = &transaction->stash.items[i];
        if (copy->id == id)
            status = rp_spans_within(handed, copy->lo, copy->hi, &part);
        for (size_t j = 0; status == RP_OK && copy->id == id && j < part.count; j++)
            status = rp_kept_adopt(kept, &transaction->bench, copy, transaction->live,
                                   part.items[j].lo, part.items[j].hi, stream);
    }
    rp_spans_release(&part);
    return status;
}

struct rp_copies *rp_transaction_stash_copies(struct rp_transaction *transaction)
{
    return &transaction->stash;
}

void rp_transaction_each(const struct rp_transaction *transaction, rp_transaction_fn visit,
                         void *ctx)
{
    for (size_t i = 0; i < transaction->rewound_count; i++) {
        const struct rewound *rewound = &transaction->rewound[i];
        for (size_t j = 0; j < rewound->spans.count; j++)
            visit(ctx, rewound->id, rewound->spans.items[j].lo, rewound->spans.items[j].hi);
    }
}

/* ---- the end -------------------------------------------------------------------------- */

static enum rp_status reinstate_copy(struct rp_transaction *transaction, struct rp_copy *copy,
                                     uint64_t *bytes)
{
    const struct rp_workbench *bench = &transaction->bench;
    rp_stream stream = transaction->party.leader;
    const struct rewound *rewound = rewound_find(transaction, copy->id);
    if (!rewound || !is_alive(bench, copy->id))
        return RP_OK;
    struct rp_spans spans = {0};
    enum rp_status status = rp_spans_within(&rewound->spans, copy->lo, copy->hi, &spans);
    for (size_t i = 0; status == RP_OK && i < spans.count; i++) {
        struct rp_span span = spans.items[i];
        meter_back(bench, transaction->owner, RP_COPYING_REINSTATE, copy, span, stream);
        if (rp_switch_on(RP_SWITCH_REINSTATE))
            status = rp_copy_in(copy, bench, span.lo, span.hi, stream);
        if (status == RP_OK)
            status = move_versions(transaction->live, bench->versions, copy->id, span.lo, span.hi);
        if (bytes)
            *bytes += span.hi - span.lo;
    }
    rp_spans_release(&spans);
    return status;
}

static enum rp_status reinstate(struct rp_transaction *transaction, uint64_t *bytes)
{
    enum rp_status status = rp_party_gather(&transaction->party);
    for (size_t i = 0; i < transaction->stash.count; i++) {
        enum rp_status copied = reinstate_copy(transaction, &transaction->stash.items[i], bytes);
        if (status == RP_OK)
            status = copied;
    }
    enum rp_status released = RP_OK;
    if (rp_switch_on(RP_SWITCH_ORDER))
        released = rp_order_release(transaction->bench.order, transaction->party.leader);
    if (status == RP_OK && released == RP_OK && rp_switch_on(RP_SWITCH_ORDER))
        rp_crossing_released(transaction->bench.crossing);
    return status == RP_OK ? released : status;
}

enum rp_status rp_transaction_end(struct rp_transaction *transaction, uint64_t *reinstated_bytes)
{
    if (reinstated_bytes)
        *reinstated_bytes = 0;
    enum rp_status status =
        transaction->holds ? reinstate(transaction, reinstated_bytes) : RP_OK;
    transaction_free(transaction);
    return status;
}

bool rp_transaction_abandon(struct rp_transaction *transaction)
{
    bool is_left = transaction->holds;
    transaction_free(transaction);
    return is_left;
}

rp_stream rp_transaction_stream(const struct rp_transaction *transaction)
{
    return transaction->party.leader;
}

uint64_t rp_transaction_restored_bytes(const struct rp_transaction *transaction)
{
    return transaction->restored_bytes;
}
