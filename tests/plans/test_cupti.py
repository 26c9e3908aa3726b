#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times from the profiler's records: a stand-in for libcupti, and what happens where there is
none, or another profiler."""
import jobs

import os


class Cupti(jobs.Case):
    def setUp(self):
        super().setUp()
        self.contract()
        os.symlink(jobs.FAKE_CUPTI, self.folder / "libcupti.so.13")

    def run_job(self, library=None, **changes):
        library = library or self.folder
        self.good(self.digits(steps=4, REPRISE_TIMES="cupti", LD_LIBRARY_PATH=str(library),
                              **changes))
        return self.summary()["step_costs"]

    def times(self):
        return [(name, term) for options in self.options().values()
                for name, term in options["regions"]["terms"].items() if name.endswith("_ns")]

    def test_the_parts_have_the_times_of_their_kernels_and_copies(self):
        self.assertNotIn("no_cupti", self.run_job())
        times = self.times()
        self.assertEqual({term["source"] for _, term in times}, {"cupti", "derived"})
        for name, term in times:
            if term["source"] == "cupti":
                # A microsecond and two more for each stretch of calls that are for one thing.
                self.assertEqual(term["value"] % 3000, 0, name)
                self.assertGreater(term["value"], 0, name)
        forward = self.options()["segment/block1"]["regions"]["terms"]["forward_ns"]["value"]
        self.assertLess(forward, 3000 * 12)

    def refused(self, reason, **changes):
        self.assertIn(reason, self.run_job(**changes)["no_cupti"])
        self.assertLessEqual({term["source"] for _, term in self.times()},
                             {"cuda-events", "derived"})

    def test_another_profiler_has_the_first_right(self):
        self.refused("another profiler", CUDA_INJECTION64_PATH="/opt/other.so")

    def test_a_library_that_is_loaded_already_is_left_alone(self):
        job = f'LD_PRELOAD="$LD_PRELOAD:{jobs.FAKE_CUPTI}" exec {jobs.DIGITS} -c -n 4'
        os.symlink(jobs.FAKE_CUPTI, self.folder / "libcupti.so")
        self.good(self.reprise("run", "--device", "soft", "--no-trace", "-c", "contract.json",
                               "--", "sh", "-c", job, REPRISE_TIMES="cupti",
                               LD_LIBRARY_PATH=str(self.folder)))
        self.assertIn("loaded already", self.summary()["step_costs"]["no_cupti"])

    def test_where_there_is_none_events_serve(self):
        empty = self.folder / "empty"
        empty.mkdir()
        (empty / "libcupti.so.13").write_text("no library")
        (empty / "libcupti.so.12").write_text("no library")
        (empty / "libcupti.so").write_text("no library")
        self.refused("not found", library=empty)

    def test_where_its_callbacks_are_taken_events_serve(self):
        self.refused("no callbacks", FAKE_CUPTI="taken")

    def test_where_it_records_nothing_events_serve(self):
        self.refused("does not record", FAKE_CUPTI="refuse")

    def test_it_is_not_opened_unasked(self):
        self.good(self.digits(steps=4, LD_LIBRARY_PATH=str(self.folder)))
        self.assertNotIn("no_cupti", self.summary()["step_costs"])
        self.assertNotIn("cupti", {term["source"] for _, term in self.times()})


if __name__ == "__main__":
    jobs.main()
