#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""discover: the contract that it writes for a job that names nothing runs, and is the one that was
written by hand.

usage: test_discover.py REPRISE DIGITS EXAMPLES"""
import json
import pathlib
import re
import sys

import harness

DIGITS, EXAMPLES = (pathlib.Path(word).resolve() for word in sys.argv[2:4])


def contract_of(name):
    return json.loads((EXAMPLES / f"{name}.json").read_text())


class Discover(harness.Case):
    def digits(self, *words, checkpoint=True, **changes):
        done = self.reprise("run", "-q", "-d", "soft", *words, "--", str(DIGITS), "--steps", "8",
                            "--checkpoint" if checkpoint else "--eager", **changes)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def discover(self, *words, code=0):
        done = self.reprise("discover", "--force", *words)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def proposed(self, *words):
        return json.loads(self.discover("-o", "-", *words).stdout)

    def segments(self, contract):
        return sorted(json.dumps({**segment, "name": ""}, sort_keys=True)
                      for segment in contract["segments"])

    def test_by_ranges(self):
        self.digits()
        self.assertEqual({**self.proposed(), "segments": self.segments(self.proposed())},
                         {**contract_of("discovered"),
                          "segments": self.segments(contract_of("discovered"))})

    def test_by_launches(self):
        self.digits()
        contract = self.proposed("--by", "launches")
        self.assertEqual(self.segments(contract), self.segments(contract_of("launches")))

    def test_what_it_writes_trains_as_without_replays(self):
        eager = self.digits(checkpoint=False)
        self.assertNotEqual(self.digits(), eager)
        for words in ([], ["--by", "launches"], ["--state", "declared"]):
            self.discover("-o", "found.json", *words)
            guarded = self.digits("-o", "guarded", "-m", "guard", "-c", "found.json")
            self.assertEqual(guarded, eager, words)

    def preserved(self, contract):
        self.digits("-o", "guarded", "-m", "guard", "-c", contract)
        summary, = self.folder.glob("guarded/summary-*.json")
        return json.loads(summary.read_text())["bytes_preserved"]

    def test_it_protects_the_bytes_that_the_hand_written_one_does(self):
        self.digits()
        self.discover("-o", "found.json", "--state", "declared")
        self.assertEqual(self.preserved("found.json"),
                         self.preserved(str(EXAMPLES / "declared.json")))

    def test_evidence(self):
        self.digits()
        told = self.discover("-o", "found.json").stdout
        self.assertIn("step     step\n  because  the range 'step' comes 8 times", told)
        self.assertRegex(told, r"segment  forward \(certain\)\n  forward  range forward/\*\n"
                               r"  replay   range recompute/\*, paired by what \* matches\n"
                               r"  because  24 of 24 ranges 'recompute/\*'")
        self.assertRegex(told, r"state    discovered: .*proved")
        self.assertRegex(told, r"philox_advance .*bytes 0 to 15 of allocation \d+ \(16 bytes\)")

    def test_a_job_without_replays(self):
        self.digits(checkpoint=False)
        done = self.discover("-o", "found.json", code=1)
        self.assertIn("nothing is launched twice on the same parameters", done.stderr)
        self.assertFalse((self.folder / "found.json").exists())

    def test_files(self):
        self.digits()
        self.discover()
        self.assertTrue((self.folder / "contract.json").exists())
        self.assertRefused(self.reprise("discover"), 2, "--force")
        done = self.discover("-o", "other.json")
        self.assertTrue(re.search(r"next: reprise run -m check -c other\.json", done.stderr))
        self.assertRefused(self.reprise("discover", "nothing"), 2, "nothing")


if __name__ == "__main__":
    harness.main()
