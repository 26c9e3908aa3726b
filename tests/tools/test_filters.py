#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The readers' filters: each knows all of them, and they agree.

usage: test_filters.py REPRISE TRACE_FROM_SCRIPT"""
import json
import re

import harness
from reading import CALLS, READERS, ReadingCase, STORY


class SameFilters(ReadingCase):
    """Every reader that filters knows every filter, and they agree on what passes."""

    FILTERS = {"calls": "3-9", "call": "cuLaunch*", "kernel": "gemm", "segment": "block",
               "buffer": "queue", "allocation": "1", "verdict": "exact", "time": "0-5",
               "stream": "0x55d0", "step": "1", "proof": "bn_*"}

    def setUp(self):
        super().setUp()
        self.write(STORY + "note buffer buffer=queue allocation=1 bytes=64\n")

    def exported(self, *words):
        self.reprise("export", "--format", "jsonl", "--force", "-o", "out", *words)
        return self.events((self.folder / "out").read_text())

    @staticmethod
    def events(text):
        return [line for line in map(json.loads, text.splitlines()) if "class" in line]

    def test_the_filters_are_those_of_the_option_table(self):
        for command in READERS:
            offered = self.reprise("--list-options", command).stdout
            for name in self.FILTERS:
                self.assertIn(f"--{name}=", offered.split(), command)

    def test_dump_info_and_export_let_the_same_pass(self):
        everything = self.events(self.read("dump", "--json"))
        for name, value in self.FILTERS.items():
            with self.subTest(name):
                shown = self.events(self.read("dump", "--json", f"--{name}", value))
                self.assertTrue(0 < len(shown) <= len(everything))
                self.assertEqual(self.exported(f"--{name}", value), shown)
                info = json.loads(self.read("info", "--json", f"--{name}", value))
                self.assertEqual(info["processes"][0]["events"], len(shown))

    def test_a_report_is_of_what_passes(self):
        page = self.read("report", "-o", "-", "--kernel", "gemm")
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
        self.assertEqual((data["filter"], list(data["survey"]["kernels"])),
                         ("--kernel gemm", ["gemm"]))
        self.assertEqual(data["processes"][0]["slice_count"], 2)
        self.assertNotIn('"filter"', self.read("report", "-o", "-"))

    def test_a_contract_is_proposed_from_what_passes(self):
        def step(number, steps=""):
            return (f"note range range=step phase=begins\n{steps}"
                    "note range range=layer phase=begins\n"
                    + self.launch(1, "gemm", number) + self.launch(2, "norm", number)
                    + "note range range=layer phase=ends\nnote range range=again phase=begins\n"
                    + self.launch(3, "gemm", number) + self.launch(4, "norm", number)
                    + "note range range=again phase=ends\nnote range range=step phase=ends\n")
        (self.run_folder / "trace-4242.rpt").unlink()
        self.write(CALLS + "".join(step(number) for number in (1, 2, 3)))
        whole = self.reprise("discover", "-o", "-")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        part = self.reprise("discover", "-o", "-", "--kernel", "gemm")
        self.assertEqual(part.returncode, 1, part.stdout)
        self.assertIn("no steps", part.stderr)

    @staticmethod
    def launch(seq, kernel, step):
        return (f"enter cuLaunchKernel 0x{kernel and 9} 0x0\n"
                f"note launch seq={10 * step + seq} kernel={kernel} stream=0x0 step={step} "
                "grid_x=8 verdict=exact\n"
                f"note access seq={10 * step + seq} allocation={seq % 2 + 1} bytes=64 effect=write "
                "verdict=exact\nleave cuLaunchKernel 0\n")

    def test_nothing_passes(self):
        """Every reader ends alike, whichever filter it was that let nothing pass."""
        nothing = {"calls": "999", "call": "nosuch", "kernel": "nosuch", "segment": "nosuch",
                   "buffer": "nosuch", "allocation": "99", "verdict": "nosuch", "time": "99-",
                   "stream": "0x99", "step": "99", "proof": "nosuch"}
        self.assertEqual(set(nothing), set(self.FILTERS))
        for command, words in READERS.items():
            for name, value in nothing.items():
                with self.subTest([command, name]):
                    done = self.reprise(command, *words, f"--{name}", value)
                    self.assertEqual((done.returncode, done.stderr),
                                     (1, f"reprise: nothing passes --{name} {value}\n"))
        self.assertRefused(self.reprise("dump", "-k", "gemm", "--grep", "nosuch"), 1,
                           "nothing passes --grep nosuch --kernel gemm")

    def test_what_only_the_whole_run_knows_is_left_out(self):
        self.summarise(steps=9)
        self.assertIn("steps", json.loads(self.read("info", "--json")))
        self.assertNotIn("steps", json.loads(self.read("info", "--json", "--step", "1")))


if __name__ == "__main__":
    harness.main()
