#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The PyTorch jobs of the checks on a GPU, bare on a processor: they run, repeat themselves, and
replay with the hazards that they are there for. Exit status 77 without PyTorch
(Debian: python3-torch); REPRISE_TORCH_PYTHON names a Python that has it."""
import os
import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from frameworks import TORCH  # noqa: E402

CANDIDATES = (os.environ.get("REPRISE_TORCH_PYTHON"), sys.executable, "/usr/bin/python3")
SKIPPED = 77


def has_torch(python):
    try:
        return subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0
    except OSError:
        return False


PYTHON = next((python for python in CANDIDATES if python and has_torch(python)), None)


class Jobs(unittest.TestCase):
    def steps(self, case, mode):
        done = subprocess.run([PYTHON, HERE / "torch_job.py", case, mode, "4", "cpu"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("\n"), 4)
        return done.stdout

    def test_every_case(self):
        for case, (_, _, differs) in TORCH.items():
            with self.subTest(case):
                eager = self.steps(case, "eager")
                self.assertEqual(eager, self.steps(case, "eager"))
                self.assertEqual(self.steps(case, "replay") != eager, differs)


if __name__ == "__main__":
    if not PYTHON:
        print("skipped: no PyTorch (Debian: python3-torch)")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], verbosity=2)
