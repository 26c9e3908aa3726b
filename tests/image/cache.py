#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proofs on disk: a later run takes them from there and says the same of every launch.
usage: cache.py WAYS FOLDER REPRISE"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from tap import claim, finish  # noqa: E402

WAYS, FOLDER, REPRISE = map(os.path.abspath, sys.argv[1:4])


def run(*options, **environment):
    """What the job printed, the summary, and all launches with their accesses."""
    done = subprocess.run([REPRISE, "run", "--device", "soft", "-q", *options, "-o", "data", "--",
                           WAYS, FOLDER], capture_output=True, text=True, timeout=120,
                          check=False, env=os.environ | environment)
    summary = max((json.loads(path.read_text()) for path in pathlib.Path("data").glob("summary-*")),
                  key=lambda each: each["launches"])
    events = map(json.loads, subprocess.run([REPRISE, "dump", "--json", "data"], check=True,
                                            capture_output=True, text=True).stdout.splitlines())
    launches = [event["fields"] for event in events if event.get("name") in ("launch", "access")]
    return done.stdout, summary, launches


def figures(summary):
    return tuple(summary[f"proofs_{name}"] for name in ("recalled", "kept", "damaged"))


with tempfile.TemporaryDirectory() as folder_:
    os.chdir(folder_)
    kept = pathlib.Path("kept").absolute()
    printed, summary, without = run("--cache", "off")
    claim("turned off, nothing is kept", figures(summary) == (0, 0, 0) and without, summary)
    first = run("--cache", "kept")
    proved = figures(first[1])[1]
    claim("a first run keeps what it proves", figures(first[1]) == (0, proved, 0) and proved > 3 and
          len(list(kept.glob("*.proof"))) == proved, first[1], list(kept.glob("*")))
    second = run("--cache", "kept")
    claim("a second one proves nothing", figures(second[1]) == (proved, 0, 0), second[1])
    claim("and says the same of every launch, as without",
          first[0] == second[0] == printed and first[2] == second[2] and
          len(without) == len(second[2]), first[2][:3], second[2][:3])

    victim = sorted(kept.glob("*.proof"))[0]
    bytes_ = bytearray(victim.read_bytes())
    bytes_[len(bytes_) // 2] ^= 4
    victim.write_bytes(bytes_)
    third = run("--cache", "kept")
    remarks = [remark["reason"] for remark in third[1]["unknown"]]
    claim("a damaged one is left out, said so, and replaced",
          figures(third[1]) == (proved - 1, 1, 1) and third[2] == first[2] and
          remarks == ["its kept proof is damaged: proved anew"], third[1])
    claim("so that the next run finds them all", figures(run("--cache", "kept")[1]) ==
          (proved, 0, 0))

    home = run(REPRISE_CACHE="", HOME=folder_, XDG_CACHE_HOME="")
    claim("an empty REPRISE_CACHE turns it off", figures(home[1]) == (0, 0, 0) and
          not pathlib.Path(".cache").exists(), home[1])
    environment = {key: value for key, value in os.environ.items() if key != "REPRISE_CACHE"}
    os.environ.clear()
    os.environ.update(environment)
    home = run(HOME=folder_, XDG_CACHE_HOME="")
    claim("by default they are in the user's cache", figures(home[1]) == (0, proved, 0) and
          len(list(pathlib.Path(".cache/reprise").glob("*.proof"))) == proved, home[1])
    pathlib.Path("file").write_text("")
    blocked = run("--cache", "file/below")
    claim("where nothing can be kept, the job runs as ever", figures(blocked[1]) == (0, 0, 0) and
          blocked[0] == printed, blocked[1])

finish()
