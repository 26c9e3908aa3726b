#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tools under valgrind: no byte is used that nobody wrote, none past its end, and what was
allocated is released or still reachable.

usage: test_valgrind.py REPRISE DIGITS CONTRACT"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

DIGITS, CONTRACT = (pathlib.Path(word).resolve() for word in sys.argv[2:4])
WRONG = 99
VALGRIND = ["valgrind", "-q", f"--error-exitcode={WRONG}", "--leak-check=full",
            "--errors-for-leak-kinds=definite,indirect,possible", "--child-silent-after-fork=yes"]
PATIENCE = 600


class Valgrind(harness.Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.runs = pathlib.Path(folder.name)
        cls.observed, cls.checked, cls.guarded, cls.wide, cls.torn = (
            cls.runs / name for name in ("observed", "checked", "guarded", "wide", "torn"))
        cls.job(cls.observed)
        cls.job(cls.checked, "-m", "check", "-c", CONTRACT)
        cls.job(cls.guarded, "-m", "guard", "-c", CONTRACT)
        cls.job(cls.wide, "-m", "recompute", "-b", "1MiB", "-c", CONTRACT, replays=False)
        shutil.copytree(cls.guarded, cls.torn)
        trace = next(cls.torn.glob("trace-*.rpt"))
        trace.write_bytes(trace.read_bytes()[:-100])

    @classmethod
    def job(cls, folder, *words, replays=True):
        subprocess.run([harness.REPRISE, "run", "-q", "-d", "soft", "-o", folder, *words, "--",
                        DIGITS, "-n", "6", *(["-c"] if replays else [])], check=True,
                       env=harness.environment(), stdout=subprocess.DEVNULL)

    def clean(self, *words, codes=(0,)):
        with self.subTest(words=words):
            done = subprocess.run([*VALGRIND, harness.REPRISE, *map(str, words)], text=True,
                                  cwd=self.folder, env=harness.environment(), timeout=PATIENCE,
                                  capture_output=True)
            self.assertIn(done.returncode, codes, done.stderr[-4000:])

    def test_valgrind_tells_what_is_wrong_from_what_is_refused(self):
        self.clean("info", self.folder / "nowhere", codes=(1, 2))

    def test_readers(self):
        for run in (self.observed, self.checked, self.guarded, self.wide):
            for command in (["dump"], ["dump", "--json"], ["info"], ["info", "--json"]):
                self.clean(*command, run)
        self.clean("dump", "--kernel", "bn_*", "--step", "2", "--grep", "cuLaunch", self.guarded)
        self.clean("dump", "--calls", "0-400/7", "--time", "0-", "--segment", "*", self.guarded)
        self.clean("info", "--proof", "bn_*", self.guarded)

    def test_check_and_discover(self):
        self.clean("check", self.checked, codes=(1,))
        self.clean("check", "--json", self.checked, codes=(1,))
        self.clean("check", self.guarded, codes=(0, 1))
        self.clean("discover", "-o", "-", self.observed)
        self.clean("discover", "--by", "launches", "--state", "declared", "-o", "-", self.observed,
                   codes=(0, 1))

    def test_plan(self):
        self.clean("plan", self.guarded)
        self.clean("plan", "--compare", "--svg", "plan.svg", self.guarded)
        self.clean("plan", "--curve", "--json", self.guarded)
        self.clean("plan", "--terms", self.guarded)
        self.clean("plan", "--budget", "1GiB", "-o", "plan.json", self.guarded)

    def test_report_and_export(self):
        self.clean("report", self.guarded)
        self.clean("report", "--force", "--diff", self.checked, self.guarded)
        for form in ("chrome", "csv", "jsonl", "memviz", "folded"):
            self.clean("export", "--format", form, self.guarded)

    def test_what_is_torn(self):
        for command in (["dump"], ["info"], ["report"], ["export", "-f", "chrome"]):
            self.clean(*command, self.torn, codes=(0, 65))

    def test_what_reads_no_run(self):
        """But doctor, whose child loads a device: valgrind is lost in its address space."""
        self.clean("help", "run")
        self.clean("help", "env")
        self.clean("--list-names", "kernels", self.guarded)
        self.clean("dmup", codes=(2,))

    def test_run(self):
        self.clean("run", "-d", "soft", "-c", CONTRACT, "--", DIGITS, "-c", "-n", "2")
        self.clean("run", "--policy", "joint", "-b", "1GiB", "-d", "soft", "-c", CONTRACT, "--",
                   "true")


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not there")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
