#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tiled matrix product and the training of a small regression with Halide's CUDA back end,
which knows nothing of reprise.

usage: halide_job.py OUTPUT      writes the product, every loss and the weights, as bytes"""
import sys

import halide as hl
import numpy as np

SIZE, POINTS, WIDTH, STEPS = 128, 512, 32, 12
TILE = 16
target = hl.Target(hl.TargetOS.Linux, hl.TargetArch.X86, 64,
                   [hl.TargetFeature.CUDA, hl.TargetFeature.CUDACapability61])


def tiled_product(a, b):
    """Tiles of the inputs go through shared memory."""
    x, y, k = hl.Var("x"), hl.Var("y"), hl.RDom([(0, SIZE)], "k")
    xo, yo, xi, yi = (hl.Var(name) for name in ("xo", "yo", "xi", "yi"))
    ko, ki = hl.RVar("ko"), hl.RVar("ki")
    total, product = hl.Func("total"), hl.Func("product")
    left, right = hl.Func("left"), hl.Func("right")
    left[x, y], right[x, y] = a[x, y], b[x, y]
    total[x, y] = 0.0
    total[x, y] += left[k, y] * right[x, k]
    product[x, y] = total[x, y]

    product.gpu_tile(x, y, xo, yo, xi, yi, TILE, TILE)
    total.compute_at(product, xo).gpu_threads(x, y)
    total.update().split(k, ko, ki, TILE).reorder(ki, x, y, ko).gpu_threads(x, y)
    for part in (left, right):
        part.compute_at(total, ko).gpu_threads(x, y)
    return product.realize([SIZE, SIZE], target)


class Regression:
    """One pipeline a half of the step; parameters of the pipelines are replaced each step."""

    def __init__(self):
        i, k = hl.Var("i"), hl.Var("k")
        block, thread = hl.Var("block"), hl.Var("thread")
        self.points, self.weight = (hl.ImageParam(hl.Float(32), 2, "points"),
                                    hl.ImageParam(hl.Float(32), 1, "weight"))
        self.wanted = hl.ImageParam(hl.Float(32), 1, "wanted")
        self.error_in = hl.ImageParam(hl.Float(32), 1, "error_in")
        over_width, over_points = hl.RDom([(0, WIDTH)]), hl.RDom([(0, POINTS)])

        self.error = hl.Func("error")
        self.error[i] = -self.wanted[i]
        self.error[i] += self.points[over_width, i] * self.weight[over_width]
        self.error.gpu_tile(i, block, thread, 64)
        self.error.update().gpu_tile(i, block, thread, 64)

        slope = hl.Func("slope")
        slope[k] = 0.0
        slope[k] += self.error_in[over_points] * self.points[k, over_points]
        self.after = hl.Func("after")
        self.after[k] = self.weight[k] - slope[k] * (1.0 / POINTS)
        self.after.gpu_tile(k, block, thread, WIDTH)
        for pipeline in (self.error, self.after):
            pipeline.compile_jit(target)

    def step(self, points, wanted, weight):
        self.points.set(points)
        self.wanted.set(wanted)
        self.weight.set(weight)
        error = self.error.realize([POINTS], target)
        self.error_in.set(error)
        after = self.after.realize([WIDTH], target)
        error.copy_to_host()
        return float(np.square(np.array(error)).mean()), after


def host(buffer):
    buffer.copy_to_host()
    return np.array(buffer, copy=True)


def main():
    random = np.random.default_rng(7)
    a, b = (random.random((SIZE, SIZE), np.float32) for _ in range(2))
    product = host(tiled_product(hl.Buffer(a), hl.Buffer(b)))
    # numpy's first axis is Halide's last, or not: the product shows which order was taken.
    wrong = min(abs(product - order).max() for order in (a @ b, b @ a))
    assert wrong < 1e-3, f"the product is off by {wrong}"

    points = random.standard_normal((POINTS, WIDTH)).astype(np.float32)
    wanted = points @ random.standard_normal(WIDTH).astype(np.float32)
    points, wanted = hl.Buffer(np.asfortranarray(points.T)), hl.Buffer(wanted)
    weight = hl.Buffer(np.zeros(WIDTH, np.float32))
    regression, losses = Regression(), []
    for _ in range(STEPS):
        loss, weight = regression.step(points, wanted, weight)
        losses.append(loss)
    assert losses[-1] < losses[0], "it did not learn"
    print(f"loss {losses[0]:.6f} {losses[-1]:.6f}")
    with open(sys.argv[1], "wb") as file:
        for part in (product, np.array(losses, np.float32), host(weight)):
            file.write(part.tobytes())


if __name__ == "__main__":
    main()
