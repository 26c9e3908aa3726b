#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a deep network on the digits in tinygrad, keeps every activation, and knows nothing of
reprise.

usage: tinygrad_job.py DIGITS OUTPUT [LAYERS [BATCH [STEPS]]]

A layer is dense, an update of its running mean, and a rectifier around which its input goes too.
Its backward is written out, since tinygrad takes gradients of what is not realised yet. OUTPUT gets
all losses, weights and means, as bytes."""
import pathlib
import struct
import sys

import numpy as np
import nvtx
from tinygrad import Tensor

WIDTH, CLASSES, RATE = 64, 10, 0.05


def read_digits(path):
    data = path.read_bytes()
    count, pixels = struct.unpack_from("<II", data, 8)
    rows = np.frombuffer(data, np.uint8, offset=16).reshape(count, pixels + 1)
    return rows[:, :-1].astype(np.float32) / 16, rows[:, -1].astype(np.int32)


class Layer:
    def __init__(self, random):
        values = random.standard_normal((WIDTH, WIDTH)).astype(np.float32) / 16
        self.weight = Tensor(values).realize()
        self.mean = Tensor.zeros(WIDTH).contiguous().realize()

    def forward(self, x):
        self.x = x
        self.u = (x @ self.weight).realize()
        self.mean.assign(0.9 * self.mean + 0.1 * self.u.mean(0)).realize()
        self.h = (self.u - self.mean).relu().realize()
        return (x + self.h).realize()

    def backward(self, g):
        du = (g * (self.h > 0)).realize()
        change = (self.x.transpose() @ du).realize()
        below = (g + du @ self.weight.transpose()).realize()
        self.weight.assign(self.weight - RATE * change).realize()
        self.x = self.u = self.h = None
        return below


def train_step(layers, head, x, y):
    for number, layer in enumerate(layers):
        with nvtx.annotate(f"forward/layer{number}"):
            x = layer.forward(x)
    leaf = Tensor(x.uop)
    loss = (leaf @ head).sparse_categorical_crossentropy(y)
    g, g_head = loss.gradient(leaf, head)
    Tensor.realize(loss, g, g_head)
    head.assign(head - RATE * g_head).realize()
    for layer in reversed(layers):
        g = layer.backward(g)
    return loss.item()


def main():
    digits, output = map(pathlib.Path, sys.argv[1:3])
    words = sys.argv[3:] + ["12", "512", "4"][len(sys.argv) - 3:]
    count, batch, steps = map(int, words)
    images, labels = read_digits(digits)
    random = np.random.default_rng(7)
    layers = [Layer(random) for _ in range(count)]
    head = Tensor(random.standard_normal((WIDTH, CLASSES)).astype(np.float32) / 8).realize()
    losses = []
    for _ in range(steps):
        rows = random.permutation(len(labels))[:batch]
        x, y = Tensor(images[rows]).realize(), Tensor(labels[rows]).realize()
        with nvtx.annotate("step"):
            losses.append(train_step(layers, head, x, y))
    with output.open("wb") as file:
        file.write(np.asarray(losses, np.float32).tobytes())
        for layer in layers:
            file.write(layer.weight.numpy().tobytes() + layer.mean.numpy().tobytes())
    print(f"loss {losses[0]:.6f} {losses[-1]:.6f}")


if __name__ == "__main__":
    main()
