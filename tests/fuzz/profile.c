/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a profile: it is read whole, or refused with one line that says where. What is read
 * survives being written, and is planned with: every answer holds what it promises. */
#include "planner/planner.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_PLANNED = 24 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

static struct rp_profile *parse(const char *text, size_t size)
{
    struct rp_profile *profile = NULL;
    char message[512] = "";

    if (rp_profile_parse(text, size, "fuzz.json", &profile, message, sizeof(message)) == RP_OK)
        return profile;
    must(profile == NULL && message[0] != '\0' && strchr(message, '\n') == NULL);
    return NULL;
}

static void write_again(const struct rp_profile *profile)
{
    char *text = rp_profile_to_json(profile, false);

    must(text != NULL);
    struct rp_profile *again = parse(text, strlen(text));
    must(again != NULL && rp_profile_fingerprint(again) == rp_profile_fingerprint(profile) &&
         rp_profile_base(again) == rp_profile_base(profile));
    rp_profile_destroy(again);
    free(text);
}

/* A plan fits its budget, and walking it comes to what it says. */
static void check_plan(const struct rp_profile *profile, const struct rp_plan *plan)
{
    uint64_t peak, time;

    if (!rp_plan_has_choices(plan))
        return;
    must(rp_planner_walk(profile, plan->model, plan->choices, &peak, &time, NULL, NULL) == RP_OK);
    must(peak == plan->peak && time == plan->time && peak <= plan->budget);
    must(!plan->has_min_budget || plan->min_budget <= peak);
}

static void plan_for(const struct rp_profile *profile, uint64_t budget)
{
    struct rp_question question = rp_question_default(profile, budget);
    struct rp_plan *plan = NULL;
    char message[512] = "";

    question.max_labels = 64;
    for (int model = RP_MODEL_NESTED; model <= RP_MODEL_LAZY; model++) {
        question.model = (enum rp_model)model;
        if (rp_planner_solve(&question, &plan, message, sizeof(message)) != RP_OK) {
            must(message[0] != '\0');
            continue;
        }
        check_plan(profile, plan);
        rp_plan_destroy(plan);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rp_profile *profile = parse((const char *)data, size);

    if (profile == NULL)
        return 0;
    write_again(profile);
    for (unsigned bits = 0; bits < 64 && rp_profile_count(profile) <= MOST_PLANNED; bits += 9)
        plan_for(profile, (UINT64_C(1) << bits) - 1);
    rp_profile_destroy(profile);
    return 0;
}
