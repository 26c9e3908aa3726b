# SPDX-License-Identifier: Apache-2.0
"""Whether the layer sees every kernel that runs: its count against CUPTI's."""
import sys

import frameworks
from check import QUICK, Skip, Wrong, check
from place import HERE, told

JOB = HERE / "launches_job.py"


def counted(place, command, **more):
    """(launches that the layer saw, kernels that CUPTI saw)"""
    counts = place.folder() / "counts"
    more["KERNEL_COUNTS"] = counts
    if not place.rehearsal:
        more["CUDA_INJECTION64_PATH"] = place.program("kernel_counter.so")
    done, summaries = place.layered("-m", "observe", command=command, **more)
    if done.returncode:
        raise Wrong(told(done))
    if not counts.exists():
        raise Skip("no CUPTI here (libcupti.so.13 or .12 in the loader's path)")
    rows = [[int(word) for word in line.split()] for line in counts.read_text().splitlines()]
    if any(lost for _, _, lost in rows):
        raise Skip("CUPTI lost records: its count is none")
    return (sum(summary["launches"] for summary in summaries),
            sum(kernels for _, kernels, _ in rows))


def compared(place, command, **more):
    seen, ran = counted(place, command, **more)
    words = f"the layer saw {seen} launches, CUPTI {ran} kernels"
    if seen != ran or not ran:
        raise Wrong(words, layer=seen, cupti=ran)
    return words, {"layer": seen, "cupti": ran}


@check("launch counts", "as many launches seen as CUPTI has kernels", QUICK)
def of_the_driver(place):
    more = [place.program("kernel_counter.so")] if place.rehearsal else []
    if place.rehearsal:  # where a driver would load it, and with something for a CUPTI
        library = place.folder()
        (library / "libcupti.so.13").symlink_to(place.program("stand_in_cupti.so"))
        return compared(place, [sys.executable, JOB, place.source("tests/laws/kernels.ptx"), *more],
                        LD_LIBRARY_PATH=f"{library}:{place.soft}")
    return compared(place, [sys.executable, JOB, place.source("tests/laws/kernels.ptx")])


@check("launch counts, PyTorch", "the same where a framework and its libraries launch")
def of_torch(place):
    python = frameworks.need(place, "torch")
    return compared(place, [python, HERE / "torch_job.py", "dropout", "eager", "3"])
