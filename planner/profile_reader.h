/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a profile, piece by piece. Internal to planner/: profile_read.c reads the document, and
 * profile_segment.c what is said of a segment. Functions that return bool return false once the
 * message is written, or `status` says what else went wrong. */
#ifndef RP_PLANNER_PROFILE_READER_H
#define RP_PLANNER_PROFILE_READER_H

#include "planner/document.h"
#include "planner/profile.h"

struct rp_profile_reader {
    struct rp_json json;
    struct rp_profile *profile;
    json_t *buffers; /* name -> index */
    enum rp_status status;
};

/* Whatever a complaint is about is RP_INVALID; only other failures need be kept. */
static inline bool rp_reader_keep(struct rp_profile_reader *reader, enum rp_status status)
{
    if (status != RP_OK)
        reader->status = status;
    return status == RP_OK;
}

/* A figure with its source. One that is left out counts as `otherwise`. */
bool rp_reader_measure(struct rp_profile_reader *reader, json_t *object, const char *key,
                       struct rp_measure otherwise, struct rp_measure *measure);

/* Release both whatever came of it. Reasons why options are masked belong to the document. */
bool rp_reader_options(struct rp_profile_reader *reader, json_t *segment,
                       struct rp_cost costs[RP_CHOICE_COUNT]);
bool rp_reader_facts(struct rp_profile_reader *reader, json_t *segment, struct rp_facts *facts);
void rp_reader_release(struct rp_cost costs[RP_CHOICE_COUNT], struct rp_facts *facts);

#endif
