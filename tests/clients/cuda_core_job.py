#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a linear regression with cuda.core: kernels compiled by NVRTC, launched on a stream.

usage: cuda_core_job.py OUTPUT      writes every loss and then the weights, as bytes"""
import sys

import numpy as np
from cuda.core import (Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions,
                       launch)

KERNELS = r"""
extern "C" __global__ void predict(const float *points, const float *weight, const float *wanted,
                                   float *error, int width)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = -wanted[i];
    for (int k = 0; k < width; k++)
        sum += points[i * width + k] * weight[k];
    error[i] = sum;
}

extern "C" __global__ void update(const float *points, const float *error, float *weight,
                                  float rate, int count, int width)
{
    __shared__ float part[256];
    float sum = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        sum += error[i] * points[i * width + blockIdx.x];
    part[threadIdx.x] = sum;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        weight[blockIdx.x] -= rate * part[0] / count;
}
"""
POINTS, WIDTH, STEPS = 512, 32, 16


def as_array(buffer):
    """Pinned host memory, seen as an array."""
    return np.from_dlpack(buffer).view(np.float32)


class Job:
    def __init__(self):
        self.device = Device()
        self.device.set_current()
        self.stream = self.device.create_stream()
        architecture = "".join(str(part) for part in self.device.compute_capability)
        program = Program(KERNELS, "c++", ProgramOptions(std="c++17", arch=f"sm_{architecture}"))
        module = program.compile("ptx")
        self.predict, self.update = (module.get_kernel(name) for name in ("predict", "update"))

    def upload(self, array):
        buffer = self.device.allocate(array.nbytes, stream=self.stream)
        staging = self.pinned(array.nbytes)
        as_array(staging)[:] = array.ravel()
        staging.copy_to(buffer, stream=self.stream)
        self.stream.sync()
        return buffer

    def pinned(self, size):
        return LegacyPinnedMemoryResource().allocate(size, stream=self.stream)

    def download(self, buffer):
        staging = self.pinned(buffer.size)
        buffer.copy_to(staging, stream=self.stream)
        self.stream.sync()
        return as_array(staging).copy()

    def launch(self, kernel, grid, block, *words):
        launch(self.stream, LaunchConfig(grid=grid, block=block), kernel, *words)


def main():
    random = np.random.default_rng(7)
    points = random.standard_normal((POINTS, WIDTH)).astype(np.float32)
    wanted = points @ random.standard_normal(WIDTH).astype(np.float32)
    job, losses = Job(), []
    points, wanted = job.upload(points), job.upload(wanted)
    weight, error = (job.upload(np.zeros(count, np.float32)) for count in (WIDTH, POINTS))
    for _ in range(STEPS):
        job.launch(job.predict, POINTS // 128, 128, points, weight, wanted, error, np.int32(WIDTH))
        job.launch(job.update, WIDTH, 256, points, error, weight, np.float32(0.5),
                   np.int32(POINTS), np.int32(WIDTH))
        losses.append(np.square(job.download(error)).mean())
    assert losses[-1] < losses[0], "it did not learn"
    print(f"loss {losses[0]:.6f} {losses[-1]:.6f}")
    with open(sys.argv[1], "wb") as file:
        file.write(np.array(losses, np.float32).tobytes() + job.download(weight).tobytes())


if __name__ == "__main__":
    main()
