#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows on a small real training job what reprise is for.

The digits example is trained keeping all activations; with checkpointing, which goes wrong in
silence; and with checkpointing under the layer, which must give the same bytes as the first.
Exit status 1 when a protected run differs by a byte, or when the bare one does not."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

root = pathlib.Path(__file__).resolve().parents[2]
examples = root / "examples" / "digits"
PATIENCE = 600
STATE = ("parameters", "running_statistics", "queue", "generator")


class Run:
    """One training: what it printed, its bytes, its time, and what the layer says of it."""

    def __init__(self, title):
        self.title = title
        self.values = {}
        self.bytes = b""
        self.seconds = 0.0
        self.preserved = None

    def digest(self, name):
        return self.values.get(name, "-")[:8]


class Demo:
    def __init__(self, options):
        self.build = options.build.resolve()
        self.steps = options.steps
        self.output = (options.output or self.build / "demo").resolve()
        self.output.mkdir(parents=True, exist_ok=True)
        self.reprise = self.build / "tools" / "reprise"
        self.digits = self.build / "examples" / "digits" / "digits"
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("REPRISE_") or "_SOFT_" in name}
        self.choose_device(options.device)

    def choose_device(self, device):
        """Bare runs must be on the very device that the others are on."""
        doctor = subprocess.run([self.reprise, "doctor", "--json"], capture_output=True, text=True,
                                env=self.environment)
        if not doctor.stdout:
            sys.exit(f"demo: reprise doctor failed: {doctor.stderr.strip()}")
        found = json.loads(doctor.stdout)
        if not found["well"]:
            sys.exit("demo: nothing can run here; see `reprise doctor`")
        self.device = found["device"] if device == "auto" else device
        self.bare = dict(self.environment)
        if self.device == "soft":
            folder = self.build / "cuda" / "soft"
            self.bare["LD_LIBRARY_PATH"] = f"{folder}:{self.bare.get('LD_LIBRARY_PATH', '')}"

    def train(self, title, mode, *layer):
        """`layer` is what goes to `reprise run`; without it the job runs bare."""
        name = title.replace(" ", "-").replace(",", "")
        dump, losses, folder = (self.output / f"{name}{end}" for end in (".dump", ".losses", ""))
        command = [self.digits, mode, "--steps", str(self.steps), "--dump", dump,
                   "--losses", losses]
        if layer:
            command = [self.reprise, "run", "-q", "--device", self.device, "-o", folder,
                       *layer, "--", *command]
        for path in (dump, losses):
            path.unlink(missing_ok=True)
        run = Run(title)
        start = time.monotonic()
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE,
                                  env=self.environment if layer else self.bare)
        except subprocess.TimeoutExpired:
            sys.exit(f"demo: {title}: no end after {PATIENCE} s")
        run.seconds = time.monotonic() - start
        if done.returncode != 0:
            sys.exit(f"demo: {title}: exit status {done.returncode}\n{done.stderr.strip()}")
        run.values = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
        run.bytes = dump.read_bytes() + losses.read_bytes()
        if layer:
            run.preserved = sum(json.loads(path.read_text()).get("bytes_preserved", 0)
                                for path in folder.glob("summary-*.json"))
        return run

    def find_divergence(self):
        """The hazard that came first, in a bare run that the layer only watches."""
        folder = self.output / "check"
        subprocess.run([self.reprise, "run", "-q", "--device", self.device, "-o", folder,
                        "-m", "check", "-c", examples / "declared.json", "--", self.digits,
                        "--checkpoint", "--steps", "2"],
                       check=True, stdout=subprocess.DEVNULL, env=self.environment)
        check = subprocess.run([self.reprise, "check", "--json", folder], capture_output=True,
                               text=True, env=self.environment)
        hazards = json.loads(check.stdout)["hazards"]
        return min(hazards, key=lambda hazard: hazard.get("order", 0), default=None)


def size(count):
    if count is None:
        return "-"
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def verdict(run, reference):
    if run is reference:
        return "the reference"
    return "identical" if run.bytes == reference.bytes else "DIFFERS"


def print_table(runs):
    reference = runs[0]
    row = "{:<22} {:>9} {:>8}  {:<8}  {:<8}  {:<8}  {:<8}  {:>9} {:>6}  {}"
    print(row.format("run", "loss", "accuracy", "param.", "running", "queue", "random", "preserved",
                     "time", "verdict"))
    for run in runs:
        print(row.format(run.title, run.values.get("loss", "- -").split()[-1],
                         run.values.get("test_accuracy", "-").split()[0],
                         *(run.digest(name) for name in STATE), size(run.preserved),
                         f"{run.seconds / reference.seconds:.2f}x", verdict(run, reference)))


def print_divergence(hazard):
    if hazard is None:
        print("check found no hazard")
        return
    what = hazard.get("buffer") or f"allocation {hazard.get('allocation')}"
    print(f"First to diverge: {what}, in step {hazard.get('step')}, by {hazard.get('writer')}: "
          f"a {hazard['hazard']}, met by {hazard.get('reader')} in a replay.")


def print_next(demo):
    def short(path):
        return os.path.relpath(path)

    reprise, check = short(demo.reprise), short(demo.output / "check")
    print(f"\nNext:\n  {reprise} check {check}"
          f"\n  {reprise} info {short(demo.output / 'regions-declared')}"
          f"\n  {reprise} dump --kernel 'bn_*' --step 1 {check}"
          f"\n  {reprise} run -m guard -c {short(examples / 'declared.json')} -- "
          f"{short(demo.digits)} --checkpoint")


def main():
    parser = argparse.ArgumentParser(prog="tools/dev demo", description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=root / "build", metavar="FOLDER")
    parser.add_argument("--output", type=pathlib.Path, metavar="FOLDER",
                        help="what the runs leave (default: demo in the build folder)")
    parser.add_argument("--steps", type=int, default=300, metavar="N")
    parser.add_argument("--device", choices=("auto", "cuda", "soft"), default="auto")
    demo = Demo(parser.parse_args())

    print(f"Training on the {demo.device} device, {demo.steps} steps, five times ...", flush=True)
    declared, discovered = examples / "declared.json", examples / "discovered.json"
    runs = [
        demo.train("eager", "--eager"),
        demo.train("checkpoint, bare", "--checkpoint"),
        demo.train("whole, declared", "--checkpoint", "-m", "guard", "-p", "whole",
                   "-c", declared),
        demo.train("regions, declared", "--checkpoint", "-m", "guard", "-p", "regions",
                   "-c", declared),
        demo.train("regions, discovered", "--checkpoint", "-m", "guard", "-p", "regions",
                   "-c", discovered),
    ]
    print_table(runs)
    hazard = demo.find_divergence()
    print()
    print_divergence(hazard)
    print_next(demo)

    reference, bare, *protected = runs
    failures = [f"{run.title} differs from eager" for run in protected
                if run.bytes != reference.bytes]
    if bare.bytes == reference.bytes:
        failures.append("bare checkpointing did not diverge")
    if hazard is None:
        failures.append("check found no hazard")
    for failure in failures:
        print(f"demo: {failure}", file=sys.stderr)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
