#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job of the cohort with cuda.core: kernels by NVRTC, a stream, memory from the stream's pool.
It knows nothing of reprise.

usage: cohort_cuda_core.py CONDITION eager|replay SEED STEPS DIGITS OUTPUT

As cohort_tinygrad.py, with the same conditions and the same sizes of state; activations come from
the pool anew in every run of the segment."""
import hashlib
import json
import pathlib
import sys

import numpy as np
import nvtx
from cuda.core import (Device, LaunchConfig, LegacyPinnedMemoryResource, Program, ProgramOptions,
                       launch)

from digits import read_digits

BATCH, PIXELS, HIDDEN, CLASSES = 32, 64, 24, 10

KERNELS = r"""
extern "C" {
__global__ void linear(const float *x, const float *weight, float *u, int rows, int width, int out)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= rows * out)
        return;
    float sum = 0;
    for (int k = 0; k < width; k++)
        sum += x[at / out * width + k] * weight[k * out + at % out];
    u[at] = sum;
}

__global__ void relu(const float *u, float *h, int n)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        h[at] = u[at] > 0 ? u[at] : 0;
}

/* Decaying mean of the columns of u, in the first row of the state; `absolute` takes |u|. */
__global__ void follow(const float *u, float *state, float decay, int rows, int out, int absolute)
{
    const int at = threadIdx.x;
    if (at >= out)
        return;
    float sum = 0;
    for (int row = 0; row < rows; row++)
        sum += absolute ? fabsf(u[row * out + at]) : u[row * out + at];
    state[at] = decay * state[at] + (1 - decay) * sum / rows;
}

__global__ void centre(const float *u, const float *mean, float *h, int n, int out)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        h[at] = u[at] - mean[at % out];
}

__global__ void divide(const float *u, const float *scale, float *h, int n, int out)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        h[at] = u[at] / (scale[at % out] + 0.5f);
}

__global__ void sum_columns(const float *h, float *seen, int rows, int out)
{
    const int at = threadIdx.x;
    for (int row = 0; at < out && row < rows; row++)
        seen[at] += h[row * out + at];
}

__global__ void lower(float *kept, float by, int n)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        kept[at] = fmaxf(kept[at] - by, 0);
}

__global__ void scaled(const float *x, float *to, float by, int n)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        to[at] = by * x[at];
}

/* A counter-based generator: words 0 and 1 are the seed and the counter. */
__global__ void dropout(const unsigned *generator, const float *u, float *h, int n)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n)
        return;
    unsigned bits = (generator[0] ^ (generator[1] + at) * 2654435761u) * 2246822519u;
    bits = (bits ^ bits >> 15) * 3266489917u;
    h[at] = (bits ^ bits >> 16) >> 30 ? u[at] : 0;
}

__global__ void advance(unsigned *generator, unsigned by)
{
    generator[1] += by;
}

/* Softmax and cross entropy over the head: loss a row, slopes of h, and of the logits. */
__global__ void head_slopes(const float *h, const float *head, const int *y, float *loss, float *g,
                            float *logit_slopes, int rows, int out, int classes)
{
    const int row = threadIdx.x;
    if (row >= rows)
        return;
    float logits[16], most = -1e30f, sum = 0;
    for (int c = 0; c < classes; c++) {
        logits[c] = 0;
        for (int k = 0; k < out; k++)
            logits[c] += h[row * out + k] * head[k * classes + c];
        most = fmaxf(most, logits[c]);
    }
    for (int c = 0; c < classes; c++)
        sum += expf(logits[c] - most);
    loss[row] = logf(sum) + most - logits[y[row]];
    for (int c = 0; c < classes; c++)
        logit_slopes[row * classes + c] =
            (expf(logits[c] - most) / sum - (c == y[row])) / rows;
    for (int k = 0; k < out; k++) {
        g[row * out + k] = 0;
        for (int c = 0; c < classes; c++)
            g[row * out + k] += logit_slopes[row * classes + c] * head[k * classes + c];
    }
}

/* weight -= rate * x^T slopes, where a mask is given only through its positive elements. */
__global__ void descend(float *weight, const float *x, const float *slopes, const float *mask,
                        float rate, int rows, int width, int out)
{
    const int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= width * out)
        return;
    float sum = 0;
    for (int row = 0; row < rows; row++)
        if (!mask || mask[row * out + at % out] > 0)
            sum += x[row * width + at / out] * slopes[row * out + at % out];
    weight[at] -= rate * sum;
}
}
"""
NAMES = ("linear relu follow centre divide sum_columns lower scaled dropout advance head_slopes "
         "descend").split()


class Gpu:
    """A device, its stream, and the kernels."""

    def __init__(self):
        self.device = Device()
        self.device.set_current()
        self.stream = self.device.create_stream()
        self.pinned = LegacyPinnedMemoryResource()
        architecture = "".join(str(part) for part in self.device.compute_capability)
        options = ProgramOptions(std="c++17", arch=f"sm_{architecture}")
        module = Program(KERNELS, "c++", options).compile("ptx")
        self.kernels = {name: module.get_kernel(name) for name in NAMES}

    def empty(self, count):
        return self.device.allocate(4 * count, stream=self.stream)

    def upload(self, array):
        buffer, staging = self.empty(array.size), self.pinned.allocate(array.nbytes)
        np.from_dlpack(staging).view(array.dtype)[:] = array.ravel()
        staging.copy_to(buffer, stream=self.stream)
        self.stream.sync()
        return buffer

    def bytes_of(self, buffer):
        staging = self.pinned.allocate(buffer.size)
        buffer.copy_to(staging, stream=self.stream)
        self.stream.sync()
        return np.from_dlpack(staging).tobytes()

    def launch(self, name, threads, *words):
        words = [np.float32(word) if isinstance(word, float) else
                 np.int32(word) if isinstance(word, int) else word for word in words]
        config = LaunchConfig(grid=(threads + 127) // 128, block=min(threads, 128))
        launch(self.stream, config, self.kernels[name], *words)


class Job:
    """A layer (the segment), a head, and by condition some state. A subclass is a condition."""
    width = PIXELS

    def __init__(self, gpu, seed):
        self.gpu, self.random = gpu, np.random.default_rng(seed)
        self.weight = self.values(self.width, HIDDEN)
        self.head = self.values(HIDDEN, CLASSES)
        self.rate = float(self.random.choice([0.05, 0.1, 0.2]))
        self.decay = float(self.random.choice([0.5, 0.75, 0.9]))
        self.state = {}
        self.start(seed)

    def values(self, *shape):
        return self.gpu.upload(self.random.standard_normal(shape).astype(np.float32) / 8)

    def zeros(self, name, count):
        self.state[name] = self.gpu.upload(np.zeros(count, np.float32))
        return self.state[name]

    def start(self, seed):
        pass

    def take(self, x):
        """Where the segment reads its batch."""
        self.x = self.source = x

    def linear(self):
        u = self.gpu.empty(BATCH * HIDDEN)
        self.gpu.launch("linear", BATCH * HIDDEN, self.source, self.weight, u, BATCH, self.width,
                        HIDDEN)
        return u

    def map(self, kernel, u, *words):
        h = self.gpu.empty(BATCH * HIDDEN)
        self.gpu.launch(kernel, BATCH * HIDDEN, u, *words[:1], h, BATCH * HIDDEN, *words[1:])
        return h

    def forward(self):
        return self.map("relu", self.linear())

    def between(self):
        pass

    def replayed(self):
        return self.forward()

    def step(self, x, y, replay):
        self.take(x)
        with nvtx.annotate("forward/segment"):
            h = self.forward()
        self.between()
        if replay:
            del h
            with nvtx.annotate("recompute/segment"):
                h = self.replayed()
        gpu = self.gpu
        loss, g = gpu.empty(BATCH), gpu.empty(BATCH * HIDDEN)
        slopes = gpu.empty(BATCH * CLASSES)
        gpu.launch("head_slopes", BATCH, h, self.head, y, loss, g, slopes, BATCH, HIDDEN, CLASSES)
        gpu.launch("descend", self.width * HIDDEN, self.weight, self.x, g, h, self.rate, BATCH,
                   self.width, HIDDEN)
        gpu.launch("descend", HIDDEN * CLASSES, self.head, h, slopes, np.uint64(0), self.rate,
                   BATCH, HIDDEN, CLASSES)
        return {"loss": loss, "activation": h, "weight": self.weight, "head": self.head,
                **self.state}


class Functional(Job):
    """No state: the control. A bare replay is right."""


class HiddenBuffer(Job):
    """A running mean that the segment reads and updates, and that no caller sees."""

    def start(self, seed):
        self.mean = self.zeros("mean", 3 * HIDDEN)

    def centred(self):
        u = self.linear()
        self.gpu.launch("follow", HIDDEN, u, self.mean, self.decay, BATCH, HIDDEN, 0)
        h = self.gpu.empty(BATCH * HIDDEN)
        self.gpu.launch("centre", BATCH * HIDDEN, u, self.mean, h, BATCH * HIDDEN, HIDDEN)
        return h

    def forward(self):
        return self.map("relu", self.centred())


class InPlace(Job):
    """The segment's input is changed in place after the forward."""
    width = 2 * PIXELS

    def start(self, seed):
        self.kept = self.zeros("kept", BATCH * self.width)

    def take(self, x):
        self.x = x
        self.source = self.kept
        x.copy_to(self.kept, stream=self.gpu.stream)

    def between(self):
        self.gpu.launch("lower", BATCH * self.width, self.kept, 0.25, BATCH * self.width)


class LocalView(Job):
    """The segment reads rows inside a larger buffer, part of which is then overwritten through
    the whole of it."""

    def start(self, seed):
        self.pool = self.zeros("pool", 3 * BATCH * PIXELS)

    def inside(self, row):
        return np.uint64(int(self.pool.handle) + 4 * row * PIXELS)

    def take(self, x):
        self.x, self.source = x, self.inside(BATCH)
        self.gpu.launch("scaled", BATCH * PIXELS, x, self.source, 1.0, BATCH * PIXELS)

    def between(self):
        self.gpu.launch("scaled", BATCH * PIXELS, self.x, self.inside(BATCH // 2), self.decay,
                        BATCH * PIXELS)


class Generator(Job):
    """Dropout by a counter-based generator in device memory."""

    def start(self, seed):
        self.generator = self.gpu.upload(np.array([seed, 0], np.uint32))
        self.state = {"generator": self.generator}

    def forward(self):
        u = self.map("relu", self.linear())
        h = self.gpu.empty(BATCH * HIDDEN)
        self.gpu.launch("dropout", BATCH * HIDDEN, self.generator, u, h, BATCH * HIDDEN)
        self.gpu.launch("advance", 1, self.generator, BATCH * HIDDEN)
        return h


class Nested(HiddenBuffer):
    """A segment in the segment, each replayed in a range of its own."""

    def start(self, seed):
        super().start(seed)
        self.scale = self.zeros("scale", 5 * HIDDEN)

    def outer(self, range_name):
        with nvtx.annotate(range_name):
            u = self.centred()
        self.gpu.launch("follow", HIDDEN, u, self.scale, self.decay, BATCH, HIDDEN, 1)
        h = self.gpu.empty(BATCH * HIDDEN)
        self.gpu.launch("divide", BATCH * HIDDEN, u, self.scale, h, BATCH * HIDDEN, HIDDEN)
        return h

    def forward(self):
        return self.outer("forward/inner")

    def replayed(self):
        return self.outer("recompute/inner")


class EarlyStopped(HiddenBuffer):
    """The replay ends once it has what the backward pass needs."""

    def start(self, seed):
        super().start(seed)
        self.seen = self.zeros("seen", 7 * HIDDEN)

    def forward(self):
        h = super().forward()
        self.gpu.launch("sum_columns", HIDDEN, h, self.seen, BATCH, HIDDEN)
        return h

    def replayed(self):
        return super().forward()


CONDITIONS = {
    "local-view": LocalView,
    "hidden-buffer": HiddenBuffer,
    "in-place": InPlace,
    "functional": Functional,
    "generator": Generator,
    "nested": Nested,
    "early-stopped": EarlyStopped,
}


def main():
    condition, mode, seed, steps, digits, output = sys.argv[1:7]
    images, labels = read_digits(pathlib.Path(digits))
    gpu = Gpu()
    job = CONDITIONS[condition](gpu, int(seed))
    with open(output, "w", buffering=1, encoding="utf-8") as lines:
        for _ in range(int(steps)):
            rows = job.random.permutation(len(labels))[:BATCH]
            batch = np.tile(images[rows], job.width // PIXELS)
            x, y = gpu.upload(batch), gpu.upload(labels[rows])
            with nvtx.annotate("step"):
                left = job.step(x, y, mode == "replay")
            digests = {name: hashlib.sha256(gpu.bytes_of(buffer)).hexdigest()[:16]
                       for name, buffer in left.items()}
            lines.write(json.dumps(digests) + "\n")


if __name__ == "__main__":
    main()
