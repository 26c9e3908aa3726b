# SPDX-License-Identifier: Apache-2.0
"""Runs a job of many small programs under the layer, and tells what each of them came to."""
import collections
import json
import os
import pathlib
import subprocess
import tempfile

DEVICE = os.environ.get("REPRISE_TEST_DEVICE", "soft")


def contract_of(segments, state, policy):
    """Of (rule name, pairing): the ranges NAME/forward/KEY and NAME/replay/KEY. State is what
    kernels named `tag` are shown; `undeclared` is none."""
    contract = {"version": 1, "policy": policy,
                "state": "discovered" if state == "discovered" else "declared",
                "step": {"nvtx": "step"}, "on_violation": "report",
                "segments": [{"name": name, "pair": pair, "forward": {"nvtx": f"{name}/forward/*"},
                              "replay": {"nvtx": f"{name}/replay/*"}} for name, pair in segments]}
    if state == "declared":
        contract["buffers"] = [{"name": "state", "at": {"kernel": "tag", "param": 0}}]
    return contract


class Outcome:
    """Lines and hazards by the name of a program: the first word of a line, and what stands
    before the slash in a hazard's segment."""

    def __init__(self, run, output):
        self.returncode, self.stderr = run.returncode, run.stderr
        self.lines = collections.defaultdict(list)
        for line in run.stdout.splitlines() if isinstance(run.stdout, str) else ():
            self.lines[line.split()[0]].append(line)
        summaries = [json.loads(path.read_text()) for path in output.glob("summary-*")]
        self.summary = summaries[0] if summaries else {}
        self.refused = {}  # why discovery was, by program
        for segment in self.summary.get("segments", []):
            if "refused" in segment:
                self.refused[segment["name"].split("/")[0]] = segment["refused"]
        self.hazards = collections.defaultdict(list)
        for hazard in self.summary.get("hazards", []):
            self.hazards[hazard.get("segment", "").split("/")[0]].append(hazard)
        races = output.parent / "races"
        self.races = races.read_text().splitlines() if races.exists() else []


def run_job(reprise, command, folder, mode=None, contract=None, environment=None, races=False):
    """One process under `reprise run`; without a mode the layer only looks on. With `races` the
    device tells what nothing orders, without one program told from another."""
    work = pathlib.Path(tempfile.mkdtemp(dir=folder))
    environment = {"REPRISE_SOFT_DEVICES": "2", **(environment or {})}
    if races:
        environment["REPRISE_SOFT_RACES"] = str(work / "races")
    layer = []
    if mode:
        (work / "contract.json").write_text(json.dumps(contract))
        layer = ["-m", mode, "-c", str(work / "contract.json")]
    command = [reprise, "run", "--device", DEVICE, "-q", "--no-trace", "-o", str(work / "out"),
               *layer, "--", *command]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=300,
                             env=os.environ | environment)
    except subprocess.TimeoutExpired:
        run = subprocess.CompletedProcess(command, 124, "", "it hangs")
    return Outcome(run, work / "out")


def counting(hazards):
    """Those that are more than a warning."""
    return [hazard for hazard in hazards if not hazard.get("warning")]


def tell(hazard):
    """A hazard in few words."""
    place = hazard.get("buffer") or f"[{hazard.get('allocation_bytes')}]"
    return "{hazard} {place}+{offset}:{bytes} by {writer} met {reader}".format(
        place=place, **{"writer": None, "reader": None, **hazard})
