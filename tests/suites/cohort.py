#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cohort: jobs in real frameworks that replay a segment, by condition, bare and guarded.

usage: cohort.py --build FOLDER --records FILE [--seeds N] [--steps N] [FRAMEWORK...]

Each case runs eagerly (its activations kept), replaying bare, and replaying under `reprise run
-m guard` with a contract that declares its state, with one that leaves it to discovery, and with
the one that `reprise discover` writes for the bare job, whose segments and steps must be those that
a person would write. Every step of every run is an execution, and is recorded as
  match       everything that training left after the step is the eager run's bytes
  divergence  something differs, and nobody said so
  rejection   the layer stopped the job, with its reason; so are the steps that did not come
Exit status 1 when a guarded run diverges, when a bare one diverges nowhere though its condition
has state, or when a run breaks by itself; 77 when no framework is there."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
PYTHON = SOURCE / ".cache" / "clients" / "venv" / "bin" / "python"
DIGITS = SOURCE / ".cache" / "digits.bin"
SKIPPED, STOPPED = 77, 70
PATIENCE = 600

# The state of each condition, by what a contract finds it with: the size of its allocation.
CONDITIONS = {
    "local-view": {"pool": 24576},
    "hidden-buffer": {"mean": 288},
    "in-place": {"kept": 16384},
    "functional": {},
    "generator": {"generator": 8},
    "nested": {"mean": 288, "scale": 480},
    "early-stopped": {"mean": 288, "seen": 672},
}
CONTROLS = {"functional"}
# What is inside a segment that is replayed as a whole says nothing more: discover leaves it out.
LEFT_OUT = {"nested": {"inner"}}
GUARDED = ("declared", "discovered", "found")

FRAMEWORKS = {
    "tinygrad": dict(job="cohort_tinygrad.py", needs=["tinygrad", "nvtx", "numpy"],
                     environment={"DEV": "CUDA:PTX", "CACHELEVEL": "0"}),
    "cuda.core": dict(job="cohort_cuda.py", client="cuda_core",
                      needs=["cuda.core", "nvtx", "numpy"], environment={}),
    "pycuda": dict(job="cohort_cuda.py", client="pycuda",
                   needs=["pycuda", "cuda.core", "nvtx", "numpy"], environment={}),
    # These bring the CUDA runtime, which starts on a real driver only, and come with the Python
    # that runs this; their jobs skip themselves where they find no device.
    "torch": dict(job="cohort_torch.py", needs=["torch", "numpy"], environment={}, real=True),
    "jax": dict(job="cohort_jax.py", needs=["jax", "nvtx", "numpy"], environment={}, real=True),
}


def contract(condition, state, without=frozenset()):
    """`state` is declared or discovered."""
    ranges = ["segment", "inner"] if condition == "nested" else ["segment"]
    ranges = [name for name in ranges if name not in without]
    text = {
        "version": 1,
        "segments": [{"name": name, "forward": {"nvtx": f"forward/{name}"},
                      "replay": {"nvtx": f"recompute/{name}"}} for name in ranges],
        "state": state, "policy": "regions", "step": {"nvtx": "step"},
    }
    if state == "declared":
        text["buffers"] = [{"name": name, "at": {"allocation": {"bytes": size}}}
                           for name, size in CONDITIONS[condition].items()]
    return text


def outline(proposed):
    """What of a contract does not depend on who wrote it."""
    return (sorted((str(segment["forward"]), str(segment["replay"]))
                   for segment in proposed["segments"]), proposed["state"], proposed.get("step"))


def call(command, environment):
    return subprocess.run([str(word) for word in command], env=environment, timeout=PATIENCE,
                          capture_output=True, text=True, errors="replace")


def interpreter(framework):
    return sys.executable if framework.get("real") else PYTHON


class Case:
    """One condition of one framework with one seed."""

    def __init__(self, options, framework, condition, seed, scratch):
        self.framework, self.condition, self.seed = framework, condition, seed
        self.steps, self.build, self.scratch = options.steps, options.build, scratch

    def reprise(self, *words, real=False):
        """The command that runs a job under the layer."""
        return [self.build / "tools" / "reprise", "run", "-q", "--device",
                "cuda" if real else "soft", *words, "--"]

    def found(self, command, environment):
        """The contract that is proposed for the job as it is."""
        folder, path = self.scratch / "observed", self.scratch / "found.json"
        call([*self.reprise("-m", "observe", "-o", folder), *command], environment)
        done = call([self.build / "tools" / "reprise", "discover", "--force", "-o", path, folder],
                    environment)
        if done.returncode:
            raise RuntimeError(f"{self.framework} {self.condition}: {done.stderr.strip()}")
        found = json.loads(path.read_text())
        wanted = contract(self.condition, "discovered", LEFT_OUT.get(self.condition, ()))
        if outline(found) != outline(wanted):
            raise RuntimeError(f"{self.framework} {self.condition}: discover proposes "
                               f"{outline(found)} for {outline(wanted)}")
        return path

    def run(self, how):
        """(what each step left behind, exit code, the layer's last word)."""
        about = FRAMEWORKS[self.framework]
        output = self.scratch / f"{how}.jsonl"
        output.unlink(missing_ok=True)
        client = [about["client"]] if "client" in about else []
        command = [interpreter(about), HERE / about["job"], *client, self.condition,
                   "eager" if how == "eager" else "replay", self.seed, self.steps, DIGITS, output]
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("REPRISE_") and name != "LD_PRELOAD"}
        environment.update(about["environment"])
        real = about.get("real", False)
        if not real:
            environment["LD_LIBRARY_PATH"] = str(self.build / "cuda" / "soft")
        if how in ("declared", "discovered"):
            path = self.scratch / f"{how}.json"
            path.write_text(json.dumps(contract(self.condition, how)))
        elif how == "found":
            path = self.found(command, environment)
            output.unlink(missing_ok=True)
        if how in GUARDED:
            command = [*self.reprise("-m", "guard", "-c", path, "-o", self.scratch / how,
                                     real=real), *command]
        done = call(command, environment)
        steps = output.read_text().splitlines() if output.exists() else []
        words = [line for line in done.stderr.splitlines() if line.startswith("reprise: ")]
        last = words[-1] if words else (done.stderr.strip().splitlines() or [""])[-1]
        return [json.loads(step) for step in steps], done.returncode, last

    def records(self):
        eager, code, words = self.run("eager")
        if code or len(eager) != self.steps:
            raise RuntimeError(f"{self.framework} {self.condition} eager: status {code}: {words}")
        for how in ("bare", *GUARDED):
            yield from self.judge(how, eager, *self.run(how))

    def judge(self, how, eager, steps, code, words):
        if code not in (0, STOPPED) or (code == 0 and len(steps) != len(eager)):
            raise RuntimeError(f"{self.framework} {self.condition} {how}: status {code}: {words}")
        for number, wanted in enumerate(eager):
            record = {"suite": "cohort", "case": f"{self.framework}/{self.seed}",
                      "framework": self.framework, "condition": self.condition, "run": how,
                      "seed": self.seed, "step": number + 1}
            if number >= len(steps):
                yield {**record, "outcome": "rejection", "reason": words}
                continue
            wrong = sorted(name for name in wanted if steps[number].get(name) != wanted[name])
            if wrong:
                yield {**record, "outcome": "divergence", "reason": ", ".join(wrong)}
            else:
                yield {**record, "outcome": "match", "reason": ""}


def is_there(framework):
    code = ("import importlib.util as u, sys\n"
            "sys.exit(not all(u.find_spec(m) for m in sys.argv[1:]))")
    about = FRAMEWORKS[framework]
    python = pathlib.Path(interpreter(about))
    if not python.exists() or not DIGITS.exists() or subprocess.run(
            [python, "-c", code, *about["needs"]], stderr=subprocess.DEVNULL).returncode:
        return False
    if not about.get("real"):
        return True
    with tempfile.NamedTemporaryFile() as output:
        return subprocess.run([python, HERE / about["job"], "functional", "eager", "1", "1", DIGITS,
                               output.name], stdout=subprocess.DEVNULL).returncode != SKIPPED


def complaints(records):
    """What must not be: a silent divergence under guard, a hazard that isn't one."""
    cases = {}
    for record in records:
        case = cases.setdefault((record["case"], record["condition"], record["run"]), [])
        case.append(record["outcome"])
    for (case, condition, how), outcomes in cases.items():
        what = f"{case} {condition}, {how}"
        if how != "bare" and "divergence" in outcomes:
            yield f"{what}: diverged in silence"
        if how == "bare" and condition in CONTROLS and set(outcomes) != {"match"}:
            yield f"{what}: a control differs from eager"
        if how == "bare" and condition not in CONTROLS and "divergence" not in outcomes:
            yield f"{what}: there is no hazard in it"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--records", type=pathlib.Path, required=True, metavar="FILE")
    parser.add_argument("--seeds", "--count", dest="seeds", type=int, default=1, metavar="N")
    parser.add_argument("--steps", type=int, default=3, metavar="N")
    parser.add_argument("--conditions", nargs="*", default=list(CONDITIONS), choices=CONDITIONS)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK")
    options = parser.parse_args()
    options.build = options.build.resolve()

    wanted = options.frameworks or list(FRAMEWORKS)
    present = [framework for framework in wanted if is_there(framework)]
    for framework in sorted(set(wanted) - set(present)):
        why = "it needs a real driver" if FRAMEWORKS[framework].get("real") else \
            "tools/dev clients gets it"
        print(f"cohort: no {framework} here ({why})", file=sys.stderr)
    if not present:
        sys.exit(SKIPPED)
    records, broken = [], []
    with open(options.records, "a", buffering=1, encoding="utf-8") as lines:
        for seed in range(1, options.seeds + 1):
            for framework in present:
                for condition in options.conditions:
                    with tempfile.TemporaryDirectory() as scratch:
                        case = Case(options, framework, condition, seed, pathlib.Path(scratch))
                        try:
                            for record in case.records():
                                records.append(record)
                                lines.write(json.dumps(record) + "\n")
                        except (RuntimeError, subprocess.TimeoutExpired) as error:
                            broken.append(str(error))
    broken += complaints(records)
    for line in broken:
        print(f"cohort: {line}", file=sys.stderr)
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
