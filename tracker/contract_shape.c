/* SPDX-License-Identifier: Apache-2.0 */
#include "tracker/contract_shape.h"

const char *const rp_pair_words[] = {"lifo", "fifo", "key", NULL};
const char *const rp_state_words[] = {"declared", "discovered", NULL};
const char *const rp_policy_words[] = {"joint", "whole", "regions", "retain", NULL};
const char *const rp_violation_words[] = {"stop", "report", NULL};

static const struct rp_json_key root[] = {
    {"version", RP_JSON_COUNT, true, NULL},
    {"segments", RP_JSON_LIST, false, NULL},
    {"buffers", RP_JSON_LIST, false, NULL},
    {"state", RP_JSON_WORD, false, rp_state_words},
    {"policy", RP_JSON_TEXT, false, NULL}, /* a word or a path */
    {"budget", RP_JSON_SIZE, false, NULL},
    {"step", RP_JSON_OBJECT, false, NULL},
    {"on_violation", RP_JSON_WORD, false, rp_violation_words},
    {"trust_ptx", RP_JSON_FLAG, false, NULL},
    {"assume_in_bounds", RP_JSON_FLAG, false, NULL},
    {"harmless", RP_JSON_LIST, false, NULL},
};

static const struct rp_json_key segment[] = {
    {"name", RP_JSON_TEXT, true, NULL},
    {"forward", RP_JSON_OBJECT, false, NULL},
    {"replay", RP_JSON_OBJECT, false, NULL},
    {"pair", RP_JSON_WORD, false, rp_pair_words},
    {"replays", RP_JSON_COUNT, false, NULL},
};

static const struct rp_json_key forward[] = {
    {"nvtx", RP_JSON_TEXT, false, NULL},
    {"launches", RP_JSON_OBJECT, false, NULL},
};

static const struct rp_json_key replay[] = {
    {"nvtx", RP_JSON_TEXT, false, NULL},
    {"launches", RP_JSON_OBJECT, false, NULL},
    {"repeat", RP_JSON_FLAG, false, NULL},
};

static const struct rp_json_key launches[] = {
    {"first", RP_JSON_TEXT, true, NULL},
    {"last", RP_JSON_TEXT, true, NULL},
    {"nth", RP_JSON_COUNT, false, NULL},
};

static const struct rp_json_key buffer[] = {
    {"name", RP_JSON_TEXT, true, NULL},
    {"at", RP_JSON_OBJECT, true, NULL},
    {"offset", RP_JSON_SIZE, false, NULL},
    {"bytes", RP_JSON_SIZE, false, NULL},
};

static const struct rp_json_key at[] = {
    {"kernel", RP_JSON_TEXT, false, NULL},
    {"param", RP_JSON_COUNT, false, NULL},
    {"field", RP_JSON_SIZE, false, NULL},
    {"global", RP_JSON_TEXT, false, NULL},
    {"allocation", RP_JSON_OBJECT, false, NULL},
    {"host_symbol", RP_JSON_TEXT, false, NULL},
};

static const struct rp_json_key allocation[] = {
    {"bytes", RP_JSON_SIZE, true, NULL},
    {"nth", RP_JSON_COUNT, false, NULL},
};

static const struct rp_json_key step[] = {
    {"nvtx", RP_JSON_TEXT, true, NULL},
};

const struct rp_json_shape rp_contract_shapes[RP_CONTRACT_OBJECT_COUNT] = {
    [RP_CONTRACT_ROOT] = RP_JSON_SHAPE("the contract", root),
    [RP_CONTRACT_SEGMENT] = RP_JSON_SHAPE("a segment", segment),
    [RP_CONTRACT_FORWARD] = RP_JSON_SHAPE("\"forward\"", forward),
    [RP_CONTRACT_REPLAY] = RP_JSON_SHAPE("\"replay\"", replay),
    [RP_CONTRACT_LAUNCHES] = RP_JSON_SHAPE("\"launches\"", launches),
    [RP_CONTRACT_BUFFER] = RP_JSON_SHAPE("a buffer", buffer),
    [RP_CONTRACT_AT] = RP_JSON_SHAPE("\"at\"", at),
    [RP_CONTRACT_ALLOCATION] = RP_JSON_SHAPE("\"allocation\"", allocation),
    [RP_CONTRACT_STEP] = RP_JSON_SHAPE("\"step\"", step),
};
