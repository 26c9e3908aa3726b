# SPDX-License-Identifier: Apache-2.0
"""Where things are, on which device jobs run, and how they are started."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

from check import Wrong

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent  # of the sources, or of a bundle, which has the same folders
PATIENCE = 1800


class Place:
    """`build` has the programs; in a bundle it is the bundle itself. `device` is cuda or soft:
    a rehearsal."""

    def __init__(self, build, device, quick, scratch):
        self.build, self.device, self.quick = build.resolve(), device, quick
        self.scratch = pathlib.Path(scratch)
        self.rehearsal = device == "soft"
        self.reprise = self.build / "tools" / "reprise"
        self.soft = self.build / "cuda" / "soft"
        self.digits = self.build / "examples" / "digits" / "digits"
        self.data = next((path for path in (ROOT / "examples/digits/digits.bin",
                                            ROOT / ".cache" / "digits.bin") if path.exists()), None)
        self.about = {}
        self.python_of_jobs = sys.executable

    def source(self, path):
        return ROOT / path

    def program(self, name):
        return self.build / "tests" / "gpu" / name

    def folder(self):
        """A new empty one, gone at the end."""
        return pathlib.Path(tempfile.mkdtemp(dir=self.scratch))

    def environment(self, device=None, **more):
        """Of a bare job on the device. Nothing of ours that the user has set gets in."""
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("REPRISE_") and name != "LD_PRELOAD"}
        env["REPRISE_TEST_DEVICE"] = device or self.device
        if (device or self.device) == "soft":
            env["LD_LIBRARY_PATH"] = str(self.soft)
            env["REPRISE_SOFT_CAPABILITY"] = "9.0"
        runtime = os.environ.get("REPRISE_TEST_RUNTIME")  # of a sanitizer: it must be there first
        if runtime:
            env.update(LD_PRELOAD=runtime, ASAN_OPTIONS="detect_leaks=0")
        env.update(KERNELS=str(self.source("tests/kernels")),
                   DIGITS=str(self.source("examples/digits")))
        env.update({name: str(value) for name, value in more.items()})
        return env

    def run(self, *command, device=None, patience=PATIENCE, **more):
        """The finished process. One that does not end is ended, with all that it started."""
        job = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace",
                               cwd=self.folder(), env=self.environment(device, **more),
                               start_new_session=True)
        try:
            out, err = job.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            job.communicate()
            raise Wrong(f"{tell(command)} did not end within {patience} s") from None
        return subprocess.CompletedProcess(command, job.returncode, out, err)

    def good(self, *command, **more):
        """The same, and it must succeed."""
        done = self.run(*command, **more)
        if done.returncode:
            raise Wrong(f"{tell(command)}: {told(done)}")
        return done

    def python(self, script, *arguments, **more):
        return self.good(sys.executable, script, *arguments, **more)

    def layered(self, *layer, command, **more):
        """(the finished job, summaries of all its processes that called the driver)"""
        output = self.folder() / "out"
        done = self.run(self.reprise, "run", "-q", "--device", self.device, "-o", output, *layer,
                        "--", *command, **more)
        return done, [json.loads(path.read_text()) for path in sorted(output.glob("summary-*"))]


def tell(command):
    return " ".join(pathlib.Path(str(word)).name for word in command[:3])


def told(done):
    """Why a process failed, in a line."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("reprise: ")]
    last = (ours or lines or done.stdout.strip().splitlines() or ["no word"])[-1]
    code = done.returncode
    how = f"signal {-code}" if code < 0 else f"exit status {code}"
    return f"{how}: {last[:300]}"


def tap_counts(text):
    """(passed, failed, skipped, the failed lines) of a program that reports as TAP."""
    cases = re.findall(r"^(not )?ok \d+ - (.*)$", text, re.M)
    skipped = [name for _, name in cases if "# SKIP" in name]
    failed = [name for no, name in cases if no and "# SKIP" not in name]
    return len(cases) - len(skipped) - len(failed), len(failed), len(skipped), failed
