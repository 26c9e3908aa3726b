#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job of the cohort in PyTorch: torch.utils.checkpoint replays the segment in the backward pass.

usage: cohort_torch.py CONDITION eager|replay SEED STEPS DIGITS OUTPUT

As cohort_tinygrad.py, with the same conditions and the same sizes of state. It needs a real
driver: exit status 77 where PyTorch finds none."""
import sys

SKIPPED = 77
try:
    import numpy as np
    import torch
    from torch.utils.checkpoint import checkpoint
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)
if not torch.cuda.is_available():
    print("skipped: PyTorch finds no CUDA device (it brings the CUDA runtime: a real driver)")
    sys.exit(SKIPPED)

from cohort_job import BATCH, CLASSES, HIDDEN, PIXELS, train

device = torch.device("cuda")


class Job:
    """A layer (the segment), a head, and by condition some state. A subclass is a condition."""
    width = PIXELS
    marked = staticmethod(torch.cuda.nvtx.range)

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.random = np.random.default_rng(seed)
        self.weight = self.parameter(self.width, HIDDEN)
        self.head = self.parameter(HIDDEN, CLASSES)
        self.rate, self.decay = 0.1, 0.75
        self.runs = 0
        self.state = {}
        self.start()

    def parameter(self, *shape):
        return (torch.randn(shape, device=device) / 8).requires_grad_()

    def upload(self, images, labels):
        return (torch.from_numpy(images).to(device),
                torch.from_numpy(labels).long().to(device))

    def bytes_of(self, tensor):
        return tensor.detach().cpu().numpy().tobytes()

    def zeros(self, name, *shape):
        self.state[name] = torch.zeros(shape, device=device)
        return self.state[name]

    def start(self):
        pass

    def take(self, x):
        """What the segment reads of its batch."""
        return x

    def forward(self, x):
        return (x @ self.weight).relu()

    def between(self, x):
        pass

    def segment(self, x):
        """It is in the range that tells its first run from its replay."""
        self.runs += 1
        with self.marked("forward/segment" if self.runs == 1 else "recompute/segment"):
            return self.forward(x)

    def step(self, x, y, replay):
        self.runs = 0
        x = self.take(x)
        if replay:
            # The generator is the layer's business here, as with preserve_rng_state left out.
            h = checkpoint(self.segment, x, use_reentrant=False, preserve_rng_state=False)
        else:
            h = self.segment(x)
        loss = torch.nn.functional.cross_entropy(h @ self.head, y)
        with torch.no_grad():
            self.between(x)
        loss.backward()
        with torch.no_grad():
            for parameter in (self.weight, self.head):
                parameter -= self.rate * parameter.grad
                parameter.grad = None
        return {"loss": loss, "weight": self.weight, "head": self.head, **self.state}


class Functional(Job):
    """No state: the control."""


class HiddenBuffer(Job):
    """A running mean that the segment reads and updates."""

    def start(self):
        self.mean = self.zeros("mean", 3, HIDDEN)

    def centred(self, x):
        u = x @ self.weight
        with torch.no_grad():
            self.mean.mul_(self.decay).add_(u.mean(0), alpha=1 - self.decay)
        return u - self.mean[0].clone()

    def forward(self, x):
        return self.centred(x).relu()


class InPlace(Job):
    """The segment's input is changed in place after the forward, past autograd's version count."""
    width = 2 * PIXELS

    def start(self):
        self.kept = self.zeros("kept", BATCH, self.width)

    def take(self, x):
        self.kept.data.copy_(torch.cat([x, x * x], dim=1))
        return self.kept

    def between(self, x):
        self.kept.data.sub_(0.25).relu_()


class LocalView(Job):
    """The segment reads a view into a pool, part of which is then overwritten by the base."""

    def start(self):
        self.pool = self.zeros("pool", 3 * BATCH, PIXELS)

    def take(self, x):
        self.pool.data[BATCH:2 * BATCH] = x
        return self.pool.data[BATCH:2 * BATCH]

    def between(self, x):
        self.pool.data[BATCH // 2:BATCH + BATCH // 2] = x.clone() * self.decay


class Generator(Job):
    """Dropout whose counter lies in device memory."""

    def start(self):
        self.generator = torch.tensor([1, 0], dtype=torch.int32, device=device)
        self.state = {"generator": self.generator}

    def forward(self, x):
        at = torch.arange(BATCH * HIDDEN, device=device, dtype=torch.int64)
        bits = (at + self.generator[1]) * 2654435761 % 4294967296
        self.generator[1] += BATCH * HIDDEN
        return (x @ self.weight).relu() * (bits % 4 > 0).reshape(BATCH, HIDDEN)


class Nested(HiddenBuffer):
    """A checkpoint in a checkpoint."""

    def start(self):
        super().start()
        self.scale = self.zeros("scale", 5, HIDDEN)

    def inner(self, x):
        with self.marked("forward/inner" if self.runs == 1 else "recompute/inner"):
            return self.centred(x)

    def forward(self, x):
        u = checkpoint(self.inner, x, use_reentrant=False, preserve_rng_state=False)
        with torch.no_grad():
            self.scale.mul_(self.decay).add_(u.abs().mean(0), alpha=1 - self.decay)
        return (u / (self.scale[0].clone() + 0.5)).relu()


class EarlyStopped(HiddenBuffer):
    """PyTorch ends a replay when the backward pass has what it needs."""

    def start(self):
        super().start()
        self.seen = self.zeros("seen", 7, HIDDEN)

    def forward(self, x):
        h = super().forward(x)
        with torch.no_grad():
            self.seen += h.sum(0)
        return h


if __name__ == "__main__":
    train(Functional, HiddenBuffer, InPlace, LocalView, Generator, Nested, EarlyStopped)
