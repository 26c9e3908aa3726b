/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/plan/option.h"

#include "interpose/plan/clock.h"
#include "interpose/plan/trade.h"
#include "interpose/run/core.h"

static struct rp_measure timed(uint64_t ns)
{
    return (struct rp_measure){ns, rp_clock_source()};
}

static struct rp_measure counted(uint64_t bytes)
{
    return (struct rp_measure){bytes, RP_SOURCE_COUNTED};
}

static struct rp_measure derived(uint64_t value)
{
    return (struct rp_measure){value, RP_SOURCE_DERIVED};
}

/* What the job itself has on the device in a phase, above the base. */
static uint64_t job(const struct rp_basis *basis, size_t place, enum rp_phase phase)
{
    size_t member = RP_PART(job) + phase * sizeof(uint64_t);
    uint64_t bytes = rp_sample_most(&basis->sample, place, member);
    return bytes > basis->base ? bytes - basis->base : 0;
}

static uint64_t more(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static struct rp_amount amount_of(const struct rp_basis *basis, size_t place, size_t member)
{
    return rp_sample_amount(&basis->sample, place, member);
}

static uint64_t blocks_of(const struct rp_basis *basis, size_t place, size_t member)
{
    return rp_sample_blocks(&basis->sample, place, member);
}

static struct rp_measure time_of(const struct rp_basis *basis, size_t place, size_t member)
{
    return timed(rp_sample_median(&basis->sample, place, member));
}

/* What copies take at least, by those of the same kind that the segment has made: whatever of their
 * time was by the piece and what by the byte, the smaller ratio of the two is due. The price is the
 * same for every kind, but each has its own calls of the host around it. */
static uint64_t due(const struct rp_basis *basis, size_t place, enum rp_copying kind,
                    struct rp_amount amount)
{
    size_t copies = RP_PART(copies) + (size_t)kind * sizeof(struct rp_amount);
    struct rp_amount made = amount_of(basis, place, copies);
    uint64_t ns = rp_sample_median(&basis->sample, place,
                                   RP_PART(copy_ns) + (size_t)kind * sizeof(uint64_t));
    if (!made.pieces || !made.bytes)
        return 0;
    double pieces = (double)amount.pieces / (double)made.pieces;
    double bytes = (double)amount.bytes / (double)made.bytes;
    return (uint64_t)((double)ns * (pieces < bytes ? pieces : bytes));
}

/* The time of copies that were not made. */
static struct rp_measure priced(const struct rp_basis *basis, size_t place,
                                enum rp_copying kind, struct rp_amount amount)
{
    uint64_t ns = 0;
    if (!amount.bytes)
        return derived(0);
    if (!basis->priced ||
        rp_copy_time(basis->profile, amount.bytes, amount.pieces, &ns) != RP_OK)
        return (struct rp_measure){0, RP_SOURCE_ABSENT};
    ns = more(ns, basis->piece * amount.pieces);
    return derived(more(ns, due(basis, place, kind, amount)));
}

struct copying {
    const struct rp_profile *profile; /* which has a price */
    enum rp_copying kind;
};

static uint64_t as_on_device(const void *ctx, const struct rp_part *part)
{
    const struct copying *copying = ctx;
    const struct rp_amount *abroad = &part->abroad[copying->kind];
    uint64_t ns = 0;
    if (rp_copy_time(copying->profile, abroad->bytes, abroad->pieces, &ns) != RP_OK)
        ns = part->copy_ns[RP_COPYING_ABROAD]; /* more than it can be */
    return part->copy_ns[copying->kind] + ns;
}

/* Copies that were made; those that led to host memory or from it as if there had been room. */
static struct rp_measure copied(const struct rp_basis *basis, size_t place,
                                enum rp_copying kind)
{
    struct copying copying = {basis->profile, kind};
    size_t abroad = RP_PART(abroad) + (size_t)kind * sizeof(struct rp_amount);
    if (!amount_of(basis, place, abroad).bytes)
        return time_of(basis, place, RP_PART(copy_ns) + (size_t)kind * sizeof(uint64_t));
    if (!basis->priced)
        return (struct rp_measure){0, RP_SOURCE_ABSENT};
    return derived(rp_sample_median_by(&basis->sample, place, as_on_device, &copying));
}

static void set_passes(const struct rp_basis *basis, size_t place, struct rp_cost *cost)
{
    *cost = (struct rp_cost){.allowed = true, .has_terms = true};
    for (int t = 0; t < RP_TERM_COUNT; t++)
        cost->terms[t] = derived(0);
    cost->terms[RP_TERM_FORWARD_TIME] = time_of(basis, place, RP_PART(ns[RP_PHASE_OF_FORWARD]));
    cost->terms[RP_TERM_BACKWARD_TIME] =
        time_of(basis, place, RP_PART(ns[RP_PHASE_OF_BACKWARD]));
}

/* Bytes that the layer holds: `start` from the forward on, `held` in the end, `all` when the replay
 * begins, and `stashed` more while that runs. */
static void set_bytes(const struct rp_basis *basis, size_t place, uint64_t start, uint64_t held,
                      uint64_t all, uint64_t stashed, struct rp_cost *cost)
{
    uint64_t forward = job(basis, place, RP_PHASE_OF_FORWARD) + start;
    uint64_t replay = job(basis, place, RP_PHASE_OF_REPLAY) + all + stashed;
    uint64_t backward = job(basis, place, RP_PHASE_OF_BACKWARD);
    cost->terms[RP_TERM_HOLD] = counted(held);
    cost->terms[RP_TERM_STASH] = counted(stashed);
    cost->terms[RP_TERM_PEAK_FORWARD] = counted(forward);
    cost->terms[RP_TERM_PEAK_BACKWARD] = counted(more(more(replay, backward), held));
}

/* The same with what is kept, some of which may come to it later than the forward. */
static void set_kept_bytes(const struct rp_basis *basis, size_t place, uint64_t all,
                           uint64_t stashed, const struct rp_growth_of *kept, struct rp_cost *cost)
{
    set_bytes(basis, place, basis->grows ? kept->start : kept->held, kept->held, all, stashed,
              cost);
    cost->later = kept->later; /* the profile copies it */
    cost->later_count = basis->grows ? kept->count : 0;
}

/* As replayed with what was preserved in the steps. */
static void set_state_bytes(const struct rp_basis *basis, size_t place, struct rp_cost *cost)
{
    set_kept_bytes(basis, place, blocks_of(basis, place, RP_PART(state.all)),
                   blocks_of(basis, place, RP_PART(copies[RP_COPYING_STASH])),
                   &basis->state, cost);
}

/* As served from outputs. Until the forward ends its state is kept too, for there is still
 * another way. Where trades tell there is room for blocks of all sizes that it takes, be they
 * needed in turn. */
static void set_output_bytes(const struct rp_basis *basis, size_t place, struct rp_cost *cost)
{
    struct rp_measure *peak = &cost->terms[RP_TERM_PEAK_FORWARD];
    uint64_t early = blocks_of(basis, place, RP_PART(state.early)) +
                     blocks_of(basis, place, RP_PART(outputs.early));
    set_kept_bytes(basis, place, blocks_of(basis, place, RP_PART(outputs.all)), 0,
                   &basis->outputs, cost);
    if (basis->trades)
        early = more(early, rp_trade_room(&basis->sample, place));
    peak->value = more(peak->value, job(basis, place, RP_PHASE_OF_FORWARD) + early);
}

void rp_option_measured(const struct rp_basis *basis, size_t place, struct rp_cost *cost)
{
    static const struct {
        enum rp_copying kind;
        enum rp_term term;
    } copies[] = {{RP_COPYING_PRESERVE, RP_TERM_PRESERVE_TIME},
                  {RP_COPYING_STASH, RP_TERM_STASH_TIME},
                  {RP_COPYING_RESTORE, RP_TERM_RESTORE_TIME},
                  {RP_COPYING_REINSTATE, RP_TERM_REINSTATE_TIME}};
    const struct rp_sample *sample = &basis->sample;
    set_passes(basis, place, cost);
    if (!rp_core_guards()) {
        for (int t = 0; t < RP_TERM_COUNT; t++) /* nothing was preserved that could be measured */
            if (t != RP_TERM_FORWARD_TIME && t != RP_TERM_BACKWARD_TIME)
                cost->terms[t].source = RP_SOURCE_ABSENT;
        return;
    }
    if (sample->steps[0]->parts[place].choice == RP_CHOICE_RETAIN)
        set_output_bytes(basis, place, cost);
    else
        set_state_bytes(basis, place, cost);
    cost->terms[RP_TERM_REPLAY_TIME] = time_of(basis, place, RP_PART(ns[RP_PHASE_OF_REPLAY]));
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        cost->terms[copies[i].term] = copied(basis, place, copies[i].kind);
}

void rp_option_whole(const struct rp_basis *basis, size_t place, struct rp_cost *cost)
{
    struct rp_amount kept = amount_of(basis, place, RP_PART(whole));
    struct rp_amount stash = amount_of(basis, place, RP_PART(copies[RP_COPYING_STASH]));
    stash = stash.bytes > kept.bytes ? rp_amount_most(kept, stash) : kept; /* pieces of it */
    uint64_t blocks = blocks_of(basis, place, RP_PART(whole));
    set_passes(basis, place, cost);
    set_bytes(basis, place, blocks, blocks, blocks,
              more(blocks, blocks_of(basis, place, RP_PART(copies[RP_COPYING_STASH]))), cost);
    cost->terms[RP_TERM_REPLAY_TIME] = time_of(basis, place, RP_PART(ns[RP_PHASE_OF_REPLAY]));
    cost->terms[RP_TERM_PRESERVE_TIME] =
        priced(basis, place, RP_COPYING_PRESERVE, kept);
    cost->terms[RP_TERM_RESTORE_TIME] =
        priced(basis, place, RP_COPYING_RESTORE, kept);
    cost->terms[RP_TERM_STASH_TIME] =
        priced(basis, place, RP_COPYING_STASH, stash);
    cost->terms[RP_TERM_REINSTATE_TIME] =
        priced(basis, place, RP_COPYING_REINSTATE, stash);
}

void rp_option_retain(const struct rp_basis *basis, size_t place, struct rp_cost *cost)
{
    struct rp_amount kept = amount_of(basis, place, RP_PART(outputs.all));
    struct rp_amount state = amount_of(basis, place, RP_PART(state.early));
    struct rp_amount both = {kept.bytes + state.bytes, kept.pieces + state.pieces, 0};
    set_passes(basis, place, cost);
    set_output_bytes(basis, place, cost);
    cost->terms[RP_TERM_PRESERVE_TIME] =
        priced(basis, place, RP_COPYING_PRESERVE, both);
    cost->terms[RP_TERM_RESTORE_TIME] =
        priced(basis, place, RP_COPYING_RESTORE, amount_of(basis, place, RP_PART(served)));
}

void rp_option_unreplayed(const struct rp_basis *basis, size_t place, struct rp_cost *cost)
{
    uint64_t blocks = blocks_of(basis, place, RP_PART(state.all));
    set_passes(basis, place, cost);
    set_bytes(basis, place, blocks, blocks, blocks, 0, cost);
    cost->terms[RP_TERM_PRESERVE_TIME] = copied(basis, place, RP_COPYING_PRESERVE);
}
