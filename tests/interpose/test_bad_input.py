#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a job does wrong is between it and the driver: under the layer, in every mode, it gets the
answers that it gets without.

usage: test_bad_input.py REPRISE_COMMAND CALL_TABLE"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPRISE, TABLE = map(os.path.abspath, sys.argv[1:3])

CONTRACT = {"version": 1, "segments": [
    {"name": "s", "forward": {"nvtx": "f"}, "replay": {"nvtx": "r"}}],
    "buffers": [{"name": "b", "at": {"allocation": {"bytes": 1000}}}]}

START = """
import ctypes, os, sys, threading
cuda = ctypes.CDLL("libcuda.so.1")
u64, size, ref = ctypes.c_uint64, ctypes.c_size_t, ctypes.byref
context, stream, at = ctypes.c_void_p(), ctypes.c_void_p(), u64()
def begin():
    print(cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ref(context), 0),
          cuda.cuCtxSetCurrent(context))
"""

# Every call, with nothing but zeros: NULL places, NULL handles, no bytes.
ZEROS = """
names = [line.split("\\t")[0] for line in open(sys.argv[1]) if line[0] != "#"][1:]
def zeros():
    for name in names:
        try: function = getattr(cuda, name)
        except AttributeError: continue
        print(name, function(*[u64(0)] * 13))
"""


class BadInput(unittest.TestCase):
    """The driver's behaviour is unchanged."""

    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        pathlib.Path(self.place.name, "contract.json").write_text(json.dumps(CONTRACT))

    def job(self, code, *options):
        done = subprocess.run(
            [REPRISE, "run", "--device", "soft", "-q", "-o", "out", *options, "--", sys.executable,
             "-c", START + code, TABLE], cwd=self.place.name, timeout=120, capture_output=True,
            text=True, check=False)
        return done.returncode, done.stdout

    def assert_unchanged(self, code):
        bare = self.job(code, "--nop")
        self.assertEqual(bare[0], 0, bare)
        self.assertGreater(len(bare[1]), 3)
        self.assertEqual(self.job(code), bare, "observe, traced")
        for mode in "observe", "check", "guard":
            self.assertEqual(self.job(code, "-m", mode, "-c", "contract.json", "--no-trace"), bare,
                             mode)
        return bare[1]

    def test_every_call_with_zeros_before_cuinit(self):
        self.assertGreater(self.assert_unchanged(ZEROS + "zeros()").count("\n"), 600)

    def test_every_call_with_zeros_in_a_context(self):
        self.assertGreater(self.assert_unchanged(ZEROS + "begin()\nzeros()").count("\n"), 600)

    def test_every_call_with_zeros_in_a_thread_without_a_context(self):
        self.assert_unchanged(ZEROS + "begin()\nthread = threading.Thread(target=zeros)\n"
                              "thread.start()\nthread.join()")

    def test_every_call_with_zeros_during_a_capture(self):
        self.assert_unchanged(ZEROS + """
begin()
print(cuda.cuStreamCreate(ref(stream), 1), cuda.cuStreamBeginCapture_v2(stream, 0))
zeros()
print(cuda.cuStreamEndCapture(stream, ref(at)))
""")

    def test_a_capture_that_unsafe_calls_end(self):
        text = self.assert_unchanged("""
begin()
print(cuda.cuStreamCreate(ref(stream), 1), cuda.cuStreamBeginCapture_v2(stream, 0))
print(cuda.cuStreamSynchronize(stream))
print(cuda.cuStreamEndCapture(stream, ref(at)))
""")
        self.assertTrue(text.endswith("900\n901\n"), text)

    def test_a_capture_that_none_ends(self):
        self.assert_unchanged("""
begin()
print(cuda.cuMemAlloc_v2(ref(at), size(1000)))
print(cuda.cuStreamCreate(ref(stream), 1), cuda.cuStreamBeginCapture_v2(stream, 0))
print(cuda.cuMemsetD8Async(at, 1, size(1000), stream))
print(cuda.cuMemsetD8Async(at, 1, size(2000), stream))
graph, count = u64(), size()
print(cuda.cuStreamEndCapture(stream, ref(graph)))
print(cuda.cuGraphGetNodes(graph, None, ref(count)), count)
""")

    def test_calls_after_a_fork(self):
        self.assert_unchanged("""
begin()
print(cuda.cuMemAlloc_v2(ref(at), size(1000)), flush=True)
child = os.fork()
if child: os.waitpid(child, 0)
print(cuda.cuMemsetD8_v2(at, 1, size(1000)), cuda.cuInit(0), cuda.cuMemFree_v2(at), flush=True)
""")

    def test_calls_in_a_child_whose_parent_made_none(self):
        self.assert_unchanged("""
child = os.fork()
if child: os.waitpid(child, 0)
begin()
print(cuda.cuMemAlloc_v2(ref(at), size(1000)), flush=True)
""")

    def test_wrong_addresses_lengths_and_handles(self):
        self.assert_unchanged("""
begin()
print(cuda.cuMemAlloc_v2(ref(at), size(1000)))
host = ctypes.create_string_buffer(1000)
wrong = u64(0xdead0000)
print(cuda.cuMemcpyHtoD_v2(at, host, size(1 << 50)), cuda.cuMemcpyDtoH_v2(host, wrong, size(10)))
print(cuda.cuMemcpyDtoD_v2(at, wrong, size(8)), cuda.cuMemsetD32_v2(wrong, 1, size(1)))
print(cuda.cuMemFree_v2(wrong), cuda.cuMemFree_v2(at), cuda.cuMemFree_v2(at))
print(cuda.cuLaunchKernel(wrong, 1, 1, 1, 1, 1, 1, 0, None, None, None))
print(cuda.cuGraphLaunch(wrong, None), cuda.cuStreamSynchronize(wrong))
print(cuda.cuModuleLoadData(ref(at), b"no image at all"), cuda.cuModuleUnload(wrong))
""")


unittest.main(argv=sys.argv[:1], verbosity=2)
