#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the cases of a test run from meson's own log, and says "N passed, N failed".

A test program of this project reports its cases as TAP (cmocka, CMOCKA_MESSAGE_OUTPUT=TAP) or
in the words of Python's unittest; any other program is one case. The exit status of a program
always counts: one that fails without naming a case, that breaks off before its plan is
through, or that runs no case at all, is a failure. A program that is to fail, for a mechanism is
off, is one case: it holds where a case that it names fails. With --all every registered test but
those of the suite nightly must appear in the log, so that nothing is lost in silence."""
import argparse
import json
import re
import sys

PLAN = re.compile(r"^1\.\.(\d+)", re.M)
CASE = re.compile(r"^(not )?ok\b[^#\n]*(# *skip)?", re.M | re.I)
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\n\n(?:OK|FAILED)(?: \((.*)\))?", re.M)


def tap_cases(text):
    """[passed, failed, skipped, missing from the plan], or None where there is no TAP."""
    if not PLAN.search(text):
        return None
    cases = list(CASE.finditer(text))
    skipped = sum(bool(case[2]) for case in cases)  # cmocka says "not ok 3 # SKIP"
    failed = sum(bool(case[1]) and not case[2] for case in cases)
    planned = sum(int(plan[1]) for plan in PLAN.finditer(text))
    return [len(cases) - failed - skipped, failed, skipped, max(0, planned - len(cases))]


def unittest_cases(text):
    found = UNITTEST.search(text)
    if not found:
        return None
    counts = dict(re.findall(r"([a-z ]+)=(\d+)", found[2] or ""))
    counts = {name.strip(): int(count) for name, count in counts.items()}
    failed = sum(counts.get(name, 0) for name in ("failures", "errors", "unexpected successes"))
    skipped = counts.get("skipped", 0)
    return [max(0, int(found[1]) - failed - skipped), failed, skipped, 0]


def count(entry):
    """(passed, failed, skipped) of one test program."""
    output = entry.get("stdout") or ""
    errors = entry.get("stderr") or ""
    if entry["result"] == "SKIP":
        return 0, 0, 1
    cases = tap_cases(output) or unittest_cases(errors) or unittest_cases(output)
    if entry["result"] == "EXPECTEDFAIL":
        return (1, 0, 0) if cases and cases[1] > 0 else (0, 1, 0)
    good = entry["result"] == "OK"
    if cases is None:
        return (1, 0, 0) if good else (0, 1, 0)
    passed, failed, skipped, missing = cases
    failed += missing
    if failed == 0 and (not good or passed + skipped == 0):
        failed = 1
    return passed, failed, skipped


def read_log(path):
    try:
        with open(path, encoding="utf-8") as log:
            return [json.loads(line) for line in log if line.strip()]
    except FileNotFoundError:
        return []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", metavar="FILE", help="`meson introspect --tests` of the build")
    parser.add_argument("log", help="meson-logs/testlog.json")
    options = parser.parse_args()

    entries = read_log(options.log)
    totals = [0, 0, 0]
    for entry in entries:
        counts = count(entry)
        totals = [total + more for total, more in zip(totals, counts)]
        if counts[1] > 0 or entry["result"] not in ("OK", "EXPECTEDFAIL", "SKIP"):
            print(f"failed: {entry['name']} ({entry['result']})")
    if options.all:
        with open(options.all, encoding="utf-8") as file:
            registered = {test["name"] for test in json.load(file)
                          if not any(suite.endswith(":nightly") for suite in test["suite"])}
        # The log writes "project:suite / name".
        seen = {entry["name"].rpartition(" / ")[2] for entry in entries}
        for name in sorted(registered - seen):
            print(f"failed: {name} (registered, but did not run)")
            totals[1] += 1
    passed, failed, skipped = totals
    if passed == 0 and failed == 0:
        print("failed: no test ran")
        failed = 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
