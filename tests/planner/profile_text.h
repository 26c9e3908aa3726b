/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as texts: where they are good, and what their rows look like. */
#ifndef RP_TESTS_PLANNER_PROFILE_TEXT_H
#define RP_TESTS_PLANNER_PROFILE_TEXT_H

#include "tests/planner/walker.h"

#include <string.h>

#define MEASURED(value) "{\"value\": " #value ", \"source\": \"measured\"}"
#define ROW(hold, peak, time)                                                                    \
    "{\"hold_bytes\": " #hold ", \"peak_bytes\": " #peak ", \"time_ns\": " #time "}"
#define ONE(option) "{\"version\": 1, \"base_bytes\": 0, \"segments\": [{\"name\": \"s0\", " \
                    "\"options\": {\"retain\": " option "}}]}"

static inline struct rp_profile *read_profile(const char *text)
{
    struct rp_profile *profile;
    char message[400] = "";

    if (rp_profile_parse(text, strlen(text), "p", &profile, message, sizeof(message)) != RP_OK)
        fail_msg("%s", message);
    return profile;
}

#endif
