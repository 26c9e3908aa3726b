/* SPDX-License-Identifier: Apache-2.0 */
/* The layer's life in one process: how it starts, how it ends, what a fork leaves of it. */
#include "interpose/door/shortage.h"
#include "interpose/door/wrap.h"

#include "interpose/calls/array.h"
#include "interpose/calls/audit.h"
#include "interpose/calls/context.h"
#include "interpose/calls/graph.h"
#include "interpose/calls/handlers.h"
#include "interpose/calls/image.h"
#include "interpose/calls/kernel.h"
#include "interpose/calls/object.h"
#include "interpose/calls/repeat.h"
#include "interpose/calls/unseen.h"
#include "interpose/calls/upload.h"
#include "interpose/plan/cost.h"
#include "interpose/plan/estimate.h"
#include "interpose/plan/policy.h"
#include "interpose/plan/refuge.h"
#include "interpose/recompute/earlier.h"
#include "interpose/recompute/recompute.h"
#include "interpose/run/core.h"
#include "interpose/run/execution.h"
#include "interpose/run/host.h"
#include "interpose/run/linker.h"
#include "interpose/run/overtake.h"
#include "interpose/run/record.h"
#include "interpose/run/report.h"
#include "interpose/run/summary.h"
#include "interpose/run/thread.h"
#include "interpose/run/undecided.h"
#include "interpose/run/underway.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_CONTRACT = 2 }; /* as the command line answers a bad contract */

/* A job that was to be guarded never runs unguarded; any other goes on as if we were not
 * there, and is told so once. */
static unsigned give_up(const char *message)
{
    if (rp_core.config.strict)
        rp_stop(EXIT_CONTRACT, message);
    dprintf(STDERR_FILENO, "reprise: %s; the job runs without it\n", message);
    return 0;
}

static void finish(void)
{
    if (rp_wrap_life() != RP_LIFE_READY)
        return;
    rp_listen(0);
    /* A signal handler may call exit() on a thread that holds the lock: waiting for it then
     * would be for ever, so the summary is given up instead. */
    if (pthread_mutex_trylock(&rp_core.lock) != 0)
        return;
    rp_estimate_write();
    if (rp_core.trace) /* first: the summary tells what its last write lost, too */
        (void)rp_trace_writer_finish(rp_core.trace); /* other threads may still emit */
    if (rp_shortage_met)
        rp_report_shortage();
    rp_summary_write();
    pthread_mutex_unlock(&rp_core.lock);
}

/* Observing without a trace is nothing to do: then the job pays for a jump and no more. */
static bool has_work(void)
{
    const struct rp_config *config = &rp_core.config;
    return config->trace || config->audit || config->budget != UINT64_MAX ||
           (config->contract && config->mode != RP_MODE_OBSERVE);
}

unsigned rp_layer_start(void)
{
    char message[1024];
    if (rp_config_read(&rp_core.config, message, sizeof message) != RP_OK)
        return give_up(message);
    if (!has_work())
        return 0;
    if (rp_core_start() != RP_OK)
        return give_up("the host is out of memory");
    rp_image_keep_proofs(rp_core.config.cache);
    if (rp_policy_start(message, sizeof message) != RP_OK ||
        rp_earlier_start(message, sizeof message) != RP_OK)
        return give_up(message);
    if (rp_core.config.trace && rp_record_start() != RP_OK) {
        snprintf(message, sizeof message, "no trace can be written to %s: %s",
                 rp_core.config.output, strerror(errno));
        return give_up(message);
    }
    rp_core.only_traces = rp_core.trace && rp_core.config.mode == RP_MODE_OBSERVE &&
                          !rp_core.segments_wanted && !rp_core.config.audit;
    if (!rp_core.segments_wanted)
        rp_thread_tell_early();
    static bool registered; /* children inherit it together with the handler */
    if (!registered)
        registered = atexit(finish) == 0;
    return RP_LISTEN_HANDLERS | (rp_core.trace ? RP_LISTEN_TRACE : 0);
}

void rp_layer_forked(void)
{
    rp_repeats_forget();
    rp_kernels_forget();
    rp_image_keep_proofs(NULL);
    rp_links_forget();
    rp_audit_forget();
    rp_recompute_forget();
    rp_executions_forget();
    rp_host_forget();
    rp_transactions_forget();
    rp_threads_forget();
    rp_underway_forget();
    rp_undecided_forget_all();
    rp_overtake_forget_all();
    rp_upload_forget_all();
    rp_cost_forget();
    rp_policy_forget();
    rp_refuge_forget();
    rp_on_memory_forget();
    rp_arrays_forget();
    rp_execs_forget();
    rp_objects_forget();
    rp_contexts_forget();
    rp_unseen_forget_all();
    rp_core_forget();
}
