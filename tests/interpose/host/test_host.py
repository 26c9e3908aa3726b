#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generators of the host's, declared by symbol: rewound wherever they can be found, and where they
can't the run is stopped, which says why; the job itself is never hurt.

usage: test_host.py REPRISE JOB KERNELS NAME=LIBRARY..."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

REPRISE, JOB, KERNELS = map(os.path.abspath, sys.argv[1:4])
LIBRARIES = {name: os.path.abspath(path)
             for name, path in (word.split("=") for word in sys.argv[4:])}
STOPPED = 70
CONTRACT = {"version": 1, "state": "declared", "step": {"nvtx": "step"}, "segments": [
    {"name": "s", "forward": {"nvtx": "forward/*"}, "replay": {"nvtx": "recompute/*"}}],
    "buffers": [{"name": "host", "at": {"host_symbol": "host_state"}}]}


class Host(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.folder = pathlib.Path(self.place.name)
        (self.folder / "c.json").write_text(json.dumps(CONTRACT))

    def run_job(self, library, mode, way, other, *layer):
        done = subprocess.run(
            [REPRISE, "run", "--device", "soft", "--no-trace", "-o", "out", *layer, "--", JOB,
             KERNELS, LIBRARIES.get(library, library), mode, way,
             *([LIBRARIES[other]] if other else [])],
            cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, STOPPED), done.stderr)
        return done

    def guarded(self, library, way, other):
        return self.run_job(library, "replay", way, other, "-m", "guard", "-c", "c.json")

    def right(self, library, way="stays", other=None):
        eager = self.run_job(library, "eager", way, other).stdout
        self.assertNotEqual(self.run_job(library, "replay", way, other).stdout, eager)
        done = self.guarded(library, way, other)
        self.assertEqual((done.returncode, done.stdout), (0, eager), done.stderr)

    def told(self, library, why, way="stays", other=None):
        done = self.guarded(library, way, other)
        self.assertEqual((done.returncode, done.stdout), (STOPPED, ""), done.stderr)
        self.assertIn(f": host; {why}", done.stderr)

    def test_it_is_found(self):
        for library in "global", "static", "global-stripped":
            with self.subTest(library):
                self.right(library)

    def test_it_is_not_there(self):
        for library in "static-stripped", "absent":
            with self.subTest(library):
                self.told(library, "no image that is loaded has a variable of this name")

    def test_each_thread_has_its_own(self):
        self.told("thread-local", "it is thread-local")

    def test_it_can_not_be_written(self):
        for library in "constant", "relocated":
            with self.subTest(library):
                self.told(library, "nobody may write it")

    def test_several_have_the_name(self):
        self.told("versioned", "several variables of the job have this name")
        self.told("static", "several variables of the job have this name", other="other-static")
        self.told("thread-local", "several variables of the job have this name",
                  other="other-static")

    def test_a_global_one_goes_before_static_ones(self):
        self.right("global", other="other-static")

    def test_the_library_comes_again(self):
        for way in "returns", "moves":
            with self.subTest(way):
                self.right("global", way)

    def test_the_library_goes(self):
        self.told("global", "no image that is loaded has a variable of this name", way="goes")

    def test_the_file_is_another_than_was_loaded(self):
        """It is replaced as soon as the job, whose first argument opens a pipe, has loaded it."""
        path = self.folder / "changing.so"
        shutil.copy(LIBRARIES["global"], path)
        os.mkfifo(self.folder / "gate")
        job = subprocess.Popen(
            [REPRISE, "run", "--device", "soft", "--no-trace", "-o", "out", "-m", "guard", "-c",
             "c.json", "--", JOB, "gate", path, "replay", "stays", path],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with open(self.folder / "gate", "w", encoding="utf-8") as gate:
            os.unlink(path)  # it is loaded before the kernels are read
            shutil.copy(LIBRARIES["static"], path)
            gate.write(pathlib.Path(KERNELS).read_text(encoding="utf-8"))
        _, said = job.communicate()
        self.assertEqual(job.returncode, STOPPED, said)
        self.assertIn("as far as their files are still those that were loaded", said)


unittest.main(argv=sys.argv[:1], verbosity=2)
