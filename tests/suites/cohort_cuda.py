#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job of the cohort in CUDA C, by way of a client library: cuda_core or pycuda. It knows nothing
of reprise.

usage: cohort_cuda.py CLIENT CONDITION eager|replay SEED STEPS DIGITS OUTPUT

As cohort_tinygrad.py, with the same conditions and the same sizes of state; activations are
allocated anew in every run of the segment."""
import importlib
import pathlib
import sys

import numpy as np
import nvtx

from cohort_job import BATCH, CLASSES, HIDDEN, PIXELS, train

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ("linear relu follow centre divide sum_columns lower scaled dropout advance head_slopes "
         "descend").split()


class Job:
    """A layer (the segment), a head, and by condition some state. A subclass is a condition."""
    width = PIXELS
    marked = staticmethod(nvtx.annotate)

    def __init__(self, seed):
        client = importlib.import_module(f"cohort_gpu_{sys.argv[1]}")
        self.gpu = client.Gpu((HERE / "cohort.cu").read_text(), NAMES)
        self.random = np.random.default_rng(seed)
        self.weight = self.values(self.width, HIDDEN)
        self.head = self.values(HIDDEN, CLASSES)
        self.velocity = self.gpu.upload(np.zeros(self.width * HIDDEN, np.float32))
        self.head_velocity = self.gpu.upload(np.zeros(HIDDEN * CLASSES, np.float32))
        self.rate = float(self.random.choice([0.05, 0.1, 0.2]))
        self.momentum = float(self.random.choice([0, 0.5, 0.9]))
        self.decay = float(self.random.choice([0.5, 0.75, 0.9]))
        self.state = {}
        self.start(seed)

    def values(self, *shape):
        return self.gpu.upload(self.random.standard_normal(shape).astype(np.float32) / 8)

    def upload(self, images, labels):
        batch = np.tile(images, self.width // PIXELS)
        return self.gpu.upload(batch), self.gpu.upload(labels)

    def bytes_of(self, buffer):
        return self.gpu.bytes_of(buffer)

    def zeros(self, name, count):
        self.state[name] = self.gpu.upload(np.zeros(count, np.float32))
        return self.state[name]

    def start(self, seed):
        pass

    def launch(self, name, threads, *words):
        """Python's numbers as what the kernels take."""
        self.gpu.launch(name, threads, *(
            np.float32(word) if isinstance(word, float) else
            np.int32(word) if isinstance(word, int) else word for word in words))

    def take(self, x):
        """Where the segment reads its batch."""
        self.x = self.source = x

    def linear(self):
        u = self.gpu.empty(BATCH * HIDDEN)
        self.launch("linear", BATCH * HIDDEN, self.source, self.weight, u, BATCH, self.width,
                        HIDDEN)
        return u

    def map(self, kernel, u, *words):
        h = self.gpu.empty(BATCH * HIDDEN)
        self.launch(kernel, BATCH * HIDDEN, u, *words[:1], h, BATCH * HIDDEN, *words[1:])
        return h

    def forward(self):
        return self.map("relu", self.linear())

    def between(self):
        pass

    def replayed(self):
        return self.forward()

    def step(self, x, y, replay):
        self.take(x)
        with self.marked("forward/segment"):
            h = self.forward()
        self.between()
        if replay:
            del h
            with self.marked("recompute/segment"):
                h = self.replayed()
        gpu = self.gpu
        loss, g = gpu.empty(BATCH), gpu.empty(BATCH * HIDDEN)
        slopes = gpu.empty(BATCH * CLASSES)
        self.launch("head_slopes", BATCH, h, self.head, y, loss, g, slopes, BATCH, HIDDEN, CLASSES)
        self.launch("descend", self.width * HIDDEN, self.weight, self.velocity, self.x, g, h,
                    self.rate, self.momentum, BATCH, self.width, HIDDEN)
        self.launch("descend", HIDDEN * CLASSES, self.head, self.head_velocity, h, slopes,
                    np.uint64(0), self.rate, self.momentum, BATCH, HIDDEN, CLASSES)
        return {"loss": loss, "activation": h, "weight": self.weight, "head": self.head,
                "velocity": self.velocity, **self.state}


class Functional(Job):
    """No state: the control. A bare replay is right."""


class HiddenBuffer(Job):
    """A running mean that the segment reads and updates, and that no caller sees."""

    def start(self, seed):
        self.mean = self.zeros("mean", 3 * HIDDEN)

    def centred(self):
        u = self.linear()
        self.launch("follow", HIDDEN, u, self.mean, self.decay, BATCH, HIDDEN, 0)
        h = self.gpu.empty(BATCH * HIDDEN)
        self.launch("centre", BATCH * HIDDEN, u, self.mean, h, BATCH * HIDDEN, HIDDEN)
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
        self.gpu.copy(self.kept, x)

    def between(self):
        self.launch("lower", BATCH * self.width, self.kept, 0.25, BATCH * self.width)


class LocalView(Job):
    """The segment reads rows inside a larger buffer, part of which is then overwritten through
    the whole of it."""

    def start(self, seed):
        self.pool = self.zeros("pool", 3 * BATCH * PIXELS)

    def inside(self, row):
        return np.uint64(self.gpu.address(self.pool) + 4 * row * PIXELS)

    def take(self, x):
        self.x, self.source = x, self.inside(BATCH)
        self.launch("scaled", BATCH * PIXELS, x, self.source, 1.0, BATCH * PIXELS)

    def between(self):
        self.launch("scaled", BATCH * PIXELS, self.x, self.inside(BATCH // 2), self.decay,
                        BATCH * PIXELS)


class Generator(Job):
    """Dropout by a counter-based generator in device memory."""

    def start(self, seed):
        self.generator = self.gpu.upload(np.array([seed, 0], np.uint32))
        self.state = {"generator": self.generator}

    def forward(self):
        u = self.map("relu", self.linear())
        h = self.gpu.empty(BATCH * HIDDEN)
        self.launch("dropout", BATCH * HIDDEN, self.generator, u, h, BATCH * HIDDEN)
        self.launch("advance", 1, self.generator, BATCH * HIDDEN)
        return h


class Nested(HiddenBuffer):
    """A segment in the segment, each replayed in a range of its own."""

    def start(self, seed):
        super().start(seed)
        self.scale = self.zeros("scale", 5 * HIDDEN)

    def outer(self, range_name):
        with self.marked(range_name):
            u = self.centred()
        self.launch("follow", HIDDEN, u, self.scale, self.decay, BATCH, HIDDEN, 1)
        h = self.gpu.empty(BATCH * HIDDEN)
        self.launch("divide", BATCH * HIDDEN, u, self.scale, h, BATCH * HIDDEN, HIDDEN)
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
        self.launch("sum_columns", HIDDEN, h, self.seen, BATCH, HIDDEN)
        return h

    def replayed(self):
        return super().forward()


if __name__ == "__main__":
    train(Functional, HiddenBuffer, InPlace, LocalView, Generator, Nested, EarlyStopped)
