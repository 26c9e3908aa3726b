#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a linear regression with Taichi, whose LLVM makes the kernels.

usage: taichi_job.py OUTPUT      writes every loss and then the weights, as bytes"""
import sys

import numpy as np
import taichi as ti

POINTS, WIDTH, STEPS = 512, 32, 16


def main():
    ti.init(arch=ti.cuda, offline_cache=False, device_memory_GB=1, log_level=ti.ERROR)
    assert ti.lang.impl.current_cfg().arch == ti.cuda, "Taichi found no device"
    points, weight = ti.field(ti.f32, (POINTS, WIDTH)), ti.field(ti.f32, WIDTH)
    wanted, error = ti.field(ti.f32, POINTS), ti.field(ti.f32, POINTS)

    @ti.kernel
    def predict():
        for i in error:
            total = -wanted[i]
            for k in range(WIDTH):
                total += points[i, k] * weight[k]
            error[i] = total

    @ti.kernel
    def update(rate: ti.f32):
        for k in weight:
            slope = 0.0
            for i in range(POINTS):
                slope += error[i] * points[i, k]
            weight[k] -= rate * slope / POINTS

    random = np.random.default_rng(7)
    data = random.standard_normal((POINTS, WIDTH)).astype(np.float32)
    points.from_numpy(data)
    wanted.from_numpy(data @ random.standard_normal(WIDTH).astype(np.float32))
    losses = []
    for _ in range(STEPS):
        predict()
        update(0.5)
        losses.append(np.square(error.to_numpy()).mean())
    assert losses[-1] < losses[0], "it did not learn"
    print(f"loss {losses[0]:.6f} {losses[-1]:.6f}")
    with open(sys.argv[1], "wb") as file:
        file.write(np.array(losses, np.float32).tobytes() + weight.to_numpy().tobytes())


if __name__ == "__main__":
    main()
