#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job of the cohort in tinygrad: trains on the digits, and knows nothing of reprise.

usage: cohort_tinygrad.py CONDITION eager|replay SEED STEPS DIGITS OUTPUT

The seed also chooses the optimiser (with and without momentum), the type of the weights (32 and 16
bits), and, where the segment is the same work each time, whether it is a graph.

Each step runs a segment forward, then something that comes in between, then the head and the
backward pass. `eager` keeps the segment's activations; `replay` drops them and runs the segment
again for the backward pass, inside an NVTX range. OUTPUT gets a line a step: the bytes of
everything that the training leaves behind, as digests by name."""
import numpy as np
import nvtx
from tinygrad import Tensor, TinyJit, dtypes

from cohort_job import BATCH, CLASSES, HIDDEN, PIXELS, train


class Job:
    """A layer (the segment), a head, and by condition some state. A subclass is a condition.

    No two buffers of state have one size, and nothing else has theirs, so that a contract can
    name them by it."""
    width = PIXELS
    graphs = True  # the segment can be one
    marked = staticmethod(nvtx.annotate)

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        self.type = dtypes.half if seed % 3 == 2 else dtypes.float

        def values(*shape):
            return Tensor(random.standard_normal(shape).astype(np.float32) / 8).cast(
                self.type).realize()

        Tensor.manual_seed(seed)
        self.random = random
        self.weight, self.head = values(self.width, HIDDEN), values(HIDDEN, CLASSES)
        self.velocity = Tensor.zeros(self.width, HIDDEN, dtype=self.type).contiguous().realize()
        self.momentum = float(random.choice([0, 0.5]))
        self.rate = float(random.choice([0.05, 0.1, 0.2]))
        self.decay = float(random.choice([0.5, 0.75, 0.9]))
        self.state = {}
        self.start()
        if self.graphs and seed % 4 == 3:
            shorter = type(self).replayed is not Job.replayed
            replayed = self.jitted(self.replayed) if shorter else None
            self.forward = self.jitted(self.forward)
            self.replayed = replayed or self.forward

    def upload(self, images, labels):
        return Tensor(images).realize(), Tensor(labels).realize()

    def bytes_of(self, tensor):
        return tensor.numpy().tobytes()

    def jitted(self, function):
        """The same as a graph, from its third run on."""
        def body(x):
            kept, self.x = self.x, x
            try:
                return function()
            finally:
                self.x = kept
        graph = TinyJit(body)
        return lambda: graph(self.x)

    def linear(self):
        return self.x.cast(self.type) @ self.weight

    def start(self):
        pass

    def take(self, x):
        """Where the segment reads its batch."""
        self.x = x

    def forward(self):
        """The segment: launches that leave the activation."""
        return self.linear().relu().realize()

    def between(self):
        pass

    def replayed(self):
        return self.forward()

    def slope(self, h, g):
        """Backward through the segment."""
        return self.x.transpose() @ (g * (h > 0)).cast(dtypes.float)

    def step(self, x, y, replay):
        self.take(x)
        with self.marked("forward/segment"):
            h = self.forward()
        self.between()
        if replay:
            with self.marked("recompute/segment"):
                h = self.replayed()
        leaf = Tensor(h.uop)
        loss = (leaf @ self.head).sparse_categorical_crossentropy(y)
        g, g_head = loss.gradient(leaf, self.head)
        velocity = self.momentum * self.velocity + self.rate * self.slope(h, g).cast(self.type)
        weight = self.weight - velocity
        head = self.head - self.rate * g_head
        Tensor.realize(velocity, weight, head, loss)
        self.velocity.assign(velocity).realize()
        self.weight.assign(weight).realize()
        self.head.assign(head).realize()
        return {"loss": loss, "activation": h, "weight": self.weight, "head": self.head,
                "velocity": self.velocity, **self.state}


class Functional(Job):
    """No state: the control. A bare replay is right."""


class HiddenBuffer(Job):
    """A running mean that the segment reads and updates, and that no caller sees."""

    def start(self):
        self.mean = Tensor.zeros(3, HIDDEN).contiguous().realize()
        self.state = {"mean": self.mean}

    def forward(self):
        u = self.linear().realize()
        self.mean.assign(self.decay * self.mean + (1 - self.decay) * u.mean(0)).realize()
        return (u - self.mean[0]).relu().realize()


class InPlace(Job):
    """The segment's input is changed in place after the forward, by an operation that comes
    later."""
    width = 2 * PIXELS

    def start(self):
        self.kept = Tensor.zeros(BATCH, self.width).contiguous().realize()
        self.state = {"kept": self.kept}

    def take(self, x):
        self.x = x.cat(x * x, dim=1).realize()
        self.kept.assign(self.x).realize()

    def forward(self):
        return (self.kept.cast(self.type) @ self.weight).relu().realize()

    def between(self):
        self.kept.assign((self.kept - 0.25).relu()).realize()


class LocalView(Job):
    """The segment reads a view into a larger buffer, part of which is then overwritten through
    the whole of it."""

    def start(self):
        self.pool = Tensor.zeros(3 * BATCH, PIXELS).contiguous().realize()
        self.state = {"pool": self.pool}

    def take(self, x):
        self.x = x
        self.pool[BATCH:2 * BATCH].assign(x).realize()

    def forward(self):
        return (self.pool[BATCH:2 * BATCH].cast(self.type) @ self.weight).relu().realize()

    def between(self):
        self.pool[BATCH // 2:BATCH + BATCH // 2].assign(self.x * self.decay).realize()


class Generator(Job):
    """Dropout by tinygrad's own generator, whose counter lies in device memory."""

    def start(self):
        Tensor.rand(1).realize()
        self.state = {"generator": next(iter(Tensor._device_rng_counters.values()))}

    def forward(self):
        keep = (Tensor.rand(BATCH, HIDDEN) > 0.25).realize()
        return (self.linear().relu() * keep).realize()


class Nested(HiddenBuffer):
    """A segment in the segment, each replayed in a range of its own."""
    graphs = False  # ranges would begin inside it

    def inner(self, range_name):
        with self.marked(range_name):
            u = self.linear().realize()
            self.mean.assign(self.decay * self.mean + (1 - self.decay) * u.mean(0)).realize()
            return (u - self.mean[0]).realize()

    def start(self):
        super().start()
        self.scale = Tensor.ones(5, HIDDEN).contiguous().realize()
        self.state["scale"] = self.scale

    def outer(self, range_name):
        u = self.inner(range_name)
        self.scale.assign(self.decay * self.scale + (1 - self.decay) * u.abs().mean(0)).realize()
        return (u / (self.scale[0] + 0.5)).relu().realize()

    def forward(self):
        return self.outer("forward/inner")

    def replayed(self):
        return self.outer("recompute/inner")

    def slope(self, h, g):
        return super().slope(h, g / (self.scale[0] + 0.5))


class EarlyStopped(HiddenBuffer):
    """The replay ends once it has what the backward pass needs; the forward's last launches
    don't come again."""

    def start(self):
        super().start()
        self.seen = Tensor.zeros(7, HIDDEN).contiguous().realize()
        self.state["seen"] = self.seen

    def forward(self):
        h = super().forward()
        self.seen.assign(self.seen + h.sum(0)).realize()
        return h

    def replayed(self):
        return super().forward()


if __name__ == "__main__":
    train(Functional, HiddenBuffer, InPlace, LocalView, Generator, Nested, EarlyStopped)
