/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile or a plan was made for, in words that two runs can be told apart by. */
#ifndef RP_PLANNER_PURPOSE_H
#define RP_PLANNER_PURPOSE_H

#include "planner/profile.h"

#include <stdbool.h>
#include <stddef.h>

/* Room for rp_purpose_contract's answer. */
#define RP_PURPOSE_CONTRACT 24

/* A hash of what a contract says of the job: its segments, state and steps. What it says of the
 * plan (policy, budget, what to do on a violation) makes no other contract of it, and neither
 * does its layout. Returns `hash`, "0x..."; "" for a text that is no JSON object. */
char *rp_purpose_contract(const char *text, size_t length, char hash[RP_PURPOSE_CONTRACT]);

/* The command line as one text: words in order, those with odd characters in quotes. The caller
 * frees it; NULL when out of memory. */
char *rp_purpose_job(const char *const *words, size_t count);

/* Whether a plan that was made for the job `made_for` is one for `job`. In `made_for` people may
 * write a `*` for what does not matter to the plan; outside of quotation marks, where
 * rp_purpose_job() never writes one, it stands for any text. */
bool rp_purpose_covers(const char *made_for, const char *job);

/* RP_OK when `what`, "plan" or "profile", was made for this purpose: as far as both sides know. It
 * must know its job, if `purpose` does. Otherwise RP_INVALID, and `message` says what differs. */
enum rp_status rp_purpose_fits(const char *what, const struct rp_purpose *made_for,
                               const struct rp_purpose *purpose, char *message,
                               size_t message_size);

#endif
