/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise run` before its job: everything is found and checked, and what the job gets is put
 * together. Each step returns RP_EXIT_OK, or an exit code after a message: then nothing runs. */
#ifndef RP_TOOLS_RUN_H
#define RP_TOOLS_RUN_H

#include "tools/driver.h"
#include "tools/environment.h"
#include "tools/options.h"
#include "tracker/contract.h"

#include <limits.h>

struct rp_run {
    struct rp_options options;
    const char *mode;
    struct rp_contract *contract; /* NULL without one */
    char *contract_text;
    size_t contract_length;
    char *job;           /* the command line, as profiles and plans name it */
    char plan[PATH_MAX], profile[PATH_MAX]; /* "" without one */
    char program[PATH_MAX], layer[PATH_MAX], folder[PATH_MAX];
    int shelter; /* for what the job has not yet written when it ends; -1 for none */
    int held; /* keeps other runs out of the folder until we end */
    struct rp_driver_choice driver;
    struct rp_environment environment;
};

/* What an option says, or `otherwise`. */
const char *rp_run_text(const struct rp_run *run, enum rp_option_id id, const char *otherwise);

/* ---- run_check.c: what was asked for; in this order ---- */
int rp_run_load_contract(struct rp_run *run);
int rp_run_choose_mode(struct rp_run *run);
int rp_run_check_trace(struct rp_run *run);

/* ---- run_plan.c ---- */
int rp_run_find_plan(struct rp_run *run);
/* In bytes, wherever it comes from; UINT64_MAX without one. There is a contract. */
uint64_t rp_run_budget(const struct rp_run *run);

/* ---- run_profile.c ---- */
int rp_run_find_profile(struct rp_run *run);

/* ---- run_environment.c ---- */
/* The layer and the driver. */
int rp_run_find_parts(struct rp_run *run);
/* The job's environment, for which the folder must be there. */
void rp_run_prepare(struct rp_run *run);

#endif
