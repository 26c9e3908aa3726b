#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check: the hazards of a recorded run, and what is not clean though it has none.

usage: test_check.py REPRISE TRACE_FROM_SCRIPT"""
import json
import pathlib
import re

import harness
from reading import CALLS, HAZARDS, ReadingCase, STORY


class Check(ReadingCase):
    SEGMENTS = [{"name": "block", "forwards": 3, "replays": 3}]

    def hazards(self):
        return [
            {"hazard": "state-left", "segment": "block", "buffer": "queue", "allocation": 2,
             "offset": 0, "bytes": 64, "step": 1, "count": 1, "version_read": 3,
             "version_wanted": 2},
            {"hazard": "stale-read", "segment": "head", "buffer": "running_mean", "allocation": 1,
             "allocation_bytes": 8192, "offset": 16, "bytes": 4096, "version_read": 9,
             "version_wanted": 4, "writer": "bn_update", "writer_seq": 9, "writer_step": 3,
             "writer_launch": 17, "writer_stream": "0x55d0", "reader": "bn_forward", "step": 3,
             "count": 24, "advice": "guard it"},
            {"hazard": "stale-read", "segment": "block", "allocation": 5, "bytes": 4, "step": 2,
             "count": 1}]

    def test_what_is_not_vouched_for_is_not_called_the_same(self):
        for flag in "unvouched", "unseen":
            self.summarise(segments=self.SEGMENTS, hazards=[], unknown=[
                {"call": "gather", "count": 3, "reason": "not checked", flag: True}])
            said = self.read("check")
            self.assertIn("no hazards: 3 replays followed; what 1 call may have", said)
            self.assertNotIn("read what their forwards", said)

    def test_clean(self):
        self.summarise(segments=self.SEGMENTS, hazards=[])
        self.assertIn("no hazards: 3 replays followed, which", self.read("check"))
        clean = json.loads(self.read("check", "--json"))
        self.assertEqual(clean, {"format": "reprise-check", "version": 1, "clean": True,
                                 "replays": 3, "hazards": []})

    def test_nothing_checked_is_not_clean(self):
        self.summarise(segments=[{"name": "block", "forwards": 3}], hazards=[])
        self.assertIn("nothing was checked", self.read("check", code=1))
        self.assertFalse(json.loads(self.read("check", "--json", code=1))["clean"])

    def test_a_run_without_a_contract(self):
        self.summarise(hazards=[])
        self.assertRefused(self.reprise("check"), 2, "no contract")

    def test_most_damaging_first(self):
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards())
        text = self.read("check", code=1)
        paragraphs = text.split("\n\n")
        self.assertEqual([paragraph.split(":")[0] for paragraph in paragraphs[:3]],
                         ["stale-read in segment head", "stale-read in segment block",
                          "state-left in segment block"])
        for part in ("running_mean", "bytes    16 to 4111 (4 KiB) of allocation 1",
                     "read 9, wanted 4", "bn_update, launch 17 of step 3, stream 0x55d0 (call 9)",
                     "reader   bn_forward", "first in step 3, 24 times in all", "guard it"):
            self.assertIn(part, paragraphs[0])
        self.assertIn("not declared", paragraphs[1])
        self.assertEqual(paragraphs[3], "3 hazards, 3 replays followed\n")

    def test_a_hazard_without_bytes_has_no_versions(self):
        self.summarise(segments=self.SEGMENTS, hazards=[
            {"hazard": "unpaired", "segment": "block", "instance": 0, "key": "layer7",
             "allocation": 0, "step": 2, "count": 1, "order": 0},
            {"hazard": "diverged", "segment": "block", "instance": 3, "allocation": 0,
             "reader": "g", "other": "f", "position": 3, "step": 2, "count": 1, "order": 1}])
        text = self.read("check", code=1)
        self.assertIn("  replay   layer7\n", text)
        self.assertIn("  called   g\n  forward  f, its call 3\n", text)
        self.assertIn("the first to be met: unpaired in step 2\n", text)
        for word in ("version", "bytes", "buffer", "written by"):
            self.assertNotIn(word, text)

    def test_a_race_names_both_calls(self):
        self.summarise(segments=self.SEGMENTS, hazards=[
            {"hazard": "live-read", "segment": "block", "buffer": "queue", "allocation": 2,
             "allocation_bytes": 64, "memory": "pool", "birth_seq": 57, "offset": 0, "bytes": 64,
             "reader": "log", "other": "attend", "step": 1, "count": 1}])
        text = self.read("check", code=1)
        self.assertIn("of allocation 2, which has 64 B of pool memory, made by call 57\n", text)
        self.assertIn("  reader   log\n  replay   attend, which the bytes are rewound for\n", text)

    def test_what_was_taken_for_state_has_set_the_replays_result_aside(self):
        for taken, said in (("state", "whose result was set aside"),
                            ("an output", "which has made the bytes anew")):
            self.summarise(segments=self.SEGMENTS, hazards=[
                {"hazard": "assumed", "segment": "block", **self.BYTES, **self.READER,
                 "other": "norm", "taken_for": taken, "warning": True, "step": 1, "count": 1}])
            self.assertIn(f"  replay   norm, {said}\n  taken    for {taken}\n",
                          self.read("check"))

    def test_what_ranks_share_is_told_once(self):
        shared, own = self.hazards()[1], self.hazards()[2]
        for rank in range(4):
            self.summarise(pid=100 + rank, rank=rank, segments=self.SEGMENTS,
                           hazards=[{**shared, "order": 0, "writer_stream": f"0x{rank}"}] +
                           ([{**own, "order": 1}] if rank in (0, 2) else []))
        text = self.read("check", code=1)
        paragraphs = text.split("\n\n")
        self.assertIn("  ranks    0 to 3, the same in each\n", paragraphs[0])
        self.assertIn("  writer   bn_update, launch 17 of step 3 (call 9)\n", paragraphs[0])
        self.assertIn("  ranks    0, 2, the same in each\n", paragraphs[1])
        self.assertTrue(paragraphs[2].startswith("6 hazards, 12 replays followed\n"), text)
        self.assertEqual(len(json.loads(self.read("check", "--json", code=1))["hazards"]), 6)

    # One of each kind, as a run's summary has them.
    BYTES = {"allocation": 7, "allocation_bytes": 8192, "memory": "pool", "birth_seq": 57,
             "offset": 16, "bytes": 4096, "version_read": 9}
    WRITER = {"writer": "enqueue", "writer_seq": 9, "writer_step": 2, "writer_launch": 17,
              "writer_stream": "0x55d0"}
    READER = {"reader": "attend", "reader_launch": 3}
    ALL_KINDS = [
        ("stale-read", {**BYTES, **WRITER, **READER, "buffer": "queue", "version_wanted": 4}),
        ("foreign-read", {**BYTES, **WRITER, **READER}),
        ("state-left", {**BYTES, **WRITER, "reader": "enqueue", "version_wanted": 4}),
        ("live-read", {**BYTES, **READER, "buffer": "queue", "other": "advance"}),
        ("not-preserved", {**BYTES, **READER}),
        ("unproved", {**BYTES, **WRITER, **READER, "other": "norm"}),
        ("unpaired", {"allocation": 0, "key": "layer7"}),
        ("diverged", {"allocation": 0, **READER, "other": "norm", "position": 3}),
        ("assumed", {**BYTES, **WRITER, **READER, "other": "norm", "taken_for": "an output",
                     "warning": True}),
    ]

    def test_each_kind_says_all_that_is_known(self):
        self.summarise(segments=self.SEGMENTS, hazards=[
            {"hazard": kind, "segment": "block", "instance": 1, **fields, "step": 3, "count": 2,
             "order": order, "advice": f"what to do about {kind}"}
            for order, (kind, fields) in enumerate(self.ALL_KINDS)])
        golden = pathlib.Path(__file__).resolve().parent / "golden" / "check.txt"
        self.assertEqual(self.read("check", code=1), golden.read_text())

    def test_the_first_to_be_met_is_named(self):
        hazards = [dict(hazard, order=order) for hazard, order in zip(self.hazards(), (2, 1, 3))]
        self.summarise(segments=self.SEGMENTS, hazards=hazards)
        self.assertIn("the first to be met: stale-read of running_mean in step 3, written by "
                      "bn_update\n", self.read("check", code=1))

    def test_exit_codes(self):
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards())
        self.read("check", code=1)
        self.read("check", "-e", "9", code=9)
        self.read("check", "--segment", "he*", code=1)
        self.read("check", "--segment", "tail", "-e", "9", code=1)

    def test_what_filters_hide_is_not_clean(self):
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards())
        text = self.read("check", "--segment", "tail", code=1)
        self.assertTrue(text.startswith("none of this run's 3 hazards passes --segment tail"), text)
        found = json.loads(self.read("check", "--json", "--segment", "tail", code=1))
        self.assertEqual((found["clean"], found["hidden"], found["hazards"]), (False, 3, []))
        self.assertIn("\n1 more of this run do not pass --segment block\n",
                      self.read("check", "--segment", "block", code=1))
        self.summarise(segments=self.SEGMENTS, hazards=[dict(self.hazards()[0], harmless=True)])
        self.assertIn("no hazards", self.read("check", "--segment", "tail"))

    def test_a_hazard_that_comes_again_passes_what_is_later(self):
        self.write(STORY + "enter cuLaunchKernel 0xa 0x0\n" + HAZARDS.splitlines()[0] +
                   "\nleave cuLaunchKernel 0\nnote step step=3\nenter cuLaunchKernel 0xa 0x0\n"
                   "leave cuLaunchKernel 0\nnote step step=9\n")
        for count, later in ((1, []), (5, ["queue"])):
            self.summarise(segments=self.SEGMENTS,
                           hazards=[dict(self.hazards()[0], count=count)])
            for words in (["--step", "3"], ["--step", "9"], ["--calls", "100-"],
                          ["--time", "0.000000001-", "--step", "3"]):
                with self.subTest(words, count=count):
                    self.assertEqual(self.pick(*words), later)
            for words in (["--step", "0"], ["--calls", "0-3"], ["--time", "0-0"]):
                with self.subTest(words, count=count):
                    self.assertEqual(self.pick(*words), [])

    def test_a_hazard_of_a_summary_alone_passes_its_later_steps(self):
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards())
        self.assertEqual(self.pick("--step", "7"), ["running_mean"])
        self.assertEqual(self.pick("--step", "2"), ["-"])

    def test_a_trace_alone_does_not_know_how_often(self):
        self.write(STORY + HAZARDS)
        self.assertEqual(self.pick("--step", "1"), ["queue"])

    def pick(self, *words, code=1):
        found = json.loads(self.read("check", "--json", *words, code=code))["hazards"]
        return [hazard.get("buffer", "-") for hazard in found]

    def test_a_hazard_passes_with_the_call_that_met_it(self):
        self.write(CALLS + """\
enter cuLaunchKernel 0x9 0x0
note launch seq=3 kernel=bn_forward stream=0x0 step=3 index=0 verdict=exact
note hazard hazard=stale-read segment=head buffer=running_mean allocation=1 offset=16 bytes=4096 \
version_read=9 version_wanted=4 writer=bn_update writer_seq=9 step=3 count=1 reader=bn_forward
leave cuLaunchKernel 0
enter cuLaunchKernel 0xa 0x55d0
note launch seq=4 kernel=gemm stream=0x55d0 step=4 index=0 verdict=root
leave cuLaunchKernel 0
""".replace("\\\n", ""))
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards()[1:2])
        for words in (["--stream", "0x0"], ["--verdict", "exact"], ["--calls", "0-3"],
                      ["--call", "cuLaunch*", "--step", "3"], ["--time", "0-"],
                      ["--kernel", "bn_forward"], ["--kernel", "bn_update"]):
            with self.subTest(words):
                self.assertEqual(self.pick(*words), ["running_mean"])
        self.assertEqual(self.pick("--stream", "0x55d0"), [])
        found = json.loads(self.read("check", "--json", "--stream", "0x0", code=1))["hazards"]
        self.assertEqual([hazard["count"] for hazard in found], [24], "a summary knows how often")

    def test_a_hazard_without_its_call_passes_by_what_it_says(self):
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards())
        self.assertEqual(self.pick("--segment", "head"), ["running_mean"])
        self.assertEqual(self.pick("--kernel", "bn_update"), ["running_mean"])
        self.assertEqual(self.pick("--buffer", "qu*"), ["queue"])
        self.assertEqual(self.pick("--allocation", "5"), ["-"])
        self.assertEqual(self.pick("--step", "3", "--segment", "*"), ["running_mean"])
        done = self.reprise("check", "--time", "0-")
        self.assertEqual((done.returncode, done.stdout), (1, ""), "a summary knows no times")
        self.assertIn("3 hazards are known from a summary alone", done.stderr)

    def test_harmless_hazards_are_shown_and_do_not_count(self):
        self.summarise(segments=self.SEGMENTS,
                       hazards=[dict(self.hazards()[0], harmless=True)])
        self.assertIn("harmless, says the contract", self.read("check"))

    def test_warnings_are_shown_and_do_not_count(self):
        self.summarise(segments=self.SEGMENTS, hazards=[
            dict(self.hazards()[0], hazard="assumed", taken_for="an output")])
        text = self.read("check")
        self.assertIn("  taken    for an output\n", text)
        self.assertIn("1 warning, 3 replays followed\n", text)

    def test_a_process_without_a_summary_is_read_from_its_trace(self):
        self.write(CALLS + "note segment segment=block phase=replay%20begins\n" + HAZARDS)
        text = self.read("check", code=1)
        self.assertEqual(re.findall(r"buffer   (\w+)", text), ["large", "small", "queue"])
        self.assertIn("3 hazards, 1 replays followed", text)
        found = json.loads(self.read("check", "--json", code=1))["hazards"]
        self.assertEqual((found[0]["writer"], found[0]["writer_stream"], found[0]["pid"]),
                         ("bn_update", "0x55d0", 4242))

    def test_what_a_trace_does_not_know_is_not_told_as_zero(self):
        self.write(CALLS + "note hazard hazard=unpaired segment=block step=2 advice=look\n"
                   "note hazard hazard=foreign-read segment=block allocation=4 bytes=8 step=2 "
                   "version_read=6 memory=pool birth_seq=2 reader=gemm advice=look\n" + HAZARDS)
        text = self.read("check", code=1)
        paragraphs = {text.split()[0]: text for text in text.split("\n\n")}
        self.assertNotIn("wanted", paragraphs["foreign-read"])
        self.assertNotIn("which has", text)
        self.assertEqual(paragraphs["unpaired"].splitlines()[1:],
                         ["  seen     first in step 2", "  advice   look"])
        self.assertIn("the first to be met: unpaired in step 2\n", text)
        found = json.loads(self.read("check", "--json", code=1))["hazards"]
        foreign = next(each for each in found if each["hazard"] == "foreign-read")
        self.assertFalse({"version_wanted", "writer_seq", "position"} & set(foreign))
        self.assertEqual((foreign["version_read"], foreign["reader_launch"]), (6, 0))

    def test_hazards_before_another_program_took_the_place(self):
        self.write(CALLS + HAZARDS)
        self.write("property pid 4242\nproperty program 2\nnote step step=1\n", "trace-4242-2.rpt")
        self.summarise(program=2, segments=self.SEGMENTS, hazards=[])
        self.assertEqual(len(json.loads(self.read("check", "--json", code=1))["hazards"]), 3)
        self.summarise(segments=self.SEGMENTS, hazards=[])
        self.assertEqual(json.loads(self.read("check", "--json"))["hazards"], [])

    def test_hazards_are_not_counted_twice(self):
        self.write(CALLS + HAZARDS)
        self.write("property pid 1\nnote step step=1\n", "trace-1.rpt")
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards())
        self.assertEqual(len(json.loads(self.read("check", "--json", code=1))["hazards"]), 3)

    def test_a_torn_trace_is_never_clean(self):
        path = self.write(CALLS + "note segment segment=block phase=replay%20begins\n")
        path.write_bytes(path.read_bytes()[:-3])
        self.assertEqual(self.reprise("check").returncode, 65)

    def test_hazards_of_damaged_data_are_not_all_there_may_be(self):
        (self.run_folder / "trace-7.rpt").write_text("nonsense")
        self.write(CALLS + "note segment segment=block phase=replay%20begins\n" + HAZARDS)
        for words in ([], ["-e", "9"]):
            done = self.reprise("check", *words)
            self.assertEqual(done.returncode, 65)
            self.assertIn("3 hazards, 1 replays followed", done.stdout)


if __name__ == "__main__":
    harness.main()
