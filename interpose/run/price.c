/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/price.h"

#include "interpose/plan/clock.h"
#include "interpose/plan/trial.h"

/* A copy's fixed part is some microseconds, of the host's call and of the device. */
#define MOST_FIXED_NS 10000
/* Of a copy's time, what its bytes have to take to be seen in it. */
#define LEAST_SHARE (1.0 / 16)
/* Of a byte, in ns: no memory is as quick. */
#define LEAST_RATE 1e-6

/* Least squares of ns = fixed * pieces + rate * bytes, over every kind of copy of every part. */
struct fit {
    double pp, pb, bb, pt, bt;
};

static struct fit add_point(struct fit fit, struct rp_amount amount, double ns)
{
    double pieces = (double)amount.pieces, bytes = (double)amount.bytes;
    /* Relative errors: a large copy may not drown what many small ones tell of the fixed part. */
    double weight = ns > 0 ? 1 / (ns * ns) : 0;
    return (struct fit){fit.pp + weight * pieces * pieces, fit.pb + weight * pieces * bytes,
                        fit.bb + weight * bytes * bytes, fit.pt + weight * pieces * ns,
                        fit.bt + weight * bytes * ns};
}

/* Of the copies of a kind, those within the device. */
static struct rp_amount made_here(const struct rp_part *part, int what)
{
    const struct rp_amount *all = &part->copies[what], *abroad = &part->abroad[what];
    return (struct rp_amount){.bytes = all->bytes - abroad->bytes,
                              .pieces = all->pieces - abroad->pieces};
}

static struct fit add_kind(struct fit fit, const struct rp_step_cost *step, enum rp_copying what)
{
    for (size_t k = 0; k < step->count; k++) {
        const struct rp_part *part = &step->parts[k];
        struct rp_amount copies = made_here(part, what);
        if (copies.pieces)
            fit = add_point(fit, copies, (double)part->copy_ns[what]);
    }
    return fit;
}

/* Copies that were made at once: of those that halves preserved, none. */
static struct fit fit_copies(const struct rp_step_cost *const *steps, size_t count)
{
    struct fit fit = {0};
    for (size_t i = 0; i < count; i++)
        for (int what = 0; what < RP_COPYING_HALVES; what++)
            if (what != RP_COPYING_PRESERVE || !steps[i]->halved)
                fit = add_kind(fit, steps[i], (enum rp_copying)what);
    return fit;
}

/* Where there are none, a bound: those to host memory and from it are slower. */
static struct fit fit_abroad(const struct rp_step_cost *const *steps, size_t count)
{
    struct fit fit = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < steps[i]->count; k++) {
            const struct rp_part *part = &steps[i]->parts[k];
            struct rp_amount sum = {0};
            for (int what = 0; what < RP_COPYING_HALVES; what++) {
                sum.bytes += part->abroad[what].bytes;
                sum.pieces += part->abroad[what].pieces;
            }
            fit = add_point(fit, sum, (double)part->copy_ns[RP_COPYING_ABROAD]);
        }
    return fit;
}

/* What was preserved, in some steps by halves: whatever the other kinds have around their copies
 * does not blur the difference. */
static struct fit fit_halves(const struct rp_step_cost *const *steps, size_t count)
{
    struct fit fit = {0};
    for (size_t i = 0; i < count; i++)
        fit = add_kind(fit, steps[i],
                       steps[i]->halved ? RP_COPYING_HALVES : RP_COPYING_PRESERVE);
    return fit;
}

static bool is_of_many_sizes(const struct fit *fit)
{
    return fit->pp * fit->bb - fit->pb * fit->pb > 1e-9 * fit->pp * fit->bb;
}

static double fixed_of(const struct fit *fit)
{
    return (fit->pt * fit->bb - fit->bt * fit->pb) / (fit->pp * fit->bb - fit->pb * fit->pb);
}

/* Of the least error, given what is fixed. */
static double rate_of(const struct fit *fit, double fixed)
{
    return fit->bb > 0 ? (fit->bt - fixed * fit->pb) / fit->bb : 0;
}

/* The time of a byte, as halves tell it, from what was preserved alone. False where there are none,
 * or their copies are so small that what is left for the bytes may as well be noise. */
static bool rate_by_halves(const struct rp_step_cost *const *steps, size_t count, double *rate)
{
    struct fit halves = fit_halves(steps, count);
    if (!is_of_many_sizes(&halves))
        return false;
    double fixed = fixed_of(&halves);
    *rate = rate_of(&halves, fixed);
    return fixed >= 0 && *rate > rate_of(&halves, 0) * LEAST_SHARE;
}

/* What is left of a piece, of every kind, without what its bytes take. */
static bool fixed_beside(const struct fit *fit, double rate, double *fixed)
{
    *fixed = (fit->pt - rate * fit->pb) / fit->pp;
    return *fixed >= 0;
}

/* Whether the two parts of the price can be told apart; then `fixed` is one of them. */
static bool is_told(const struct rp_step_cost *const *steps, size_t count, const struct fit *fit,
                    double *fixed)
{
    double rate;
    if (!is_of_many_sizes(fit))
        return (rate_by_halves(steps, count, &rate) && fixed_beside(fit, rate, fixed)) ||
               (rp_trial_rate(&rate) && fixed_beside(fit, rate, fixed));
    *fixed = fixed_of(fit);
    return true;
}

bool rp_price_is_open(const struct rp_step_cost *step)
{
    struct fit sizes = {0};
    for (size_t k = 0; k < step->count; k++)
        for (int what = 0; what < RP_COPYING_COUNT; what++)
            sizes = add_point(sizes, made_here(&step->parts[k], what), 1);
    return sizes.pp > 0 && !is_of_many_sizes(&sizes);
}

bool rp_price_copies(const struct rp_step_cost *const *steps, size_t count,
                     struct rp_copy_price *price)
{
    struct fit fit = fit_copies(steps, count);
    double fixed = 0;
    bool told = fit.pp > 0 && is_told(steps, count, &fit, &fixed);
    if (!(fit.pp > 0))
        fit = fit_abroad(steps, count);
    if (fixed < 0 || !told)
        fixed = 0;
    double rate = rate_of(&fit, fixed);
    if (rate < LEAST_RATE && fit.pp > 0) { /* so small that only their number counts */
        rate = LEAST_RATE;
        fixed = fit.pt / fit.pp;
    }
    if (rate <= 0)
        return false;
    double per_us = 1000 / rate;
    enum rp_source source = told ? rp_clock_source() : RP_SOURCE_DERIVED;
    price->fixed = (struct rp_measure){(uint64_t)(fixed + 0.5), source};
    price->bytes_per_us = (struct rp_measure){per_us < 1 ? 1 : (uint64_t)per_us, source};
    return true;
}

uint64_t rp_price_piece(const struct rp_step_cost *const *steps, size_t count)
{
    struct fit fit = fit_copies(steps, count);
    double fixed, ns = fit.pp > 0 && !is_told(steps, count, &fit, &fixed) ? fit.pt / fit.pp : 0;
    return ns <= MOST_FIXED_NS ? (uint64_t)(ns + 0.5) : 0;
}
