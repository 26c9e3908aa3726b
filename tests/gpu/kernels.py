# SPDX-License-Identifier: Apache-2.0
"""PTX on this device against plain C, and against the software device: to the bit where the
instruction set defines the bits."""
import re
import struct

from check import QUICK, Skip, Wrong, check
from place import told

HOPPER = 90
# What the PTX manual leaves open: the bits of approximations, the order of atomic sums, the order
# and the precision of sums in matrix instructions.
OPEN = re.compile(r"\.approx|\b(atom|red)\b[^;]*\.add\.(noftz\.)?(f16|bf16|f32|f64)|\bw?mma\.")
NEAR = 2e-3  # of two results that need not be the same, relative; of values above 1 absolute


def table(place, program, seed=1):
    if place.about.get("major", 0) * 10 + place.about.get("minor", 0) < HOPPER:
        raise Skip("the table is for compute capability 9.0 and later")
    done = place.run(place.program(program), seed)
    if done.returncode:
        raise Wrong(done.stderr.strip().replace("\n", "; ")[:600] or told(done))
    rows = re.search(r"(\d+) (rows|conversions)|(\d+)\.", done.stdout)
    return done.stdout.strip().splitlines()[-2 if rows else -1], {"output": done.stdout[-2000:]}


@check("instructions", "every row of the conformance table as plain C has it", QUICK)
def conformance(place):
    return table(place, "gpu_conformance")


@check("conversions", "every conversion as plain C has it", QUICK)
def conversions(place):
    return table(place, "gpu_convert")


@check("approximations", "within the errors that the PTX manual allows", QUICK)
def approximations(place):
    return table(place, "gpu_approximations")


def leave_bytes(place, device, **more):
    """{(file, kernel, case, fill, buffer): bytes} of all kernel cases."""
    output = place.folder() / "bytes"
    done = place.good(place.program("gpu_kernel_bytes"), output, device=device, **more)
    data = output.read_bytes()
    rows = (line.split() for line in done.stdout.splitlines() if line.count(" ") == 6)
    return {tuple(row[:5]): data[int(row[5]):int(row[5]) + int(row[6])] for row in rows}


def is_open(place, file, kernel):
    """Whether the manual leaves bits of this kernel's results open."""
    path = "examples/digits/kernels.ptx" if file == "digits.ptx" else f"tests/kernels/{file}"
    text = place.source(path).read_text()
    body = re.search(rf"\.entry {kernel}\(.*?^\}}", text, re.S | re.M)
    return bool(OPEN.search(body[0] if body and "call" not in body[0] else text))


def is_near(one, other):
    for a, b in zip(struct.iter_unpack("<f", one), struct.iter_unpack("<f", other)):
        a, b = a[0], b[0]
        if a != b and not (a != a and b != b) and abs(a - b) > NEAR * max(1.0, abs(a), abs(b)):
            return False
    return True


@check("training kernels", "57 launches leave the bytes that the software device leaves", QUICK)
def training(place):
    here = leave_bytes(place, None)
    # A rehearsal compares the interpreter with another build of itself.
    soft = leave_bytes(place, "soft", **({"REPRISE_SOFT_ISA": "baseline", "REPRISE_SOFT_WORKERS": 1}
                                         if place.rehearsal else {}))
    same, near, wrong = 0, [], []
    for key in sorted(here.keys() | soft.keys()):
        label = " ".join(key[1:])
        one, other = here.get(key), soft.get(key)
        if one == other:
            same += 1
        elif one and other and is_open(place, key[0], key[1]) and is_near(one, other):
            near.append(label)
        else:
            wrong.append(label)
    words = (f"{same} buffers the same, {len(near)} near where bits are left open, "
             f"{len(wrong)} different")
    figures = {"same": same, "near": near, "different": wrong}
    if wrong or not same:
        raise Wrong(f"{words}: {', '.join(wrong[:6])}", **figures)
    return words, figures
