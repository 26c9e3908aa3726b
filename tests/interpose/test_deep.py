#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Libraries that are bound to the C library's own look-up: by name they find the layer all the
same; by an absolute path they go past it, and that is said, and no guarded job's success.

usage: test_deep.py REPRISE DEEP_JOB DEEP SOFT_DEVICE CONTRACT"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPRISE, JOB, DEEP, SOFT, CONTRACT = map(os.path.abspath, sys.argv[1:6])
STOPPED = 70


class Deep(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def job(self, driver, *options):
        done = subprocess.run([REPRISE, "run", "--device", "soft", "-o", "out", *options, "--", JOB,
                               DEEP, driver], cwd=self.place.name, capture_output=True, text=True,
                              check=False, timeout=60)
        summaries = [json.loads(path.read_text())
                     for path in pathlib.Path(self.place.name, "out").glob("summary-*.json")]
        return done, summaries

    def test_by_name_it_finds_the_layer(self):
        for name in "libcuda.so", "libcuda.so.1":
            done, summaries = self.job(name)
            self.assertEqual((done.returncode, done.stdout), (0, "0\n"), done.stderr)
            self.assertEqual([summary["calls"] for summary in summaries], [1], name)

    def test_past_the_layer_is_said(self):
        done, summaries = self.job(SOFT)
        self.assertEqual((done.returncode, done.stdout, summaries), (0, "0\n", []))
        self.assertEqual(done.stderr.count("past the layer"), 1, done.stderr)

    def test_past_the_layer_a_guarded_job_has_not_succeeded(self):
        done, _ = self.job(SOFT, "-c", CONTRACT)
        self.assertEqual((done.returncode, done.stdout), (STOPPED, "0\n"))
        self.assertEqual(done.stderr.count("past the layer"), 1, done.stderr)


unittest.main(argv=sys.argv[:1], verbosity=2)
