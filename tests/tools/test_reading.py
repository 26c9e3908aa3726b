#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dump, info and check over traces that a script wrote.

usage: test_reading.py REPRISE TRACE_FROM_SCRIPT"""
import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import subprocess
import sys
import time

import harness
import schema

WRITER = pathlib.Path(sys.argv[2]).resolve()
CALLS = """\
property pid 4242
property command ./train
define enter cuMemAlloc_v2 dptr:HEX bytesize:BYTES
define leave cuMemAlloc_v2 result:SINT dptr:HEX
define enter cuLaunchKernel f:HEX hStream:HEX
define leave cuLaunchKernel result:SINT
"""
STORY = CALLS + """\
note process pid=4242 command=./train mode=check device=toy
enter cuMemAlloc_v2 0x7fff10 4096
note allocation allocation=1 kind=device bytes=4096 address=0x1000 seq=1 live=4096
leave cuMemAlloc_v2 0 0x1000
note kernel function=0x9 kernel=bn_forward verdict=exact proof=writes%20param%203%0aall%20of%20it
note step step=1
note segment segment=block phase=forward%20begins step=1 instance=1
enter cuLaunchKernel 0x9 0x0
note launch seq=2 kernel=bn_forward stream=0x0 step=1 index=0 grid_x=8 verdict=exact
leave cuLaunchKernel 0
note segment segment=block phase=forward%20ends step=1 instance=1
enter cuLaunchKernel 0xa 0x55d0
note launch seq=3 kernel=gemm stream=0x55d0 step=1 index=1 verdict=bounded
leave cuLaunchKernel 0
note step step=2
enter cuLaunchKernel 0xa 0x55d0
note launch seq=4 kernel=gemm stream=0x55d0 step=2 index=0 verdict=exact
leave cuLaunchKernel 700
note free allocation=1 seq=5
"""
HAZARDS = """\
note hazard hazard=state-left segment=block buffer=queue allocation=2 offset=0 bytes=64 step=1
note hazard hazard=stale-read segment=block buffer=small allocation=3 bytes=4 step=2 writer=bump
note hazard hazard=stale-read segment=head buffer=large allocation=1 offset=16 bytes=4096 \
version_read=9 version_wanted=4 writer=bn_update writer_seq=9 writer_step=3 writer_launch=17 \
writer_stream=0x55d0 step=3 count=1 reader=bn_forward advice=guard%20it
""".replace("\\\n", "")


class ReadingCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "reprise.data"
        self.run_folder.mkdir()

    def write(self, script, name="trace-4242.rpt"):
        path = self.run_folder / name
        subprocess.run([WRITER, path], input=script, check=True, text=True)
        return path

    def summarise(self, **figures):
        pid = figures.get("pid", 4242)
        summary = {"format": "reprise-summary", "version": 1, "pid": pid, **figures}
        (self.run_folder / f"summary-{pid}.json").write_text(json.dumps(summary))

    def read(self, *words, code=0, **changes):
        done = self.reprise(*words, **changes)
        self.assertEqual(done.returncode, code, done.stderr)
        if code == 0:
            self.assertEqual(done.stderr, "")
        return done.stdout


class Dump(ReadingCase):
    def lines(self, *words, **more):
        return self.read("dump", *words, **more).splitlines()

    def shown(self, *words):
        """The lines without id, time, process and thread."""
        return [re.sub(r"^ *\d+ +\d+\.\d{6} 4242\.\d+ ", "", line) for line in self.lines(*words)]

    def test_one_line_a_call_with_its_notes_below(self):
        self.write(STORY)
        shown = self.shown()
        self.assertEqual(shown[1:3], [
            "- cuMemAlloc_v2(dptr=0x7fff10, bytesize=4096) = 0 dptr=0x1000",
            "-   -- allocation allocation=1 kind=device bytes=4096 address=0x1000 seq=1 name=\"\" "
            "live=4096"])
        self.assertTrue(shown[0].startswith("- -- process pid=4242"))
        self.assertIn("0x55d0 cuLaunchKernel(f=0xa, hStream=0x55d0) = "
                      "700 CUDA_ERROR_ILLEGAL_ADDRESS", shown)

    def test_the_number_of_a_call_is_no_argument(self):
        self.write("define enter cuInit call:UINT Flags:UINT\ndefine leave cuInit call:UINT "
                   "result:SINT\nenter cuInit 8 0\nleave cuInit 8 12345\n")
        self.assertRegex(self.read("dump"), r" - cuInit\(Flags=0\) = 12345\n$")

    def test_ids_are_places_in_the_trace(self):
        self.write(STORY)
        ids = [int(line.split()[0]) for line in self.lines()]
        events = STORY.count("\nnote ") + STORY.count("\nenter ") + STORY.count("\nleave ")
        self.assertEqual(ids, sorted(ids))
        self.assertEqual((ids[0], ids[-1]), (0, events - 1))

    def test_a_call_that_never_came_back(self):
        self.write(CALLS + "enter cuMemAlloc_v2 0x7fff10 4096\n")
        self.assertEqual(self.shown(),
                         ["- cuMemAlloc_v2(dptr=0x7fff10, bytesize=4096 <unfinished ...>"])

    def test_a_call_whose_beginning_is_lost(self):
        self.write(CALLS + "leave cuLaunchKernel 0\n")
        self.assertEqual(self.shown(), ["- <... cuLaunchKernel resumed) = 0"])

    def test_threads_do_not_mix(self):
        self.write(CALLS + "enter cuMemAlloc_v2 0x1 1\nnote step step=1\nthread\n"
                   "enter cuLaunchKernel 0x9 0x0\nleave cuLaunchKernel 0\n")
        self.assertEqual(self.shown(), [
            "0x1 cuLaunchKernel(f=0x9, hStream=0x0) = 0",
            "- cuMemAlloc_v2(dptr=0x1, bytesize=1 <unfinished ...>", "-   -- step step=1"])

    def test_odd_bytes_are_escaped(self):
        self.write("note kernel kernel=a%0ab%1b%ff\n")
        line, = self.lines()
        self.assertIn(r'kernel="a\nb\x1b\xff"', line)

    def test_numbers_of_every_length(self):
        values = sorted({value for power in range(20) for value in (10 ** power - 1, 10 ** power)}
                        | {1 << bit for bit in range(64)} | {2 ** 64 - 1})
        signed = [value for value in values if value < 2 ** 63] + [-2 ** 63, -1, -10]
        self.write("property pid 4242\ndefine enter cuA u:UINT x:HEX\n"
                   "define enter cuB s:SINT\n" +
                   "".join(f"enter cuA {value} {value:#x}\n" for value in values) +
                   "".join(f"enter cuB {value}\n" for value in signed))
        self.assertEqual([line.split(" ", 1)[1] for line in self.shown()],
                         [f"cuA(u={value}, x={value:#x} <unfinished ...>" for value in values] +
                         [f"cuB(s={value} <unfinished ...>" for value in signed])

    def test_calls_by_number(self):
        self.write(STORY)
        ids = [int(line.split()[0]) for line in self.lines("--calls", "5,7-9,12-")]
        self.assertTrue(ids)
        self.assertTrue(all(i in (5, 6, 7, 8, 9) or i >= 12 for i in ids), ids)
        (self.folder / "list").write_text("5 # the kernel\n\n7-9\n12-\n")
        self.assertEqual([int(line.split()[0]) for line in self.lines("--calls", "@list")], ids)
        strided = [int(line.split()[0]) for line in self.lines("--calls", "0-100/4")
                   if "  -- " not in line]
        self.assertTrue(all(i % 4 == 0 for i in strided), strided)

    def test_the_default_stream_has_one_name(self):
        self.write(CALLS + """\
define enter cuLaunchKernelEx f:HEX
define leave cuLaunchKernelEx result:SINT
define enter cuMemsetD32Async_ptsz hStream:HEX
define leave cuMemsetD32Async_ptsz result:SINT
define enter cuMemcpyDtoH_v2 dstHost:HEX
define leave cuMemcpyDtoH_v2 result:SINT
define enter cuMemsetD8_v2_ptds dstDevice:HEX
define leave cuMemsetD8_v2_ptds result:SINT
enter cuLaunchKernel 0x9 0x0
note launch kernel=legacy stream=0x1
leave cuLaunchKernel 0
enter cuLaunchKernelEx 0xa
note launch kernel=other stream=0x1
leave cuLaunchKernelEx 0
enter cuMemsetD32Async_ptsz 0x0
leave cuMemsetD32Async_ptsz 0
enter cuLaunchKernelEx 0xb
note launch kernel=later-thread stream=0x8000000000000202
leave cuLaunchKernelEx 0
enter cuLaunchKernelEx 0xc
note launch kernel=other-context stream=0x3000000000001
leave cuLaunchKernelEx 0
enter cuMemcpyDtoH_v2 0x7f00
leave cuMemcpyDtoH_v2 0
enter cuMemsetD8_v2_ptds 0x7f00
leave cuMemsetD8_v2_ptds 0
enter cuMemAlloc_v2 0x7fff10 4096
leave cuMemAlloc_v2 0 0x1000
note segment segment=block phase=forward%20begins stream=0x0
enter cuLaunchKernel 0xb 0x55d0
leave cuLaunchKernel 0
""")
        calls = [line for line in self.shown() if " -- " not in line]
        self.assertEqual([line.split("(")[0] for line in calls],
                         ["0x1 cuLaunchKernel", "0x1 cuLaunchKernelEx",
                          "0x2 cuMemsetD32Async_ptsz", "0x2 cuLaunchKernelEx",
                          "0x1 cuLaunchKernelEx", "0x1 cuMemcpyDtoH_v2",
                          "0x2 cuMemsetD8_v2_ptds", "- cuMemAlloc_v2", "0x55d0 cuLaunchKernel"])
        lines = self.shown()
        for stream, expected in (("0", lines[:11]), ("1", lines[:4] + lines[7:10]),
                                 ("0x2", lines[4:7] + lines[10:11]), ("0x55d0", lines[13:])):
            with self.subTest(stream):
                self.assertEqual(self.shown("--stream", stream), expected)

    def test_a_list_that_is_not_there(self):
        self.write(STORY)
        self.assertRefused(self.reprise("dump", "--calls", "@nofile"), 2,
                           "--calls: nofile: No such file or directory")
        self.assertRefused(self.reprise("dump", "--calls", "@."), 2, "--calls: .: Is a directory")

    def test_filters(self):
        self.write(STORY)
        self.assertEqual(len(self.shown("--kernel", "bn_*")), 3)
        self.assertTrue(all("gemm" in line or "0xa" in line
                            for line in self.shown("-k", "gemm")))
        self.assertEqual(len(self.shown("-k", "gemm")), 4)
        self.assertEqual(len(self.shown("-k", "gemm", "--step", "2")), 2)
        self.assertTrue(all(line.startswith("0x55d0 ") for line in
                            self.shown("--stream", "0x55d0")))
        self.assertEqual([line for line in self.shown("--segment", "bl*") if "launch " in line],
                         [line for line in self.shown("-k", "bn_forward") if "launch " in line])
        self.assertEqual(self.shown("--grep", "= 7[0-9]+ "),
                         ["0x55d0 cuLaunchKernel(f=0xa, hStream=0x55d0) = "
                          "700 CUDA_ERROR_ILLEGAL_ADDRESS"])

    def test_filters_by_what_a_call_touches(self):
        self.write(STORY + """\
note buffer buffer=queue[0] allocation=7 offset=64 bytes=64 kernel=enqueue param=0
enter cuLaunchKernel 0xb 0x0
note access seq=9 allocation=7 offset=0 bytes=65 effect=write verdict=root version=9
leave cuLaunchKernel 0
enter cuLaunchKernel 0xc 0x0
note access seq=10 allocation=7 offset=0 bytes=64 effect=write verdict=exact version=10
leave cuLaunchKernel 0
""")
        def launches(*words):
            return re.findall(r"f=0x(\w)", "\n".join(self.shown(*words)))
        self.assertEqual(launches("--buffer", "queue*"), ["b"])
        self.assertEqual(launches("--allocation", "7"), ["b", "c"])
        self.assertEqual(launches("--verdict", "root"), ["b"])
        self.assertEqual(launches("--call", "cuLaunch*", "--verdict", "exact"),
                         ["9", "a", "c"])
        self.assertEqual(len(self.shown("--call", "cuMemAlloc*")), 2)

    def test_filter_by_time(self):
        self.write(STORY)
        every = self.lines()
        self.assertEqual(self.lines("--time", "0-"), every)
        self.assertEqual(self.lines("--time", "0-1000"), every)
        for bad in ("x", "5", "2-1", "1-2x", "-3", "99999999999999999999-"):
            self.assertRefused(self.reprise("dump", "--time", bad), 2, "--time")

    def test_a_proof_is_shown_by_its_first_line(self):
        self.write(STORY)
        line, = [line for line in self.lines() if "note" in line or "-- kernel" in line]
        self.assertIn('proof="writes param 3 ..."', line)

    def test_json_lines(self):
        self.write(STORY)
        head, *events = [json.loads(line) for line in self.lines("--json")]
        self.assertEqual((head["format"], head["version"], head["pid"], head["command"]),
                         ("reprise-dump", 1, "4242", "./train"))
        self.assertEqual([event["id"] for event in events], list(range(len(events))))
        alloc = next(event for event in events if event["class"] == "leave")
        self.assertEqual((alloc["name"], alloc["pid"]), ("cuMemAlloc_v2", 4242))
        self.assertEqual(alloc["fields"], {"result": 0, "dptr": "0x1000"})

    def test_json_of_odd_values(self):
        self.write("define enter odd u:UINT s:SINT f:FLOAT n:FLOAT t:TEXT\n"
                   "enter odd 18446744073709551615 -5 0.1 nan a\"\\%00%80é\n")
        event = json.loads(self.lines("--json")[1])
        self.assertEqual(event["fields"], {"u": 2**64 - 1, "s": -5, "f": 0.1, "n": None,
                                           "t": 'a"\\' + r"\x00\x80é"})

    def test_a_folder_a_trace_and_stdin_are_the_same(self):
        path = self.write(STORY)
        whole = self.read("dump")
        self.assertEqual(self.read("dump", str(self.run_folder)), whole)
        self.assertEqual(self.read("dump", str(path)), whole)
        piped = subprocess.run([harness.REPRISE, "dump", "-"], stdin=path.open("rb"),
                               capture_output=True, text=True, env=harness.environment())
        self.assertEqual((piped.returncode, piped.stdout), (0, whole))

    def test_several_processes_come_one_after_the_other(self):
        self.write("property pid 10\nnote step step=1\n", "trace-10.rpt")
        self.write("property pid 9\nnote step step=1\n", "trace-9.rpt")
        self.assertEqual([re.search(r" (\d+)\.\d+ -", line)[1] for line in self.lines()],
                         ["9", "10"])

    def test_a_reader_that_leaves_is_no_error(self):
        self.write(CALLS + "enter cuLaunchKernel 0x9 0x0\nleave cuLaunchKernel 0\n" * 20000)
        dump = subprocess.Popen([harness.REPRISE, "dump"], cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=harness.environment())
        dump.stdout.readline()
        dump.stdout.close()
        self.assertEqual((dump.wait(harness.PATIENCE), dump.stderr.read()), (0, ""))
        dump.stderr.close()

    def test_a_full_disk_is_an_error(self):
        self.write(STORY)
        with open("/dev/full", "w") as full:
            done = subprocess.run([harness.REPRISE, "dump"], cwd=self.folder, stdout=full,
                                  stderr=subprocess.PIPE, text=True, env=harness.environment())
        self.assertEqual(done.returncode, 3)
        self.assertIn("No space left", done.stderr)

    def test_colour_only_when_asked_for(self):
        self.write(HAZARDS)
        self.assertNotIn("\033", self.read("dump"))
        self.assertIn("\033", self.read("dump", "--color=always"))
        self.assertNotIn("\033", self.read("dump", "--color=always", "--json"))

    def on_a_terminal(self, *words, **more):
        """What a terminal gets on stderr while a trace comes in slowly."""
        data = self.write(CALLS + "enter cuLaunchKernel 0x9 0x0\nleave cuLaunchKernel 0\n"
                          * 150000).read_bytes()
        terminal, line = pty.openpty()
        reader = subprocess.Popen([harness.REPRISE, *words], cwd=self.folder, stderr=line,
                                  stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                  env=harness.environment(), **more)
        os.close(line)
        for at in range(0, len(data), len(data) // 12 + 1):
            reader.stdin.write(data[at:at + len(data) // 12 + 1])
            reader.stdin.flush()
            time.sleep(0.15)
        reader.stdin.close()
        self.assertEqual(reader.wait(), 0)
        said = b""
        with contextlib.suppress(OSError):
            while more := os.read(terminal, 65536):
                said += more
        os.close(terminal)
        (self.run_folder / "trace-4242.rpt").unlink()
        return said.decode()

    def test_progress_of_what_takes_long(self):
        said = self.on_a_terminal("dump", "-")
        self.assertRegex(said, r"\r\x1b\[Kreprise: reading: [\d.]+ [KM]iB\r")
        self.assertTrue(said.endswith("\r\x1b[K"), "it is gone at the end")
        self.assertEqual(self.on_a_terminal("export", "-q", "-f", "csv", "-o", "-", "-"), "")

    def test_pager_on_a_terminal_only(self):
        self.write(STORY)
        pager = "sed 's/^/paged /'"
        self.assertNotIn("paged", self.read("dump", REPRISE_PAGER=pager))
        script = ("import os, pty, sys\n"
                  "pid, fd = pty.fork()\n"
                  "if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n"
                  "seen = b''\n"
                  "try:\n"
                  "    while True: seen += os.read(fd, 1000)\n"
                  "except OSError: pass\n"
                  "os.waitpid(pid, 0)\n"
                  "sys.stdout.write(seen.decode())")
        for words, paged in (([], True), (["--no-pager"], False), (["--json"], False)):
            done = subprocess.run([sys.executable, "-c", script, harness.REPRISE, "dump", *words],
                                  cwd=self.folder, capture_output=True, text=True,
                                  env=harness.environment(REPRISE_PAGER=pager))
            self.assertEqual("paged " in done.stdout, paged, done.stdout + done.stderr)
            self.assertIn("cuMemAlloc_v2", done.stdout)


class SameFilters(ReadingCase):
    """Every reader that filters knows every filter, and they agree on what passes."""

    FILTERS = {"calls": "3-9", "call": "cuLaunch*", "kernel": "gemm", "segment": "block",
               "buffer": "queue", "allocation": "1", "verdict": "exact", "time": "0-5",
               "stream": "0x55d0", "step": "1", "proof": "bn_*"}

    def setUp(self):
        super().setUp()
        self.write(STORY + "note buffer buffer=queue allocation=1 bytes=64\n")

    def exported(self, *words):
        self.reprise("export", "--format", "jsonl", "--force", "-o", "out", *words)
        return self.events((self.folder / "out").read_text())

    @staticmethod
    def events(text):
        return [line for line in map(json.loads, text.splitlines()) if "class" in line]

    # What each reader is asked beside the filter; its answer goes to stdout or beside.
    READERS = {"dump": [], "info": [], "check": [], "export": ["--format", "jsonl", "-o", "-"],
               "report": ["-o", "-"], "discover": ["-o", "-"]}

    def test_the_filters_are_those_of_the_option_table(self):
        for command in self.READERS:
            offered = self.reprise("--list-options", command).stdout
            for name in self.FILTERS:
                self.assertIn(f"--{name}=", offered.split(), command)

    def test_dump_info_and_export_let_the_same_pass(self):
        everything = self.events(self.read("dump", "--json"))
        for name, value in self.FILTERS.items():
            with self.subTest(name):
                shown = self.events(self.read("dump", "--json", f"--{name}", value))
                self.assertTrue(0 < len(shown) <= len(everything))
                self.assertEqual(self.exported(f"--{name}", value), shown)
                info = json.loads(self.read("info", "--json", f"--{name}", value))
                self.assertEqual(info["processes"][0]["events"], len(shown))

    def test_a_report_is_of_what_passes(self):
        page = self.read("report", "-o", "-", "--kernel", "gemm")
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
        self.assertEqual((data["filter"], list(data["survey"]["kernels"])),
                         ("--kernel gemm", ["gemm"]))
        self.assertEqual(data["processes"][0]["slice_count"], 2)
        self.assertNotIn('"filter"', self.read("report", "-o", "-"))

    def test_a_contract_is_proposed_from_what_passes(self):
        def step(number, steps=""):
            return (f"note range range=step phase=begins\n{steps}"
                    "note range range=layer phase=begins\n"
                    + self.launch(1, "gemm", number) + self.launch(2, "norm", number)
                    + "note range range=layer phase=ends\nnote range range=again phase=begins\n"
                    + self.launch(3, "gemm", number) + self.launch(4, "norm", number)
                    + "note range range=again phase=ends\nnote range range=step phase=ends\n")
        (self.run_folder / "trace-4242.rpt").unlink()
        self.write(CALLS + "".join(step(number) for number in (1, 2, 3)))
        whole = self.reprise("discover", "-o", "-")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        part = self.reprise("discover", "-o", "-", "--kernel", "gemm")
        self.assertEqual(part.returncode, 1, part.stdout)
        self.assertIn("no steps", part.stderr)

    @staticmethod
    def launch(seq, kernel, step):
        return (f"enter cuLaunchKernel 0x{kernel and 9} 0x0\n"
                f"note launch seq={10 * step + seq} kernel={kernel} stream=0x0 step={step} "
                "grid_x=8 verdict=exact\n"
                f"note access seq={10 * step + seq} allocation={seq % 2 + 1} bytes=64 effect=write "
                "verdict=exact\nleave cuLaunchKernel 0\n")

    def test_nothing_passes(self):
        """Every reader ends alike, whichever filter it was that let nothing pass."""
        nothing = {"calls": "999", "call": "nosuch", "kernel": "nosuch", "segment": "nosuch",
                   "buffer": "nosuch", "allocation": "99", "verdict": "nosuch", "time": "99-",
                   "stream": "0x99", "step": "99", "proof": "nosuch"}
        self.assertEqual(set(nothing), set(self.FILTERS))
        for command, words in self.READERS.items():
            for name, value in nothing.items():
                with self.subTest([command, name]):
                    done = self.reprise(command, *words, f"--{name}", value)
                    self.assertEqual((done.returncode, done.stderr),
                                     (1, f"reprise: nothing passes --{name} {value}\n"))
        self.assertRefused(self.reprise("dump", "-k", "gemm", "--grep", "nosuch"), 1,
                           "nothing passes --grep nosuch --kernel gemm")

    def test_what_only_the_whole_run_knows_is_left_out(self):
        self.summarise(steps=9)
        self.assertIn("steps", json.loads(self.read("info", "--json")))
        self.assertNotIn("steps", json.loads(self.read("info", "--json", "--step", "1")))


class Golden(harness.Case):
    """Traces of every version that was ever written stay readable, and say the same."""

    COMMANDS = {".txt": ["dump"], ".jsonl": ["dump", "--json"], ".json": ["info", "--json"]}

    def test_versions(self):
        folder = pathlib.Path(__file__).parent / "golden"
        golden = [path for path in sorted(folder.glob("version-*"))
                  if path.suffix != ".rpt"]
        self.assertEqual({path.suffix for path in golden}, set(self.COMMANDS))
        for path in golden:
            with self.subTest(path.name), path.with_suffix(".rpt").open("rb") as trace:
                done = subprocess.run([harness.REPRISE, *self.COMMANDS[path.suffix], "-"],
                                      stdin=trace, capture_output=True, text=True,
                                      env=harness.environment())
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, path.read_text())

    def test_two_files_of_one_trace_may_be_of_two_versions(self):
        folder = pathlib.Path(__file__).parent / "golden"
        run = self.folder / "reprise.data"
        run.mkdir()
        expected = []
        for version, name in (("version-1", "trace-1.0"), ("version-3", "trace-1")):
            shutil.copy(folder / f"{version}.rpt", run / f"{name}.rpt")
            expected += (folder / f"{version}.txt").read_text().splitlines()
        done = self.reprise("dump")
        self.assertEqual(done.returncode, 65)
        self.assertIn("begins with event 0 where event 29 was due", done.stderr)
        self.assertCountEqual(*([line.split(".", 2)[2] for line in lines]
                                for lines in (done.stdout.splitlines(), expected)))


class Damage(ReadingCase):
    def test_no_trace_at_all(self):
        path = self.folder / "noise"
        path.write_bytes(os.urandom(5000))
        for command in ("dump", "info", "check"):
            done = self.reprise(command, "noise")
            self.assertEqual(done.returncode, 65, done.stderr)
            self.assertIn("noise: ", done.stderr)

    def test_an_empty_folder(self):
        for command in ("dump", "info", "check"):
            self.assertRefused(self.reprise(command), 65, "holds no trace")

    def test_a_torn_trace_shows_what_came_before(self):
        path = self.write(CALLS + "enter cuLaunchKernel 0x9 0x0\nleave cuLaunchKernel 0\n" * 50000)
        whole = self.read("dump").splitlines()
        data = path.read_bytes()
        path.write_bytes(data[:len(data) * 2 // 3])
        done = self.reprise("dump")
        self.assertEqual(done.returncode, 65)
        self.assertRegex(done.stderr, r"^reprise: .*trace-4242\.rpt: .+")
        torn = done.stdout.splitlines()
        self.assertTrue(torn)
        self.assertEqual(torn[:-1], whole[:len(torn) - 1])

    def test_other_traces_are_read_all_the_same(self):
        (self.run_folder / "trace-1.rpt").write_bytes(b"nonsense")
        self.write(STORY)
        done = self.reprise("dump")
        self.assertEqual(done.returncode, 65)
        self.assertIn("cuMemAlloc_v2", done.stdout)

    def test_a_summary_that_is_none_is_named(self):
        self.write(STORY)
        (self.run_folder / "summary-1.json").write_text("{")
        done = self.reprise("info")
        self.assertIn("summary-1.json: not a summary", done.stderr)
        self.assertEqual(done.returncode, 65)
        self.assertEqual(self.reprise("check").returncode, 65)

    def test_a_damaged_run_json_is_named(self):
        self.write(STORY)
        for text in ("", "{", "[]", "{}", '{"format": "reprise-run", "version": 1, "mode": 1}',
                     '{"format": "reprise-run", "version": 1, "command": [1]}'):
            (self.run_folder / "run.json").write_text(text)
            done = self.reprise("info")
            self.assertEqual(done.returncode, 65)
            self.assertIn("reprise.data/run.json: damaged", done.stderr)
            self.assertIn("2, 3 launches", done.stdout)

    def test_a_newer_summary_or_run_json_is_named_so(self):
        self.write(STORY)
        for name, format_ in (("summary-4242.json", "summary"), ("run.json", "run")):
            document = {"format": f"reprise-{format_}", "version": 2, "pid": 4242, "hazards": []}
            (self.run_folder / name).write_text(json.dumps(document))
            for command, words in SameFilters.READERS.items():
                with self.subTest([name, command]):
                    done = self.reprise(command, *words)
                    self.assertEqual(done.returncode, 65)
                    self.assertIn(f"{name}: ", done.stderr)
                    self.assertIn("reads version 1 of it, not 2; a newer reprise may", done.stderr)
            (self.run_folder / name).unlink()

    def test_a_member_of_another_type_is_damage(self):
        self.write(STORY)
        hazard = {"hazard": "stale-read", "step": 1}
        for figures, why in (({"hazards": {}}, "hazards is not a list"),
                             ({"hazards": None}, "hazards is not a list"),
                             ({"hazards": ["stale-read"]}, "hazards: one is not an object"),
                             ({"hazards": [{**hazard, "hazard": 1}]}, "hazard is not a text"),
                             ({"hazards": [{**hazard, "harmless": 1}]}, "not true or false"),
                             ({"segments": [{"name": "a", "replays": "4"}]}, "a whole number"),
                             ({"steps": -1}, "steps is not a whole number"),
                             ({"pid": "4242"}, "pid is not a whole number"),
                             ({"version": None}, "no version"),
                             ({"plan": []}, "plan is not an object")):
            with self.subTest(figures):
                self.summarise(**{"segments": [{"name": "a", "replays": 3}], **figures})
                for words in (["check"], ["check", "-e", "9"], ["info"]):
                    done = self.reprise(*words)
                    self.assertEqual(done.returncode, 65, done.stdout)
                    self.assertIn("not a summary: ", done.stderr)
                    self.assertIn(why, done.stderr)
                for path in self.run_folder.glob("summary-*"):
                    path.unlink()

    def test_a_member_that_is_not_known_is_let_pass(self):
        self.write(STORY)
        self.summarise(novelty={"of": ["some", 1]}, segments=[{"name": "a", "novelty": True}])
        self.read("info")

    def test_every_reader_says_what_is_damaged_beside_the_trace(self):
        self.write(STORY)
        for name in ("run.json", "summary-1.json"):
            path = self.run_folder / name
            path.write_text("{")
            for command, words in SameFilters.READERS.items():
                with self.subTest([name, command]):
                    done = self.reprise(command, *words)
                    self.assertIn(name, done.stderr.splitlines()[0])
                    self.assertEqual(done.returncode, 65)
            path.unlink()


class Info(ReadingCase):
    def setUp(self):
        super().setUp()
        self.write(STORY)
        self.summarise(steps=2, launches=3, mode="check", driver="/soft", bytes_preserved=2048,
                       transactions=2, bytes_held_peak=1024,
                       segments=[{"name": "block", "forwards": 5, "replays": 4, "unreplayed": 1,
                                  "refused": "cuFoo is not proved"}],
                       buffers=[{"name": "queue", "found": 1}, {"name": "scale", "found": 0}],
                       unknown=[{"call": "cuBar", "count": 3, "reason": "never heard of it"}],
                       proofs={"exact": 2, "bounded": 1})

    def test_json(self):
        info = json.loads(self.read("info", "--json"))
        self.assertEqual((info["format"], info["version"]), ("reprise-info", 1))
        self.assertEqual(info["calls"], {"cuMemAlloc_v2": 1, "cuLaunchKernel": 3})
        self.assertEqual(info["kernels"]["bn_forward"]["launches"], 1)
        self.assertEqual(info["kernels"]["gemm"]["verdicts"], {"exact": 1, "bounded": 1})
        self.assertEqual(info["kernels"]["bn_forward"]["proof"], "writes param 3\nall of it")
        self.assertEqual(info["allocations"]["peak_bytes"], 4096)
        self.assertEqual(info["allocations"]["freed"], 1)
        self.assertEqual(info["segments"]["block"]["replays"], 4)
        self.assertEqual(info["buffers"], {"queue": 1, "scale": 0})
        self.assertEqual(info["steps"], 2)
        process, = info["processes"]
        self.assertEqual((process["pid"], process["command"], process["device"]),
                         (4242, "./train", "toy"))

    def test_for_people(self):
        text = self.read("info")
        for pattern in (r"process  4242  ./train", r"steps    2, 3 launches",
                        r"block +5 +4 +1  refused: cuFoo is not proved", r"scale .*never seen",
                        r"1  bn_forward +writes: exact", r"gemm +writes: bounded 1, exact 1",
                        r"3  cuLaunchKernel", r"at most 4 KiB", r"3  cuBar: never heard of it",
                        r"2 KiB preserved"):
            self.assertRegex(text, pattern)
        self.assertIn("at most 4096 at", self.read("info", "--bytes"))

    def test_proof(self):
        self.assertEqual(self.read("info", "--proof", "bn_*"),
                         "bn_forward: exact\n  writes param 3\n  all of it\n")
        self.assertEqual(self.reprise("info", "--proof", "nope").returncode, 1)

    def test_names_do_nothing_to_a_terminal(self):
        odd = "a\x1b[2Jb\nc"
        segments = [{"name": odd, "forwards": 1, "replays": 1, "unreplayed": 0, "refused": odd}]
        hazard = {"hazard": "stale-read", "segment": odd, "buffer": odd, "allocation": 1,
                  "offset": 0, "bytes": 4, "reader": odd, "writer": odd, "step": 1, "count": 1,
                  "order": 0, "advice": odd}
        self.summarise(steps=1, launches=1, mode="check", segments=segments, hazards=[hazard],
                       buffers=[{"name": odd, "found": 1}],
                       unknown=[{"call": odd, "count": 1, "reason": odd}])
        for words, code in ((["info"], 0), (["check"], 1)):
            text = self.read(*words, code=code)
            self.assertNotIn("\x1b", text)
            self.assertIn(r"a\x1b[2Jb\nc", text)
        self.assertIn(odd, json.loads(self.read("info", "--json"))["segments"])

    def test_proof_as_an_object(self):
        (self.run_folder / "trace-4242.rpt").unlink()
        self.write(STORY.replace(
            "note step step=1", "enter cuLaunchKernel 0x9 0x0\nnote kernel function=0x9 "
            "kernel=bn_forward verdict=exact proof=all\nnote kernel function=0xb kernel=other "
            "verdict=root proof=some\nleave cuLaunchKernel 0\nnote step step=1"))
        for words, name, proof in ((["bn_*"], "bn_forward", "all"), (["oth*"], "other", "some")):
            info = json.loads(self.read("info", "--json", "--proof", *words))
            schema.validate(info, "info")
            self.assertEqual([(name, kernel["proof"]) for name, kernel in info["kernels"].items()],
                             [(name, proof)])
        self.assertEqual(self.reprise("info", "--json", "--proof", "nope").returncode, 1)

    def test_without_a_trace(self):
        (self.run_folder / "trace-4242.rpt").unlink()
        self.assertRegex(self.read("info"), r"block +5 +4")

    def test_without_a_summary_the_events_are_counted(self):
        (self.run_folder / "trace-4242.rpt").unlink()
        (self.run_folder / "summary-4242.json").unlink()
        path = self.write(STORY + HAZARDS)
        for words in ([], [path]):
            text = self.read("info", *words)
            self.assertIn("steps    2, 3 launches\n", text)
            self.assertIn("hazards  3;", text)
            info = json.loads(self.read("info", "--json", *words))
            self.assertEqual((info["steps"], info["launches"], info["hazards"]), (2, 3, 3))
            self.assertNotIn("bytes_preserved", info)
        self.write(STORY.replace("4242", "7"), "trace-7.rpt")
        self.summarise(pid=7, steps=10, launches=20)
        self.assertIn("steps    12, 23 launches\n", self.read("info"))

    def test_an_empty_file_has_no_totals(self):
        (self.folder / "empty").touch()
        done = self.reprise("info", "empty")
        self.assertEqual((done.returncode, done.stdout.strip()), (65, ""))
        self.assertEqual(done.stderr, "reprise: empty: the file is empty\n")

    def test_lost_events_are_reported(self):
        self.write("property pid 7\nnote gap lost=12\n", "trace-7.rpt")
        self.assertIn("events were lost: 12", self.read("info"))


class Check(ReadingCase):
    SEGMENTS = [{"name": "block", "forwards": 3, "replays": 3}]

    def hazards(self):
        return [
            {"hazard": "state-left", "segment": "block", "buffer": "queue", "allocation": 2,
             "offset": 0, "bytes": 64, "step": 1, "count": 1, "version_read": 3,
             "version_wanted": 2},
            {"hazard": "stale-read", "segment": "head", "buffer": "running_mean", "allocation": 1,
             "allocation_bytes": 8192, "offset": 16, "bytes": 4096, "version_read": 9,
             "version_wanted": 4, "writer": "bn_update", "writer_seq": 9, "writer_step": 3,
             "writer_launch": 17, "writer_stream": "0x55d0", "reader": "bn_forward", "step": 3,
             "count": 24, "advice": "guard it"},
            {"hazard": "stale-read", "segment": "block", "allocation": 5, "bytes": 4, "step": 2,
             "count": 1}]

    def test_what_is_not_vouched_for_is_not_called_the_same(self):
        for flag in "unvouched", "unseen":
            self.summarise(segments=self.SEGMENTS, hazards=[], unknown=[
                {"call": "gather", "count": 3, "reason": "not checked", flag: True}])
            said = self.read("check")
            self.assertIn("no hazards: 3 replays followed; what 1 call may have", said)
            self.assertNotIn("read what their forwards", said)

    def test_clean(self):
        self.summarise(segments=self.SEGMENTS, hazards=[])
        self.assertIn("no hazards: 3 replays followed, which", self.read("check"))
        clean = json.loads(self.read("check", "--json"))
        self.assertEqual(clean, {"format": "reprise-check", "version": 1, "clean": True,
                                 "replays": 3, "hazards": []})

    def test_nothing_checked_is_not_clean(self):
        self.summarise(segments=[{"name": "block", "forwards": 3}], hazards=[])
        self.assertIn("nothing was checked", self.read("check", code=1))
        self.assertFalse(json.loads(self.read("check", "--json", code=1))["clean"])

    def test_a_run_without_a_contract(self):
        self.summarise(hazards=[])
        self.assertRefused(self.reprise("check"), 2, "no contract")

    def test_most_damaging_first(self):
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards())
        text = self.read("check", code=1)
        paragraphs = text.split("\n\n")
        self.assertEqual([paragraph.split(":")[0] for paragraph in paragraphs[:3]],
                         ["stale-read in segment head", "stale-read in segment block",
                          "state-left in segment block"])
        for part in ("running_mean", "bytes    16 to 4111 (4 KiB) of allocation 1",
                     "read 9, wanted 4", "bn_update, launch 17 of step 3, stream 0x55d0 (call 9)",
                     "reader   bn_forward", "first in step 3, 24 times in all", "guard it"):
            self.assertIn(part, paragraphs[0])
        self.assertIn("not declared", paragraphs[1])
        self.assertEqual(paragraphs[3], "3 hazards, 3 replays followed\n")

    def test_a_hazard_without_bytes_has_no_versions(self):
        self.summarise(segments=self.SEGMENTS, hazards=[
            {"hazard": "unpaired", "segment": "block", "instance": 0, "key": "layer7",
             "allocation": 0, "step": 2, "count": 1, "order": 0},
            {"hazard": "diverged", "segment": "block", "instance": 3, "allocation": 0,
             "reader": "g", "other": "f", "position": 3, "step": 2, "count": 1, "order": 1}])
        text = self.read("check", code=1)
        self.assertIn("  replay   layer7\n", text)
        self.assertIn("  called   g\n  forward  f, its call 3\n", text)
        self.assertIn("the first to be met: unpaired in step 2\n", text)
        for word in ("version", "bytes", "buffer", "written by"):
            self.assertNotIn(word, text)

    def test_a_race_names_both_calls(self):
        self.summarise(segments=self.SEGMENTS, hazards=[
            {"hazard": "live-read", "segment": "block", "buffer": "queue", "allocation": 2,
             "allocation_bytes": 64, "memory": "pool", "birth_seq": 57, "offset": 0, "bytes": 64,
             "reader": "log", "other": "attend", "step": 1, "count": 1}])
        text = self.read("check", code=1)
        self.assertIn("of allocation 2, which has 64 B of pool memory, made by call 57\n", text)
        self.assertIn("  reader   log\n  replay   attend, which the bytes are rewound for\n", text)

    def test_what_was_taken_for_state_has_set_the_replays_result_aside(self):
        for taken, said in (("state", "whose result was set aside"),
                            ("an output", "which has made the bytes anew")):
            self.summarise(segments=self.SEGMENTS, hazards=[
                {"hazard": "assumed", "segment": "block", **self.BYTES, **self.READER,
                 "other": "norm", "taken_for": taken, "warning": True, "step": 1, "count": 1}])
            self.assertIn(f"  replay   norm, {said}\n  taken    for {taken}\n",
                          self.read("check"))

    # One of each kind, as a run's summary has them.
    BYTES = {"allocation": 7, "allocation_bytes": 8192, "memory": "pool", "birth_seq": 57,
             "offset": 16, "bytes": 4096, "version_read": 9}
    WRITER = {"writer": "enqueue", "writer_seq": 9, "writer_step": 2, "writer_launch": 17,
              "writer_stream": "0x55d0"}
    READER = {"reader": "attend", "reader_launch": 3}
    ALL_KINDS = [
        ("stale-read", {**BYTES, **WRITER, **READER, "buffer": "queue", "version_wanted": 4}),
        ("foreign-read", {**BYTES, **WRITER, **READER}),
        ("state-left", {**BYTES, **WRITER, "reader": "enqueue", "version_wanted": 4}),
        ("live-read", {**BYTES, **READER, "buffer": "queue", "other": "advance"}),
        ("not-preserved", {**BYTES, **READER}),
        ("unproved", {**BYTES, **WRITER, **READER, "other": "norm"}),
        ("unpaired", {"allocation": 0, "key": "layer7"}),
        ("diverged", {"allocation": 0, **READER, "other": "norm", "position": 3}),
        ("assumed", {**BYTES, **WRITER, **READER, "other": "norm", "taken_for": "an output",
                     "warning": True}),
    ]

    def test_each_kind_says_all_that_is_known(self):
        self.summarise(segments=self.SEGMENTS, hazards=[
            {"hazard": kind, "segment": "block", "instance": 1, **fields, "step": 3, "count": 2,
             "order": order, "advice": f"what to do about {kind}"}
            for order, (kind, fields) in enumerate(self.ALL_KINDS)])
        golden = pathlib.Path(__file__).resolve().parent / "golden" / "check.txt"
        self.assertEqual(self.read("check", code=1), golden.read_text())

    def test_the_first_to_be_met_is_named(self):
        hazards = [dict(hazard, order=order) for hazard, order in zip(self.hazards(), (2, 1, 3))]
        self.summarise(segments=self.SEGMENTS, hazards=hazards)
        self.assertIn("the first to be met: stale-read of running_mean in step 3, written by "
                      "bn_update\n", self.read("check", code=1))

    def test_exit_codes(self):
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards())
        self.read("check", code=1)
        self.read("check", "-e", "9", code=9)
        self.read("check", "--segment", "he*", code=1)
        self.read("check", "--segment", "tail", "-e", "9", code=1)

    def test_what_filters_hide_is_not_clean(self):
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards())
        text = self.read("check", "--segment", "tail", code=1)
        self.assertTrue(text.startswith("none of this run's 3 hazards passes --segment tail"), text)
        found = json.loads(self.read("check", "--json", "--segment", "tail", code=1))
        self.assertEqual((found["clean"], found["hidden"], found["hazards"]), (False, 3, []))
        self.assertIn("\n1 more of this run do not pass --segment block\n",
                      self.read("check", "--segment", "block", code=1))
        self.summarise(segments=self.SEGMENTS, hazards=[dict(self.hazards()[0], harmless=True)])
        self.assertIn("no hazards", self.read("check", "--segment", "tail"))

    def test_a_hazard_that_comes_again_passes_what_is_later(self):
        self.write(STORY + "enter cuLaunchKernel 0xa 0x0\n" + HAZARDS.splitlines()[0] +
                   "\nleave cuLaunchKernel 0\nnote step step=3\nenter cuLaunchKernel 0xa 0x0\n"
                   "leave cuLaunchKernel 0\nnote step step=9\n")
        for count, later in ((1, []), (5, ["queue"])):
            self.summarise(segments=self.SEGMENTS,
                           hazards=[dict(self.hazards()[0], count=count)])
            for words in (["--step", "3"], ["--step", "9"], ["--calls", "100-"],
                          ["--time", "0.000000001-", "--step", "3"]):
                with self.subTest(words, count=count):
                    self.assertEqual(self.pick(*words), later)
            for words in (["--step", "0"], ["--calls", "0-3"], ["--time", "0-0"]):
                with self.subTest(words, count=count):
                    self.assertEqual(self.pick(*words), [])

    def test_dump_of_a_later_step_tells_of_hazards_that_may_have_come_again(self):
        self.write(STORY + "note step step=3\nnote step step=9\n")
        self.summarise(segments=self.SEGMENTS, hazards=[dict(self.hazards()[0], count=5)])
        for step, told in (9, True), (3, False):
            done = self.reprise("dump", "--step", str(step))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("1 hazard of earlier steps came again, maybe in step 9; next: reprise "
                             "check --step 9" in done.stderr, told, done.stderr)
        self.summarise(segments=self.SEGMENTS, hazards=[dict(self.hazards()[0], count=1)])
        self.assertEqual(self.reprise("dump", "--step", "9").stderr, "")

    def test_a_hazard_of_a_summary_alone_passes_its_later_steps(self):
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards())
        self.assertEqual(self.pick("--step", "7"), ["running_mean"])
        self.assertEqual(self.pick("--step", "2"), ["-"])

    def test_a_trace_alone_does_not_know_how_often(self):
        self.write(STORY + HAZARDS)
        self.assertEqual(self.pick("--step", "1"), ["queue"])

    def pick(self, *words, code=1):
        found = json.loads(self.read("check", "--json", *words, code=code))["hazards"]
        return [hazard.get("buffer", "-") for hazard in found]

    def test_a_hazard_passes_with_the_call_that_met_it(self):
        self.write(CALLS + """\
enter cuLaunchKernel 0x9 0x0
note launch seq=3 kernel=bn_forward stream=0x0 step=3 index=0 verdict=exact
note hazard hazard=stale-read segment=head buffer=running_mean allocation=1 offset=16 bytes=4096 \
version_read=9 version_wanted=4 writer=bn_update writer_seq=9 step=3 count=1 reader=bn_forward
leave cuLaunchKernel 0
enter cuLaunchKernel 0xa 0x55d0
note launch seq=4 kernel=gemm stream=0x55d0 step=4 index=0 verdict=root
leave cuLaunchKernel 0
""".replace("\\\n", ""))
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards()[1:2])
        for words in (["--stream", "0x0"], ["--verdict", "exact"], ["--calls", "0-3"],
                      ["--call", "cuLaunch*", "--step", "3"], ["--time", "0-"],
                      ["--kernel", "bn_forward"], ["--kernel", "bn_update"]):
            with self.subTest(words):
                self.assertEqual(self.pick(*words), ["running_mean"])
        self.assertEqual(self.pick("--stream", "0x55d0"), [])
        found = json.loads(self.read("check", "--json", "--stream", "0x0", code=1))["hazards"]
        self.assertEqual([hazard["count"] for hazard in found], [24], "a summary knows how often")

    def test_a_hazard_without_its_call_passes_by_what_it_says(self):
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards())
        self.assertEqual(self.pick("--segment", "head"), ["running_mean"])
        self.assertEqual(self.pick("--kernel", "bn_update"), ["running_mean"])
        self.assertEqual(self.pick("--buffer", "qu*"), ["queue"])
        self.assertEqual(self.pick("--allocation", "5"), ["-"])
        self.assertEqual(self.pick("--step", "3", "--segment", "*"), ["running_mean"])
        done = self.reprise("check", "--time", "0-")
        self.assertEqual((done.returncode, done.stdout), (1, ""), "a summary knows no times")
        self.assertIn("3 hazards are known from a summary alone", done.stderr)

    def test_harmless_hazards_are_shown_and_do_not_count(self):
        self.summarise(segments=self.SEGMENTS,
                       hazards=[dict(self.hazards()[0], harmless=True)])
        self.assertIn("harmless, says the contract", self.read("check"))

    def test_warnings_are_shown_and_do_not_count(self):
        self.summarise(segments=self.SEGMENTS, hazards=[
            dict(self.hazards()[0], hazard="assumed", taken_for="an output")])
        text = self.read("check")
        self.assertIn("  taken    for an output\n", text)
        self.assertIn("1 warning, 3 replays followed\n", text)

    def test_a_process_without_a_summary_is_read_from_its_trace(self):
        self.write(CALLS + "note segment segment=block phase=replay%20begins\n" + HAZARDS)
        text = self.read("check", code=1)
        self.assertEqual(re.findall(r"buffer   (\w+)", text), ["large", "small", "queue"])
        self.assertIn("3 hazards, 1 replays followed", text)
        found = json.loads(self.read("check", "--json", code=1))["hazards"]
        self.assertEqual((found[0]["writer"], found[0]["writer_stream"], found[0]["pid"]),
                         ("bn_update", "0x55d0", 4242))

    def test_what_a_trace_does_not_know_is_not_told_as_zero(self):
        self.write(CALLS + "note hazard hazard=unpaired segment=block step=2 advice=look\n"
                   "note hazard hazard=foreign-read segment=block allocation=4 bytes=8 step=2 "
                   "version_read=6 memory=pool birth_seq=2 reader=gemm advice=look\n" + HAZARDS)
        text = self.read("check", code=1)
        paragraphs = {text.split()[0]: text for text in text.split("\n\n")}
        self.assertNotIn("wanted", paragraphs["foreign-read"])
        self.assertNotIn("which has", text)
        self.assertEqual(paragraphs["unpaired"].splitlines()[1:],
                         ["  seen     first in step 2", "  advice   look"])
        self.assertIn("the first to be met: unpaired in step 2\n", text)
        found = json.loads(self.read("check", "--json", code=1))["hazards"]
        foreign = next(each for each in found if each["hazard"] == "foreign-read")
        self.assertFalse({"version_wanted", "writer_seq", "position"} & set(foreign))
        self.assertEqual((foreign["version_read"], foreign["reader_launch"]), (6, 0))

    def test_hazards_before_another_program_took_the_place(self):
        self.write(CALLS + HAZARDS)
        self.write("property pid 4242\nproperty program 2\nnote step step=1\n", "trace-4242-2.rpt")
        self.summarise(program=2, segments=self.SEGMENTS, hazards=[])
        self.assertEqual(len(json.loads(self.read("check", "--json", code=1))["hazards"]), 3)
        self.summarise(segments=self.SEGMENTS, hazards=[])
        self.assertEqual(json.loads(self.read("check", "--json"))["hazards"], [])

    def test_hazards_are_not_counted_twice(self):
        self.write(CALLS + HAZARDS)
        self.write("property pid 1\nnote step step=1\n", "trace-1.rpt")
        self.summarise(segments=self.SEGMENTS, hazards=self.hazards())
        self.assertEqual(len(json.loads(self.read("check", "--json", code=1))["hazards"]), 3)

    def test_a_torn_trace_is_never_clean(self):
        path = self.write(CALLS + "note segment segment=block phase=replay%20begins\n")
        path.write_bytes(path.read_bytes()[:-3])
        self.assertEqual(self.reprise("check").returncode, 65)

    def test_hazards_of_damaged_data_are_not_all_there_may_be(self):
        (self.run_folder / "trace-7.rpt").write_text("nonsense")
        self.write(CALLS + "note segment segment=block phase=replay%20begins\n" + HAZARDS)
        for words in ([], ["-e", "9"]):
            done = self.reprise("check", *words)
            self.assertEqual(done.returncode, 65)
            self.assertIn("3 hazards, 1 replays followed", done.stdout)


if __name__ == "__main__":
    harness.main()
