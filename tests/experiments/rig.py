# SPDX-License-Identifier: Apache-2.0
"""How the jobs of the experiments are run, planned and measured: each in a process of its own."""
import ctypes
import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent  # of the sources, or of a bundle
GIB = 1 << 30


class Absent(Exception):
    """It can't run here, and why."""


class Broken(Exception):
    """A job did what it must not."""


@dataclasses.dataclass
class Measured:
    """Of one process. Times and bytes are the device's; at scale, where sizes are scaled."""
    seed: int
    peak: int
    ns: int
    says: str


class Rig:
    """`scale` says how often smaller than told the job's sizes are: the model clock multiplies
    what operations move and execute by it, and what is reported here is at scale."""

    def __init__(self, build, device, scratch, clock="h100nl"):
        self.build, self.device, self.clock = build.resolve(), device, clock
        self.scratch = pathlib.Path(scratch)
        self.reprise = self.build / "tools" / "reprise"

    def program(self, name):
        path = self.build / "examples" / name / name
        if not path.exists():
            raise Absent(f"no {path}")
        return path

    def find_device(self):
        if self.device == "soft":
            return
        try:
            result = ctypes.CDLL("libcuda.so.1").cuInit(0)
        except OSError:
            raise Absent("no CUDA driver here") from None
        if result:
            raise Absent(f"no CUDA device here: cuInit answers {result}")

    def environment(self, scale):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("REPRISE_")}
        if self.device == "soft":
            model = self.scratch / f"clock-{scale}.json"
            if not model.exists():
                model.write_text(json.dumps({"version": 1, "base": self.clock, "name":
                                             f"{self.clock}, {scale} times", "bytes_scale": scale,
                                             "ops_scale": scale}))
            env |= {"REPRISE_SOFT_CLOCK": str(model), "REPRISE_SOFT_WORKERS": "1",
                    "REPRISE_CACHE": str(self.scratch / "proofs")}
        return env

    def run(self, *layer, command, scale, seed):
        """(the process, its summary)"""
        output = pathlib.Path(tempfile.mkdtemp(dir=self.scratch))
        done = subprocess.run([self.reprise, "run", "-q", "--no-trace", "--device", self.device,
                               "-o", output / "out", *map(str, layer), "--",
                               *map(str, command), "--seed", str(seed)],
                              capture_output=True, text=True, env=self.environment(scale))
        if "OUT_OF_MEMORY" in done.stderr and self.device != "soft":
            raise Absent(f"the device has too little memory: {done.stderr.strip()[:200]}")
        found = sorted((output / "out").glob("summary-*.json"))
        return done, json.loads(found[0].read_text()) if found else {}, output / "out"

    def measure(self, *layer, command, scale, seed):
        done, summary, _ = self.run(*layer, command=command, scale=scale, seed=seed)
        if done.returncode or not summary:
            raise Broken(f"{' '.join(map(str, layer))}: exit status {done.returncode}: "
                         f"{done.stderr.strip()[-300:]}")
        costs, plan = summary["step_costs"], summary.get("plan", {})
        if plan and not plan["in_force"]:
            raise Broken(f"the plan fell: {plan.get('reason')}")
        return Measured(seed, summary["device_peak_bytes"] * scale,
                        plan.get("measured_ns", costs["last_ns"]), done.stdout)

    def profile(self, contract, command, scale):
        """The folder with the profile of a guarded run. Its seed is none of the cohort's."""
        done, _, output = self.run("-m", "guard", "-p", "regions", "-c", contract,
                                   command=command, scale=scale, seed=0)
        if done.returncode or not (output / "profile.json").exists():
            raise Broken(f"no profile: {done.stderr.strip()[-300:]}")
        return output

    def plan(self, profile, budget, policy, scale):
        """(the plan as `reprise plan --json` tells it, the file); None where none fits."""
        path = pathlib.Path(tempfile.mkdtemp(dir=self.scratch)) / "plan.json"
        done = subprocess.run([self.reprise, "plan", profile, "-q", "--json", "-b",
                               str(budget // scale), "-p", policy, "-o", path],
                              capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise Broken(f"plan: {done.stderr.strip()}")
        told = json.loads(done.stdout)
        if done.returncode == 1:
            return told, None
        plan = json.loads(path.read_text())
        words = plan["made_for"]["job"].split(" ")
        plan["made_for"]["job"] = " ".join(words[:-1] + ["*"])  # any seed
        path.write_text(json.dumps(plan))
        return told, path

    def compare(self, profile, picture):
        """Every baseline over budgets, in the model."""
        done = subprocess.run([self.reprise, "plan", profile, "-q", "--json", "--compare",
                               "--force", "--svg", picture], capture_output=True, text=True)
        if done.returncode:
            raise Broken(f"plan --compare: {done.stderr.strip()}")
        return {one["name"]: one for one in json.loads(done.stdout)["baselines"]}
