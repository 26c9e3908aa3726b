#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a linear regression with Triton, whose tensors here are driver allocations.

usage: triton_job.py OUTPUT      writes every loss and then the weights, as bytes"""
import sys

import numpy as np
import triton
import triton.language as tl
from cuda.bindings import driver

POINTS, WIDTH, STEPS, BLOCK = 512, 32, 16, 64


@triton.jit
def predict(points, weight, wanted, error, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, WIDTH)
    x = tl.load(points + rows[:, None] * WIDTH + columns[None, :])
    guess = tl.sum(x * tl.load(weight + columns)[None, :], axis=1)
    tl.store(error + rows, guess - tl.load(wanted + rows))


@triton.jit
def update(points, error, weight, rate, COUNT: tl.constexpr, WIDTH: tl.constexpr):
    column = tl.program_id(0)
    rows = tl.arange(0, COUNT)
    slope = tl.sum(tl.load(points + rows * WIDTH + column) * tl.load(error + rows), axis=0)
    tl.store(weight + column, tl.load(weight + column) - rate * slope / COUNT)


def call(name, *words):
    status, *results = getattr(driver, name)(*words)
    assert status == driver.CUresult.CUDA_SUCCESS, f"{name}: {status}"
    return results[0] if results else None


class Tensor:
    """What Triton wants of a tensor: a type and an address."""
    dtype = tl.float32

    def __init__(self, array):
        self.shape = array.shape
        self.address = int(call("cuMemAlloc", array.nbytes))
        call("cuMemcpyHtoD", self.address, array.ctypes.data, array.nbytes)

    def data_ptr(self):
        return self.address

    def numpy(self):
        array = np.empty(self.shape, np.float32)
        call("cuMemcpyDtoH", array.ctypes.data, self.address, array.nbytes)
        return array


def main():
    call("cuInit", 0)
    call("cuCtxSetCurrent", call("cuDevicePrimaryCtxRetain", call("cuDeviceGet", 0)))
    random = np.random.default_rng(7)
    points = random.standard_normal((POINTS, WIDTH)).astype(np.float32)
    wanted = points @ random.standard_normal(WIDTH).astype(np.float32)
    points, wanted = Tensor(points), Tensor(wanted)
    weight, error = (Tensor(np.zeros(count, np.float32)) for count in (WIDTH, POINTS))
    losses = []
    for _ in range(STEPS):
        predict[(POINTS // BLOCK,)](points, weight, wanted, error, WIDTH, BLOCK)
        update[(WIDTH,)](points, error, weight, 0.5, POINTS, WIDTH)
        losses.append(np.square(error.numpy()).mean())
    assert losses[-1] < losses[0], "it did not learn"
    print(f"loss {losses[0]:.6f} {losses[-1]:.6f}")
    with open(sys.argv[1], "wb") as file:
        file.write(np.array(losses, np.float32).tobytes() + weight.numpy().tobytes())


if __name__ == "__main__":
    main()
