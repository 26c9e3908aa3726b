#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job in CuPy that runs a segment again: a queue that is overwritten in between.

usage: cupy_job.py eager|replay STEPS

A line a step: digests of what it left. Exit status 77 where CuPy or its device is not there."""
import hashlib
import sys

SKIPPED = 77
try:
    import cupy
    from cupy.cuda import nvtx
    if cupy.cuda.runtime.getDeviceCount() == 0:
        raise ImportError("CuPy finds no device")
except Exception as missing:  # a driver that does not start has many ways to say so
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

ROWS, WIDTH = 64, 96


def segment(x, weight, queue):
    return cupy.tanh(x @ weight) + queue.mean(0)


def main():
    mode, steps = sys.argv[1], int(sys.argv[2])
    cupy.cuda.set_allocator(None)  # each array is an allocation of the driver's
    random = cupy.random.RandomState(1)
    weight = random.standard_normal((WIDTH, WIDTH), dtype=cupy.float32)
    queue = random.standard_normal((ROWS, WIDTH), dtype=cupy.float32)
    for number in range(steps):
        nvtx.RangePush("step")
        x = random.standard_normal((ROWS, WIDTH), dtype=cupy.float32)
        nvtx.RangePush("forward/segment")
        h = segment(x, weight, queue)
        nvtx.RangePop()
        queue[...] = 0.5 * (queue + h)
        if mode == "replay":
            nvtx.RangePush("recompute/segment")
            h = segment(x, weight, queue)
            nvtx.RangePop()
        weight -= 0.01 * (x.T @ h) / ROWS
        nvtx.RangePop()
        print(number + 1, *(f"{name}={hashlib.sha256(array.get().tobytes()).hexdigest()[:12]}"
                            for name, array in (("weight", weight), ("queue", queue))), flush=True)


if __name__ == "__main__":
    main()
