#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""discover: the contract that it writes for a job that names nothing runs, and is the one that was
written by hand.

usage: test_discover.py REPRISE DIGITS BANKS EXAMPLES TRACE_FROM_SCRIPT LAW_JOB KERNELS"""
import json
import pathlib
import re
import subprocess
import sys

import harness

DIGITS, BANKS, EXAMPLES, WRITER, LAW_JOB, KERNELS = (pathlib.Path(word).resolve()
                                                     for word in sys.argv[2:8])


def contract_of(name):
    example = "banks" if name == "banks" else "digits"
    return json.loads((EXAMPLES / example / f"{name}.json").read_text())


class Discover(harness.Case):
    def digits(self, *words, checkpoint=True, **changes):
        done = self.reprise("run", "-q", "-d", "soft", *words, "--", str(DIGITS), "--steps", "8",
                            "--checkpoint" if checkpoint else "--eager", **changes)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def discover(self, *words, code=0):
        done = self.reprise("discover", "--force", *words)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def proposed(self, *words):
        return json.loads(self.discover("-o", "-", *words).stdout)

    def segments(self, contract):
        return sorted(json.dumps({**segment, "name": ""}, sort_keys=True)
                      for segment in contract["segments"])

    def test_by_ranges(self):
        self.digits()
        self.assertEqual({**self.proposed(), "segments": self.segments(self.proposed())},
                         {**contract_of("discovered"),
                          "segments": self.segments(contract_of("discovered"))})

    def test_by_launches(self):
        self.digits()
        contract = self.proposed("--by", "launches")
        self.assertEqual(self.segments(contract), self.segments(contract_of("launches")))

    def test_what_it_writes_trains_as_without_replays(self):
        eager = self.digits(checkpoint=False)
        self.assertNotEqual(self.digits(), eager)
        for words in ([], ["--by", "launches"], ["--state", "declared"]):
            self.discover("-o", "found.json", *words)
            guarded = self.digits("-o", "guarded", "-m", "guard", "-c", "found.json")
            self.assertEqual(guarded, eager, words)

    def preserved(self, contract):
        self.digits("-o", "guarded", "-m", "guard", "-c", contract)
        summary, = self.folder.glob("guarded/summary-*.json")
        return json.loads(summary.read_text())["bytes_preserved"]

    def test_it_protects_the_bytes_that_the_hand_written_one_does(self):
        self.digits()
        self.discover("-o", "found.json", "--state", "declared")
        self.assertEqual(self.preserved("found.json"),
                         self.preserved(str(EXAMPLES / "digits" / "declared.json")))

    def banks(self, *words, way="--checkpoint"):
        done = self.reprise("run", "-q", "-d", "soft", *words, "--", str(BANKS), "--steps", "3",
                            "--unit", "4096", way)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_other_example(self):
        """Its hand-written contract names the same ranges, and one family of buffers."""
        eager, bare = self.banks("-o", "eager", way="--eager"), self.banks()
        self.assertNotEqual(bare, eager)
        by_hand = contract_of("banks")
        for state in "discovered", "declared":
            found = self.proposed("--state", state)
            self.assertEqual((self.segments(found), found["step"], found["state"]),
                             (self.segments(by_hand), by_hand["step"], state))
            self.discover("--state", state, "-o", "found.json")
            self.assertEqual(self.banks("-m", "guard", "-c", "found.json", "-o", "guarded"), eager)
        self.assertEqual(len(found["buffers"]), len(by_hand["buffers"]))

    def law(self, mode, *words):
        """A job whose backward pass is another thread's, as autograd's engine has it."""
        done = self.reprise("run", "-q", "-d", "soft", *words, "--", str(LAW_JOB), str(KERNELS),
                            "engine-thread", mode)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_replays_in_another_thread_than_their_forwards(self):
        eager, bare = self.law("eager", "-o", "eager"), self.law("replay")
        self.assertNotEqual(bare, eager)
        for words in ([], ["--state", "declared"]):
            told = self.discover("-o", "found.json", *words)
            self.assertIn("segment  forward/only (certain)", told.stdout)
            self.assertIn("launch again, in another thread, what the latest", told.stdout)
            guarded = self.law("replay", "-o", "guarded", "-m", "guard", "-c", "found.json")
            self.assertEqual(guarded, eager, words)

    def test_evidence(self):
        self.digits()
        told = self.discover("-o", "found.json").stdout
        self.assertIn("step     step\n  because  the range 'step' comes 8 times", told)
        self.assertRegex(told, r"segment  forward \(certain\)\n  forward  range forward/\*\n"
                               r"  replay   range recompute/\*, paired by what \* matches\n"
                               r"  because  24 of 24 ranges 'recompute/\*'")
        self.assertRegex(told, r"state    discovered: .*proved")
        self.assertRegex(told, r"philox_advance .*bytes 0 to 15 of allocation \d+ \(16 bytes\)")

    def test_a_job_without_replays(self):
        self.digits(checkpoint=False)
        done = self.discover("-o", "found.json", code=1)
        self.assertIn("comes again in a step is of 1, bn_batch_stats to bn_batch_stats, so few",
                      done.stderr)
        self.assertFalse((self.folder / "found.json").exists())

    def test_a_run_that_was_not_only_observed(self):
        for mode in "check", "guard":
            self.digits("-m", mode, "-c", str(EXAMPLES / "digits" / "declared.json"))
            done = self.discover("-o", "found.json", code=1)
            self.assertIn(f"this run was not only observed (mode {mode}); next: reprise run -- "
                          "COMMAND, then reprise discover", done.stderr)
            self.assertNotIn("marks no steps", done.stderr)

    def trace(self, *launches, repeated=4, verdict="exact", marked=True):
        """Of a job with four steps, some of which do these launches twice. Each kernel reads, by
        this verdict, and writes the memory beside it."""
        folder = self.folder / "traced"
        folder.mkdir(exist_ok=True)
        (folder / "trace-4242.rpt").unlink(missing_ok=True)
        lines, seq = ["property pid 4242", "property command job",
                      "define enter cuLaunchKernel call:UINT",
                      "define leave cuLaunchKernel call:UINT result:SINT"], 0
        for at in range(9):
            lines.append(f"note allocation allocation={at + 1} kind=device bytes={64 + at} "
                         f"address={4096 * (at + 1):#x} seq=0")
        for step in range(4):
            lines += ["note range range=step phase=begins"] if marked else []
            for kernel, memory in launches * (2 if step < repeated else 1):
                seq += 1
                lines += [f"enter cuLaunchKernel {seq}"]
                lines += [f"note access seq={seq} allocation={memory} offset=0 bytes=64 "
                          f"effect={effect} verdict={word}"
                          for effect, word in (("read", verdict), ("write", "exact"))]
                lines += [f"note launch seq={seq} kernel={kernel} grid_x=1",
                          f"leave cuLaunchKernel {seq} 0"]
            lines += ["note range range=step phase=ends"] if marked else []
        subprocess.run([WRITER, folder / "trace-4242.rpt"], input="\n".join(lines) + "\n",
                       check=True, text=True)
        return str(folder)

    def test_a_run_is_proposed_whole_or_not_at_all(self):
        told = self.discover("-o", "-", self.trace(("a", 1), ("b", 2), ("c", 3), ("d", 4)))
        self.assertIn("forward  launches a to d, match 0", told.stderr)
        told = self.discover("-o", "-", self.trace(("a", 1), ("b", 2), ("c", 3), ("a", 4)), code=1)
        self.assertIn("is of 4, a to a, and its last one's name", told.stderr)
        self.assertIn("NVTX ranges", told.stderr)

    def test_a_job_that_marks_nothing(self):
        told = self.discover("-o", "-", self.trace(("a", 1), ("b", 2), ("c", 3), marked=False),
                             code=1)
        self.assertIn("marks no steps by NVTX ranges", told.stderr)
        self.assertIn("mark them", told.stderr)

    def test_what_is_left_out_is_named(self):
        told = self.discover("-o", "-", self.trace(("a", 1), ("b", 2)), code=1)
        self.assertIn("is of 2, a to b, so few", told.stderr)
        told = self.discover("-o", "-", self.trace(("a", 1), ("b", 2), ("c", 3), repeated=1),
                             code=1)
        self.assertIn("in less than half of 4 steps", told.stderr)

    def test_what_only_may_be_read_is_a_guess(self):
        launches = ("a", 1), ("b", 2), ("c", 3)
        self.assertNotIn("guess", self.discover("-o", "-", self.trace(*launches)).stderr)
        told = self.discover("-o", "-", self.trace(*launches, verdict="reachable")).stderr
        self.assertEqual(told.count("(guess) bytes 0 to 63 of allocation"), 3, told)

    def test_what_a_call_writes_by_pointers_in_memory_is_asked_for(self):
        """A queue that a kernel finds by a table, of which no argument tells."""
        table, queue, out = 1, 2, 3
        lines, seq = ["property pid 4242", "property command job",
                      "define enter cuLaunchKernel call:UINT",
                      "define leave cuLaunchKernel call:UINT result:SINT"], 0
        for at, size in (table, 64), (queue, 4096), (out, 64):
            lines.append(f"note allocation allocation={at} kind=device bytes={size} "
                         f"address={4096 * at:#x} seq=0")

        def launch(kernel, reads, writes, verdict):
            nonlocal seq
            seq += 1
            lines.extend([f"enter cuLaunchKernel {seq}",
                          *(f"note access seq={seq} allocation={of} offset=0 "
                            f"bytes={4096 if of == queue else 64} effect={effect} verdict={how}"
                            for of, effect, how in ((reads, "read", "exact"),
                                                    (writes, "write", verdict))),
                          f"note launch seq={seq} kernel={kernel} grid_x=1",
                          f"leave cuLaunchKernel {seq} 0"])

        for _ in range(4):
            lines.append("note range range=step phase=begins")
            for name in "forward", "again":
                lines.append(f"note range range={name} phase=begins")
                launch("read", queue, out, "exact")
                launch("enqueue", table, table, "reachable")
                lines.append("note range range= phase=ends")
            lines.append("note range range= phase=ends")
        folder = self.folder / "table"
        folder.mkdir()
        subprocess.run([WRITER, folder / "trace-4242.rpt"], input="\n".join(lines) + "\n",
                       check=True, text=True)
        told = self.discover("-o", "-", str(folder)).stderr
        self.assertIn("not proved, first enqueue\n", told)
        self.assertIn("Forwards read 4160 bytes in 2 allocations that are not declared, most of "
                      "them in allocation 2: declare what is written there", told)

    def test_activations_in_memory_that_lasts_are_no_state(self):
        """A forward and the part of it that is its replay, each by way of memory of its own, as two
        graphs have it."""
        folder = self.folder / "graphs"
        folder.mkdir()
        lines, seq = ["property pid 4242", "property command job"], 0
        for at in range(4):
            lines.append(f"note allocation allocation={at + 1} kind=device bytes=64 "
                         f"address={4096 * (at + 1):#x} seq=0")
        for _ in range(4):
            lines.append("note range range=step phase=begins")
            for name, own, kernels in (("forward", 3, "abc"), ("again", 4, "ab")):
                lines.append(f"note range range={name} phase=begins")
                for kernel in kernels:
                    seq += 1
                    read, written = (1, own) if kernel == "a" else (own, 2)
                    lines += [f"note access seq={seq} allocation={memory} offset=0 bytes=64 "
                              f"effect={effect} verdict=exact"
                              for memory, effect in ((read, "read"), (written, "write"))]
                    lines.append(f"note launch seq={seq} kernel={kernel} grid_x=1")
                lines.append("note range range= phase=ends")
            lines.append("note range range= phase=ends")
        subprocess.run([WRITER, folder / "trace-4242.rpt"], input="\n".join(lines) + "\n",
                       check=True, text=True)
        segment, = self.proposed(str(folder))["segments"]
        self.assertEqual((segment["forward"], segment["replay"]),
                         ({"nvtx": "forward"}, {"nvtx": "again"}))

    def ranges(self, *steps, named="step", aside=(), old=False):
        """A trace of NVTX ranges in steps. Each is a name, or None for none, and calls: a kernel or
        "copy", what memory it reads, and what it writes; or a range within. `named`: what the
        steps' ranges are, of their number. `aside`: ranges of another thread, whose events stand
        behind all those of the first one. `old`: ranges do not tell when they began."""
        folder = self.folder / "ranges"
        folder.mkdir(exist_ok=True)
        (folder / "trace-4242.rpt").unlink(missing_ok=True)
        lines, others, seq = ["property pid 4242", "property command job",
                              *(f"define {end} {call} call:UINT{result}"
                                for call in ("cuMemcpy", "cuLaunchKernel")
                                for end, result in (("enter", ""), ("leave", " result:SINT"))),
                              *(["define note range range:NAME phase:NAME domain:HEX"] * old)
                              ], [], 0
        for at in range(9):
            lines.append(f"note allocation allocation={at + 1} kind=device bytes=64 "
                         f"address={4096 * (at + 1):#x} seq=0")

        def note(name, phase, lines):
            if name is not None:
                lines.append(f"note range range={name} phase={phase}" + f" seq={seq}" * (not old))

        def tell(name, *calls, lines=lines):
            nonlocal seq
            lines = others if name in aside else lines
            note(name, "begins", lines)
            for kernel, reads, *writes in calls:
                if isinstance(reads, tuple):
                    tell(kernel, reads, *writes, lines=lines)
                    continue
                seq += 1
                call = "cuMemcpy" if kernel == "copy" else "cuLaunchKernel"
                lines.append(f"enter {call} {seq}")
                lines.extend(f"note access seq={seq} allocation={memory} offset=0 bytes=64 "
                             f"effect={effect} verdict=exact"
                             for effect, of in (("read", reads), ("write", *writes))
                             for memory in of)
                if kernel != "copy":
                    lines.append(f"note launch seq={seq} kernel={kernel} grid_x=1")
                lines.append(f"leave {call} {seq} 0")
            note(name, "ends", lines)

        for number, step in enumerate(steps):
            note(named.format(number), "begins", lines)
            for part in step:
                tell(*part)
            note(named.format(number), "ends", lines)
        script = lines + ["thread"] * bool(others) + others
        subprocess.run([WRITER, folder / "trace-4242.rpt"], input="\n".join(script) + "\n",
                       check=True, text=True)
        return str(folder)

    def found(self, folder):
        """(what is told, each segment's forward, replay and pairing)"""
        done = self.discover("-o", "found.json", folder)
        contract = json.loads((self.folder / "found.json").read_text())
        reread = self.reprise("run", "-q", "-c", "found.json", "--", "true")
        self.assertEqual(reread.returncode, 0, reread.stderr)
        names = [segment["name"] for segment in contract["segments"]]
        self.assertEqual(len(names), len(set(names)))
        return done.stdout, [(segment["forward"]["nvtx"], segment["replay"]["nvtx"],
                              segment["pair"]) for segment in contract["segments"]]

    STATE, INPUT, OUT, KEPT = 1, 2, 3, (4, 5)

    def block(self, name, out=OUT):
        """Reads state and an input, and steps the state."""
        return name, ("use", [self.STATE, self.INPUT], [out]), ("ema", [self.STATE, self.INPUT],
                                                                [self.STATE])

    def copy(self, source, target):
        return None, ("copy", [source], [target])

    def test_one_input_for_two_forwards_tells_their_order_by_what_was_copied(self):
        def job(again):
            step = []
            for kept in self.KEPT:
                step += [(None, ("fill", [], [kept])), self.copy(kept, self.INPUT),
                         self.block("forward/s")]
            for kept in again:
                step += [self.copy(kept, self.INPUT), self.block("recompute/s")]
            return self.ranges(step, step, step)

        told, segments = self.found(job(self.KEPT))
        self.assertEqual(segments, [("forward/s", "recompute/s", "fifo")])
        self.assertIn("(certain)", told)
        self.assertIn("paired by the first forward that waits\n  because  6 of 6", told)
        told, segments = self.found(job(self.KEPT[::-1]))
        self.assertEqual(segments, [("forward/s", "recompute/s", "lifo")])
        self.assertIn("(certain)", told)

    def test_outputs_tell_the_order_where_inputs_do_not(self):
        for outs, order in (((3, 4, 3, 4), "fifo"), ((3, 4, 4, 3), "lifo"), ((3, 3, 3, 3), "lifo")):
            step = [(None, ("fill", [], [self.INPUT]))]
            step += [self.block(name, out) for name, out
                     in zip(("forward/s", "forward/s", "recompute/s", "recompute/s"), outs)]
            self.assertEqual(self.found(self.ranges(step, step))[1],
                             [("forward/s", "recompute/s", order)])

    def test_an_order_that_replays_contradict_is_a_guess(self):
        """The second forward is never replayed, and the first one's input comes back."""
        step = [(None, ("fill", [], [self.INPUT])), self.block("forward/s"),
                self.copy(self.INPUT, 4), (None, ("fill", [], [self.INPUT])),
                self.block("forward/s"), self.copy(4, self.INPUT), self.block("recompute/s")]
        told, _ = self.found(self.ranges(step * 3, step * 3))
        self.assertIn("segment  forward/s (guess)", told)
        self.assertIn("of them read what another forward that waits has read", told)

    def test_forwards_that_nobody_replays_are_no_queue(self):
        """An evaluation comes between each forward and its replay. In steps the first one that
        waits is right, and it is said on what that rests; across them neither is."""
        step = [(None, ("fill", [], [self.INPUT])), self.block("forward/s"),
                self.copy(self.INPUT, 4), (None, ("fill", [], [self.INPUT])),
                self.block("forward/s"), self.copy(4, self.INPUT), self.block("recompute/s")]
        told, segments = self.found(self.ranges(step, step, step))
        self.assertEqual(segments, [("forward/s", "recompute/s", "fifo")])
        self.assertIn("segment  forward/s (likely)", told)
        self.assertIn("3 forwards have no replay, and fit into this order", told)
        told, segments = self.found(self.ranges(step * 3, step * 3))
        self.assertEqual(segments, [("forward/s", "recompute/s", "lifo")])
        self.assertIn("segment  forward/s (guess)", told)

    def test_replays_of_another_thread_are_found(self):
        step = [self.FILL, self.block("forward/s"), self.block("recompute/s"), self.use("back", 3)]
        told, segments = self.found(self.ranges(step, step, aside=["recompute/s"]))
        self.assertEqual(segments, [("forward/s", "recompute/s", "lifo")])
        self.assertIn("segment  forward/s (certain)", told)
        self.assertIn("launch again, in another thread, what the latest 'forward/s'", told)
        self.assertIn("step     step\n", told)

    def test_a_replay_of_another_thread_is_one_of_its_step(self):
        """By their place in the trace all of them come behind the last step."""
        refilled = [self.FILL, self.block("rollout"), self.FILL, self.block("train")]
        done = self.discover("-o", "-", self.ranges(refilled, refilled, aside=["train"]), code=1)
        self.assertIn("rollout to train do the same work, but an input that both read was filled "
                      "anew in between", done.stderr)

    def test_what_another_thread_does_meanwhile_is_no_part_of_a_range(self):
        use, ema = self.block("")[1:]
        load = "load", ("gather", [7], [8]), ("copy", [8], [6])
        step = [self.FILL, ("forward", use, load, ema), ("recompute", use, ema),
                self.use("back", 3)]
        told, segments = self.found(self.ranges(step, step, aside=["load"]))
        self.assertEqual(segments, [("forward", "recompute", "lifo")])
        self.assertIn("segment  forward (certain)", told)
        self.discover("-o", "-", self.ranges(step, step), code=1)

    def test_launches_that_come_again_in_another_thread(self):
        work = [(kernel, [self.STATE, self.INPUT], [out])
                for kernel, out in (("a", 3), ("b", 4), ("c", 5))]
        step = [self.FILL, (None, *work), ("engine", *work)]
        for aside in ([], ["engine"]):
            segment, = self.proposed("--by", "launches",
                                     self.ranges(step, step, aside=aside))["segments"]
            self.assertEqual(segment["forward"],
                             {"launches": {"first": "a", "last": "c", "nth": 0}})

    def test_threads_in_a_trace_of_an_older_version_are_told(self):
        """Whether something was found or not."""
        step = [self.FILL, self.block("forward/s"), self.block("recompute/s"), self.use("back", 3)]
        for alone in (step, step[:2]):
            for aside in ([], ["forward/s"]):
                done = self.reprise("discover", "--force", "-o", "found.json",
                                    self.ranges(alone, alone, aside=aside, old=True))
                self.assertEqual("record it anew" in done.stderr, bool(aside), done.stderr)

    def test_how_often_forwards_are_replayed_is_promised(self):
        once = [(None, ("fill", [], [self.INPUT])), self.block("forward/s")]
        for replays, promised in ((1, None), (3, 3)):
            step = once + [self.block("recompute/s")] * replays
            folder = self.ranges(step, step)
            self.assertEqual(self.found(folder)[1], [("forward/s", "recompute/s", "lifo")])
            segment, = self.proposed(folder)["segments"]
            self.assertEqual(segment.get("replays"), promised)
        step = once * 2 + [self.block("recompute/s")] * 3 # whose the third is, nothing tells
        segment, = self.proposed(self.ranges(step, step))["segments"]
        self.assertNotIn("replays", segment)

    def test_a_replay_is_no_forward(self):
        """Blocks alike that follow each other: a forward launches again what the replay before it
        has launched."""
        step = [(None, ("fill", [], [self.INPUT]))]
        step += [self.block(name) for name in ("forward/s", "recompute/s") * 3]
        told, segments = self.found(self.ranges(step, step))
        self.assertEqual(segments, [("forward/s", "recompute/s", "lifo")])
        self.assertIn("left out 1 pair of ranges that repeat each other, first recompute/s to "
                      "forward/s\n  because  a range can't be both", told)

    def test_no_range_is_its_own_replay(self):
        step = [(None, ("fill", [], [self.INPUT])), *[self.block("block")] * 4]
        self.discover("-o", "-", "--by", "ranges", self.ranges(step, step), code=1)

    def test_segments_have_names_of_their_own(self):
        steps = [[(None, ("fill", [], [self.INPUT])), self.block("forward/s"), self.block(name)]
                 for name in ("recompute/s", "again") * 2]
        self.assertEqual(self.found(self.ranges(*steps))[1],
                         [("forward/s", "recompute/s", "lifo"), ("forward/s", "again", "lifo")])

    FILL = None, ("fill", [], [INPUT])

    def use(self, kernel, *results):
        return None, (kernel, [*results, 9], [9])

    def refused(self, *step):
        """What is said of such steps, in which nothing is a replay."""
        return self.discover("-o", "-", self.ranges(step, step), code=1).stderr

    def test_an_input_that_is_filled_anew_is_of_no_replay(self):
        again = self.block("train")
        told = self.refused(self.FILL, self.block("rollout"), self.FILL, again)
        self.assertIn("rollout to train do the same work, but an input that both read was filled "
                      "anew in between", told)
        restored = [self.FILL, self.copy(self.INPUT, 4), self.block("rollout"), self.FILL,
                    self.copy(4, self.INPUT), again]
        self.assertIn("(certain)", self.found(self.ranges(restored, restored))[0])

    def test_launches_that_read_an_input_filled_anew_are_no_replay(self):
        work = None, *((kernel, [self.STATE, self.INPUT], [out])
                       for kernel, out in (("a", 3), ("b", 4), ("c", 5)))
        batches = [(None, ("fill", [], [kept])) for kept in (6, 7)]
        self.assertIn("a to c do the same work, but an input that both read was filled anew",
                      self.refused(*batches, self.copy(6, self.INPUT), work,
                                   self.copy(7, self.INPUT), work))
        self.discover("-o", "-", self.ranges(*[[self.FILL, work, work]] * 2))

    def test_results_that_are_read_beside_each_other_are_of_no_replay(self):
        step = [self.FILL, self.block("rollout", 3), self.block("train", 4), self.use("back", 4)]
        self.assertIn("rollout to train do the same work, but what the first one made is still "
                      "read", self.refused(*step, self.use("back", 3)))
        self.assertIn("(certain)", self.found(self.ranges(step, step))[0])

    def test_a_replay_of_the_last_calls_makes_what_they_made(self):
        use = "use", [self.STATE, self.INPUT]
        step = [self.FILL, ("forward", (*use, [3]), (*use, [4])), ("recompute", (*use, [4])),
                self.use("back", 3), self.use("back", 4)]
        self.assertEqual(self.found(self.ranges(step, step))[1], [("forward", "recompute", "lifo")])

    def test_what_the_same_call_uses_twice_was_made_twice(self):
        def step(first):
            return [self.FILL, self.block("one"), self.use(first, self.OUT), self.block("two"),
                    self.use("back", self.OUT)]

        self.assertIn("one to two do the same work, but what both make in one place is used by the "
                      "same call after each", self.refused(*step("back")))
        self.assertIn("(certain)", self.found(self.ranges(step("loss"), step("loss")))[0])

    def test_names_that_differ_by_numbers_are_a_guess(self):
        for names in (("fwd", "fwd2"), ("pass-2", "pass-1")):
            step = [self.FILL, *(self.block(name) for name in names)]
            self.assertIn("(guess)", self.found(self.ranges(step, step))[0])

    def test_ranges_that_are_numbered_through_are_no_replays_of_each_other(self):
        """Whatever range is around them, and where the numbers begin anew in each."""
        for names in (("mb/0", "mb/1"), ("iteration 1", "iteration 2", "iteration 3")):
            names = [name.replace(" ", "%20") for name in names]
            step = [self.FILL, *(self.block(name) for name in names)]
            told = self.discover("-o", "-", self.ranges(step, step, named="epoch"), code=1).stderr
            self.assertIn("do the same work, but they are numbered through, as iterations and "
                          "layers are; if it is a replay all the same", told)

    def test_numbered_ranges_have_replays_of_their_own(self):
        step = [self.FILL, *(("iteration%20" + str(at), self.block("forward"),
                              self.block("recompute")) for at in range(3))]
        told, segments = self.found(self.ranges(step, step, named="epoch"))
        self.assertEqual(segments, [("forward", "recompute", "lifo")])
        self.assertIn("segment  forward (certain)", told)

    def test_ranges_that_are_numbered_through_are_steps(self):
        step = [self.FILL, self.block("forward"), self.block("recompute"), self.use("back", 3)]
        told, segments = self.found(self.ranges(*[step] * 4, named="iteration-{}"))
        self.assertEqual(segments, [("forward", "recompute", "lifo")])
        self.assertIn("step     iteration-*\n", told)
        self.assertIn("comes 4 times", told)
        self.assertEqual(self.proposed(str(self.folder / "ranges"))["step"],
                         {"nvtx": "iteration-*"})

    def test_numbers_inside_of_numbered_steps(self):
        def step(at):
            return [self.FILL, self.block(f"forward-{at}"), self.block(f"recompute-{at}"),
                    self.use("back", 3)]
        told, segments = self.found(self.ranges(*map(step, range(9, 12)), named="iteration-{}"))
        self.assertEqual(segments, [("forward-*", "recompute-*", "key")])
        self.assertIn("step     iteration-*\n", told)

    def test_ranges_of_one_number_each_are_no_steps_of_each_other(self):
        step = [self.FILL, self.block("work"), self.use("back", 3)]
        for named, told in (("iteration-{}", "no replay was found in 2 steps"),
                            ("{}", "no NVTX range that could be a step")):
            folder = self.ranges(step, step, named=named)
            self.assertIn(told, self.discover("-o", "-", folder, code=1).stderr)

    def test_numbers_that_begin_anew_are_no_steps(self):
        layers = [self.FILL, *(self.block(f"layer-{at}") for at in range(3)), self.block("again")]
        told, _ = self.found(self.ranges(layers, layers))
        self.assertIn("step     step\n", told)

    def test_of_ranges_alike_those_pair_that_have_the_same_outputs(self):
        step = [self.FILL, self.block("forward/0", 3), self.block("forward/1", 4),
                self.block("recompute/1", 4), self.use("back", 4), self.block("recompute/0", 3),
                self.use("back", 3)]
        told, segments = self.found(self.ranges(step, step))
        self.assertEqual(segments, [("forward/*", "recompute/*", "key")])
        self.assertIn("segment  forward (certain)", told)

    def test_a_second_replay_elsewhere_is_a_guess(self):
        step = [self.FILL, self.block("forward"), self.block("more", 6), self.block("recompute")]
        told, segments = self.found(self.ranges(step, step))
        self.assertEqual(segments, [("forward", "more", "lifo"), ("forward", "recompute", "lifo")])
        self.assertEqual((told.count("(certain)"), told.count("(guess)")), (1, 1), told)

    WORK = ("use", [STATE, 4], [5]), ("more", [5], [6])

    def chain(self, *replay):
        step = [self.FILL, self.block("forward/1"), ("forward/2", *self.WORK),
                ("recompute/2", *replay)]
        return self.found(self.ranges(step, step))

    def test_replays_that_hold_replays_are_proposed(self):
        told, segments = self.chain(self.block("recompute/1"), *self.WORK)
        self.assertEqual(segments, [("forward/*", "recompute/*", "key")])
        self.assertIn("4 of 4 ranges 'recompute/*' launch again, beside others that they hold, "
                      "what the latest 'forward/*' launched", told)

    def test_where_they_launch_before_and_after_it_is_a_guess(self):
        told, segments = self.chain(self.WORK[0], self.block("recompute/1"), self.WORK[1])
        self.assertEqual(segments, [("forward/*", "recompute/*", "key")])
        self.assertIn("segment  forward (guess)", told)

    def test_what_holds_replays_and_reads_other_memory_is_told_of(self):
        others = ("use", [self.INPUT, 7], [5]), ("more", [self.INPUT], [6])
        told, segments = self.chain(self.block("recompute/1"), *others)
        self.assertEqual(segments, [("forward/1", "recompute/1", "lifo")])
        self.assertIn("left out 2 ranges that hold others, first recompute/2\n  because  "
                      "they launch themselves what an earlier range does", told)

    def test_one_thing_left_out_is_told_beside_what_is_proposed(self):
        step = [self.FILL, self.block("forward"), self.block("recompute"), self.FILL,
                self.block("eval", 6), self.use("score", 6)]
        told, segments = self.found(self.ranges(step, step))
        self.assertEqual(segments, [("forward", "recompute", "lifo")])
        self.assertIn("left out 1 pair of ranges or launches that do the same work, first "
                      "recompute to eval\n  because  an input that both read was filled anew", told)

    def test_what_would_not_load_is_not_written(self):
        step = [(None, ("fill", [], [self.INPUT])), self.block("forward"), self.block("")]
        done = self.discover("-o", "found.json", self.ranges(step, step), code=1)
        self.assertRegex(done.stderr, r"no contract can name them as they are: the proposal:.*"
                                      r'"nvtx" must not be empty')
        self.assertFalse((self.folder / "found.json").exists())

    def test_files(self):
        self.digits()
        self.discover()
        self.assertTrue((self.folder / "contract.json").exists())
        self.assertRefused(self.reprise("discover"), 2, "--force")
        done = self.discover("-o", "other.json")
        self.assertTrue(re.search(r"next: reprise run -m check -c other\.json", done.stderr))
        self.assertRefused(self.reprise("discover", "nothing"), 2, "nothing")


if __name__ == "__main__":
    harness.main()
