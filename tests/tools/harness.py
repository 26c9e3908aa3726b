# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share. Each test file is called with the path of reprise,
and gets a folder of its own for every case."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPRISE = pathlib.Path(sys.argv[1]).resolve()
PATIENCE = 60


def environment(**changes):
    """The present environment without anything of reprise; None removes a variable."""
    ours = {"LD_PRELOAD", "LD_LIBRARY_PATH", "NO_COLOR", "PAGER"}
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("REPRISE_") and name not in ours}
    kept.update(changes)
    return {name: value for name, value in kept.items() if value is not None}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def reprise(self, *words, stdin=None, **changes):
        return subprocess.run([REPRISE, *words], input=stdin, capture_output=True, text=True,
                              cwd=self.folder, env=environment(**changes), timeout=PATIENCE)

    def assertRefused(self, done, code, *texts):
        """Ended with `code` after one or two lines of ours, and printed nothing."""
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        lines = done.stderr.splitlines()
        self.assertIn(len(lines), (1, 2), done.stderr)
        for line in lines:
            self.assertTrue(line.startswith("reprise: "), line)
        for text in texts:
            self.assertIn(text, done.stderr)


def main():
    unittest.main(argv=sys.argv[:1], verbosity=2)
