#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training job in PyTorch whose segment torch.utils.checkpoint replays, by what is hard in it.

usage: torch_job.py CASE eager|replay STEPS [cpu]

A line a step: digests of the loss and of all that training left. Exit status 77 where PyTorch or
its device is not there; `cpu` runs it without one."""
import hashlib
import os
import sys

SKIPPED = 77
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
try:
    import torch
    from torch.utils.checkpoint import checkpoint
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(SKIPPED)

BATCH, WIDTH, HIDDEN, CLASSES, ROWS = 64, 48, 96, 10, 256
device = torch.device("cpu" if sys.argv[4:] == ["cpu"] else "cuda")


class Range:
    """An NVTX range, where there is a device to have it."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        if device.type == "cuda":
            torch.cuda.nvtx.range_push(self.name)

    def __exit__(self, *_):
        if device.type == "cuda":
            torch.cuda.nvtx.range_pop()


class Job(torch.nn.Module):
    """Two layers in the segment, a head behind it. A subclass is a case."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(WIDTH, HIDDEN)
        self.second = torch.nn.Linear(HIDDEN, HIDDEN)
        self.head = torch.nn.Linear(HIDDEN, CLASSES)
        self.runs = 0
        self.start()

    def start(self):
        pass

    def middle(self, h):
        return h

    def segment(self, x):
        self.runs += 1
        with Range("forward/segment" if self.runs == 1 else "recompute/segment"):
            return self.second(torch.relu(self.middle(self.first(x))))

    def between(self, x, h):
        """After the forward pass, before the backward one."""

    def step(self, x, y, optimizer, replay):
        self.runs = 0
        # The generator is the layer's business here.
        h = checkpoint(self.segment, x, use_reentrant=False, preserve_rng_state=False) \
            if replay else self.segment(x)
        loss = torch.nn.functional.cross_entropy(self.head(h), y)
        with torch.no_grad():
            self.between(x, h)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss


class Checkpointed(Job):
    """Nothing but weights: the control."""


class BatchNorm(Job):
    """Running statistics, which a replay updates once more."""

    def start(self):
        self.norm = torch.nn.BatchNorm1d(HIDDEN)

    def middle(self, h):
        return self.norm(h)


class Dropout(Job):
    """A mask, from a generator whose place has moved on."""

    def middle(self, h):
        return torch.nn.functional.dropout(h, 0.25)


class InPlace(Job):
    """The segment's input is changed after the forward, past autograd's count of versions."""

    def between(self, x, h):
        x.data.mul_(0.5)


class Queue(Job):
    """Rows of the past, which the segment reads and the step then overwrites."""

    def start(self):
        self.register_buffer("queue", torch.randn(ROWS, HIDDEN))
        self.at = 0

    def middle(self, h):
        rows = self.queue.clone()  # what autograd keeps is not the buffer itself
        return h + 0.1 * torch.softmax(h @ rows.t() / 8, dim=1) @ rows

    def between(self, x, h):
        self.queue[self.at:self.at + BATCH] = h.detach()
        self.at = (self.at + BATCH) % ROWS


class Graphs(BatchNorm):
    """A captured graph, in which the segment and its replay lie; launched once a step."""

    def __init__(self):
        super().__init__()
        self.graph = None

    def step(self, x, y, optimizer, replay):
        if device.type != "cuda":
            return super().step(x, y, optimizer, replay)
        if self.graph is None:
            self.capture(x, y, optimizer, replay)
        self.x.copy_(x)
        self.y.copy_(y)
        self.graph.replay()
        return self.loss

    def capture(self, x, y, optimizer, replay):
        self.x, self.y = x.clone(), y.clone()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                super().step(self.x, self.y, optimizer, replay)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = super().step(self.x, self.y, optimizer, replay)


class Expandable(Queue):
    """The same in memory that the allocator maps piece by piece."""


CASES = {"checkpointed": Checkpointed, "batchnorm": BatchNorm, "dropout": Dropout,
         "in-place": InPlace, "queue": Queue, "graphs": Graphs, "expandable": Expandable}


def digest(tensor):
    data = tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes() \
        if tensor.dim() else tensor.detach().cpu().numpy().tobytes()
    return hashlib.sha256(data).hexdigest()[:12]


def main():
    case, mode, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
    if device.type == "cuda" and not torch.cuda.is_available():
        print("skipped: PyTorch finds no CUDA device")
        sys.exit(SKIPPED)
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    job = CASES[case]().to(device)
    optimizer = torch.optim.SGD(job.parameters(), lr=0.05, momentum=0.9)
    images, labels = torch.randn(8 * BATCH, WIDTH), torch.randint(CLASSES, (8 * BATCH,))
    for number in range(steps):
        rows = slice(number % 8 * BATCH, (number % 8 + 1) * BATCH)
        x, y = images[rows].clone().to(device), labels[rows].to(device)
        with Range("step"):
            loss = job.step(x, y, optimizer, mode == "replay")
        state = {"loss": loss, **job.state_dict()}
        print(number + 1, *(f"{name}={digest(tensor)}" for name, tensor in state.items()),
              flush=True)


if __name__ == "__main__":
    main()
