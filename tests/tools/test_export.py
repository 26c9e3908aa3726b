#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export: each format is read as the program reads it that it is made for.

usage: test_export.py REPRISE TRACE_FROM_SCRIPT"""
import csv
import io
import functools
import json
import os
import pathlib
import pickle
import pickletools
import signal
import subprocess
import sys
import time
from collections import defaultdict

import harness
from story import CALLS, STORY

WRITER = pathlib.Path(sys.argv[2]).resolve()


class ExportCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "reprise.data"
        self.run_folder.mkdir()
        for pid, command in ((4242, "./train --fast"), (4243, "./other;one")):
            self.write(CALLS.format(pid=pid, command=command) + STORY, pid)

    def write(self, script, pid):
        path = self.run_folder / f"trace-{pid}.rpt"
        subprocess.run([WRITER, path], input=script, check=True, text=True)
        return path

    def export(self, form, *words):
        done = subprocess.run([harness.REPRISE, "export", "--format", form, "-o", "-", *words],
                              capture_output=True, cwd=self.folder, env=harness.environment())
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout


class Chrome(ExportCase):
    """What ui.perfetto.dev wants, and silently drops when it does not get it."""

    def setUp(self):
        super().setUp()
        self.events = json.loads(self.export("chrome"))["traceEvents"]

    def of(self, phase, **members):
        return [event for event in self.events if event["ph"] == phase and
                all(event.get(key) == value for key, value in members.items())]

    def test_slices_have_a_duration_and_nest(self):
        tracks = defaultdict(list)
        for event in self.of("X"):
            self.assertGreater(event["dur"], 0)
            self.assertGreaterEqual(event["ts"], 0)
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        for (pid, _), slices in tracks.items():
            if pid < 10_000_000:
                continue
            for (_, end), (start, _) in zip(sorted(slices), sorted(slices)[1:]):
                self.assertGreaterEqual(start, end - 1e-9)

    def test_devices_are_no_processes_and_tracks_have_names_of_their_own(self):
        names = self.of("M", name="thread_name")
        tids = [event["tid"] for event in names]
        self.assertEqual(len(tids), len(set(tids)))
        self.assertEqual({event["args"]["name"] for event in names},
                         {"reprise: preserve, restore, reinstate", "stream 0x55d0",
                          "default stream"})
        used = {event["tid"] for event in self.of("X") if event["pid"] >= 10_000_000}
        self.assertLessEqual(used, set(tids))
        self.assertEqual({event["args"]["name"] for event in self.of("M", name="process_name")},
                         {"./train --fast", "./other;one", "device of process 4242",
                          "device of process 4243"})

    def test_flows_start_and_end_inside_slices(self):
        slices = defaultdict(list)
        for event in self.of("X"):
            slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        for kind, count in (("launch", 6), ("preserved", 2)):
            starts, ends = self.of("s", cat=kind), self.of("f", cat=kind)
            self.assertEqual(len(ends), count)
            self.assertEqual(sorted(event["id"] for event in starts),
                             sorted(event["id"] for event in ends))
            for event in starts + ends:
                self.assertIsInstance(event["id"], int)
                self.assertTrue(any(low <= event["ts"] <= high for low, high in
                                    slices[event["pid"], event["tid"]]), event)
            self.assertTrue(all(event["bp"] == "e" for event in ends))

    def test_what_began_before_the_trace_comes_from_nowhere(self):
        for path in self.run_folder.iterdir():
            path.unlink()
        begun = [line for line in STORY.splitlines() if line.startswith("note preserve")]
        self.assertTrue(begun)
        late = "".join(f"{line}\n" for line in STORY.splitlines()
                       if line not in begun and not line.startswith("enter "))
        self.write(CALLS.format(pid=4242, command="x") + late, 4242)
        self.events = json.loads(self.export("chrome"))["traceEvents"]
        self.assertEqual(self.of("s") + self.of("f"), [])
        self.assertTrue(self.of("X", name="restore"))

    def test_an_arrow_that_would_lead_nowhere_does_not_begin(self):
        self.events = json.loads(self.export("chrome", "--calls", "0-12"))["traceEvents"]
        self.assertTrue(self.of("X", name="preserve"))
        self.assertEqual(self.of("X", name="restore"), [])
        self.assertEqual(self.of("s", cat="preserved"), [])

    def test_ranks_are_named(self):
        for path in self.run_folder.iterdir():
            path.unlink()
        for rank in (0, 3):
            self.write(f"property rank {rank}\n" + CALLS.format(pid=rank + 1, command="./train") +
                       STORY, rank + 1)
        self.events = json.loads(self.export("chrome"))["traceEvents"]
        self.assertEqual({event["args"]["name"] for event in self.of("M", name="process_name")},
                         {"rank 0: ./train", "rank 3: ./train", "rank 0: device of process 1",
                          "rank 3: device of process 4"})

    def test_what_stands_on_the_stream(self):
        kernels = [event["name"] for event in self.of("X", cat="kernel")]
        self.assertEqual(kernels, ["bn_forward"] * 4)
        self.assertEqual(len(self.of("X", cat="copy", name="cuMemcpyHtoDAsync_v2")), 2)

    def test_the_default_stream_has_one_track(self):
        for path in self.run_folder.iterdir():
            path.unlink()
        self.write(CALLS.format(pid=7, command="x") + "enter cuLaunchKernel 1 0x9 0x0\n"
                   "note launch kernel=k stream=0x1\nleave cuLaunchKernel 1 0\n"
                   "enter cuMemcpyHtoDAsync_v2 2 0x0\nleave cuMemcpyHtoDAsync_v2 2 0\n", 7)
        self.events = json.loads(self.export("chrome"))["traceEvents"]
        self.assertEqual({event["args"]["name"] for event in self.of("M", name="thread_name")},
                         {"reprise: preserve, restore, reinstate", "default stream"})
        rows = csv.DictReader(io.StringIO(self.export("csv").decode(), newline=""))
        self.assertEqual({row["stream"] for row in rows} - {""}, {"0x1"})

    def test_the_default_stream_of_a_thread_has_one_track(self):
        for path in self.run_folder.iterdir():
            path.unlink()
        self.write(CALLS.format(pid=7, command="x") +
                   "define enter cuMemcpyHtoDAsync_v2_ptsz call:UINT hStream:HEX\n"
                   "define leave cuMemcpyHtoDAsync_v2_ptsz call:UINT result:SINT\n" +
                   "thread\n".join(f"""\
enter cuLaunchKernel 1 0x9 0x2
note launch kernel=k stream={stream}
leave cuLaunchKernel 1 0
enter cuMemcpyHtoDAsync_v2_ptsz 2 0x0
leave cuMemcpyHtoDAsync_v2_ptsz 2 0
""" for stream in ("0x2", "0x8000000000000202")), 7)
        self.events = json.loads(self.export("chrome"))["traceEvents"]
        names = {event["tid"]: event["args"]["name"] for event in self.of("M", name="thread_name")}
        work = defaultdict(list)
        for event in self.of("X"):
            if event["pid"] >= 10_000_000:
                work[names[event["tid"]]].append(event["cat"])
        self.assertEqual(len(work), 2)
        for name, kinds in work.items():
            self.assertRegex(name, r"^default stream of thread \d+$")
            self.assertEqual(kinds, ["kernel", "copy"])

    def test_counters_on_change_only(self):
        first = [event["args"] for event in self.of("C")][:5]
        self.assertEqual(first, [{"live": 4096, "preserved": 0}, {"live": 5120, "preserved": 0},
                                 {"live": 5120, "preserved": 64}, {"live": 4096, "preserved": 64},
                                 {"live": 4096, "preserved": 0}])

    def test_segments_open_and_close(self):
        opened = [(event["name"], event["id"]) for event in self.of("b", cat="segment")]
        closed = [(event["name"], event["id"]) for event in self.of("e", cat="segment")]
        self.assertEqual(opened, [("forward block one", 1), ("replay block one", 1)] * 2)
        self.assertEqual(opened, closed)

    def test_marks(self):
        self.assertEqual({event["name"] for event in self.of("i")},
                         {"step", "hazard", "events lost"})
        self.assertTrue(all(event["s"] in "tpg" for event in self.of("i")))

    def test_a_call_that_never_came_back(self):
        lost, = [event for event in self.of("X", pid=4242) if event["args"].get("unfinished")]
        self.assertEqual(lost["name"], "cuLaunchKernel")


class Memviz(ExportCase):
    """The page replays the trace backwards from the segments that are alive at the end."""

    def setUp(self):
        super().setUp()
        self.raw = self.export("memviz")
        self.snapshot = pickle.loads(self.raw)

    def test_opcodes_that_the_page_knows(self):
        known = {"PROTO", "EMPTY_DICT", "EMPTY_LIST", "MARK", "BININT1", "BININT", "LONG1",
                 "BINUNICODE", "APPENDS", "SETITEMS", "STOP", "BINPUT", "BINGET", "LONG_BINPUT",
                 "LONG_BINGET"}
        names = [opcode.name for opcode, _, _ in pickletools.genops(self.raw)]
        self.assertLessEqual(set(names), known)
        self.assertEqual(self.raw[:2], b"\x80\x02")

    def test_blocks_tile_their_segment(self):
        for segment in self.snapshot["segments"]:
            self.assertEqual(sum(block["size"] for block in segment["blocks"]),
                             segment["total_size"])
            self.assertIn("device", segment)

    def test_backwards_to_an_empty_device(self):
        for device, entries in enumerate(self.snapshot["device_traces"]):
            segments = {(s["address"], s["total_size"]) for s in self.snapshot["segments"]
                        if s["device"] == device}
            blocks = set(segments)
            self.assertEqual(segments, {(0x7f0000001000, 4096)})
            for entry in reversed(entries):
                at = (entry["addr"], entry["size"])
                if entry["action"] == "segment_free":
                    segments.add(at)
                elif entry["action"] == "free_completed":
                    self.assertIn(at, segments)
                    blocks.add(at)
                elif entry["action"] == "free_requested":
                    self.assertIn(at, blocks)
                elif entry["action"] == "alloc":
                    blocks.remove(at)
                elif entry["action"] == "segment_alloc":
                    self.assertNotIn(at, blocks)
                    segments.remove(at)
                else:
                    self.fail(entry["action"])
            self.assertEqual((segments, blocks), (set(), set()))

    def test_frames_say_where(self):
        pool = [entry for entry in self.snapshot["device_traces"][0]
                if entry.get("category") == "pool"][0]
        self.assertEqual([frame["name"] for frame in pool["frames"]],
                         ["cuMemAlloc_v2", "block one forward"])
        for frame in pool["frames"]:
            self.assertEqual([type(frame[key]) for key in ("filename", "line", "name")],
                             [str, int, str])

    def test_what_passes_is_followed_to_its_end(self):
        snapshot = pickle.loads(self.export("memviz", "--segment", "block"))
        self.assertEqual(snapshot["segments"], [], "its free does not pass")
        for entries in snapshot["device_traces"]:
            self.assertEqual([(entry["action"], entry["size"]) for entry in entries],
                             [(action, 1024) for action in (
                                 "segment_alloc", "alloc", "free_requested", "free_completed",
                                 "segment_free")])

    def test_a_filter_that_no_allocation_passes(self):
        for words in (["-k", "bn_*"], ["--verdict", "exact"], ["--buffer", "odd*"], ["-k", "x"]):
            done = self.reprise("export", "-f", "memviz", "-o", "x", "--force", *words)
            self.assertRefused(done, 1, "no allocation of device memory passes --")

    def test_batches_are_short(self):
        story = CALLS.format(pid=7, command="x")
        for i in range(1500):
            story += (f"enter cuMemAlloc_v2 {i} 0x1 16\nnote allocation allocation={i + 1} "
                      f"kind=device bytes=16 address={0x1000 + 16 * i} seq={i}\n"
                      f"leave cuMemAlloc_v2 {i} 0 0x1\n")
        raw = self.export("memviz", self.write(story, 7))
        self.assertEqual(len(pickle.loads(raw)["segments"]), 1500)
        depth, longest, marks = 0, 0, []
        for opcode, _, _ in pickletools.genops(raw):
            if opcode.name == "MARK":
                marks.append(depth)
                depth = 0
            elif opcode.name in ("APPENDS", "SETITEMS"):
                longest = max(longest, depth if opcode.name == "APPENDS" else 0)
                depth = marks.pop()
            else:
                depth += opcode.name in ("EMPTY_DICT", "EMPTY_LIST")
        self.assertLessEqual(longest, 1000)


class Folded(ExportCase):
    def test_weights_are_the_bytes_at_the_peak(self):
        lines = [line.rsplit(" ", 1) for line in self.export("folded").decode().splitlines()]
        stacks = {stack: int(weight) for stack, weight in lines}
        self.assertEqual(stacks, {
            "./train --fast 4242;cuMemAlloc_v2;device": 4096,
            "./train --fast 4242;block one forward;cuMemAlloc_v2;pool": 1024,
            "./other_one 4243;cuMemAlloc_v2;device": 4096,
            "./other_one 4243;block one forward;cuMemAlloc_v2;pool": 1024})

    def test_the_peak_is_that_of_what_passes(self):
        of_one = [f"./{name};cuMemAlloc_v2;device 4096"
                  for name in ("train --fast 4242", "other_one 4243")]
        of_two = [f"./{name};block one forward;cuMemAlloc_v2;pool 1024"
                  for name in ("train --fast 4242", "other_one 4243")]
        for words, stacks in ((["--allocation", "1"], of_one), (["--allocation", "2"], of_two),
                              (["--segment", "block"], of_two), (["--calls", "0-4"], of_one)):
            with self.subTest(words):
                self.assertEqual(self.export("folded", *words).decode().splitlines(), stacks)

    def test_a_filter_that_no_allocation_passes(self):
        for words in (["-k", "bn_*"], ["--stream", "0x55d0"], ["-k", "x"]):
            done = self.reprise("export", "-f", "folded", "-o", "-", *words)
            self.assertRefused(done, 1, "no allocation of device memory passes --")

    def test_a_pipe_cannot_be_read_twice(self):
        self.assertRefused(self.reprise("export", "--format", "folded", "-o", "-", "-"), 2,
                           "twice")

    def test_memory_of_a_trace_without_any_is_not_shown_as_nothing_in_silence(self):
        trace = self.write(CALLS.format(pid=7, command="x") + "note step step=1\n", 7)
        for form in "folded", "memviz":
            done = self.reprise("export", "-f", form, "-o", "x", "--force", trace)
            self.assertEqual(done.returncode, 0)
            self.assertIn(f"no allocation of device memory is in what was read, so {form} has "
                          "nothing to show\n", done.stderr)


class Csv(ExportCase):
    def test_every_event_is_a_row(self):
        rows = list(csv.DictReader(io.StringIO(self.export("csv").decode(), newline="")))
        lines = self.export("jsonl").decode().splitlines()
        self.assertEqual(len(rows), len(lines))
        for row, line in zip(rows, lines):
            event = json.loads(line)
            self.assertEqual(json.loads(row["fields"]), event["fields"])
            self.assertEqual((int(row["id"]), int(row["time_ns"]), row["name"]),
                             (event["id"], event["time_ns"], event["name"]))
        access = next(row for row in rows if row["name"] == "access")
        self.assertEqual((access["allocation"], access["length_bytes"], access["effect"]),
                         ("1", "4096", "write"))
        hazard = next(row for row in rows if row["name"] == "hazard")
        self.assertEqual(hazard["buffer"], 'odd"name')


class Files(ExportCase):
    def test_writes_whole_files_and_overwrites_none(self):
        done = self.reprise("export", "--format", "chrome")
        self.assertEqual(done.returncode, 0, done.stderr)
        size = (self.folder / "reprise.json").stat().st_size
        self.assertEqual(done.stderr, f"reprise: reprise.json: {size} bytes\n")
        self.assertRefused(self.reprise("export", "-f", "chrome"), 2, "--force")
        self.assertEqual(self.reprise("export", "-f", "chrome", "--force", "-q").stderr, "")
        self.assertEqual(self.reprise("export", "-f", "csv", "-o", "a/b/c.csv").returncode, 0)
        self.assertTrue((self.folder / "a/b/c.csv").exists())
        self.assertEqual([path.name for path in self.folder.glob("**/*.part")], [])

    def test_an_interrupt_leaves_nothing(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            # What the tests' own shell ignores (nohup does that) is not ignored here.
            heeded = functools.partial(signal.signal, number, signal.SIG_DFL)
            exporter = subprocess.Popen(
                [harness.REPRISE, "export", "-f", "csv", "-o", "x.csv", "-"],
                stdin=subprocess.PIPE, cwd=self.folder, env=harness.environment(),
                stderr=subprocess.DEVNULL, preexec_fn=heeded)
            patience = time.monotonic() + harness.PATIENCE
            while not list(self.folder.glob("x.csv*")) and time.monotonic() < patience:
                time.sleep(0.01)
            self.assertTrue(list(self.folder.glob("x.csv.*.part")))
            exporter.send_signal(number)
            self.assertEqual(exporter.wait(timeout=harness.PATIENCE), -number)
            exporter.stdin.close()
            self.assertEqual(list(self.folder.glob("x.csv*")), [])

    def test_a_link_stays_and_its_target_is_written(self):
        whole = self.export("csv")
        (self.folder / "there").mkdir()
        link, target = self.folder / "link.csv", self.folder / "there/target.csv"
        link.symlink_to("there/target.csv")
        for words in ([], ["--force"]):
            done = self.reprise("export", "-qf", "csv", "-o", "link.csv", *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(link.is_symlink())
            self.assertEqual(target.read_bytes(), whole)
            target.write_text("older")
        self.assertRefused(self.reprise("export", "-f", "csv", "-o", "link.csv"), 2, "--force")
        self.assertEqual(target.read_text(), "older")
        link.unlink()
        link.symlink_to("link.csv")
        done = self.reprise("export", "-f", "csv", "--force", "-o", "link.csv")
        self.assertRefused(done, 2, "link.csv: Too many levels of symbolic links")
        self.assertTrue(link.is_symlink())

    def test_a_pipe_is_written_to_and_not_replaced(self):
        whole = self.export("csv")
        pipe, link = self.folder / "pipe", self.folder / "link"
        os.mkfifo(pipe)
        link.symlink_to("pipe")
        for name in ("pipe", "link"):
            for words in ([], ["--force"]):
                with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
                    try:
                        done = self.reprise("export", "-f", "csv", "-o", name, *words)
                        self.assertEqual((done.returncode, done.stderr), (0, ""))
                        self.assertTrue(pipe.is_fifo() and link.is_symlink())
                        self.assertEqual(reader.stdout.read(), whole)
                    finally:
                        reader.kill()

    def test_standard_output_by_its_other_names(self):
        whole = self.export("csv")
        self.assertEqual(self.export("csv", "-o", "/dev/stdout"), whole)
        with (self.folder / "out").open("w") as out:
            subprocess.run([harness.REPRISE, "export", "-f", "csv", "-o", "/dev/stdout"],
                           stdout=out, cwd=self.folder, env=harness.environment(), check=True)
        self.assertEqual((self.folder / "out").read_bytes(), whole)
        self.assertRefused(self.reprise("export", "-f", "csv", "-o", "."), 2, "Is a directory")

    def test_filters(self):
        lines = self.export("jsonl", "--kernel", "bn_*").decode().splitlines()
        self.assertEqual({json.loads(line)["name"] for line in lines} - {"cuLaunchKernel"},
                         {"access", "launch", "preserve", "restore"})

    def test_a_torn_trace_is_exported_as_far_as_it_goes(self):
        path = self.run_folder / "trace-4242.rpt"
        path.write_bytes(path.read_bytes()[:-40])
        done = self.reprise("export", "-f", "chrome", "-o", "-", path)
        self.assertEqual(done.returncode, 65, done.stderr)
        json.loads(done.stdout)

    def test_bad_words(self):
        self.assertRefused(self.reprise("export"), 2, "--format")
        self.assertRefused(self.reprise("export", "-f", "chrom"), 2, "chrome")
        self.assertRefused(self.reprise("export", "-f", "csv", "nothing"), 2, "nothing")

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([harness.REPRISE, "export", "-f", "csv", "-o", "-"], stdout=full,
                                  stderr=subprocess.PIPE, cwd=self.folder, text=True,
                                  env=harness.environment())
        self.assertEqual(done.returncode, 3)
        self.assertIn("No space left", done.stderr)


if __name__ == "__main__":
    harness.main()
