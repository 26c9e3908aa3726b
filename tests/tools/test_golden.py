#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of every version stay readable.

usage: test_golden.py REPRISE TRACE_FROM_SCRIPT"""
import pathlib
import shutil
import subprocess

import harness


class Golden(harness.Case):
    """Traces of every version that was ever written stay readable, and say the same."""

    COMMANDS = {".txt": ["dump"], ".jsonl": ["dump", "--json"], ".json": ["info", "--json"]}

    def test_versions(self):
        folder = pathlib.Path(__file__).parent / "golden"
        golden = [path for path in sorted(folder.glob("version-*"))
                  if path.suffix != ".rpt"]
        self.assertEqual({path.suffix for path in golden}, set(self.COMMANDS))
        for path in golden:
            with self.subTest(path.name), path.with_suffix(".rpt").open("rb") as trace:
                done = subprocess.run([harness.REPRISE, *self.COMMANDS[path.suffix], "-"],
                                      stdin=trace, capture_output=True, text=True,
                                      env=harness.environment())
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, path.read_text())

    def test_two_files_of_one_trace_may_be_of_two_versions(self):
        folder = pathlib.Path(__file__).parent / "golden"
        run = self.folder / "reprise.data"
        run.mkdir()
        expected = []
        for version, name in (("version-1", "trace-1.0"), ("version-3", "trace-1")):
            shutil.copy(folder / f"{version}.rpt", run / f"{name}.rpt")
            expected += (folder / f"{version}.txt").read_text().splitlines()
        done = self.reprise("dump")
        self.assertEqual(done.returncode, 65)
        self.assertIn("begins with event 0 where event 29 was due", done.stderr)
        self.assertCountEqual(*([line.split(".", 2)[2] for line in lines]
                                for lines in (done.stdout.splitlines(), expected)))


if __name__ == "__main__":
    harness.main()
