#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls that can't be followed are never silent: each is named in the summary, and those that are
refused are hazards, of which the first stops a guarded job.

usage: test_told.py TOLD GRAPH_NODES RARE REPRISE KERNELS CUBIN FAKE LAYER CONTRACT [RUNTIME]"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOLD, NODES, RARE, REPRISE, KERNELS, CUBIN, FAKE, LAYER, CONTRACT = map(os.path.abspath,
                                                                         sys.argv[1:10])
RUNTIME = sys.argv[10:]
EVERYTHING, REFUSED, PASSED = "1", "3", "4"  # enum rp_call_fate


def run(place, mode, *command, **more):
    env = os.environ | {"LD_PRELOAD": ":".join(RUNTIME + [LAYER]), "REPRISE_DRIVER": FAKE,
                        "REPRISE_MODE": mode, "REPRISE_CONTRACT": CONTRACT,
                        "REPRISE_OUTPUT": place, "ASAN_OPTIONS": "detect_leaks=0"} | more
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60,
                          check=False)
    summary, = pathlib.Path(place).glob("summary-*.json")
    return done, json.loads(summary.read_text())


def notes(place):
    """(name, fields) of each note in the trace."""
    text = subprocess.run([REPRISE, "dump", "--json", place], capture_output=True, text=True,
                          check=True).stdout
    events = [json.loads(line) for line in text.splitlines()]
    return [(event["name"], event["fields"]) for event in events if event.get("class") == "note"]


class Graphs(unittest.TestCase):
    """Nodes that the software device does not have."""

    def summary(self, kind):
        with tempfile.TemporaryDirectory() as place:
            done, summary = run(place, "check", NODES, KERNELS, kind)
            self.assertEqual(done.returncode, 0, done.stderr)
        return summary

    def job(self, kind):
        return {item["call"]: item["reason"] for item in self.summary(kind)["unknown"]}

    def advice(self, kind, call):
        """What helps where the call is a hazard."""
        told, = {(hazard["hazard"], hazard["advice"]) for hazard in self.summary(kind)["hazards"]
                 if hazard["reader"] == call}
        self.assertEqual(told[0], "unproved")
        return told[1]

    def test_what_a_conditional_node_runs_is_not_known(self):
        self.assertIn("the device decides", self.job("conditional")["(conditional node)"])

    def test_a_node_of_a_younger_driver_is_not_known(self):
        self.assertIn("not known", self.job("strange")["(graph node)"])

    def test_a_node_that_device_code_may_update_is_not_known(self):
        self.assertIn("device code", self.job("updatable")["(kernel node)"])

    def test_a_graph_that_device_code_may_launch_is_not_followed(self):
        self.assertIn("device code", self.job("device")["cuGraphInstantiateWithFlags"])

        self.assertIn("let the host launch it",
                      self.advice("device", "cuGraphInstantiateWithFlags"))

    def test_what_a_graph_wrote_whose_launch_failed_is_not_known(self):
        self.assertIn("a graph launch failed", self.job("rejected")["cuGraphLaunch"])
        self.assertIn("look for the cause of the error", self.advice("rejected", "cuGraphLaunch"))

    def test_nor_what_one_wrote_that_was_expected_to_fail(self):
        self.assertIn("a stream that was none", self.job("nowhere")["cuGraphLaunch"])
        self.assertIn("let the stream be made before", self.advice("nowhere", "cuGraphLaunch"))

    def test_memory_of_a_graph_lives_from_node_to_node_in_each_launch(self):
        with tempfile.TemporaryDirectory() as place:
            run(place, "observe", NODES, KERNELS, "memory", REPRISE_TRACE="1")
            said = notes(place)
        pools = [fields["allocation"] for name, fields in said
                 if name == "allocation" and fields["kind"] == "pool"]
        self.assertEqual(len(pools), 2, said)
        freed = [fields["allocation"] for name, fields in said if name == "free"]
        self.assertEqual(freed, pools)


class Rare(unittest.TestCase):
    """Calls that the software device does not have."""

    def job(self):
        with tempfile.TemporaryDirectory() as place:
            done, _ = run(place, "observe", RARE, CUBIN, REPRISE_TRACE="1")
            return done, notes(place)

    def test_host_code_writes_what_pools_make_on_the_host(self):
        _, said = self.job()
        kinds = [fields["kind"] for name, fields in said
                 if name == "allocation" and fields["bytes"] == 8192]
        self.assertEqual(kinds, ["pool", "pinned", "pinned", "pinned", "managed",
                                 "pinned"], said)

    def test_host_code_writes_a_variable_that_is_managed(self):
        with tempfile.TemporaryDirectory() as place:
            _, summary = run(place, "check", RARE, CUBIN, "variable")
        reasons = [item["reason"] for item in summary["unknown"] if item["call"] == "memory"]
        self.assertEqual(len(reasons), 1, summary["unknown"])
        self.assertIn("managed", reasons[0])

    def test_each_writes_what_it_is_told_to(self):
        done, said = self.job()
        wanted = [[int(word) for word in line.split(": ")[1].split()]
                  for line in done.stdout.splitlines()]
        self.assertEqual(len(wanted), 3)
        written = {}
        for name, fields in said:
            if name == "access" and fields["effect"] == "write":
                written.setdefault(fields["seq"], []).append(fields["allocation"])
        self.assertEqual([sorted(each) for _, each in sorted(written.items())], wanted, said)


class Told(unittest.TestCase):
    def job(self, fate, mode):
        with tempfile.TemporaryDirectory() as place:
            done, summary = run(place, mode, TOLD, KERNELS, fate)
        unknown = {item["call"] for item in summary["unknown"]}
        return done, done.stdout.split(), unknown, summary["hazards"]

    def test_a_call_that_may_write_anything_is_named(self):
        _, made, unknown, _ = self.job(EVERYTHING, "check")
        self.assertGreater(len(made), 20)
        self.assertEqual(set(made) - unknown, set())

    def test_a_call_that_is_refused_is_named_and_a_hazard(self):
        _, made, unknown, hazards = self.job(REFUSED, "check")
        self.assertGreater(len(made), 10)
        self.assertEqual(set(made) - unknown, set())
        self.assertEqual({hazard["hazard"] for hazard in hazards}, {"unproved"})
        self.assertEqual({hazard.get("reader") for hazard in hazards}, set(made))

    def test_a_call_that_is_refused_stops_a_guarded_job(self):
        done, made, _, hazards = self.job(REFUSED, "guard")
        self.assertEqual((done.returncode, made), (70, []))
        self.assertEqual(len(hazards), 1)
        self.assertIn(hazards[0]["reader"], done.stderr)

    def test_a_call_that_passes_is_not_worth_a_word(self):
        _, made, unknown, hazards = self.job(PASSED, "guard")
        self.assertGreater(len(made), 300)
        self.assertEqual((unknown, hazards), (set(), []))


unittest.main(argv=sys.argv[:1], verbosity=2)
