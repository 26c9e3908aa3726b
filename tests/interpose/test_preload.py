#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The preloaded object seen from outside: what it is made of, and that programs run under it
as if it were not there.

usage: test_preload.py REPRISE LISTENER FAKE LINKED CALL_TABLE [RUNTIME]

REPRISE is libreprise.so, LISTENER its twin with the listening layer, FAKE the fake driver,
LINKED a program linked against it; RUNTIME is what must be preloaded first, if anything."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

REPRISE, LISTENER, FAKE, LINKED, TABLE = sys.argv[1:6]
RUNTIME = sys.argv[6:7]
INIT = "import ctypes; print(ctypes.CDLL({!r}).cuInit(0))"
NO_DEVICE, FAKE_INIT = "100", None  # FAKE_INIT: see main


def call_names():
    rows = [line.split("\t")[0] for line in pathlib.Path(TABLE).read_text().splitlines()
            if not line.startswith("#")]
    return rows[1:]


def run(*command, preload=None, **env):
    """Exit code, stdout, stderr of `command`, with or without the layer."""
    full = {key: value for key, value in os.environ.items()
            if key not in ("LD_PRELOAD", "LD_LIBRARY_PATH") and not key.startswith("REPRISE_")}
    full.update(env)
    if preload:
        full["LD_PRELOAD"] = ":".join(RUNTIME + [preload])
        full["ASAN_OPTIONS"] = "detect_leaks=0"
    done = subprocess.run(command, env=full, capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def readelf(*options):
    return subprocess.run(["readelf", "-W", *options, REPRISE], capture_output=True, text=True,
                          errors="replace", check=True).stdout


class Object(unittest.TestCase):
    def test_needs_the_c_library_only(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d")))
        allowed = {"libc.so.6", "libpthread.so.0", "libdl.so.2",  # one library or three, by age
                   "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}  # and its loader
        if RUNTIME:
            needed = {name for name in needed if not re.match(r"lib(a|ub)san\.|libm\.", name)}
        self.assertLessEqual(needed, allowed)

    def test_bears_the_drivers_soname(self):
        self.assertRegex(readelf("-d"), r"\(SONAME\).*\[libcuda\.so\.1\]")

    def test_exports_the_call_table_the_resolvers_and_nothing_else(self):
        symbols = re.findall(r"(?:GLOBAL|WEAK)\s+DEFAULT\s+\d+ (\S+)", readelf("--dyn-syms"))
        wanted = set(call_names()) | {"dlsym", "dlvsym"}
        self.assertLessEqual(wanted, set(symbols))
        extra = {name for name in set(symbols) - wanted if not name.startswith("reprise_")}
        self.assertLessEqual(extra, {"InitializeInjectionNvtx2"})

    def test_exports_whatever_the_toolkits_stub_exports(self):
        stub = pathlib.Path("/usr/local/cuda/lib64/stubs/libcuda.so")
        if not stub.exists():
            self.skipTest(f"no {stub}")
        listing = subprocess.run(["nm", "-D", "--defined-only", stub], capture_output=True,
                                 text=True, check=True).stdout
        self.assertEqual({line.split()[-1] for line in listing.splitlines()}, set(call_names()))

    def test_uses_no_private_symbol_of_the_c_library(self):
        self.assertNotIn("GLIBC_PRIVATE", readelf("-V", "--dyn-syms"))

    def test_asks_for_no_version_of_a_symbol_that_other_machines_lack(self):
        """The linker writes down versions of what is linked; no code names one, as dlvsym wants."""
        self.assertNotIn("GLIBC_", readelf("-p", ".rodata"))

    def test_has_no_constructor(self):
        if RUNTIME:
            self.skipTest("sanitizers bring their own")
        # One entry: the compiler's frame_dummy.
        size = re.search(r"\.init_array\s+INIT_ARRAY\s+\S+\s+\S+\s+(\S+)", readelf("-S"))
        self.assertLessEqual(int(size[1], 16) if size else 0, 8)


class Harmless(unittest.TestCase):
    def assert_same(self, *command):
        self.assertEqual(run(*command), run(*command, preload=REPRISE))

    def test_programs_that_know_no_cuda(self):
        self.assert_same("/bin/true")
        self.assert_same("/bin/false")
        self.assert_same("bash", "-c", "for i in 1 2 3; do echo $i | cat; done; ls / >&2; exit 7")
        self.assert_same(sys.executable, "-c", "import json, ssl, decimal; print(json.dumps([1]))")

    def test_a_missing_library_is_still_missing(self):
        self.assert_same(sys.executable, "-c",
                         "import ctypes\ntry: ctypes.CDLL('libnone.so.1')\n"
                         "except OSError as error: print(error)")
        self.assert_same(sys.executable, "-c",
                         "import ctypes\ntry: ctypes.CDLL('libc.so.6').cuda_nothing\n"
                         "except AttributeError as error: print(error)")

    def test_signal_handlers_stay_as_they_are(self):
        masks = ("import ctypes; ctypes.CDLL('{}').cuInit(0)\n"
                 "wanted = 'SigBlk', 'SigIgn', 'SigCgt'\n"
                 "print([l for l in open('/proc/self/status') if l[:6] in wanted])")
        plain = run(sys.executable, "-c", masks.format(FAKE), preload=None)
        under = run(sys.executable, "-c", masks.format(FAKE), preload=REPRISE, REPRISE_DRIVER=FAKE)
        if RUNTIME:  # whose own handlers are not ours
            plain = run(sys.executable, "-c", masks.format(FAKE), preload=RUNTIME[0])
        self.assertEqual(plain, under)

    def test_the_jobs_exit_by_a_signal_stays(self):
        self.assert_same("bash", "-c", "kill -TERM $$")

    def test_nothing_is_said_without_a_cuda_call(self):
        self.assertEqual(run("/bin/true", preload=REPRISE, REPRISE_DRIVER="/nonexistent"),
                         (0, "", ""))


class Routes(unittest.TestCase):
    """Those that need a whole process; test_routes.c has the rest."""

    def test_a_linked_job_runs_on_its_driver(self):
        expected = (0, FAKE_INIT + "\n", "")
        self.assertEqual(run(LINKED), expected)
        self.assertEqual(run(LINKED, preload=REPRISE, REPRISE_DRIVER=FAKE), expected)
        self.assertEqual(run(LINKED, preload=REPRISE, LD_LIBRARY_PATH=os.path.dirname(FAKE)),
                         expected)

    def python_hits(self, library):
        code = INIT.format(library) + ("; count = ctypes.CDLL(None).reprise_test_count; "
                                       "print(count(b'cuInit'))")
        return run(sys.executable, "-c", code, preload=LISTENER, REPRISE_DRIVER=FAKE)

    def test_ctypes_by_name(self):
        self.assertEqual(self.python_hits("libcuda.so.1"), (0, f"{FAKE_INIT}\n1\n", ""))

    def test_ctypes_by_absolute_path(self):
        self.assertEqual(self.python_hits(FAKE), (0, f"{FAKE_INIT}\n1\n", ""))

    def test_a_forked_python_child(self):
        code = ("import os, ctypes; pid = os.fork()\n"
                "if pid == 0: print(ctypes.CDLL('libcuda.so.1').cuInit(0))\n"
                "else: os.waitpid(pid, 0)")
        self.assertEqual(run(sys.executable, "-c", code, preload=REPRISE, REPRISE_DRIVER=FAKE),
                         (0, FAKE_INIT + "\n", ""))


class NoDriver(unittest.TestCase):
    def refusal(self, driver):
        code = INIT.format("libcuda.so.1") + "; print(ctypes.CDLL('libcuda.so.1').cuInit(0))"
        status, out, err = run(sys.executable, "-c", code, preload=REPRISE, REPRISE_DRIVER=driver)
        self.assertEqual((status, out), (0, f"{NO_DEVICE}\n{NO_DEVICE}\n"))
        self.assertEqual(err.count("\n"), 1, err)
        self.assertTrue(err.startswith("reprise: no CUDA driver found"), err)
        return err

    def test_missing(self):
        self.assertIn("/nonexistent/libcuda.so.1: no readable file",
                      self.refusal("/nonexistent/libcuda.so.1"))

    def test_relative(self):
        self.assertIn("not an absolute path", self.refusal("libcuda.so.1"))

    def test_itself(self):
        self.assertIn("reprise itself", self.refusal(REPRISE))

    def test_itself_under_the_drivers_name(self):
        with tempfile.TemporaryDirectory() as place:
            link = os.path.join(place, "libcuda.so.1")
            os.symlink(REPRISE, link)
            self.assertIn("reprise itself", self.refusal(link))

    def test_text(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(b"not an object" * 100)
            file.flush()
            self.assertIn("no shared object of this machine", self.refusal(file.name))

    def test_damaged(self):
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            file.write(pathlib.Path(FAKE).read_bytes()[:64])
            file.flush()
            self.refusal(file.name)


def main():
    global FAKE_INIT
    FAKE_INIT = str(100000 + call_names().index("cuInit"))
    unittest.main(argv=sys.argv[:1], verbosity=2)


main()
