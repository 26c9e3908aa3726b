/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/price.h"

#include "interpose/plan/clock.h"

/* A copy's fixed part is some microseconds, of the host's call and of the device. */
#define MOST_FIXED_NS 10000

/* Least squares of ns = fixed * pieces + rate * bytes, over every kind of copy of every part. */
struct fit {
    double pp, pb, bb, pt, bt;
};

static struct fit add_point(struct fit fit, double pieces, double bytes, double ns)
{
    /* Relative errors: a large copy may not drown what many small ones tell of the fixed part. */
    double weight = ns > 0 ? 1 / (ns * ns) : 0;
    return (struct fit){fit.pp + weight * pieces * pieces, fit.pb + weight * pieces * bytes,
                        fit.bb + weight * bytes * bytes, fit.pt + weight * pieces * ns,
                        fit.bt + weight * bytes * ns};
}

static struct fit fit_copies(const struct rp_step_cost *const *steps, size_t count)
{
    struct fit fit = {0};
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < steps[i]->count; k++)
            for (int what = 0; what < RP_COPYING_COUNT; what++) {
                const struct rp_part *part = &steps[i]->parts[k];
                const struct rp_amount *copies = &part->copies[what];
                if (copies->pieces)
                    fit = add_point(fit, (double)copies->pieces, (double)copies->bytes,
                                    (double)part->copy_ns[what]);
            }
    return fit;
}

static bool is_of_many_sizes(const struct fit *fit)
{
    return fit->pp * fit->bb - fit->pb * fit->pb > 1e-9 * fit->pp * fit->bb;
}

bool rp_price_copies(const struct rp_step_cost *const *steps, size_t count,
                     struct rp_copy_price *price)
{
    struct fit fit = fit_copies(steps, count);
    double determinant = fit.pp * fit.bb - fit.pb * fit.pb;
    double fixed = 0, rate = fit.bb > 0 ? fit.bt / fit.bb : 0;
    if (is_of_many_sizes(&fit)) {
        fixed = (fit.pt * fit.bb - fit.bt * fit.pb) / determinant;
        rate = (fit.bt * fit.pp - fit.pt * fit.pb) / determinant;
    }
    if (fixed < 0 && fit.bb > 0) {
        fixed = 0;
        rate = fit.bt / fit.bb;
    }
    if (rate <= 0 && fit.pp > 0) { /* so small that only their number counts */
        rate = 1e-6;
        fixed = fit.pt / fit.pp;
    }
    if (rate <= 0)
        return false;
    double per_us = 1000 / rate;
    enum rp_source source = is_of_many_sizes(&fit) ? rp_clock_source() : RP_SOURCE_DERIVED;
    price->fixed = (struct rp_measure){(uint64_t)(fixed + 0.5), source};
    price->bytes_per_us = (struct rp_measure){per_us < 1 ? 1 : (uint64_t)per_us, source};
    return true;
}

uint64_t rp_price_piece(const struct rp_step_cost *const *steps, size_t count)
{
    struct fit fit = fit_copies(steps, count);
    double ns = fit.pp > 0 && !is_of_many_sizes(&fit) ? fit.pt / fit.pp : 0;
    return ns <= MOST_FIXED_NS ? (uint64_t)(ns + 0.5) : 0;
}
