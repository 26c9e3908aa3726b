#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each mechanism is needed: switched off, it turns the tests that are named here red, and no
other. usage: switches.py crossing|store|transaction TEST_PROGRAM..."""
import os
import re
import subprocess
import sys

SEES = {"the_replay_sees_its_past", "content_is_kept_and_not_a_pointer",
        "a_replay_may_use_several_streams", "aliases_are_one_place",
        "what_is_restored_late_is_seen_by_all_streams_of_the_replay",
        "what_the_store_has_no_room_for_takes_refuge", "a_way_back_that_fails_is_told"}
HELD = {"halves_hold_what_a_single_copy_holds"}
STORE = {"lodging": {"a_small_block_lodges_where_nobody_misses_the_rest"}}
TRANSACTION = {
    "preserve": SEES | HELD | {"it_leaves_no_trace", "a_full_device_rolls_back",
                        "the_stash_serves_other_instances"},
    "copy-on-save": SEES | HELD | {"a_full_device_rolls_back"},
    "restore": SEES | {"the_stash_serves_other_instances"},
    "reinstate": SEES - {"the_replay_sees_its_past"} | {
        "it_leaves_no_trace", "live_writes_survive", "the_stash_serves_other_instances",
        "a_full_device_rolls_back",
        "the_stash_waits_for_writers_in_other_streams"},
    "live-writes": {"live_writes_survive", "the_stash_serves_other_instances"},
    "order": {"live_writes_survive", "the_stash_serves_other_instances",
              "nobody_waits_where_nothing_is_rewound",
              "what_is_restored_late_is_seen_by_all_streams_of_the_replay",
              "a_replay_may_use_several_streams", "the_stash_waits_for_writers_in_other_streams"},
}
CROSSING = {"crossings": {"what_is_copied_is_what_came_before", "a_stream_waits_once_for_a_copy",
                          "a_copy_over_a_copy_waits_for_it"},
            "races": {"who_overwrites_what_a_replay_reads_waits_once",
                      "who_meets_what_a_replay_writes_waits",
                      "after_its_end_nobody_waits_for_more_than_the_replay",
                      "a_replay_in_the_only_stream_is_waited_for_by_whoever_comes"}}
RED = {"store": STORE, "crossing": CROSSING, "transaction": TRANSACTION}[sys.argv[1]]


def red_without(mechanism, program):
    environment = os.environ | {"REPRISE_TEST_DISABLE": mechanism,
                                "CMOCKA_MESSAGE_OUTPUT": "stdout"}
    run = subprocess.run([program], env=environment, capture_output=True, text=True)
    red = re.findall(r"FAILED  \] (\w+)$", run.stdout + run.stderr, re.M)
    return red if (run.returncode > 0) == bool(red) else red + [f"exit code {run.returncode}"]


print(f"1..{len(RED)}")
for number, (mechanism, expected) in enumerate(RED.items(), 1):
    red = {test for program in sys.argv[2:] for test in red_without(mechanism, program)}
    verdict = "ok" if red == expected else "not ok"
    print(f"{verdict} {number} - without {mechanism}: {', '.join(sorted(red)) or 'nothing'} red")
