#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What comes again is told briefly, and tells the same: a job that repeats its calls, and between
that changes what they mean, has the same trace as when each call is followed in full. So it is
where segments are followed: there what launches touch is looked up among what was found of others
alike.

usage: test_repeats.py REPEATS REPRISE KERNELS FAKE LAYER CONTRACT [RUNTIME]"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPEATS, REPRISE, KERNELS, FAKE, LAYER, CONTRACT = map(os.path.abspath, sys.argv[1:7])
RUNTIME = sys.argv[7:]
TIMES, THREADS, ROUNDS = 6, 4, 50


def trace(disable="", way=(), mode="observe"):
    """What the trace tells, but for when; threads by the order in which they appear; and what the
    summary counts."""
    with tempfile.TemporaryDirectory() as place:
        env = os.environ | {"LD_PRELOAD": ":".join(RUNTIME + [LAYER]), "REPRISE_DRIVER": FAKE,
                            "REPRISE_MODE": mode, "REPRISE_TRACE": "1",
                            "REPRISE_CONTRACT": CONTRACT if mode == "check" else "",
                            "REPRISE_TEST_DISABLE": disable, "REPRISE_OUTPUT": place,
                            "ASAN_OPTIONS": "detect_leaks=0"}
        subprocess.run([REPEATS, KERNELS, *way], env=env, check=True, timeout=60)
        text = subprocess.run([REPRISE, "dump", "--json", place], capture_output=True, text=True,
                              check=True, env=os.environ | {"REPRISE_TEST_DISABLE": ""}).stdout
        summary, = pathlib.Path(place).glob("summary-*.json")
        summary = json.loads(summary.read_text())
    events, threads = [], {}
    for line in text.splitlines():
        event = json.loads(line)
        if event.get("name") in ("process", "summary") or "fields" not in event:
            continue
        thread = threads.setdefault(event["tid"], len(threads))
        fields = {key: value for key, value in event["fields"].items()
                  if key not in ("kernelParams", "srcHost", "pctx", "image", "dptr", "module",
                                 "hfunc", "name", "phGraph")}
        events.append((thread, event["name"], event["class"], fields))
    return events, (summary["launches"], summary["tracked_calls"], summary["proofs"],
                    summary["launches_remembered"])


class Repeats(unittest.TestCase):
    full = trace("repeats")

    def test_the_trace_is_the_same(self):
        brief = trace()
        self.assertEqual(len(brief[0]), len(self.full[0]))
        for one, other in zip(brief[0], self.full[0]):
            self.assertEqual(one, other)
        self.assertEqual(brief[1][:-1], self.full[1][:-1])

    def test_each_thread_is_told_of(self):
        self.assertEqual({thread for thread, *_ in self.full[0]}, {0, 1})

    def test_launches_are_all_there(self):
        launches = [fields["kernel"] for _, name, _, fields in self.full[0] if name == "launch"]
        self.assertEqual(launches.count("step_state_again"), TIMES)
        self.assertEqual(launches.count("step_state"), len(launches) - TIMES)
        self.assertGreater(len(launches), 6 * TIMES)

    def test_threads_at_once_lose_nothing(self):
        events, (launches, *_) = trace(way=["threads"])
        expected = THREADS * ROUNDS * TIMES
        told = collections.Counter((name, kind) for _, name, kind, _ in events)
        self.assertEqual(launches, expected)
        self.assertEqual(told["launch", "note"], expected)
        for call in "cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuCtxGetCurrent":
            self.assertEqual((told[call, "enter"], told[call, "leave"]), (expected, expected), call)

    def test_it_would_not_be_the_same_if_changes_went_unnoticed(self):
        self.assertNotEqual(trace("changes")[0], self.full[0])


class Alike(unittest.TestCase):
    found, (launches, *_, found_again) = trace("memo", mode="check")
    remembered, (*_, remembered_count) = trace(mode="check")

    def test_what_is_remembered_is_what_is_found(self):
        self.assertEqual(self.remembered, self.found)
        self.assertIn("access", {name for _, name, *_ in self.found})

    def test_most_launches_are_like_one_before_them(self):
        self.assertGreater(self.launches, 6 * TIMES)
        self.assertGreater(self.remembered_count, 0.75 * self.launches)
        self.assertEqual(self.found_again, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
