#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job that is killed at any moment, or whose disk is full, leaves a trace that can be read and
nothing in the way of the next run.

usage: test_kills.py REPRISE DIGITS CONTRACT KILLS"""
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tools"))
import harness  # noqa: E402

DIGITS, CONTRACT = (pathlib.Path(word).resolve() for word in sys.argv[2:4])
KILLS = int(sys.argv[4])


class Kills(harness.Case):
    def start(self, *words):
        return subprocess.Popen(
            [harness.REPRISE, "run", "-q", "-d", "soft", *words, "-c", CONTRACT, "--", DIGITS, "-c",
             "--steps", "4000"], cwd=self.folder, env=harness.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def kill_at(self, moment, *words):
        job = self.start(*words)
        time.sleep(moment)
        # Run and its job at once, as the machine's own killer would.
        subprocess.run(["pkill", "-KILL", "-s", str(job.pid)], check=False)
        job.wait()

    def assertReadable(self):
        for trace in (self.folder / "reprise.data").glob("trace-*.rpt"):
            done = self.reprise("dump", str(trace))
            self.assertIn(done.returncode, (0, 65), done.stderr)
            self.assertNotIn("damaged", done.stderr)
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

    def test_a_full_disk(self):
        """A file of limited size stands in: the writer's error is the same but for its number."""
        script = ('ulimit -f 40; trap "" XFSZ; exec "$@"')
        done = subprocess.run(["bash", "-c", script, "-", harness.REPRISE, "run", "-q", "-d", "soft",
                               "-c", CONTRACT, "--", DIGITS, "-c", "--steps", "60"],
                              cwd=self.folder, env=harness.environment(), capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("steps 60", done.stdout)
        self.assertReadable()


if __name__ == "__main__":
    if not shutil.which("pkill"):
        print("skipped: pkill is not there")
        sys.exit(77)
    harness.main()
