#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The digits example from outside: it learns, it repeats itself, it goes wrong under bare
checkpointing as its page says, and it speaks plainly.

usage: test_digits.py PROGRAM NVTX_LOG_LIBRARY DRIVER_FOLDER DATA"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, NVTX_LOG, DRIVER, DATA = sys.argv[1:5]
STATE = ["parameters", "moments", "running_statistics", "queue", "generator", "class_counts"]


def run(*options, **environment):
    environment = {**os.environ, "LD_LIBRARY_PATH": DRIVER, **environment}
    return subprocess.run([PROGRAM, *options], env=environment, capture_output=True, text=True,
                          timeout=300)


def train(*options, **environment):
    """What a run prints, as a dictionary."""
    result = run("--data", DATA, *options, **environment)
    if result.returncode != 0 or result.stderr:
        raise AssertionError(f"exit status {result.returncode}: {result.stderr}")
    return dict(line.split(" ", 1) for line in result.stdout.splitlines())


class Digits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_learns(self):
        shown = train("--steps", "200")
        accuracy = float(shown["test_accuracy"].split()[0])
        self.assertGreaterEqual(accuracy, 0.97)

    def test_repeats_itself(self):
        """Whatever the device does about workers and the order of blocks and streams."""
        runs = []
        for number, environment in enumerate([
                {}, {"REPRISE_SOFT_WORKERS": "1"}, {"REPRISE_SOFT_WORKERS": "3"},
                {"REPRISE_SOFT_SCHEDULE": "11"}, {"REPRISE_SOFT_SCHEDULE": "12"}]):
            losses, dump = (self.folder / f"{name}{number}" for name in ("losses", "dump"))
            shown = train("--steps", "12", "--losses", losses, "--dump", dump, **environment)
            runs.append((shown, losses.read_text(), dump.read_bytes()))
            self.assertEqual(len(losses.read_text().splitlines()), 12)
        for other in runs[1:]:
            self.assertEqual(runs[0], other)

    def test_seed_and_batch_count(self):
        same, other, wide = (train("--steps", "3", *more) for more in
                             ([], ["--seed", "2"], ["--batch", "96"]))
        for name in ("loss", "parameters", "queue"):
            self.assertNotEqual(same[name], other[name])
            self.assertNotEqual(same[name], wide[name])

    def test_bare_checkpointing_goes_wrong_in_silence(self):
        eager, bare = train("--steps", "5", "--eager"), train("--steps", "5", "--checkpoint")
        for name in ["loss", *STATE]:
            self.assertNotEqual(eager[name], bare[name], name)

    def test_what_a_replay_does_twice(self):
        """After one step: the last pools of a dump, by the layout of the model."""
        eager, bare = self.tail("--eager"), self.tail("--checkpoint")
        blocks = 64 * (128 + 96) // 4
        self.assertEqual(eager["offset"], blocks)
        self.assertEqual(bare["offset"], 2 * blocks)
        self.assertEqual(sum(eager["counts"]), 64)
        self.assertEqual(bare["counts"], [2 * count for count in eager["counts"]])
        self.assertEqual((eager["batches"], bare["batches"]), (1, 2))

    def tail(self, mode):
        dump = self.folder / "dump"
        train("--steps", "1", mode, "--dump", dump)
        data = dump.read_bytes()
        queue_bytes = 512 * (32 + 1) * 4

        def words(start, stop, size):
            part = data[start:stop or None]
            return [int.from_bytes(part[i:i + size], "little") for i in range(0, len(part), size)]

        return {"counts": words(-40, 0, 4), "offset": words(-48, -40, 8)[0],
                "batches": words(-56 - queue_bytes - 8, -56 - queue_bytes, 8)[0]}

    def test_one_step_shows_the_first_loss_alike(self):
        """The forward pass of the first step knows nothing of checkpointing yet."""
        eager, bare = train("--steps", "1", "--eager"), train("--steps", "1", "--checkpoint")
        self.assertEqual(eager["loss"], bare["loss"])

    def ranges(self, mode):
        log = self.folder / "ranges"
        train("--steps", "2", mode, NVTX_INJECTION64_PATH=NVTX_LOG, NVTX_LOG=str(log))
        lines = log.read_text().splitlines()
        self.assertEqual(lines.pop(), "0 left open")
        self.assertEqual(lines[:len(lines) // 2], lines[len(lines) // 2:])
        return lines[:len(lines) // 2]

    def test_ranges(self):
        segments = ["contrast", "block2", "block1"]
        forward = ["step", "step > forward/block1", "step > forward/block2",
                   "step > forward/contrast", "step > head", "step > backward",
                   "step > backward > backward/head"]
        backward = [[f"step > backward > {kind}/{name}" for kind in ("recompute", "backward")]
                    for name in segments]
        self.assertEqual(self.ranges("--checkpoint"),
                         [*forward, *sum(backward, []), "step > optimizer"])
        self.assertEqual(self.ranges("--eager"),
                         [*forward, *(pair[1] for pair in backward), "step > optimizer"])

    def one_line(self, status, *options, **environment):
        """All that the program says; the device may have a line of its own."""
        result = run(*options, **environment)
        self.assertEqual((result.returncode, result.stdout), (status, ""))
        lines = [line for line in result.stderr.splitlines()
                 if not line.startswith("reprise software device: ")]
        self.assertEqual(len(lines), 1, result.stderr)
        return lines[0]

    def test_help(self):
        result = run("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for option in ("--eager", "--checkpoint", "--steps", "--dump"):
            self.assertIn(option, result.stdout)

    def test_bad_options(self):
        self.assertIn("--stpes", self.one_line(2, "--stpes", "3"))
        self.assertIn("--steps", self.one_line(2, "--steps", "many"))
        self.assertIn("--steps", self.one_line(2, "--steps", "0"))
        self.assertIn("--batch", self.one_line(2, "--batch", "513"))
        self.assertIn("--seed", self.one_line(2, "--seed=-1"))
        self.assertIn("fast", self.one_line(2, "fast"))

    def test_missing_files(self):
        self.assertIn("fetch_digits", self.one_line(1, "--data", "/nowhere/digits.bin"))
        self.assertIn("/nowhere/k.ptx", self.one_line(1, "--data", DATA, "--kernels",
                                                      "/nowhere/k.ptx"))
        self.assertIn("not a file of digits", self.one_line(1, "--data", PROGRAM))

    def test_driver_errors(self):
        bad = self.folder / "bad.ptx"
        bad.write_text(".version 9.0\n.target sm_75\n.address_size 64\nnonsense\n")
        self.assertIn("cuModuleLoadData: CUDA_ERROR_INVALID_PTX",
                      self.one_line(1, "--data", DATA, "--kernels", bad))
        self.assertIn("cuInit: CUDA_ERROR_NO_DEVICE",
                      self.one_line(1, "--data", DATA, REPRISE_SOFT_DEVICES="0"))
        self.assertIn("libcuda.so.1", self.one_line(1, "--data", DATA, LD_LIBRARY_PATH=""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
