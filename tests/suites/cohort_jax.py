#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job of the cohort in JAX: compiled functions whose state is donated, so that XLA updates it in
place, and which the job runs again for the backward pass.

usage: cohort_jax.py CONDITION eager|replay SEED STEPS DIGITS OUTPUT

As cohort_tinygrad.py. In JAX a function can't change its inputs: a replay is wrong where a
donated buffer that it reads has been written since. It needs a real driver: exit status 77 where
JAX finds none; COHORT_JAX_ANYWHERE=1 runs it on what there is."""
import functools
import os
import sys

SKIPPED = 77
try:
    import jax
    import jax.numpy as jnp
    import numpy as np
    import nvtx
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)
if jax.default_backend() != "gpu" and not os.environ.get("COHORT_JAX_ANYWHERE"):
    print("skipped: JAX finds no GPU (it brings the CUDA runtime: a real driver)")
    sys.exit(SKIPPED)

from cohort_job import BATCH, CLASSES, HIDDEN, PIXELS, train

DECAY = 0.75
donating = functools.partial(jax.jit, donate_argnums=0)


@jax.jit
def linear(x, weight):
    return jax.nn.relu(x @ weight)


@donating
def follow(mean, u):
    return DECAY * mean + (1 - DECAY) * u.mean(0)


@jax.jit
def product(x, weight):
    return x @ weight


@jax.jit
def centre(u, mean):
    return jax.nn.relu(u - mean[0])


@donating
def spread(scale, u):
    return DECAY * scale + (1 - DECAY) * jnp.abs(u).mean(0)


@jax.jit
def divide(u, scale):
    return jax.nn.relu(u / (scale[0] + 0.5))


@donating
def add_up(seen, h):
    return seen + h.sum(0)


@jax.jit
def dropout(counter, h):
    at = jnp.arange(h.size, dtype=jnp.uint32) + counter[1]
    return h * (((at * jnp.uint32(2654435761)) >> 28) > 3).reshape(h.shape)


@donating
def advance(counter, by):
    return counter.at[1].add(by)


@donating
def fill(pool, x):
    return pool.at[BATCH:2 * BATCH].set(x)


@donating
def spoil(pool, x):
    return pool.at[BATCH // 2:BATCH + BATCH // 2].set(x * DECAY)


@jax.jit
def view(pool):
    return pool[BATCH:2 * BATCH]


@donating
def lower(kept):
    return jax.nn.relu(kept - 0.25)


@jax.jit
def slopes(h, head, y):
    def loss(h, head):
        logits = jax.nn.log_softmax(h @ head)
        return -logits[jnp.arange(BATCH), y].mean()
    return jax.value_and_grad(loss, argnums=(0, 1))(h, head)


@jax.jit
def descend(weight, head, x, h, g, g_head):
    return weight - 0.1 * x.T @ (g * (h > 0)), head - 0.1 * g_head


class Job:
    """A layer (the segment), a head, and by condition some state. A subclass is a condition."""
    width = PIXELS
    marked = staticmethod(nvtx.annotate)

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.weight, self.head = self.values(self.width, HIDDEN), self.values(HIDDEN, CLASSES)
        self.state = {}
        self.start(seed)

    def values(self, *shape):
        return jnp.asarray(self.random.standard_normal(shape).astype(np.float32) / 8)

    def upload(self, images, labels):
        return jnp.asarray(images), jnp.asarray(labels)

    def bytes_of(self, array):
        return np.asarray(array).tobytes()

    def zeros(self, name, *shape):
        self.state[name] = jnp.zeros(shape, jnp.float32)

    def start(self, seed):
        pass

    def take(self, x):
        self.x = x

    def forward(self):
        return linear(self.x, self.weight)

    def between(self):
        pass

    def replayed(self):
        return self.forward()

    def step(self, x, y, replay):
        self.take(x)
        with self.marked("forward/segment"):
            h = self.forward().block_until_ready()
        self.between()
        if replay:
            del h
            with self.marked("recompute/segment"):
                h = self.replayed().block_until_ready()
        loss, (g, g_head) = slopes(h, self.head, y)
        self.weight, self.head = descend(self.weight, self.head, self.x, h, g, g_head)
        return {"loss": loss, "activation": h, "weight": self.weight, "head": self.head,
                **self.state}


class Functional(Job):
    """No state: the control."""


class HiddenBuffer(Job):
    """A running mean, donated to its update."""

    def start(self, seed):
        self.zeros("mean", 3, HIDDEN)

    def centred(self):
        u = product(self.x, self.weight)
        self.state["mean"] = follow(self.state["mean"], u)
        return centre(u, self.state["mean"])

    def forward(self):
        return self.centred()


class InPlace(Job):
    """The segment's input is donated to an update after the forward."""
    width = 2 * PIXELS

    def take(self, x):
        self.x = jnp.concatenate([x, x * x], axis=1)
        self.state["kept"] = jnp.array(self.x, copy=True)

    def forward(self):
        return linear(self.state["kept"], self.weight)

    def between(self):
        self.state["kept"] = lower(self.state["kept"])


class LocalView(Job):
    """The segment reads a part of a pool that is updated in place."""

    def start(self, seed):
        self.zeros("pool", 3 * BATCH, PIXELS)

    def take(self, x):
        self.x = x
        self.state["pool"] = fill(self.state["pool"], x)

    def forward(self):
        return linear(view(self.state["pool"]), self.weight)

    def between(self):
        self.state["pool"] = spoil(self.state["pool"], self.x)


class Generator(Job):
    """Dropout by a counter that is donated to its update."""

    def start(self, seed):
        self.state["generator"] = jnp.array([seed, 0], jnp.uint32)

    def forward(self):
        h = dropout(self.state["generator"], linear(self.x, self.weight))
        self.state["generator"] = advance(self.state["generator"], h.size)
        return h


class Nested(HiddenBuffer):
    """A segment in the segment, each replayed in a range of its own."""

    def start(self, seed):
        super().start(seed)
        self.zeros("scale", 5, HIDDEN)

    def outer(self, range_name):
        with self.marked(range_name):
            u = self.centred().block_until_ready()
        self.state["scale"] = spread(self.state["scale"], u)
        return divide(u, self.state["scale"])

    def forward(self):
        return self.outer("forward/inner")

    def replayed(self):
        return self.outer("recompute/inner")


class EarlyStopped(HiddenBuffer):
    """The replay ends once it has what the backward pass needs."""

    def start(self, seed):
        super().start(seed)
        self.zeros("seen", 7, HIDDEN)

    def forward(self):
        h = super().forward()
        self.state["seen"] = add_up(self.state["seen"], h)
        return h

    def replayed(self):
        return super().forward()


if __name__ == "__main__":
    train(Functional, HiddenBuffer, InPlace, LocalView, Generator, Nested, EarlyStopped)
