#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a compiler makes of addresses is proved, and each launch is compared with its access set.

usage: compiled.py REPRISE JOB PTX..."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from tap import claim, finish  # noqa: E402

REPRISE, JOB, *TEXTS = map(os.path.abspath, sys.argv[1:])
LAUNCHES = 6  # of each kernel
CAUGHT = 70  # the exit code of a job that an audit stopped


def audited(text, kernels, **environment):
    """The job's run, in which each launch is audited, and its summary."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([REPRISE, "run", "--device", "soft", "-m", "observe", "--audit", "1",
                              "--no-trace", "-q", "-o", folder, "--", JOB, text, *kernels],
                             capture_output=True, text=True, env=os.environ | environment)
        summaries = list(pathlib.Path(folder).glob("summary-*"))
        return run, json.loads(summaries[0].read_text()) if summaries else {}


for text in TEXTS:
    name = pathlib.Path(text).stem
    kernels = re.findall(r"^\.visible \.entry (\w+)", pathlib.Path(text).read_text(), re.M)
    proved = [kernel for kernel in kernels if not kernel.startswith("unproved")]
    run, summary = audited(text, kernels)
    claim(f"{name}: no launch of {len(kernels)} kernels writes outside its access set",
          run.returncode == 0, run.stderr)
    audits = summary.get("audits", 0)
    claim(f"{name}: {audits} of {len(kernels) * LAUNCHES} launches were compared: of all that are "
          "proved", audits == len(proved) * LAUNCHES and summary.get("audits_failed") == 0, summary)
    caught = audited(text, proved[:1], REPRISE_TEST_DISABLE="whole-claims")[0].returncode == CAUGHT
    claim(f"{name}: a launch that does write outside is caught", caught)
finish()
