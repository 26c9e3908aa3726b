/* SPDX-License-Identifier: Apache-2.0 */
/* A contract in which every key stands. */
#ifndef RP_TESTS_TRACKER_CONTRACT_TEXT_H
#define RP_TESTS_TRACKER_CONTRACT_TEXT_H

static const char full[] =
    "{\n"
    "  \"version\": 1,\n"
    "  \"segments\": [\n"
    "    { \"name\": \"encoder\", \"forward\": { \"nvtx\": \"encoder/*\" },\n"
    "      \"replay\": { \"nvtx\": \"recompute/*\" }, \"pair\": \"key\", \"replays\": 2 },\n"
    "    { \"name\": \"head\", \"forward\": { \"launches\": { \"first\": \"head_gemm\",\n"
    "      \"last\": \"head_softmax\", \"nth\": 2 } }, \"replay\": { \"repeat\": true } },\n"
    "    { \"name\": \"tail\", \"pair\": \"fifo\", \"forward\": { \"nvtx\": \"tail\" },\n"
    "      \"replay\": { \"launches\": { \"first\": \"a\", \"last\": \"b\" } } },\n"
    "    { \"name\": \"marked\" },\n"
    "    { \"name\": \"dropped\", \"forward\": { \"nvtx\": \"block\" } }\n"
    "  ],\n"
    "  \"buffers\": [\n"
    "    { \"name\": \"queue\", \"at\": { \"kernel\": \"enqueue_keys\", \"param\": 0 },\n"
    "      \"offset\": \"1KiB\", \"bytes\": 65536 },\n"
    "    { \"name\": \"running_mean\", \"at\": { \"kernel\": \"bn_*\", \"param\": 3 },\n"
    "      \"bytes\": \"4KiB\" },\n"
    "    { \"name\": \"scale\",\n"
    "      \"at\": { \"kernel\": \"cast_fp8\", \"param\": 1, \"field\": 16 } },\n"
    "    { \"name\": \"rng\", \"at\": { \"global\": \"philox_state\" } },\n"
    "    { \"name\": \"pool\", \"at\": { \"allocation\": { \"bytes\": 1048576, \"nth\": 2 } } },\n"
    "    { \"name\": \"pools\", \"at\": { \"allocation\": { \"bytes\": \"1MiB\" } } },\n"
    "    { \"name\": \"host_rng\", \"at\": { \"host_symbol\": \"generator\" } }\n"
    "  ],\n"
    "  \"state\": \"discovered\",\n"
    "  \"policy\": \"joint\",\n"
    "  \"budget\": \"44GiB\",\n"
    "  \"step\": { \"nvtx\": \"step\" },\n"
    "  \"on_violation\": \"report\",\n"
    "  \"trust_ptx\": true,\n"
    "  \"assume_in_bounds\": false,\n"
    "  \"harmless\": [\"rng\", \"anything\"]\n"
    "}\n";

#endif
