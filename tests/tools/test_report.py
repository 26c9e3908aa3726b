#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report: what the page is given, without a browser.

usage: test_report.py REPRISE TRACE_FROM_SCRIPT SWAP"""
import base64
import json
import pathlib
import re
import subprocess
import sys

import harness
from story import CALLS, STORY

WRITER, SWAP = (pathlib.Path(word).resolve() for word in sys.argv[2:4])


def varints(raw):
    value, shift = 0, 0
    for byte in raw:
        value |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            yield value
            value, shift = 0, 0


class Report(harness.Case):
    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "reprise.data"
        self.run_folder.mkdir()
        self.write(CALLS.format(pid=4242, command="./train </script> --fast") + STORY, 4242)

    def write(self, script, pid, folder=None):
        path = (folder or self.run_folder) / f"trace-{pid}.rpt"
        subprocess.run([WRITER, path], input=script, check=True, text=True)

    def report(self, *words, code=0):
        done = self.reprise("report", "-o", "page.html", "--force", *words)
        self.assertEqual(done.returncode, code, done.stderr)
        return (self.folder / "page.html").read_text()

    def data(self, *words, **more):
        page = self.report(*words, **more)
        text, = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
        return json.loads(text)

    def slices(self, process):
        numbers = list(varints(base64.b64decode(process["slices"])))
        self.assertEqual(len(numbers), 5 * process["slice_count"])
        start = 0
        for at in range(0, len(numbers), 5):
            delta, length, track, name, _ = numbers[at:at + 5]
            start += -(delta + 1) // 2 if delta & 1 else delta // 2
            yield process["tracks"][track], process["names"][name], start, length

    def test_the_page_needs_nothing_else(self):
        page = self.report()
        self.assertIsNone(re.search(r"""(src|href)\s*=\s*["']?(https?:|//)""", page))
        self.assertNotIn("import(", page)
        self.assertNotIn("fetch(", page)
        self.assertEqual(page.count("</script>"), 2)

    def test_slices_stand_on_their_tracks(self):
        process, = self.data()["processes"]
        found = [(track, name) for track, name, _, _ in self.slices(process)]
        self.assertEqual(sorted(found), sorted([
            ("segments", "forward block one"), ("segments", "replay block one"),
            ("reprise", "preserve"), ("reprise", "restore"), ("reprise", "reinstate"),
            ("stream 0x55d0", "bn_forward"), ("stream 0x55d0", "bn_forward"),
            ("default stream", "cuMemcpyHtoDAsync_v2")]))
        for _, _, start, length in self.slices(process):
            self.assertLessEqual(start + length, process["end_ns"])

    def test_memory_and_what_the_layer_holds(self):
        process, = self.data()["processes"]
        self.assertEqual(max(process["live_bytes"]), 5120)
        self.assertEqual(process["live_bytes"][-1], 4096)
        self.assertEqual((max(process["held_bytes"]), process["held_bytes"][0]), (64, 0))

    def test_dirty_maps_show_writes_and_the_layer(self):
        process, = self.data()["processes"]
        dirty = process["dirty"]
        of_state, = dirty["maps"]
        self.assertEqual((of_state["allocation"], of_state["bytes"]), (1, 4096))
        cells = base64.b64decode(of_state["cells"])
        rows = [cells[at:at + dirty["times"]] for at in range(0, len(cells), dirty["times"])]
        self.assertEqual(len(rows), dirty["places"])
        self.assertTrue(all(any(cell & 63 for cell in row) for row in rows), "written as a whole")
        touched = [at for at, row in enumerate(rows) if any(cell >> 6 for cell in row)]
        self.assertEqual(touched, [0], "bytes 16 to 79 of 4096 lie in the first row of 32")

    def test_a_part_has_the_memory_of_the_whole(self):
        whole, = self.data()["processes"]
        part, = self.data("--kernel", "bn_forward")["processes"]
        self.assertEqual((part["live_bytes"], part["held_bytes"], part["end_ns"]),
                         (whole["live_bytes"], whole["held_bytes"], whole["end_ns"]))
        self.assertLess(part["slice_count"], whole["slice_count"])

    def test_hazards_are_marked(self):
        data = self.data()
        mark = next(mark for mark in data["processes"][0]["marks"] if mark[1] == "hazard")
        self.assertEqual(mark[3]["buffer"], 'odd"name')
        self.assertEqual(data["hazards"][0]["hazard"], "stale-read")

    def test_a_hazard_has_the_names_of_its_mark(self):
        """By them the page leads from one to the other."""
        fields = {"hazard": "stale-read", "segment": "block\none", "buffer": "queue\t"}
        (self.run_folder / "trace-4242.rpt").unlink()
        self.write(CALLS.format(pid=4242, command="x") + "note step step=1\nnote hazard "
                   "hazard=stale-read segment=block%0Aone buffer=queue%09 step=1\n", 4242)
        (self.run_folder / "summary-4242.json").write_text(json.dumps(
            {"format": "reprise-summary", "version": 1, "pid": 4242, "mode": "check",
             "segments": [{"name": "block\none", "forwards": 1, "replays": 1}],
             "hazards": [{**fields, "step": 1, "count": 1, "order": 0}]}))
        data = self.data()
        mark = next(mark for mark in data["processes"][0]["marks"] if mark[1] == "hazard")
        hazard, = data["hazards"]
        self.assertEqual({key: hazard[key] for key in fields},
                         {key: mark[3][key] for key in fields})

    def test_against_an_earlier_run(self):
        old = self.folder / "old"
        old.mkdir()
        self.write(CALLS.format(pid=1, command="x") + "note step step=1\n", 1, old)
        data = self.data("--diff", old)
        self.assertEqual(data["old"].get("kernels", {}), {})
        self.assertIn("bn_forward", data["survey"]["kernels"])
        trace = old / "trace-1.rpt"
        trace.write_bytes(trace.read_bytes()[:-10])
        self.assertIn("old", self.data("--diff", old, code=65))
        self.assertRefused(self.reprise("report", "--diff", "nothing", "-o", "x.html"), 2,
                           "nothing")

    def test_a_torn_trace_is_shown_as_far_as_it_goes(self):
        path = self.run_folder / "trace-4242.rpt"
        path.write_bytes(path.read_bytes()[:-40])
        data = self.data(code=65)
        self.assertEqual((data["processes"][0]["pid"], data["damaged"]), (4242, True))
        self.assertIn("breaks off", data["survey"]["processes"][0]["broken"])

    def test_a_trace_that_cannot_be_read_is_not_passed_over_in_silence(self):
        self.assertNotIn("damaged", self.data())
        (self.run_folder / "trace-7.rpt").write_text("nonsense")
        self.assertTrue(self.data(code=65)["damaged"])

    def swapped(self, by):
        """The report of a run whose trace of process 7 becomes another between its two readings."""
        done = self.reprise("report", "-o", "page.html", "--force", LD_PRELOAD=str(SWAP),
                            ASAN_OPTIONS="verify_asan_link_order=0", SWAP_BY=str(by),
                            SWAP_PATH="reprise.data/trace-7.rpt")
        self.assertEqual(done.returncode, 65, done.stderr)
        page = (self.folder / "page.html").read_text()
        text, = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
        return json.loads(text)["processes"], done.stderr

    def test_a_trace_that_comes_between_the_readings_is_left_out(self):
        whole, = self.data()["processes"]
        self.write(CALLS.format(pid=7, command="late") + STORY, 8)
        trace = self.run_folder / "trace-7.rpt"
        (self.run_folder / "trace-8.rpt").rename(self.folder / "late")
        trace.write_text("nonsense")
        processes, said = self.swapped(self.folder / "late")
        self.assertNotEqual(trace.read_bytes(), b"nonsense")
        self.assertEqual(processes, [whole])
        self.assertIn("no trace of reprise", said)

    def test_a_trace_that_goes_between_the_readings_is_said_and_has_no_others_slices(self):
        whole, = self.data()["processes"]
        self.write(CALLS.format(pid=7, command="gone") + STORY, 7)
        (gone, other), said = self.swapped(self.folder / "nothing")
        self.assertEqual((gone["command"], gone["slice_count"]), ("gone", 0))
        self.assertEqual(other, whole)
        self.assertIn("trace-7.rpt: could be read at first, but not again", said)

    def test_what_cannot_be_reported(self):
        self.assertRefused(self.reprise("report", "-"), 2, "twice")
        self.report()
        self.assertRefused(self.reprise("report", "-o", "page.html"), 2, "--force")
        (self.run_folder / "trace-4242.rpt").unlink()
        self.assertRefused(self.reprise("report", "-o", "other.html"), 65, "no trace")
        self.assertFalse((self.folder / "other.html").exists())


if __name__ == "__main__":
    harness.main()
