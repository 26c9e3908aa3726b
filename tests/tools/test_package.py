#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Debian package: it holds what it should, says what it needs, and works when it is unpacked;
and, as root where mmdebstrap is there, when it is installed in a Debian that has nothing else.

usage: test_package.py REPRISE PACKAGE_DEB BUILD DIGITS CONTRACT"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness

MAKE, BUILD, DIGITS, CONTRACT = (pathlib.Path(word).resolve() for word in sys.argv[2:6])


class Made(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.deb = cls.folder / "reprise.deb"
        subprocess.run([sys.executable, MAKE, BUILD, cls.deb], check=True,
                       stdout=subprocess.DEVNULL)


class Package(Made):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        subprocess.run(["dpkg-deb", "-x", cls.deb, cls.folder / "root"], check=True)

    def field(self, name):
        return subprocess.run(["dpkg-deb", "-f", self.deb, name], capture_output=True, text=True,
                              check=True).stdout.strip()

    def test_what_it_says_of_itself(self):
        self.assertEqual(self.field("Package"), "reprise")
        self.assertRegex(self.field("Depends"), r"^libc6 \(>= 2\.\d+\)")
        self.assertNotIn("cuda", self.field("Depends"))
        self.assertNotRegex(self.field("Depends"), r"libc6-")
        for library in "libjansson-dev", "libzstd-dev", "pkg-config":
            self.assertIn(library, self.field("Suggests"), "what programs link against")
        self.assertGreater(int(self.field("Installed-Size")), 500)

    def test_a_job_runs_under_it(self):
        reprise, = self.folder.glob("root/**/bin/reprise")
        done = subprocess.run([reprise, "run", "-d", "soft", "-c", CONTRACT, "--", DIGITS, "-n",
                               "2", "-c"], cwd=self.folder, env=harness.environment(), text=True,
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(subprocess.run([reprise, "doctor"], stdout=subprocess.DEVNULL,
                                        env=harness.environment()).returncode, 0)

    def test_the_licence_is_where_debian_looks_for_it(self):
        notice = self.folder / "root/usr/share/doc/reprise/copyright"
        self.assertIn("License: Apache-2.0\n", notice.read_text())

    def test_pages_are_packed(self):
        self.assertEqual(len(list(self.folder.glob("root/**/man1/reprise-run.1.gz"))), 1)


def answer(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def bare_debian(root):
    """This machine's release, with its essential packages and no others."""
    mirrors = answer("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)").splitlines()
    uri, release = next(line.split() for line in mirrors
                        if "security" not in line and "updates" not in line)
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", release, root, uri], check=True,
                   stdout=subprocess.DEVNULL)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("mmdebstrap"),
                     "a clean root needs root and mmdebstrap")
class CleanRoot(Made):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = cls.folder / "clean"
        bare_debian(cls.root)
        data = pathlib.Path(__file__).resolve().parents[2] / ".cache/digits.bin"
        for path in (cls.deb, DIGITS, DIGITS.with_name("kernels.ptx"), CONTRACT, data):
            shutil.copy(path, cls.root / "srv")

    def inside(self, *command, code=0):
        script = ('mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" '
                  'env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp '
                  'sh -c \'cd /tmp && exec "$@"\' sh "$@"')
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, self.root, *command],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_installed_used_and_removed(self):
        before = set(self.inside("find", "/usr", "/etc").splitlines())
        self.inside("dpkg", "-i", "/srv/reprise.deb")
        self.assertIn("reprise ", self.inside("reprise", "--version"))
        self.inside("reprise", "doctor")
        job = ["--", f"/srv/{DIGITS.name}", "--checkpoint", "--steps", "3"]
        self.inside("reprise", "run", "-q", "-d", "soft", "-m", "check", "-c",
                    f"/srv/{CONTRACT.name}", *job)
        self.assertIn("stale-read", self.inside("reprise", "check", code=1))
        self.inside("reprise", "run", "-q", "-d", "soft", "-c", f"/srv/{CONTRACT.name}", *job)
        self.assertIn("no hazards", self.inside("reprise", "check"))
        self.inside("reprise", "report", "-q")
        self.assertIn("cuLaunchKernel", self.inside("reprise", "dump", "--call", "cuLaunch*"))
        self.inside("dpkg", "-r", "reprise")
        self.assertEqual(set(self.inside("find", "/usr", "/etc").splitlines()) - before, set())


if __name__ == "__main__":
    if not shutil.which("dpkg-deb"):
        print("skipped: dpkg-deb is not there")
        sys.exit(77)
    harness.main()
