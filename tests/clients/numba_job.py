#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a linear regression with numba-cuda: Python kernels that its NVVM compiles.

usage: numba_job.py OUTPUT      writes every loss and then the weights, as bytes"""
import sys

import numpy as np
from cuda.core import _linker
from numba import cuda
from numba.cuda import decorators

# nvJitLink would make machine code of the kernels. Where there is none, their PTX goes to the
# driver's own linker; here it counts as too old.
_linker._nvjitlink_has_version_symbol = lambda *_: False
decorators._have_nvjitlink = lambda: False

POINTS, WIDTH, STEPS = 512, 32, 16


@cuda.jit
def predict(points, weight, wanted, error):
    i = cuda.grid(1)
    if i < points.shape[0]:
        total = -wanted[i]
        for k in range(points.shape[1]):
            total += points[i, k] * weight[k]
        error[i] = total


@cuda.jit
def update(points, error, weight, rate):
    k = cuda.grid(1)
    if k < points.shape[1]:
        slope = np.float32(0)
        for i in range(points.shape[0]):
            slope += error[i] * points[i, k]
        weight[k] -= rate * slope / points.shape[0]


def main():
    random = np.random.default_rng(7)
    points = random.standard_normal((POINTS, WIDTH)).astype(np.float32)
    wanted = points @ random.standard_normal(WIDTH).astype(np.float32)
    on_device = cuda.to_device(points)
    targets, weight = cuda.to_device(wanted), cuda.to_device(np.zeros(WIDTH, np.float32))
    error, losses = cuda.device_array(POINTS, np.float32), []
    for _ in range(STEPS):
        predict[POINTS // 128, 128](on_device, weight, targets, error)
        update[1, WIDTH](on_device, error, weight, np.float32(0.5))
        losses.append(np.square(error.copy_to_host()).mean())
    assert losses[-1] < losses[0], "it did not learn"
    print(f"loss {losses[0]:.6f} {losses[-1]:.6f}")
    with open(sys.argv[1], "wb") as file:
        file.write(np.array(losses, np.float32).tobytes() + weight.copy_to_host().tobytes())


if __name__ == "__main__":
    main()
