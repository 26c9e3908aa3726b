/* SPDX-License-Identifier: Apache-2.0 */
/* What the layer was asked to do: read once from the environment, before anything else. */
#ifndef RP_INTERPOSE_CONFIG_H
#define RP_INTERPOSE_CONFIG_H

#include "tracker/contract.h"
#include "tracker/trace.h"

enum rp_mode { RP_MODE_OBSERVE, RP_MODE_CHECK, RP_MODE_GUARD, RP_MODE_RECOMPUTE };

struct rp_config {
    enum rp_mode mode;             /* REPRISE_MODE */
    struct rp_contract *contract;  /* REPRISE_CONTRACT, or NULL */
    char *plan_path;               /* REPRISE_PLAN, or the contract's policy; NULL without */
    char *profile_path;            /* REPRISE_PROFILE, in recompute; NULL without */
    char *cache;                   /* REPRISE_CACHE: where proofs are kept, or NULL */
    char *output;                  /* REPRISE_OUTPUT: an absolute folder, or NULL */
    char rank[12];                 /* of a distributed job, or "" */
    bool trace;                    /* REPRISE_TRACE, only with an output */
    enum rp_trace_keep trace_keep; /* REPRISE_LAST, REPRISE_LIMIT: bytes */
    uint64_t trace_limit;
    bool trace_lossy;              /* REPRISE_LOSSY */
    char shelter[64];              /* REPRISE_SHELTER: memory that outlives this process, or "" */
    bool only_ptx;                 /* CUDA_FORCE_PTX_JIT: the driver ignores machine code */
    bool strict;                   /* REPRISE_STRICT: run as asked or not at all */
    uint64_t budget;               /* REPRISE_BUDGET or the contract's; UINT64_MAX: none */
    uint64_t audit;                /* REPRISE_AUDIT: every so many launches; 0: none */
    int error_exitcode;            /* REPRISE_ERROR_EXITCODE; the code of a stop, default 70 */
};

/* On failure `message` holds one line, and the caller decides between going on without the
 * layer and stopping (strict is set in any case). */
enum rp_status rp_config_read(struct rp_config *config, char *message, size_t message_size);
const char *rp_mode_name(enum rp_mode mode);

#endif
