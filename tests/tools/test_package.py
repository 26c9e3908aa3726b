#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian package: it holds what it should, says what it needs, and works when it is unpacked.

usage: test_package.py REPRISE PACKAGE_DEB BUILD DIGITS CONTRACT"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

MAKE, BUILD, DIGITS, CONTRACT = (pathlib.Path(word).resolve() for word in sys.argv[2:6])


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.deb = cls.folder / "reprise.deb"
        subprocess.run([sys.executable, MAKE, BUILD, cls.deb], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run(["dpkg-deb", "-x", cls.deb, cls.folder / "root"], check=True)

    def field(self, name):
        return subprocess.run(["dpkg-deb", "-f", self.deb, name], capture_output=True, text=True,
                              check=True).stdout.strip()

    def test_what_it_says_of_itself(self):
        self.assertEqual(self.field("Package"), "reprise")
        self.assertRegex(self.field("Depends"), r"^libc6 \(>= 2\.\d+\)")
        self.assertNotIn("cuda", self.field("Depends"))
        self.assertNotRegex(self.field("Depends"), r"libc6-")
        self.assertGreater(int(self.field("Installed-Size")), 500)

    def test_a_job_runs_under_it(self):
        reprise, = self.folder.glob("root/**/bin/reprise")
        done = subprocess.run([reprise, "run", "-d", "soft", "-c", CONTRACT, "--", DIGITS, "-n", "2",
                               "-c"], cwd=self.folder, env=harness.environment(), text=True,
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(subprocess.run([reprise, "doctor"], stdout=subprocess.DEVNULL,
                                        env=harness.environment()).returncode, 0)

    def test_the_licence_is_where_debian_looks_for_it(self):
        notice = self.folder / "root/usr/share/doc/reprise/copyright"
        self.assertIn("License: Apache-2.0\n", notice.read_text())

    def test_pages_are_packed(self):
        self.assertEqual(len(list(self.folder.glob("root/**/man1/reprise-run.1.gz"))), 1)


if __name__ == "__main__":
    if not shutil.which("dpkg-deb"):
        print("skipped: dpkg-deb is not there")
        sys.exit(77)
    harness.main()
