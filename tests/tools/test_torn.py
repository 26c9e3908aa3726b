#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of which something is damaged, newer, or not there.

usage: test_torn.py REPRISE TRACE_FROM_SCRIPT"""
import json
import os

import harness
from reading import CALLS, READERS, ReadingCase, STORY


class Damage(ReadingCase):
    def test_no_trace_at_all(self):
        path = self.folder / "noise"
        path.write_bytes(os.urandom(5000))
        for command in ("dump", "info", "check"):
            done = self.reprise(command, "noise")
            self.assertEqual(done.returncode, 65, done.stderr)
            self.assertIn("noise: ", done.stderr)

    def test_an_empty_folder(self):
        for command in ("dump", "info", "check"):
            self.assertRefused(self.reprise(command), 65, "holds no trace")

    def test_a_torn_trace_shows_what_came_before(self):
        path = self.write(CALLS + "enter cuLaunchKernel 0x9 0x0\nleave cuLaunchKernel 0\n" * 50000)
        whole = self.read("dump").splitlines()
        data = path.read_bytes()
        path.write_bytes(data[:len(data) * 2 // 3])
        done = self.reprise("dump")
        self.assertEqual(done.returncode, 65)
        self.assertRegex(done.stderr, r"^reprise: .*trace-4242\.rpt: .+")
        torn = done.stdout.splitlines()
        self.assertTrue(torn)
        self.assertEqual(torn[:-1], whole[:len(torn) - 1])

    def test_other_traces_are_read_all_the_same(self):
        (self.run_folder / "trace-1.rpt").write_bytes(b"nonsense")
        self.write(STORY)
        done = self.reprise("dump")
        self.assertEqual(done.returncode, 65)
        self.assertIn("cuMemAlloc_v2", done.stdout)

    def test_a_summary_that_is_none_is_named(self):
        self.write(STORY)
        (self.run_folder / "summary-1.json").write_text("{")
        done = self.reprise("info")
        self.assertIn("summary-1.json: not a summary", done.stderr)
        self.assertEqual(done.returncode, 65)
        self.assertEqual(self.reprise("check").returncode, 65)

    def test_a_damaged_run_json_is_named(self):
        self.write(STORY)
        for text in ("", "{", "[]", "{}", '{"format": "reprise-run", "version": 1, "mode": 1}',
                     '{"format": "reprise-run", "version": 1, "command": [1]}'):
            (self.run_folder / "run.json").write_text(text)
            done = self.reprise("info")
            self.assertEqual(done.returncode, 65)
            self.assertIn("reprise.data/run.json: damaged", done.stderr)
            self.assertIn("2, 3 launches", done.stdout)

    def test_a_newer_summary_or_run_json_is_named_so(self):
        self.write(STORY)
        for name, format_ in (("summary-4242.json", "summary"), ("run.json", "run")):
            document = {"format": f"reprise-{format_}", "version": 2, "pid": 4242, "hazards": []}
            (self.run_folder / name).write_text(json.dumps(document))
            for command, words in READERS.items():
                with self.subTest([name, command]):
                    done = self.reprise(command, *words)
                    self.assertEqual(done.returncode, 65)
                    self.assertIn(f"{name}: ", done.stderr)
                    self.assertIn("reads version 1 of it, not 2; a newer reprise may", done.stderr)
            (self.run_folder / name).unlink()

    def test_a_member_of_another_type_is_damage(self):
        self.write(STORY)
        hazard = {"hazard": "stale-read", "step": 1}
        for figures, why in (({"hazards": {}}, "hazards is not a list"),
                             ({"hazards": None}, "hazards is not a list"),
                             ({"hazards": ["stale-read"]}, "hazards: one is not an object"),
                             ({"hazards": [{**hazard, "hazard": 1}]}, "hazard is not a text"),
                             ({"hazards": [{**hazard, "harmless": 1}]}, "not true or false"),
                             ({"segments": [{"name": "a", "replays": "4"}]}, "a whole number"),
                             ({"steps": -1}, "steps is not a whole number"),
                             ({"pid": "4242"}, "pid is not a whole number"),
                             ({"version": None}, "no version"),
                             ({"plan": []}, "plan is not an object")):
            with self.subTest(figures):
                self.summarise(**{"segments": [{"name": "a", "replays": 3}], **figures})
                for words in (["check"], ["check", "-e", "9"], ["info"]):
                    done = self.reprise(*words)
                    self.assertEqual(done.returncode, 65, done.stdout)
                    self.assertIn("not a summary: ", done.stderr)
                    self.assertIn(why, done.stderr)
                for path in self.run_folder.glob("summary-*"):
                    path.unlink()

    def test_a_member_that_is_not_known_is_let_pass(self):
        self.write(STORY)
        self.summarise(novelty={"of": ["some", 1]}, segments=[{"name": "a", "novelty": True}])
        self.read("info")

    def test_every_reader_says_what_is_damaged_beside_the_trace(self):
        self.write(STORY)
        for name in ("run.json", "summary-1.json"):
            path = self.run_folder / name
            path.write_text("{")
            for command, words in READERS.items():
                with self.subTest([name, command]):
                    done = self.reprise(command, *words)
                    self.assertIn(name, done.stderr.splitlines()[0])
                    self.assertEqual(done.returncode, 65)
            path.unlink()


if __name__ == "__main__":
    harness.main()
