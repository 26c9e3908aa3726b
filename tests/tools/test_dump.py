#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dump: a line a call, to people, programs, pipes and terminals.

usage: test_dump.py REPRISE TRACE_FROM_SCRIPT"""
import contextlib
import json
import os
import pty
import re
import subprocess
import sys
import time

import harness
from reading import CALLS, HAZARDS, ReadingCase, STORY


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


if __name__ == "__main__":
    harness.main()
