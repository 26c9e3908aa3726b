/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a contract: the one table behind the reader, its messages and the test that
 * compares it with tools/contract.schema.json. Internal to tracker/. */
#ifndef RP_TRACKER_CONTRACT_SHAPE_H
#define RP_TRACKER_CONTRACT_SHAPE_H

#include "tracker/json.h"

enum rp_contract_object {
    RP_CONTRACT_ROOT,
    RP_CONTRACT_SEGMENT,
    RP_CONTRACT_FORWARD,
    RP_CONTRACT_REPLAY,
    RP_CONTRACT_LAUNCHES,
    RP_CONTRACT_BUFFER,
    RP_CONTRACT_AT,
    RP_CONTRACT_ALLOCATION,
    RP_CONTRACT_STEP,
    RP_CONTRACT_OBJECT_COUNT
};

extern const struct rp_json_shape rp_contract_shapes[RP_CONTRACT_OBJECT_COUNT];

/* NULL-terminated, in the order of the enums of tracker/contract.h. */
extern const char *const rp_pair_words[];
extern const char *const rp_state_words[];
extern const char *const rp_policy_words[];
extern const char *const rp_violation_words[];

#endif
