#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A newcomer's first steps, word for word as README has them.

usage: test_first_steps.py REPRISE README BUILD [FLAG...]

FLAGs are the compiler's, where the build that is linked with is a sanitized one."""
import pathlib
import re
import subprocess
import sys

import harness

README, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[2:4])
FLAGS = sys.argv[4:]


class FirstSteps(harness.Case):
    def setUp(self):
        super().setUp()
        for name in ("examples", "cuda", ".cache"):
            (self.folder / name).symlink_to(README.parent / name)
        (self.folder / "build").symlink_to(BUILD)
        block = re.search(r"(?m)^    cc .*\n(?:    .*\n)+", README.read_text()).group()
        self.compile, self.path, *self.runs = [line.strip() for line in block.splitlines()]

    def do(self, *lines):
        done = subprocess.run(["bash", "-ec", "\n".join(lines)], cwd=self.folder, text=True,
                              capture_output=True, env=harness.environment(),
                              timeout=harness.PATIENCE)
        self.assertEqual(done.returncode, 0, f"{lines[-1]}\n{done.stderr}")
        return done

    def shown(self):
        """What README shows of these runs, by command."""
        return dict(re.findall(r"(?m)^    \$ (.*)\n    (.*\n)", README.read_text()))

    def test_they_lead_to_a_guarded_run(self):
        self.do(" ".join([self.compile, *FLAGS]))
        eager, replayed, found, checked, guarded = (self.do(self.path, run) for run in self.runs)
        self.assertNotEqual(replayed.stdout, eager.stdout)
        self.assertIn("follow", found.stdout)
        self.assertEqual(checked.stdout, replayed.stdout)
        self.assertRegex(checked.stderr, r"\d+ hazards")
        self.assertEqual(guarded.stdout, eager.stdout)
        self.assertRegex(guarded.stderr, r"80 B preserved")
        said = [run.split("  ")[0] for run in self.runs]
        self.assertEqual(self.shown(), {said[0]: eager.stdout, said[1]: replayed.stdout,
                                        said[4]: guarded.stdout})


if __name__ == "__main__":
    harness.main()
