/* SPDX-License-Identifier: Apache-2.0 */
#include "interpose/run/helper.h"

#include "cuda/switches.h"
#include "interpose/run/pairing.h"
#include "interpose/run/report.h"
#include "tracker/array.h"

enum { MOST_HELPED = 64 }; /* the first of them tell */

struct rp_helped {
    uint64_t signature, values, inputs, outputs;
};

/* A thread that marks segments marks its own part; and a call that goes on from nothing may be made
 * as often as they like. */
static bool may_help(const struct rp_thread *thread, const struct rp_footprint *call)
{
    return !thread->marks && rp_footprint_steps(call) && rp_switch_on(RP_SWITCH_DOUBTS);
}

static struct rp_helped helped_by(const struct rp_footprint *call)
{
    return (struct rp_helped){call->signature, call->values, rp_pairing_inputs(call),
                              rp_pairing_outputs(call)};
}

void rp_helper_beside_forward(const struct rp_thread *thread, struct rp_execution *execution,
                              const struct rp_footprint *call)
{
    if (execution->helped_count == MOST_HELPED || !may_help(thread, call))
        return;
    struct rp_helped *helped = rp_array_reserve(execution->helped, &execution->helped_capacity,
                                                execution->helped_count + 1, sizeof *helped);
    if (!helped)
        return;
    execution->helped = helped;
    helped[execution->helped_count++] = helped_by(call);
}

void rp_helper_beside_replay(const struct rp_thread *thread, const struct rp_execution *execution,
                             const struct rp_footprint *call)
{
    bool is_told_anyway = !execution->log_count; /* that it made no call itself */
    if (!execution->helped_count || is_told_anyway || !may_help(thread, call))
        return;
    const struct rp_helped made = helped_by(call);
    for (size_t i = 0; i < execution->helped_count; i++) {
        const struct rp_helped *helped = &execution->helped[i];
        if (helped->signature == made.signature && helped->values == made.values &&
            helped->inputs == made.inputs && helped->outputs == made.outputs) {
            rp_report_helped(execution, call);
            return;
        }
    }
}
