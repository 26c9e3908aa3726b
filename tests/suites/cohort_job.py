# SPDX-License-Identifier: Apache-2.0
"""What the jobs of the cohort have in common, whatever they are written in: sizes, the handwritten
digits that they train on, the loop over steps, and what it writes down.

A job has
  random                  numpy's generator, from which the order of the samples is drawn
  upload(images, labels)  a batch on its device
  step(x, y, replay)      trains on it; everything that is left behind, by name
  bytes_of(buffer)        the bytes of one of those
  marked(name)            an NVTX range"""
import hashlib
import json
import pathlib
import re
import struct
import sys

import numpy as np

BATCH, PIXELS, HIDDEN, CLASSES = 32, 64, 24, 10


def read_digits(path):
    """Images of 64 pixels from 0 to 1, and their digits (tools/develop/fetch_digits.py)."""
    data = path.read_bytes()
    assert data[:8] == b"digits8\n", f"{path}: no digits"
    count, pixels = struct.unpack_from("<II", data, 8)
    rows = np.frombuffer(data, np.uint8, offset=16).reshape(count, pixels + 1)
    return rows[:, :-1].astype(np.float32) / 16, rows[:, -1].astype(np.int32)


def condition_of(job):
    """Of the class HiddenBuffer it is hidden-buffer."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", job.__name__).lower()


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def train(*jobs):
    """Runs the one of these classes that the last words of the command line ask for:
    CONDITION eager|replay SEED STEPS DIGITS OUTPUT. OUTPUT gets a line a step."""
    condition, mode, seed, steps, digits, output = sys.argv[-6:]
    images, labels = read_digits(pathlib.Path(digits))
    job = {condition_of(one): one for one in jobs}[condition](int(seed))
    with open(output, "w", buffering=1, encoding="utf-8") as lines:
        for _ in range(int(steps)):
            rows = job.random.permutation(len(labels))[:BATCH]
            x, y = job.upload(images[rows], labels[rows])
            with job.marked("step"):
                left = job.step(x, y, mode == "replay")
            lines.write(json.dumps({name: digest(job.bytes_of(buffer))
                                    for name, buffer in left.items()}) + "\n")
