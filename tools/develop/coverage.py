#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums what gcovr counted up by folder.

usage: coverage.py SUMMARY (gcovr --json-summary)"""
import collections
import json
import os
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        files = json.load(file)["files"]
    sums = collections.defaultdict(lambda: [0, 0])
    for entry in files:
        for folder in (os.path.dirname(entry["filename"]), "all"):
            sums[folder][0] += entry["line_covered"]
            sums[folder][1] += entry["line_total"]
    print(f"{'folder':<28} {'lines':>7} {'run':>7} {'share':>7}")
    for folder, (covered, total) in sorted(sums.items(), key=lambda item: (item[0] == "all", item)):
        print(f"{folder:<28} {total:>7} {covered:>7} {covered / max(total, 1):>7.1%}")


main()
