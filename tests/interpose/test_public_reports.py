#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What went wrong in other programs that stand before a driver, by public report: a test each.

Many are tested where their subject is; docs/public-reports.md says where, and the test of this file
makes sure that they are there. The others are below, under the report's name.

usage: test_public_reports.py REPRISE_COMMAND LAYER FAKE LAST_ARGUMENT [RUNTIME]"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

REPRISE, LAYER, FAKE, LAST_ARGUMENT = map(os.path.abspath, sys.argv[1:5])
RUNTIME = sys.argv[5:]
TESTS = pathlib.Path(__file__).parent.parent
PAGE = TESTS.parent / "docs" / "public-reports.md"

# The start of a job that speaks to the driver through ctypes, as tinygrad and CuPy do.
JOB = """
import ctypes, os, sys, threading
cuda = ctypes.CDLL("libcuda.so.1")
def check(result):
    if result: sys.exit(f"failed with {result}")
u64, size = ctypes.c_uint64, ctypes.c_size_t
context = ctypes.c_void_p()
def begin():
    check(cuda.cuInit(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]
class Prop(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", Location),
                ("win32", ctypes.c_void_p), ("flags", ctypes.c_char * 32)]
def create(handle, bytes, location):
    prop = Prop(1, 0, Location(location, 0))
    return cuda.cuMemCreate(ctypes.byref(handle), size(bytes), ctypes.byref(prop), u64(0))
def alloc(bytes):
    at = u64()
    check(cuda.cuMemAlloc_v2(ctypes.byref(at), size(bytes)))
    return at
def load(text, name):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuModuleLoadData(ctypes.byref(module), text.encode()))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()))
    return function
def launch(function, threads, *arguments):
    given = (ctypes.c_void_p * len(arguments))(
        *[ctypes.cast(ctypes.pointer(each), ctypes.c_void_p) for each in arguments])
    check(cuda.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, None, given, None))
def words(at, count):
    got = (ctypes.c_uint32 * count)()
    check(cuda.cuMemcpyDtoH_v2(got, at, size(4 * count)))
    return list(got)
"""

HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n"

# x[i] = i
COUNT_UP = HEAD + """.visible .entry count_up(.param .u64 x) {
.reg .b32 %r<3>; .reg .b64 %rd<4>;
mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [x]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r1; ret; }
"""

# p = *table: out[i] = p[i], p[i] = 3 * p[i] + 1
THROUGH = HEAD + """.visible .entry through(.param .u64 table, .param .u64 out) {
.reg .b32 %r<5>; .reg .b64 %rd<8>;
mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [table]; ld.param.u64 %rd2, [out];
ld.global.u64 %rd3, [%rd1]; mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd3, %rd4;
add.s64 %rd6, %rd2, %rd4; ld.global.u32 %r2, [%rd5]; st.global.u32 [%rd6], %r2;
mad.lo.u32 %r3, %r2, 3, 1; st.global.u32 [%rd5], %r3; ret; }
"""


class Reports(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def command(self, code, *options):
        return [REPRISE, "run", "--device", "soft", "-o", "out", *options, "--", sys.executable,
                "-c", JOB + code]

    def job(self, code, *options, **environment):
        return subprocess.run(self.command(code, *options), cwd=self.place.name, timeout=120,
                              capture_output=True, text=True, check=False,
                              env=os.environ | environment)

    def runs(self, code, *options, **environment):
        done = self.job(code, *options, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def rows(self):
        """(report, [(file, name)]) of each row of the page."""
        for line in PAGE.read_text().splitlines():
            if line.startswith("| ") and not re.match(r"\| (report|input|way) \|", line):
                cells = line.strip("|").split("|")
                file, tests = None, []
                for word in re.findall(r"`([^`]+)`", cells[-1]):
                    if (TESTS / word).is_file():
                        file = word
                    elif file:
                        tests.append((file, word))
                yield cells[0].strip(), tests

    def test_all_are_where_they_are_said_to_be(self):
        for report, tests in self.rows():
            with self.subTest(report):
                self.assertTrue(tests, "no test is named")
                for file, name in tests:
                    end = r"\b" if name[-1].isalnum() or name[-1] == "_" else ""
                    self.assertRegex((TESTS / file).read_text(), re.escape(name) + end, file)

    def test_those_of_this_file_are_on_the_page(self):
        named = {name for _, tests in self.rows() for _, name in tests}
        own = {name for name in dir(self) if re.match(r"test_.*_[0-9]+_", name)}
        self.assertEqual(own - named, set())

    def last_argument(self):
        """[(kernel, verdict, [(allocation, offset, bytes) written])] of each launch of a kernel of
        machine code, whose last parameter is a pointer."""
        env = os.environ | {"LD_PRELOAD": ":".join(RUNTIME + [LAYER]), "REPRISE_DRIVER": FAKE,
                            "REPRISE_MODE": "observe", "REPRISE_TRACE": "1",
                            "REPRISE_OUTPUT": self.place.name, "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run([LAST_ARGUMENT, TESTS / "image" / "layouts_sm_80.cubin"], env=env,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.launches(self.place.name)

    def notes(self, folder="out"):
        dump = subprocess.run([REPRISE, "dump", "--json", folder], check=True, cwd=self.place.name,
                              capture_output=True, text=True).stdout
        events = map(json.loads, dump.splitlines())
        return [event for event in events if event.get("class") == "note"]

    def launches(self, folder="out"):
        notes = self.notes(folder)
        accesses = [note["fields"] for note in notes if note["name"] == "access"]
        return [(launch["kernel"], launch["verdict"],
                 [(access["allocation"], access["offset"], access["bytes"])
                  for access in accesses
                  if access["seq"] == launch["seq"] and access["effect"] == "write"])
                for launch in (note["fields"] for note in notes if note["name"] == "launch")]

    def test_aprender_2060_no_parameter_beyond_the_last_is_read(self):
        """Behind the array of parameters there is memory that can't be read."""
        self.assertEqual([kernel for kernel, *_ in self.last_argument()], ["two_blocks"] * 4)

    def test_phos_0_the_last_bytes_of_a_parameter_count(self):
        """A pointer in the last eight bytes of the last parameter, and no proof."""
        launches = self.last_argument()
        self.assertEqual({verdict for _, verdict, _ in launches}, {"reachable"})
        self.assertEqual([written for *_, written in launches[1:3]], [[(1, 0, 4096)]] * 2)

    def test_phos_1_a_pointer_that_is_null_at_first_is_followed_later(self):
        """Nothing is concluded from the first launch: as a parameter, and within a structure."""
        first, *_, last = [written for *_, written in self.last_argument()]
        self.assertEqual((first, sorted(last)), ([], [(1, 0, 4096), (2, 0, 4096)]))

    def test_hami_core_187_physical_memory_on_the_host(self):
        """It is no device memory: a budget of the device has nothing to do with it."""
        code = """
begin()
handle = u64()
for host in 2, 3: # anywhere, and at a NUMA node
    print(create(handle, 8 << 20, host))
"""
        self.assertEqual(self.runs(code, "-b", "4MiB"), self.runs(code, "--nop"))

    def test_hami_2641_hami_core_261_threads_and_ctypes_hang(self):
        """Several threads with virtual memory calls, through ctypes; the time limit watches."""
        self.assertEqual(self.runs("""
begin()
def work():
    check(cuda.cuCtxSetCurrent(context))
    for _ in range(50):
        handle, at = u64(), u64()
        check(create(handle, 2 << 20, 1))
        check(cuda.cuMemAddressReserve(ctypes.byref(at), size(2 << 20), size(0), u64(0), u64(0)))
        check(cuda.cuMemMap(at, size(2 << 20), size(0), handle, u64(0)))
        check(cuda.cuMemUnmap(at, size(2 << 20)))
        check(cuda.cuMemAddressFree(at, size(2 << 20)))
        check(cuda.cuMemRelease(handle))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("done")
"""), "done\n")

    def test_hami_core_96_many_allocations_make_the_tables_grow(self):
        """10,000 allocations come and go: neither the budget nor the layer's memory fills up. The
        device's own memory of them is what grows without the layer."""
        code = """
begin()
def resident(): return int(open("/proc/self/statm").read().split()[1]) * 4
def work(count):
    for _ in range(count):
        at = u64()
        check(cuda.cuMemAllocAsync(ctypes.byref(at), size(1 << 20), None))
        check(cuda.cuMemFreeAsync(at, None))
work(5000)
before = resident()
work(5000)
print(resident() - before)
"""
        bare = int(self.runs(code, "--nop", ASAN_OPTIONS="quarantine_size_mb=1"))
        layered = int(self.runs(code, "-b", "64MiB", ASAN_OPTIONS="quarantine_size_mb=1"))
        self.assertLess(layered - bare, 2048, "KiB")

    def test_hami_core_311_memory_is_freed_from_another_thread(self):
        """And from another device's context: what is freed is found by its address, whoever frees
        it, and its bytes may be had again."""
        self.runs("""
begin()
other = ctypes.c_void_p()
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(other), 1))
def free(at):
    check(cuda.cuCtxSetCurrent(other))
    check(cuda.cuMemFreeAsync(at, None))
for _ in range(50):
    at = u64()
    check(cuda.cuMemAllocAsync(ctypes.byref(at), size(3 << 20), None))
    check(cuda.cuCtxSynchronize())
    thread = threading.Thread(target=free, args=(at,))
    thread.start()
    thread.join()
""", "-b", "4MiB", REPRISE_SOFT_DEVICES="2")
        def those(name):
            return [note["fields"] for note in self.notes() if note["name"] == name]
        born, freed = those("allocation"), those("free")
        self.assertEqual([memory["live"] for memory in born], [3 << 20] * 50)
        self.assertEqual({memory["allocation"] for memory in born},
                         {memory["allocation"] for memory in freed})

    def test_hami_core_7970f7f_hami_2500_hami_1662_many_processes_one_killed(self):
        """No lock is shared between processes: many start at once, one dies, the rest go on."""
        code = "begin()\nprint('up', flush=True)\nsys.stdin.read()\n"
        jobs = [subprocess.Popen(self.command(code, "-q", "-o", f"out{i}"), cwd=self.place.name,
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                 start_new_session=True) for i in range(12)]
        for job in jobs:
            self.assertEqual(job.stdout.readline(), "up\n")
        os.killpg(jobs[0].pid, signal.SIGKILL)
        start = time.monotonic()
        for job in jobs[1:]:
            job.communicate("")
            self.assertEqual(job.returncode, 0)
        self.assertLess(time.monotonic() - start, 60)
        jobs[0].communicate()

    def test_hami_core_191_nothing_survives_a_process(self):
        """No file in shared memory, and none beside what was asked for; what a process leaves that
        is killed means nothing to the next one."""
        before = set(os.listdir("/dev/shm"))
        fill = "begin()\nat = u64()\ncheck(cuda.cuMemAlloc_v2(ctypes.byref(at), size(3 << 20)))\n"
        killed = self.job(fill + "os.kill(os.getpid(), 9)\n", "-q", "-b", "4MiB")
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        self.runs(fill, "-q", "-b", "4MiB")
        self.assertEqual({name for name in set(os.listdir("/dev/shm")) - before
                          if "reprise" in name}, set())
        self.assertEqual(set(os.listdir(self.place.name)), {"out", "out.old"})

    def test_hami_2760_questions_are_answered_differently(self):
        """Whatever a job may ask has the driver's own answer, watched or not."""
        code = """
begin()
def ask(name, *args):
    value = u64()
    print(name, args, getattr(cuda, name)(ctypes.byref(value), *args), value.value)
for attribute in range(1, 150):
    ask("cuDeviceGetAttribute", attribute, 0)
for limit in range(8):
    ask("cuCtxGetLimit", limit)
ask("cuDeviceCanAccessPeer", 0, 0)
ask("cuDeviceTotalMem_v2", 0)
ask("cuDriverGetVersion")
name = ctypes.create_string_buffer(100)
print(cuda.cuDeviceGetName(name, 100, 0), name.value)
"""
        bare = self.runs(code, "--nop")
        self.assertEqual(self.runs(code, "-q"), bare)
        self.assertEqual(self.runs(code, "-q", "--no-trace"), bare)

    def test_pytorch_117935_a_second_profiler(self):
        """CUPTI is left to the job's profiler: unasked, the layer does not look for it."""
        done = self.job("begin()\n", LD_DEBUG="files")
        self.assertEqual(done.returncode, 0)
        self.assertIn("libreprise.so", done.stderr)
        self.assertFalse("libcupti" in done.stderr)

    def test_crac_8_cricket_53_pointers_in_device_memory(self):
        """State that a kernel finds by a pointer in device memory is put back where it stood: the
        replay sees what the forward saw, by the same pointer."""
        code = f"THROUGH = {THROUGH!r}" + """
begin()
state, table, out = alloc(256), alloc(8), alloc(512)
through = load(THROUGH, "through")
check(cuda.cuMemsetD32_v2(state, 7, size(64)))
check(cuda.cuMemcpyHtoD_v2(table, ctypes.byref(state), size(8)))
marks = ctypes.CDLL(None)
for mark in marks.reprise_segment_begin, marks.reprise_replay_begin:
    mark(b"s", None)
    launch(through, 64, table, out)
    marks.reprise_segment_end()
    check(cuda.cuCtxSynchronize())
print(set(words(out, 64)), set(words(state, 64)))
"""
        contract = {"version": 1, "segments": [{"name": "s"}],
                    "buffers": [{"name": "state", "at": {"allocation": {"bytes": 256}}}]}
        pathlib.Path(self.place.name, "contract.json").write_text(json.dumps(contract))
        self.assertEqual(self.runs(code, "-q"), "{22} {67}\n")
        self.assertEqual(self.runs(code, "-q", "-m", "guard", "-c", "contract.json"),
                         "{7} {22}\n")

    def test_pytorch_196209_a_range_over_two_blocks_of_mapped_memory(self):
        """What one kernel writes over their border is claimed of both, byte by byte."""
        self.runs(f"COUNT_UP = {COUNT_UP!r}" + """
begin()
class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]
block, at = 2 << 20, u64()
check(cuda.cuMemAddressReserve(ctypes.byref(at), size(2 * block), size(0), u64(0), u64(0)))
for i in range(2):
    handle = u64()
    check(create(handle, block, 1))
    check(cuda.cuMemMap(u64(at.value + i * block), size(block), size(0), handle, u64(0)))
access = Access(Location(1, 0), 3)
check(cuda.cuMemSetAccess(at, size(2 * block), ctypes.byref(access), size(1)))
border = u64(at.value + block - 40)
launch(load(COUNT_UP, "count_up"), 32, border)
assert words(border, 32) == list(range(32))
""", "-q")
        self.assertEqual(self.launches(), [
            ("count_up", "exact", [(1, (2 << 20) - 40, 40), (2, 0, 88)])])

    def test_nvbit_72_the_preload_is_lost_on_the_way(self):
        """A guarded job that starts its real process without the layer is told of."""
        contract = {"version": 1, "segments": [
            {"name": "s", "forward": {"nvtx": "f"}, "replay": {"nvtx": "r"}}]}
        pathlib.Path(self.place.name, "contract.json").write_text(json.dumps(contract))
        done = subprocess.run([REPRISE, "run", "--device", "soft", "-c", "contract.json", "-o",
                               "out", "--", "env", "-u", "LD_PRELOAD", sys.executable, "-c",
                               "print(1)"], cwd=self.place.name, capture_output=True, text=True,
                              check=False, timeout=60)
        self.assertEqual(done.stdout, "1\n")
        self.assertIn("no driver call that was seen", done.stderr)

    def test_ucx_7210_ucx_7863_entry_points_are_patched_in_place(self):
        """Patchers write a jump over the start of an exported function, and need room for it."""
        listing = subprocess.run(["readelf", "-W", "--dyn-syms", LAYER], check=True,
                                 capture_output=True, text=True).stdout
        sizes = [int(size) for size in re.findall(r"\s(\d+) FUNC\s+GLOBAL DEFAULT\s+\d+ cu[A-Z]",
                                                  listing)]
        self.assertEqual(len(sizes), 637)
        self.assertGreaterEqual(min(sizes), 14)  # a 64-bit jump with its address


unittest.main(argv=sys.argv[:1], verbosity=2)
