#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on the handwritten digits with tinygrad, which knows nothing of reprise.

usage: tinygrad_job.py DIGITS OUTPUT mlp|cnn|large-cnn [STEPS [BATCH]]

OUTPUT gets every loss, then every parameter and buffer, as bytes. The step is a jit function:
after two runs tinygrad replays it as CUDA graphs whose nodes it patches."""
import pathlib
import struct
import sys
import time

import numpy as np
from tinygrad import Context, Device, Tensor, TinyJit, dtypes, nn


def read_digits(path):
    data = path.read_bytes()
    assert data[:8] == b"digits8\n"
    count, pixels = struct.unpack_from("<II", data, 8)
    rows = np.frombuffer(data, np.uint8, offset=16).reshape(count, pixels + 1)
    return rows[:, :-1].astype(np.float32) / 16, rows[:, -1].astype(np.int32)


class Mlp:
    """64-96-10, the shape of examples/digits."""

    def __init__(self):
        self.first, self.last = nn.Linear(64, 96), nn.Linear(96, 10)

    def __call__(self, x):
        return self.last(self.first(x).relu())


class Cnn:
    """Two convolutions with batch normalisation, whose running statistics are state."""

    def __init__(self):
        self.conv1, self.norm1 = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm(16)
        self.conv2, self.norm2 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm(32)
        self.last = nn.Linear(32 * 4, 10)

    def __call__(self, x):
        x = self.norm1(self.conv1(x.reshape(-1, 1, 8, 8))).relu().max_pool2d()
        x = self.norm2(self.conv2(x)).relu().max_pool2d()
        return self.last(x.flatten(1))


class LargeCnn:
    """The network of tinygrad's own MNIST example; the digits are enlarged to its 28x28."""

    def __init__(self):
        self.convolutions = [nn.Conv2d(1, 32, 5), nn.Conv2d(32, 32, 5),
                             nn.Conv2d(32, 64, 3), nn.Conv2d(64, 64, 3)]
        self.norms = [nn.BatchNorm(32), nn.BatchNorm(64)]
        self.last = nn.Linear(576, 10)

    def __call__(self, x):
        x = x.reshape(-1, 1, 8, 1, 8, 1).expand(-1, 1, 8, 3, 8, 3).reshape(-1, 1, 24, 24)
        x = x.pad((2, 2, 2, 2))
        for half in range(2):
            for convolution in self.convolutions[2 * half:2 * half + 2]:
                x = convolution(x).relu()
            x = self.norms[half](x).max_pool2d()
        return self.last(x.flatten(1))


NETWORKS = {"mlp": Mlp, "cnn": Cnn, "large-cnn": LargeCnn}


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    digits, output, kind = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    steps, batch = (int(word) for word in (sys.argv[4:] + ["8", "64"][len(sys.argv) - 4:]))
    Tensor.manual_seed(7)
    images, labels = read_digits(digits)
    model = NETWORKS[kind]()
    optimiser = nn.optim.Adam(nn.state.get_parameters(model), lr=0.01)

    @TinyJit
    @Context(TRAINING=1)
    def step(x, y):
        optimiser.zero_grad()
        loss = model(x).sparse_categorical_crossentropy(y).backward()
        optimiser.step()
        return loss.realize()

    order = np.random.default_rng(7).permutation(len(labels) // batch * batch)
    losses, seconds, work = [], [], []
    for number in range(steps):
        rows = order[number * batch % len(order):][:batch]
        start, worked = time.monotonic(), time.process_time()
        losses.append(step(Tensor(images[rows]), Tensor(labels[rows], dtype=dtypes.int32)).item())
        seconds.append(time.monotonic() - start)
        work.append(time.process_time() - worked)

    state = nn.state.get_state_dict(model)
    with output.open("wb") as file:
        file.write(np.asarray(losses, np.float32).tobytes())
        for name in sorted(state):
            file.write(state[name].numpy().tobytes())
    print(f"device {Device.DEFAULT}\nloss {losses[0]:.6f} {losses[-1]:.6f}\n"
          f"seconds_a_step {median(seconds[steps // 2:]):.5f}\n"
          f"processor_seconds_a_step {median(work[steps // 2:]):.5f}")
    assert losses[-1] < losses[0], "it did not learn"


if __name__ == "__main__":
    main()
