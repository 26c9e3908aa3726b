# SPDX-License-Identifier: Apache-2.0
"""Whether kernels write what was claimed for them, and nothing else is touched."""
import shutil

from check import QUICK, Skip, Wrong, check
from place import told

INVALID = 99  # the exit code that the sanitizer is told to use


def audited(place, command, *layer):
    """Every launch held to its claim by comparing all other device memory."""
    done, summaries = place.layered("--no-trace", "--audit", 1, *layer, command=command)
    figures = {key: sum(summary[key] for summary in summaries)
               for key in ("launches", "audits", "audit_misses", "audits_failed")}
    words = "{audits} of {launches} launches compared, {audit_misses} misses".format(**figures)
    if done.returncode or figures["audit_misses"] or figures["audits_failed"]:
        raise Wrong(f"{words}; {told(done)}", **figures)
    if not figures["audits"]:
        raise Wrong(f"{words}: nothing was compared", **figures)
    return words, figures


def digits_of(place, steps, *more):
    return [place.digits, "--checkpoint", "--steps", steps, "--data", place.data, *more]


@check("claims, training kernels", "57 launches write nothing but what was claimed", QUICK)
def of_kernels(place):
    return audited(place, [place.program("gpu_kernel_bytes"), place.folder() / "bytes"])


@check("claims, digits", "a guarded training job writes nothing but what was claimed", QUICK)
def of_digits(place):
    contract = place.source("examples/digits/discovered.json")
    return audited(place, digits_of(place, 2 if place.quick else 20), "-m", "guard", "-c", contract)


@check("compute sanitizer", "no invalid access and no race by a guarded job")
def sanitized(place):
    tool = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path="/usr/local/cuda/bin:/opt/cuda/bin")
    if not tool:
        raise Skip("no compute-sanitizer here (it comes with a CUDA toolkit)")
    if place.rehearsal:
        raise Skip("compute-sanitizer needs a GPU")
    contract = place.source("examples/digits/declared.json")
    for kind in ("memcheck", "initcheck", "racecheck"):
        done = place.run(tool, "--tool", kind, "--target-processes", "all", "--error-exitcode",
                         INVALID, place.reprise, "run", "-q", "--device", "cuda", "--no-trace",
                         "-o", place.folder() / "out", "-m", "guard", "-c", contract, "--",
                         *digits_of(place, 3))
        if done.returncode:
            raise Wrong(f"{kind}: {told(done)}", output=done.stdout[-2000:])
    return "memcheck, initcheck and racecheck find nothing", {}
