#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A budget is for the job and the layer together, and is kept: what would exceed it fails as the
driver's own out-of-memory does."""
import json
import sys

import jobs

KIB = 1024
# Each line of the job is a call, and its result is printed.
JOB = '''
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
context, pitch = ctypes.c_void_p(), ctypes.c_size_t()
memory = [ctypes.c_uint64() for _ in range(8)]
size = ctypes.c_size_t

class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]

class Prop(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", Location),
                ("meta", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8)]

def alloc(i, kib):
    return cuda.cuMemAlloc_v2(ctypes.byref(memory[i]), size(kib * 1024))

def free(i):
    return cuda.cuMemFree_v2(memory[i])

def rows(i, width, count):
    return cuda.cuMemAllocPitch_v2(ctypes.byref(memory[i]), ctypes.byref(pitch), size(width),
                                   size(count), 4)

def pooled(i, kib):
    return cuda.cuMemAllocAsync(ctypes.byref(memory[i]), size(kib * 1024), None)

def managed(i, kib):
    return cuda.cuMemAllocManaged(ctypes.byref(memory[i]), size(kib * 1024), 1)

def create(i, kib):
    prop = Prop(type=1, location=Location(1, 0))
    return cuda.cuMemCreate(ctypes.byref(memory[i]), size(kib * 1024), ctypes.byref(prop),
                            ctypes.c_uint64(0))

class Shape(ctypes.Structure):
    _fields_ = [("width", size), ("height", size), ("depth", size), ("format", ctypes.c_int),
                ("channels", ctypes.c_uint), ("flags", ctypes.c_uint)]

class FlatShape(ctypes.Structure):
    _fields_ = [("width", size), ("height", size), ("format", ctypes.c_int),
                ("channels", ctypes.c_uint)]

BYTES, FLOATS = 0x01, 0x20

def array(width, height, format):
    shape = FlatShape(width, height, format, 1)
    return cuda.cuArrayCreate_v2(ctypes.byref(ctypes.c_void_p()), ctypes.byref(shape))

def box(width, height, depth, channels):
    shape = Shape(width, height, depth, FLOATS, channels, 0)
    return cuda.cuArray3DCreate_v2(ctypes.byref(ctypes.c_void_p()), ctypes.byref(shape))

def mipmap(width, height, levels):
    shape = Shape(width, height, 0, FLOATS, 1, 0)
    return cuda.cuMipmappedArrayCreate(ctypes.byref(ctypes.c_void_p()), ctypes.byref(shape), levels)

cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
print([eval(call) for call in sys.argv[1:]])
'''
QUEUE = {"name": "queue", "at": {"allocation": {"bytes": 8 * 1000 * 4}}}
OUT = 2  # CUDA_ERROR_OUT_OF_MEMORY
FAILED = "not-preserved|cuMemAlloc failed with 2"


class Budget(jobs.Case):
    def results(self, budget, *calls):
        (self.folder / "job.py").write_text(JOB)
        done = self.reprise("run", "--device", "soft", "--no-trace", "-q", "-b", budget, "--",
                            sys.executable, "job.py", *calls)
        return json.loads(self.good(done).stdout)

    def test_allocations_past_it_are_out_of_memory(self):
        self.assertEqual(self.results("1MiB", "alloc(0, 600)", "alloc(1, 600)", "alloc(2, 400)",
                                      "alloc(3, 25)", "free(0)", "alloc(1, 600)"),
                         [0, OUT, 0, OUT, 0, 0])

    def test_every_kind_of_memory_counts(self):
        self.assertEqual(self.results("8MiB", "alloc(0, 4096)", "create(1, 6144)",
                                      "create(1, 2048)", "rows(2, 1024, 4096)",
                                      "rows(2, 1024, 512)",
                                      "pooled(3, 2048)", "pooled(3, 512)", "managed(4, 2048)",
                                      "managed(4, 512)", "alloc(5, 1024)"),
                         [0, OUT, 0, OUT, 0, OUT, 0, OUT, 0, OUT])

    def test_arrays_count_too(self):
        self.assertEqual(self.results("1MiB", "array(256, 512, FLOATS)", "array(512, 512, FLOATS)"),
                         [0, OUT])
        self.assertEqual(self.results("1MiB", "array(1024, 1024, BYTES)", "alloc(0, 64)"), [0, OUT])
        self.assertEqual(self.results("1MiB", "box(64, 64, 8, 4)", "box(64, 64, 9, 4)",
                                      "mipmap(256, 256, 3)", "mipmap(16, 16, 1)"),
                         [0, OUT, 0, OUT])

    def test_what_one_thread_was_promised_no_other_one_gets(self):
        done = self.reprise("run", "--device", "soft", "--no-trace", "-q", "-b", "1MiB", "--",
                            str(jobs.PLAN_JOB.with_name("rush_job")), str(jobs.KERNELS), "4",
                            str(600 * KIB), "1000")
        self.assertEqual(int(self.good(done).stdout), 600 * KIB)

    def test_a_row_is_as_wide_as_its_pitch(self):
        self.assertEqual(self.results("1MiB", "rows(0, 1, 100000)", "rows(0, 1, 1000)"),
                         [OUT, 0])

    def test_nothing_at_all_is_no_budget(self):
        done = self.reprise("run", "--device", "soft", "-b", "0", "--", "true")
        self.assertRefused(done, 2, "budget")

    # ---- with copies of the layer's ----

    clock = off = ""
    size = ("8", "2000")
    uneven = ("13", "3333")  # some of its segments are retained in less than replayed

    def job(self, budget, *words):
        self.contract(buffers=[jobs.RING, jobs.STATE])
        return self.reprise("run", "--device", "soft", "--no-trace", "-b", str(budget), *words,
                            "-c", "contract.json", "--", str(jobs.PLAN_JOB), str(jobs.KERNELS),
                            "replay", *self.size, "8", REPRISE_SOFT_CLOCK=self.clock,
                            REPRISE_TEST_DISABLE=self.off)

    def own(self):
        """What the job has itself, by its profile."""
        peaks = [option["regions"]["terms"] for option in self.options().values()]
        return self.profile()["base_bytes"] + max(
            terms["peak_forward_bytes"]["value"] - terms["hold_bytes"]["value"]
            for terms in peaks)

    def own_peak(self):
        """What the job has itself, and what it has together with the layer's copies."""
        self.good(self.job("1GiB"))
        return self.own(), self.summary()["step_costs"]["peak_bytes"]

    def test_copies_count_too(self):
        own, together = self.own_peak()
        self.assertGreater(together, own)
        done = self.good(self.job(together + together // 8))
        self.assertLessEqual(self.summary()["step_costs"]["peak_bytes"], together + together // 8)
        self.assertEqual(done.stdout, self.good(self.job("1GiB")).stdout)

    def test_without_room_for_copies_nothing_passes_for_right(self):
        own, _ = self.own_peak()
        done = self.job(own + 4 * KIB)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, FAILED)

    def test_without_room_for_the_job_it_is_out_of_memory(self):
        done = self.job(100 * KIB)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, FAILED)

    def test_the_device_has_no_more_out_than_is_counted(self):
        """Its blocks are of whole granules: some of each is nobody's."""
        self.contract(state="discovered", buffers=None)
        wanted = self.good(self.digits(REPRISE_SOFT_GRANULARITY="4KiB")).stdout
        peak = self.summary()["device_peak_bytes"]
        self.assertGreater(peak, 1024 * KIB)
        for share, is_enough in ((1.03, True), (0.97, False)):
            done = self.digits("-q", REPRISE_SOFT_GRANULARITY="4KiB",
                               REPRISE_SOFT_MEMORY=str(int(peak * share)))
            self.assertEqual(done.stdout == wanted, is_enough, done.stderr)
            self.assertEqual(done.returncode == 0, is_enough, done.stderr)

    # ---- joint, which does not know the smallest budget when it begins ----

    def least(self):
        done = self.reprise("plan", "-b", "1", "--json")
        answer = json.loads(done.stdout)
        return answer["min_budget_bytes"], answer["min_binding"]["segment"]

    def test_joint_begins_in_host_memory_where_only_the_safe_policy_has_no_room(self):
        """The smallest budget that some plan does with: the first steps, by regions, need more."""
        self.size = self.uneven
        wanted = self.good(self.job("1GiB")).stdout
        least, _ = self.least()
        self.assertNotEqual(self.job(least, "-p", "regions").returncode, 0)
        done = self.good(self.job(least, "-p", "joint"))
        self.assertEqual(done.stdout, wanted)
        summary = self.summary()
        plan = summary["plan"]
        self.assertEqual((plan["in_force"], plan["plans"], plan["answer"]), (True, 1, "optimal"))
        self.assertEqual(plan["min_budget_bytes"], least)
        self.assertEqual(plan["measured_peak_bytes"], plan["planned_peak_bytes"])
        self.assertLessEqual(summary["device_peak_bytes"], least)
        self.assertGreater(summary["bytes_kept_on_host"], 0)
        self.assertIn("kept in host memory", done.stderr)

    def test_with_no_room_for_any_copy_replays_are_right_all_the_same(self):
        """Whatever streams copies and replays are in, and where no step can be planned from."""
        for scenario, buffers in (("accumulator", [jobs.STATE]), ("alias", [jobs.STATE]),
                                  ("queue-by-index", [QUEUE]), ("lifo", [jobs.STATE]),
                                  ("side-stream", [jobs.STATE]), ("reader-after", [QUEUE])):
            self.contract(buffers=buffers)
            wanted = self.good(self.law(scenario)).stdout
            own = self.own()
            self.assertEqual(self.good(self.law(scenario, "-p", "joint", "-b", str(own))).stdout,
                             wanted, scenario)
            self.assertGreater(self.summary()["bytes_kept_on_host"], 0, scenario)
            self.assertLessEqual(self.summary()["device_peak_bytes"], own, scenario)

    def test_what_was_copied_to_the_host_is_priced_as_on_the_device(self):
        self.clock, self.size = "h100nl", self.uneven
        self.good(self.job("1GiB"))
        least, _ = self.least()
        self.good(self.job(least, "-p", "joint"))
        plan = self.summary()["plan"]
        self.assertGreater(self.summary()["bytes_kept_on_host"], 0)
        jobs.near(self, plan["planned_ns"], plan["measured_ns"], 0.03)

    def test_without_the_host_joint_can_not_begin(self):
        self.size = self.uneven
        self.good(self.job("1GiB"))
        least, _ = self.least()
        self.off = "refuge"
        done = self.job(least, "-p", "joint")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, FAILED)
        self.assertGreater(self.summary()["plan"]["needed_bytes"], least)

    def test_joint_says_what_would_do_when_no_plan_fits(self):
        """It goes on by the safe policy, slowly, and the budget is kept."""
        wanted = self.good(self.job("1GiB")).stdout
        least, segment = self.least()
        for budget in (least - 1, least - 8 * KIB):
            done = self.good(self.job(budget, "-p", "joint"))
            self.assertEqual(done.stdout, wanted)
            self.assertEqual(self.summary()["plan"]["min_budget_bytes"], least)
            self.assertLessEqual(self.summary()["device_peak_bytes"], budget)
            self.assertRegex(done.stderr, f"no plan fits.*smallest budget is {least} bytes, which "
                                          f"the (forward|backward) of '{segment}' needs")

    def test_joint_says_when_the_budget_is_too_small_to_begin_with(self):
        """For the job itself: all copies are in host memory by then."""
        own, _ = self.own_peak()
        for budget in (own // 2, own - 4 * KIB):
            done = self.job(budget, "-p", "joint")
            self.assertNotEqual(done.returncode, 0)
            needed = self.summary()["plan"]["needed_bytes"]
            self.assertGreater(needed, budget)
            self.assertLessEqual(needed, own)
            self.assertIn(f"its first steps need {needed}", done.stderr)
            self.assertIn("names the smallest and what binds it", done.stderr)


if __name__ == "__main__":
    jobs.main()
