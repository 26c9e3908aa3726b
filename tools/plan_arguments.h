/* SPDX-License-Identifier: Apache-2.0 */
/* What `reprise plan` was asked for. */
#ifndef RP_TOOLS_PLAN_ARGUMENTS_H
#define RP_TOOLS_PLAN_ARGUMENTS_H

#include "planner/planner.h"
#include "tools/options.h"
#include "tools/plan_print.h"

#include <limits.h>

/* The texts belong to the options that were read. */
struct rp_plan_arguments {
    const char *profile, *folder, *output, *picture;
    bool has_budget, compare, curve, terms, force, quiet;
    uint64_t budget, points, max_labels;
    enum rp_model model;
    unsigned allowed;
    struct rp_plan_output print;
};

/* Both return RP_EXIT_OK, or another exit code after a message. What is to be written is looked at
 * here, before an answer is looked for that could not be kept. */
int rp_plan_arguments_read(const struct rp_options *options, struct rp_plan_arguments *arguments);
/* Where the profile is: the file that was named, or that which a run has left in its folder. */
int rp_plan_arguments_profile(const struct rp_plan_arguments *arguments, char path[PATH_MAX]);

#endif
