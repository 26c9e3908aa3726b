#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that have nothing to do with CUDA behave under the layer as without it: the same output,
the same exit code, the same descriptors, and no word from us.

usage: test_harmless.py REPRISE ODD ODD_STATIC ODD_ADDRESS ODD_THREAD"""
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tools"))
import harness  # noqa: E402

ODD, STATIC, ADDRESS, THREAD = (pathlib.Path(word).resolve() for word in sys.argv[2:6])
SOFT = harness.REPRISE.parent.parent / "cuda/soft/libcuda.so.1"
LAYER = harness.REPRISE.parent.parent / "interpose/libreprise.so"
NOBODY = 65534
NEEDS_ROOT = unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"),
                                 "another user needs root")
LIBRARIES = (pathlib.Path("/usr/lib/x86_64-linux-gnu"), pathlib.Path("/usr/lib"))
MODES = (["-m", "observe"], ["-m", "check", "-c", "contract.json"],
         ["-m", "guard", "-c", "contract.json"])
CONTRACT = """{"version": 1, "segments": [{"name": "s", "forward": {"nvtx": "f"},
               "replay": {"nvtx": "r"}}], "state": "discovered"}"""


class Harmless(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "contract.json").write_text(CONTRACT)

    def outcome(self, command, **changes):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, timeout=120,
                              env=harness.environment(**changes), stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def assertHarmless(self, *command, **changes):
        command = [str(word) for word in command]
        bare = self.outcome(command, **changes)
        for mode in MODES:
            with self.subTest(command=command, mode=mode[1]):
                ours = [str(harness.REPRISE), "run", "-q", "-d", "soft", "--no-trace", *mode, "--"]
                self.assertEqual(self.outcome(ours + command, **changes), bare)
        return bare

    def test_shells_and_interpreters(self):
        self.assertHarmless("bash", "-c", "echo $((6*7)); exit 3")
        self.assertHarmless("bash", "-c", "for i in 1 2 3; do (exit $i) || echo $?; done | sort -r")
        self.assertHarmless(sys.executable, "-c",
                            "import ssl, json, ctypes; print(json.dumps([1]))")
        self.assertHarmless(sys.executable, "-c", "import multiprocessing as m\n"
                            "print(sum(m.Pool(3).map(abs, range(-50, 50))))")

    @unittest.skipUnless(shutil.which("git"), "git is not there")
    def test_git(self):
        self.assertHarmless("bash", "-c", "rm -rf g; git init -q g && cd g && touch a && "
                            "git add a && git -c user.name=a -c user.email=a@b commit -qm a "
                            "--date='2020-01-01 00:00' && git log --format=%s && git status -s")

    def test_rough_programs(self):
        for words in (["forks", "1000"], ["threads", "256"], ["exec", "20"], ["closes"],
                      ["descriptors"], ["signals"], ["vfork"], ["dlmopen"]):
            self.assertHarmless(ODD, *words)

    def test_a_static_program(self):
        """As a child: `reprise run` itself says that the layer can't get into one."""
        self.assertHarmless("bash", "-c", f"{STATIC} forks 20; true")

    def as_nobody(self, mode):
        """A program of root's that somebody else runs: with S_ISUID it gains privileges."""
        program = self.folder / f"program-{mode:o}"
        shutil.copy(ODD, program)
        program.chmod(mode)
        self.folder.chmod(0o777)
        return "setpriv", f"--reuid={NOBODY}", "--clear-groups", program, "secure"

    @NEEDS_ROOT
    def test_a_setuid_program(self):
        self.assertEqual(self.assertHarmless(*self.as_nobody(stat.S_ISUID | 0o755))[1],
                         b"secure: 1\n")

    @NEEDS_ROOT
    def test_a_setuid_program_that_loads_a_driver_of_ours(self):
        """It heeds nothing that who runs it has set; the same program without S_ISUID does."""
        soft, layer = (pathlib.Path(shutil.copy(path, self.folder)) for path in (SOFT, LAYER))
        wishes = {"REPRISE_SOFT_ORACLE": str(self.folder / "log"), "REPRISE_TRACE": "1",
                  "REPRISE_OUTPUT": str(self.folder), "REPRISE_DRIVER": str(soft)}
        for driver in (soft, layer):
            with self.subTest(driver=driver.name):
                setuid = [*self.as_nobody(stat.S_ISUID | 0o755), driver]
                plain = [*self.as_nobody(0o755), driver]
                files = set(self.folder.iterdir())
                self.assertEqual(self.outcome(setuid, **wishes), self.outcome(setuid))
                self.assertEqual(set(self.folder.iterdir()), files)
                self.outcome(plain, **wishes)
                self.assertGreater(set(self.folder.iterdir()), files)

    def test_sanitized_programs(self):
        for program in (ADDRESS, THREAD):
            # A sanitizer wants to be first among what is preloaded.
            self.assertHarmless(program, "threads", "20", ASAN_OPTIONS="verify_asan_link_order=0")

    def with_allocator(self, name):
        library = next((folder / name for folder in LIBRARIES if (folder / name).exists()), None)
        if not library:
            self.skipTest(f"no {name} here")
        self.assertHarmless(ODD, "threads", "64", LD_PRELOAD=str(library))
        self.assertHarmless(ODD, "forks", "50", LD_PRELOAD=str(library))

    def test_jemalloc(self):
        self.with_allocator("libjemalloc.so.2")

    def test_tcmalloc(self):
        self.with_allocator("libtcmalloc_minimal.so.4")

    def test_a_signal_ends_it(self):
        self.assertHarmless("bash", "-c", "kill -TERM $$")
        self.assertHarmless("bash", "-c", "ulimit -c 0; kill -SEGV $$")


if __name__ == "__main__":
    os.umask(0o022)
    harness.main()
