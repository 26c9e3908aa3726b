#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The four laws, end to end: small jobs run eagerly, replaying bare, and replaying guarded.

usage: laws.py JOB KERNELS REPRISE laws|words|mechanisms|all-mechanisms|check|retain|recompute

laws        a guarded replay leaves the bytes of the eager run, under each policy and kind of
            state that a scenario allows; bare, it leaves others (or the scenario is a control)
words       hazards are said in full, and what can't be done is refused
mechanisms  without one mechanism the scenarios named for it go red, and some others don't
            (all-mechanisms: all others don't)
retain      the laws, where replays are served from kept outputs
recompute   an eager job leaves its bytes, though what it holds is dropped at every chance
check       observing changes nothing, and the hazards found are the scenario's

Each is the file suite_LAST-WORD.py; the scenarios are in scenarios.py.
"""
import importlib
import os
import pathlib
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from tap import finish  # noqa: E402

SUITES = ("laws", "words", "mechanisms", "all-mechanisms", "check", "retain", "recompute")

if len(sys.argv) != 5 or sys.argv[4] not in SUITES:
    sys.exit(__doc__)
suite = importlib.import_module("suite_" + sys.argv[4].split("-")[-1]).suite
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    suite()
finish()
