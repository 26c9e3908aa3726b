#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The count of the tests themselves: nothing that failed, broke off or never ran may pass.

usage: test_count.py COUNT_TESTS"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

COUNT = sys.argv[1]
TAP = "\t1..3\nok 1 - a\nok 2 - b\nok 3 - c\n"


def entry(name="one", result="OK", stdout="", stderr=""):
    return {"name": f"reprise:unit / {name}", "result": result, "stdout": stdout, "stderr": stderr}


class Count(unittest.TestCase):
    def count(self, *entries, registered=None):
        with tempfile.TemporaryDirectory() as folder:
            log, tests = pathlib.Path(folder) / "log", pathlib.Path(folder) / "tests"
            log.write_text("".join(json.dumps(item) + "\n" for item in entries))
            words = [sys.executable, COUNT, str(log)]
            if registered is not None:
                tests.write_text(json.dumps([{"name": name, "suite": ["reprise:" + suite]}
                                             for name, suite in registered.items()]))
                words += ["--all", str(tests)]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()[-1]

    def test_a_plain_program_is_one_case(self):
        self.assertEqual(self.count(entry()), (0, "1 passed, 0 failed"))
        self.assertEqual(self.count(entry(), entry(result="FAIL")), (1, "1 passed, 1 failed"))

    def test_tap_cases(self):
        self.assertEqual(self.count(entry(stdout=TAP[1:])), (0, "3 passed, 0 failed"))
        text = "1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no GPU\n"
        self.assertEqual(self.count(entry(stdout=text, result="FAIL")),
                         (1, "1 passed, 1 failed, 1 skipped"))

    def test_cmocka_calls_a_skipped_case_not_ok(self):
        self.assertEqual(self.count(entry(stdout="1..2\nok 1 - a\nnot ok 2 # SKIP b\n")),
                         (0, "1 passed, 0 failed, 1 skipped"))

    def test_a_plan_that_breaks_off(self):
        text = "1..3\nok 1 - a\n"
        self.assertEqual(self.count(entry(stdout=text, result="FAIL")), (1, "1 passed, 2 failed"))
        self.assertEqual(self.count(entry(stdout=text)), (1, "1 passed, 2 failed"))

    def test_an_exit_status_counts_even_when_every_case_passed(self):
        self.assertEqual(self.count(entry(stdout=TAP[1:], result="FAIL")),
                         (1, "3 passed, 1 failed"))
        self.assertEqual(self.count(entry(stdout=TAP[1:], result="TIMEOUT")),
                         (1, "3 passed, 1 failed"))

    def test_a_program_without_cases(self):
        self.assertEqual(self.count(entry(stdout="1..0\n")), (1, "0 passed, 1 failed"))

    def test_a_program_that_is_to_fail_holds_where_a_case_does_not(self):
        text = "1..2\nok 1 - a\nnot ok 2 - b\n"
        self.assertEqual(self.count(entry(stdout=text, result="EXPECTEDFAIL")),
                         (0, "1 passed, 0 failed"))
        for other in "", TAP[1:]:  # it broke down, or went wrong at its end
            self.assertEqual(self.count(entry(stdout=other, result="EXPECTEDFAIL")),
                             (1, "0 passed, 1 failed"))

    def test_unittest_cases(self):
        text = "....\n" + "-" * 70 + "\nRan 4 tests in 0.1s\n\n"
        self.assertEqual(self.count(entry(stderr=text + "OK\n")), (0, "4 passed, 0 failed"))
        self.assertEqual(self.count(entry(stderr=text + "OK (skipped=1)\n")),
                         (0, "3 passed, 0 failed, 1 skipped"))
        self.assertEqual(
            self.count(entry(stderr=text + "FAILED (failures=1, errors=2)\n", result="FAIL")),
            (1, "1 passed, 3 failed"))

    def test_skipped_is_never_passed(self):
        self.assertEqual(self.count(entry(), entry(result="SKIP")),
                         (0, "1 passed, 0 failed, 1 skipped"))
        self.assertEqual(self.count(entry(result="SKIP")), (1, "0 passed, 1 failed, 1 skipped"))

    def test_nothing_ran(self):
        self.assertEqual(self.count(), (1, "0 passed, 1 failed"))

    def test_a_registered_test_that_did_not_run(self):
        both = {"one": "unit", "two": "unit"}
        self.assertEqual(self.count(entry("one"), registered=both), (1, "1 passed, 1 failed"))
        self.assertEqual(self.count(entry("one"), registered={"one": "unit"}),
                         (0, "1 passed, 0 failed"))

    def test_nightly_ones_need_not_run(self):
        night = {"one": "unit", "two": "nightly"}
        self.assertEqual(self.count(entry("one"), registered=night), (0, "1 passed, 0 failed"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
