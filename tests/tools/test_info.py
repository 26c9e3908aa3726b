#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""info: what ran, for people and for programs.

usage: test_info.py REPRISE TRACE_FROM_SCRIPT"""
import json

import harness
import schema
from reading import HAZARDS, ReadingCase, STORY


class Info(ReadingCase):
    def setUp(self):
        super().setUp()
        self.write(STORY)
        self.summarise(steps=2, launches=3, mode="check", driver="/soft", bytes_preserved=2048,
                       transactions=2, bytes_held_peak=1024,
                       segments=[{"name": "block", "forwards": 5, "replays": 4, "unreplayed": 1,
                                  "refused": "cuFoo is not proved"}],
                       buffers=[{"name": "queue", "found": 1}, {"name": "scale", "found": 0}],
                       unknown=[{"call": "cuBar", "count": 3, "reason": "never heard of it"}],
                       proofs={"exact": 2, "bounded": 1})

    def test_json(self):
        info = json.loads(self.read("info", "--json"))
        self.assertEqual((info["format"], info["version"]), ("reprise-info", 1))
        self.assertEqual(info["calls"], {"cuMemAlloc_v2": 1, "cuLaunchKernel": 3})
        self.assertEqual(info["kernels"]["bn_forward"]["launches"], 1)
        self.assertEqual(info["kernels"]["gemm"]["verdicts"], {"exact": 1, "bounded": 1})
        self.assertEqual(info["kernels"]["bn_forward"]["proof"], "writes param 3\nall of it")
        self.assertEqual(info["allocations"]["peak_bytes"], 4096)
        self.assertEqual(info["allocations"]["freed"], 1)
        self.assertEqual(info["segments"]["block"]["replays"], 4)
        self.assertEqual(info["buffers"], {"queue": 1, "scale": 0})
        self.assertEqual(info["steps"], 2)
        process, = info["processes"]
        self.assertEqual((process["pid"], process["command"], process["device"]),
                         (4242, "./train", "toy"))

    def test_for_people(self):
        text = self.read("info")
        for pattern in (r"process  4242  ./train", r"steps    2, 3 launches",
                        r"block +5 +4 +1  refused: cuFoo is not proved", r"scale .*never seen",
                        r"1  bn_forward +writes: exact", r"gemm +writes: bounded 1, exact 1",
                        r"3  cuLaunchKernel", r"at most 4 KiB", r"3  cuBar: never heard of it",
                        r"2 KiB preserved"):
            self.assertRegex(text, pattern)
        self.assertIn("at most 4096 at", self.read("info", "--bytes"))

    def test_proof(self):
        self.assertEqual(self.read("info", "--proof", "bn_*"),
                         "bn_forward: exact\n  writes param 3\n  all of it\n")
        self.assertEqual(self.read("info", "--proof", "gemm"),
                         "gemm: launches: bounded 1, exact 1\n")

    def test_proof_that_launches_fall_short_of(self):
        (self.run_folder / "trace-4242.rpt").unlink()
        self.write(STORY.replace("verdict=exact", "verdict=reachable").replace(
            "note step step=1", "enter cuLaunchKernel 0x9 0x0\nnote kernel function=0x9 "
            "kernel=gemm verdict=exact proof=all\nnote kernel function=0xb kernel=other "
            "verdict=root proof=some\nleave cuLaunchKernel 0\nnote step step=1", 1))
        self.assertEqual(self.read("info", "--proof", "gemm"),
                         "gemm: exact at best; launches: bounded 1, reachable 1\n  all\n")
        self.assertEqual(self.read("info", "--proof", "other"),
                         "other: root at best; never launched\n  some\n")
        self.assertEqual(self.reprise("info", "--proof", "nope").returncode, 1)

    def test_names_do_nothing_to_a_terminal(self):
        odd = "a\x1b[2Jb\nc"
        segments = [{"name": odd, "forwards": 1, "replays": 1, "unreplayed": 0, "refused": odd}]
        hazard = {"hazard": "stale-read", "segment": odd, "buffer": odd, "allocation": 1,
                  "offset": 0, "bytes": 4, "reader": odd, "writer": odd, "step": 1, "count": 1,
                  "order": 0, "advice": odd}
        self.summarise(steps=1, launches=1, mode="check", segments=segments, hazards=[hazard],
                       buffers=[{"name": odd, "found": 1}],
                       unknown=[{"call": odd, "count": 1, "reason": odd}])
        for words, code in ((["info"], 0), (["check"], 1)):
            text = self.read(*words, code=code)
            self.assertNotIn("\x1b", text)
            self.assertIn(r"a\x1b[2Jb\nc", text)
        self.assertIn(odd, json.loads(self.read("info", "--json"))["segments"])

    def test_proof_as_an_object(self):
        (self.run_folder / "trace-4242.rpt").unlink()
        self.write(STORY.replace(
            "note step step=1", "enter cuLaunchKernel 0x9 0x0\nnote kernel function=0x9 "
            "kernel=bn_forward verdict=exact proof=all\nnote kernel function=0xb kernel=other "
            "verdict=root proof=some\nleave cuLaunchKernel 0\nnote step step=1"))
        for words, name, proof in ((["bn_*"], "bn_forward", "all"), (["oth*"], "other", "some")):
            info = json.loads(self.read("info", "--json", "--proof", *words))
            schema.validate(info, "info")
            self.assertEqual([(name, kernel["proof"]) for name, kernel in info["kernels"].items()],
                             [(name, proof)])
        self.assertEqual(self.reprise("info", "--json", "--proof", "nope").returncode, 1)

    def test_without_a_trace(self):
        (self.run_folder / "trace-4242.rpt").unlink()
        self.assertRegex(self.read("info"), r"block +5 +4")

    def test_without_a_summary_the_events_are_counted(self):
        (self.run_folder / "trace-4242.rpt").unlink()
        (self.run_folder / "summary-4242.json").unlink()
        path = self.write(STORY + HAZARDS)
        for words in ([], [path]):
            text = self.read("info", *words)
            self.assertIn("steps    2, 3 launches\n", text)
            self.assertIn("hazards  3;", text)
            info = json.loads(self.read("info", "--json", *words))
            self.assertEqual((info["steps"], info["launches"], info["hazards"]), (2, 3, 3))
            self.assertNotIn("bytes_preserved", info)
        self.write(STORY.replace("4242", "7"), "trace-7.rpt")
        self.summarise(pid=7, steps=10, launches=20)
        self.assertIn("steps    12 of 2 processes in all, 23 launches\n", self.read("info"))
        self.summarise(pid=7, steps=2, launches=20)
        self.assertIn("steps    2, in each of 2 processes, 23 launches\n", self.read("info"))
        self.assertEqual(json.loads(self.read("info", "--json"))["steps"], 4)

    def test_an_empty_file_has_no_totals(self):
        (self.folder / "empty").touch()
        done = self.reprise("info", "empty")
        self.assertEqual((done.returncode, done.stdout.strip()), (65, ""))
        self.assertEqual(done.stderr, "reprise: empty: the file is empty\n")

    def test_lost_events_are_reported(self):
        self.write("property pid 7\nnote gap lost=12\n", "trace-7.rpt")
        self.assertIn("events were lost: 12", self.read("info"))


if __name__ == "__main__":
    harness.main()
