#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job that is killed at any moment, or whose disk is full, leaves a trace that can be read and
nothing in the way of the next run.

usage: test_kills.py REPRISE DIGITS CONTRACT KILLS"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tools"))
import harness  # noqa: E402

DIGITS, CONTRACT = (pathlib.Path(word).resolve() for word in sys.argv[2:4])
KILLS = int(sys.argv[4])
LEAST_ROOM = 16  # KiB
CAN_MOUNT = os.geteuid() == 0 and shutil.which("unshare") and subprocess.run(
    ["unshare", "-m", "true"], capture_output=True).returncode == 0


class Kills(harness.Case):
    read = {}

    def start(self, *words):
        return subprocess.Popen(
            [harness.REPRISE, "run", "-q", "-d", "soft", *words, "-c", CONTRACT, "--", DIGITS, "-c",
             "--steps", "4000"], cwd=self.folder, env=harness.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def kill_at(self, moment, *words):
        job = self.start(*words)
        time.sleep(moment)
        # Run and its job at once, as the machine's own killer would; and what was forked just then.
        while subprocess.run(["pkill", "-KILL", "-s", str(job.pid)], check=False).returncode == 0:
            job.poll()
            time.sleep(0.01)
        job.wait()

    def assertReadable(self):
        """What was read once, and is as old as it was, need not be read again."""
        stamps = {trace: trace.stat().st_mtime_ns for trace in self.folder.rglob("trace-*.rpt")}
        for trace, _ in stamps.items() - self.read.items():
            done = self.reprise("dump", str(trace))
            self.assertIn(done.returncode, (0, 65), done.stderr)
            self.assertNotIn("damaged", done.stderr)
        self.read = stamps
        left = [path.name for path in self.folder.rglob("*")
                if path.suffix in (".part", ".tmp") or path.name.startswith(".")]
        self.assertEqual(left, [])

    def test_killed_at_any_moment(self):
        chance = random.Random(7)
        for _ in range(KILLS):
            moment = chance.uniform(0, 0.4)
            with self.subTest(moment=moment):
                self.kill_at(moment)
                self.assertReadable()
        done = self.reprise("run", "-q", "-d", "soft", "-c", str(CONTRACT), "--", str(DIGITS), "-c",
                            "--steps", "2")
        self.assertEqual(done.returncode, 0, done.stderr)

    def run_short(self, room, *wrapper):
        """Some steps in a shell that `wrapper` has set up; the job must not notice anything. Where
        there is no room for what says what ran, nothing runs."""
        shutil.rmtree(self.folder / "full/data", ignore_errors=True)
        done = subprocess.run([*wrapper, harness.REPRISE, "run", "-q", "-d", "soft", "-o",
                               "full/data", "-c", CONTRACT, "--", DIGITS, "-c", "--steps", "20"],
                              cwd=self.folder, env=harness.environment(), capture_output=True,
                              text=True, timeout=600)
        if room < LEAST_ROOM and done.returncode:
            self.assertIn(done.returncode, (2, 125), done.stderr)
            self.assertEqual(done.stdout, "")
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("steps 20", done.stdout)

    def test_files_that_may_not_grow(self):
        """The writer's error is that of a full disk but for its number."""
        script = 'trap "" XFSZ; ulimit -f "$1"; shift; exec "$@"'
        for kib in range(0, 120, max(1, 1200 // KILLS)):
            with self.subTest(kib=kib):
                self.run_short(kib, "bash", "-c", script, "-", str(kib))
                self.assertReadable()

    @unittest.skipUnless(CAN_MOUNT, "a disk of its own needs root")
    def test_a_full_disk(self):
        """Some of what is written finds room; what does is looked at before it is gone."""
        (self.folder / "full").mkdir()
        script = ('mount -t tmpfs -o size="$1" tmpfs full; shift; "$@"; code=$?; '
                  'cp -r full kept; exit $code')
        for kib in range(4, 160, max(4, 4800 // KILLS)):
            with self.subTest(kib=kib):
                shutil.rmtree(self.folder / "kept", ignore_errors=True)
                self.run_short(kib, "unshare", "-m", "bash", "-c", script, "-", f"{kib}k")
                self.assertReadable()


if __name__ == "__main__":
    if not shutil.which("pkill"):
        print("skipped: pkill is not there")
        sys.exit(77)
    harness.main()
