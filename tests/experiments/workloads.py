# SPDX-License-Identifier: Apache-2.0
"""The workloads of the experiments, and the methods that are held against each other on them."""
import dataclasses

from rig import GIB, ROOT

SPARSE = "6:13,4:13,5:14,6:12,5:13,4:12,6:13,5:13,4:13,6:13"  # see examples/banks/README.md
SMALL = "3:4,5:8,3:4,5:8"
FULL_UNIT = 1 << 27  # elements of half a GiB


@dataclasses.dataclass
class Workload:
    name: str
    about: str
    eager: list   # commands
    checkpoint: list
    contracts: dict  # by the state that they protect
    scale: int


@dataclasses.dataclass
class Method:
    """One way to run the job. `plans`: what the planner may choose; None for a fixed policy."""
    name: str
    checkpoint: bool = True
    policy: str = None
    plans: str = None
    contract: str = "declared"


def banks(rig, name, about, layers, unit, steps):
    """`unit` elements stand for FULL_UNIT."""
    folder = ROOT / "examples" / "banks"
    command = [rig.program("banks"), "--kernels", folder / "kernels.ptx", "--steps", steps,
               "--unit", unit, "--layers", layers]
    return Workload(name, about, [*command, "--eager"], [*command, "--checkpoint"],
                    {"declared": folder / "banks.json"}, FULL_UNIT // unit)


def contrast(rig, steps, probe, scale):
    folder = ROOT / "examples" / "digits"
    data = next((path for path in (folder / "digits.bin", ROOT / ".cache" / "digits.bin")
                 if path.exists()), "")
    command = [rig.program("digits"), "--kernels", folder / "kernels.ptx", "--data", data,
               "--contrast", "--batch", 512, "--steps", steps, "--probe", probe]
    return Workload("dense", "a contrast whose queue is overwritten as a whole in each step, then "
                    "a probe", [*command, "--eager"], [*command, "--checkpoint"],
                    {"declared": folder / "declared.json", "discovered": folder /
                     "discovered.json"}, scale)


EAGER = Method("eager", checkpoint=False)
WHOLE = Method("whole", policy="whole")
REGIONS = Method("regions", policy="regions")
RETAIN = Method("retain", policy="retain")
OR_WHOLE = Method("retain or whole", plans="whole")
OR_REGIONS = Method("retain or regions", plans="regions")
JOINT = Method("joint", plans="joint")
DISCOVERED = Method("regions, discovered", policy="regions", contract="discovered")

OF_BUDGETS = (EAGER, REGIONS, OR_WHOLE, OR_REGIONS, JOINT)
OF_PLENTY = (EAGER, REGIONS, RETAIN, OR_WHOLE, JOINT)
FEW, OF_DENSE = (EAGER, OR_WHOLE, JOINT), (EAGER, WHOLE, JOINT)
SEVEN = (EAGER, WHOLE, REGIONS, DISCOVERED, RETAIN, OR_WHOLE, JOINT)
BUDGETS = {"32GiB": 32 * GIB, "44GiB": 44 * GIB}
