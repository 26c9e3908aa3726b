#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bundle runs elsewhere: on an older distribution, from any place, without packages.

usage: test_bundle.py [BUNDLE]      without one, `tools/dev bundle` makes it first

As root it is tried in a root of Debian 11, which mmdebstrap makes from this machine's mirror; or,
where that can't be had, in one that has this machine's glibc and Python and nothing else."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NEWEST_GLIBC = (2, 28)
NEEDED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
          "ld-linux-x86-64.so.2"}
SUITE = "bullseye"


def answer(*command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=True, **more).stdout


def made():
    done = subprocess.run([ROOT / "tools" / "dev", "bundle"], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit("test_bundle: no bundle could be made")
    return done.stdout.splitlines()[0]


BUNDLE = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else made()).resolve()


def programs():
    return [path for path in sorted(BUNDLE.rglob("*")) if path.is_file() and not path.is_symlink()
            and path.read_bytes()[:4] == b"\x7fELF"]


class Files(unittest.TestCase):
    def test_no_program_asks_for_a_newer_glibc(self):
        self.assertGreater(len(programs()), 14)
        self.assertIn("GLIBC_2.", answer("objdump", "-T", BUNDLE / "lib/reprise/libreprise.so"))
        for path in programs():
            asked = [tuple(map(int, version.split("."))) for version in
                     re.findall(r"GLIBC_(\d+(?:\.\d+)+)", answer("objdump", "-T", path))]
            self.assertLessEqual(max(asked, default=(0,)), NEWEST_GLIBC, path)
            self.assertNotIn("GLIBC_PRIVATE", answer("objdump", "-T", path), path)

    def test_nothing_but_the_c_library_is_needed(self):
        for path in programs():
            told = answer("readelf", "-d", path)
            self.assertLessEqual(set(re.findall(r"NEEDED.*\[(.*)\]", told)), NEEDED, path)
            self.assertNotRegex(told, r"\((RPATH|RUNPATH)\)", path)

    def test_licences_of_others_are_there(self):
        for name in ("jansson", "zstd", "lz4", "xxhash", "nvtx", "digits"):
            self.assertGreater((BUNDLE / "licences" / f"{name}.txt").stat().st_size, 100)
        self.assertIn("Apache License", (BUNDLE / "LICENSE").read_text())

    def test_what_users_look_for_is_there(self):
        for name in ("bin/reprise", "lib/reprise/libreprise.so", "lib/reprise/soft/libcuda.so.1",
                     "share/man/man1/reprise.1", "share/bash-completion/completions/reprise",
                     "include/reprise.h", "lib/pkgconfig/reprise.pc", "README.md", "gpu", "demo",
                     "examples/digits/digits.bin", "tests/gpu/checks.py"):
            self.assertTrue((BUNDLE / name).is_file(), name)

    def test_variables_of_jobs_have_their_symbols(self):
        """A contract finds them by these: a suite's job that lost them has nothing to declare."""
        self.assertIn("host_generator", answer("nm", BUNDLE / "tests/laws/law_job"))

    def test_no_link_leaves_the_bundle(self):
        for path in BUNDLE.rglob("*"):
            if path.is_symlink():
                self.assertFalse(os.path.isabs(os.readlink(path)), path)
                self.assertIn(BUNDLE, path.resolve(strict=True).parents, path)

    def test_pkg_config_follows_the_folder(self):
        if not shutil.which("pkg-config"):
            self.skipTest("no pkg-config here")
        env = {**os.environ, "PKG_CONFIG_PATH": str(BUNDLE / "lib" / "pkgconfig")}
        told = answer("pkg-config", "--variable=prefix", "reprise", env=env).strip()
        self.assertEqual(pathlib.Path(told).resolve(), BUNDLE)

    def test_the_archive_holds_the_folder(self):
        archive = BUNDLE.with_name(BUNDLE.name + ".tar.zst")
        listed = answer("tar", "--use-compress-program=zstd", "-tf", archive).split()
        here = {str(path.relative_to(BUNDLE.parent)) for path in BUNDLE.rglob("*")}
        self.assertEqual({name.rstrip("/") for name in listed} - {BUNDLE.name}, here)


def mirror():
    told = answer("apt-get", "indextargets", "--format", "$(REPO_URI)").split()
    return next(uri for uri in told if "security" not in uri)


def older_debian(root):
    subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--include=python3", SUITE, root,
                    mirror()], check=True, stdout=subprocess.DEVNULL)


def bare_root(root):
    """This machine's Python and what it needs, nothing else."""
    for name in ("bin", "tmp", "proc", "dev", "usr"):
        (root / name).mkdir(parents=True)
    wanted = ["/bin/sh", "/usr/bin/python3", "/usr/bin/dirname", "/usr/bin/readlink"]
    wanted += map(str, pathlib.Path("/usr/lib").glob("python3.*/lib-dynload/*.so"))
    for program in wanted:
        libraries = re.findall(r"(/\S+) \(0x", answer("ldd", program))
        for path in (program, *libraries):
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    for folder in pathlib.Path("/usr/lib").glob("python3.*"):
        shutil.copytree(folder, root / folder.relative_to("/"), dirs_exist_ok=True,
                        ignore=shutil.ignore_patterns("test", "dist-packages"))


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "a root of its own needs root")
class Elsewhere(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.root = pathlib.Path(cls.folder.name) / "root"
        ready = os.environ.get("REPRISE_OLD_ROOT")
        if ready:
            cls.root = pathlib.Path(ready)
        elif shutil.which("mmdebstrap"):
            older_debian(cls.root)
        else:
            bare_root(cls.root)
        cls.place = cls.root / "srv" / "else" / "where"
        shutil.rmtree(cls.place, ignore_errors=True)
        shutil.copytree(BUNDLE, cls.place, symlinks=True)
        cls.addClassCleanup(shutil.rmtree, cls.place, True)

    def inside(self, *command, **environment):
        """In the root, from another folder than the bundle's."""
        words = ["env", "-i", "PATH=/usr/bin:/bin", *(f"{k}={v}" for k, v in environment.items())]
        script = 'mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && cd / && ' \
                 'exec chroot "$0" sh -c \'cd /tmp && exec "$@"\' sh "$@"'
        return subprocess.run(["unshare", "-m", "sh", "-c", script, self.root, *words, *command],
                              capture_output=True, text=True, timeout=600)

    def at(self, name):
        return f"/srv/else/where/{name}"

    def test_reprise_finds_its_parts(self):
        done = self.inside(self.at("bin/reprise"), "doctor", "--json")
        told = json.loads(done.stdout)
        self.assertTrue(told["well"], told)
        self.assertEqual(told["device"], "soft")

    def test_the_demo_is_exact(self):
        done = self.inside(self.at("demo"), "--steps", "40", "--device", "soft")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count(" identical"), 3, done.stdout)
        self.assertIn("DIFFERS", done.stdout)

    def test_a_guarded_run(self):
        digits = self.at("examples/digits/digits")
        eager = self.inside(self.at("bin/reprise"), "run", "-q", "-o", "/tmp/e", "--device", "soft",
                            "--", digits, "-n", "10")
        guarded = self.inside(self.at("bin/reprise"), "run", "-q", "-o", "/tmp/g", "--device",
                              "soft", "-c", self.at("examples/digits/discovered.json"), "--",
                              digits, "-c", "-n", "10")
        self.assertEqual(guarded.returncode, 0, guarded.stderr)
        self.assertEqual(guarded.stdout, eager.stdout)
        self.assertIn("test_accuracy", eager.stdout)

    def test_without_a_gpu_the_checks_say_so(self):
        done = self.inside(self.at("gpu"))
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("no GPU here", done.stdout)

    def test_a_rehearsal_of_the_checks(self):
        done = self.inside(self.at("gpu"), "--device", "soft", "--quick", "-o", "/tmp/told.json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        told = json.loads((self.root / "tmp" / "told.json").read_text())
        self.assertTrue(told["rehearsal"])
        self.assertGreater(len(told["checks"]), 10)

    def test_without_python_that_is_said(self):
        done = self.inside("/bin/sh", "-c", 'PATH=/nowhere; readlink() { echo "$2"; }; '
                           'dirname() { echo /srv; }; . "$0"', self.at("gpu"))
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("needs Python 3.9", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
