#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad data and bad places, for every reader: a clear message, what can be read is shown, and the
exit code says it.

usage: test_damage.py REPRISE TRACE_FROM_SCRIPT"""
import json
import os
import pathlib
import random
import resource
import struct
import subprocess
import sys

import harness
from story import CALLS, STORY

WRITER = pathlib.Path(sys.argv[2]).resolve()
NOBODY = 65534
READERS = {"dump": ["dump"], "dump --json": ["dump", "--json"], "info": ["info"],
           "info --json": ["info", "--json"], "check": ["check"], "report": ["report", "-o", "-"],
           "discover": ["discover", "-o", "-"],
           **{form: ["export", "-f", form, "-o", "-"]
              for form in ("chrome", "csv", "jsonl", "memviz", "folded")}}
# What they say of a whole run: a replay had a hazard, and nothing can be discovered.
WHOLE = {"check": 1, "discover": 1}


class Damage(harness.Case):
    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "reprise.data"
        self.run_folder.mkdir()
        self.trace = self.run_folder / "trace-4242.rpt"
        self.write()

    def write(self):
        self.trace.unlink(missing_ok=True)
        subprocess.run([WRITER, self.trace], check=True, text=True,
                       input=CALLS.format(pid=4242, command="./train") + STORY)

    def read(self, reader, *more, **how):
        """Bytes, for damage may be anywhere, but never in what is printed."""
        done = subprocess.run([harness.REPRISE, *READERS[reader], *more], capture_output=True,
                              cwd=self.folder, env=harness.environment(), timeout=harness.PATIENCE,
                              check=False, **how)
        if reader != "memviz":
            done.stdout.decode()
        return done

    def assertDamaged(self, done, name="trace-4242.rpt"):
        self.assertEqual(done.returncode, 65, done.stderr)
        lines = done.stderr.decode().splitlines()
        self.assertTrue(lines and all(line.startswith("reprise: ") for line in lines), lines)
        self.assertIn(name, lines[0])

    def test_a_pipe_that_is_called_like_a_trace_is_not_waited_for(self):
        os.mkfifo(self.run_folder / "trace-7.rpt")
        for reader in READERS:
            for place in (), (self.run_folder / "trace-7.rpt",):
                with self.subTest(reader, place=place):
                    done = self.read(reader, *place)
                    self.assertDamaged(done, "trace-7.rpt: this is a named pipe, no trace")

    def test_a_trace_through_a_pipe_of_the_shell(self):
        done = subprocess.run(["bash", "-c", 'exec "$0" dump <(cat "$1")', harness.REPRISE,
                               self.trace], capture_output=True, env=harness.environment(),
                              timeout=harness.PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, self.read("dump").stdout))

    def test_what_stands_beside_a_trace_and_is_no_file(self):
        for name in ("summary-7.json", "run.json"):
            for make in (os.mkfifo, os.mkdir):
                with self.subTest(name, make=make):
                    make(self.run_folder / name)
                    self.assertDamaged(self.read("info"), f"{name}: ")
                    (os.rmdir if make is os.mkdir else os.unlink)(self.run_folder / name)

    def test_a_whole_one_is_none(self):
        for reader in READERS:
            with self.subTest(reader):
                done = self.read(reader)
                self.assertEqual(done.returncode, WHOLE.get(reader, 0), done.stderr)

    def test_cut_anywhere(self):
        """dump at every fifth byte (the reader at each: test_trace_damage.c), the others now and
        then; what is shown is the beginning of the whole."""
        data, whole = self.trace.read_bytes(), self.read("dump").stdout
        others = [reader for reader in READERS if reader != "dump"]
        for length in range(0, len(data), 5):
            self.trace.write_bytes(data[:length])
            done = self.read("dump")
            self.assertDamaged(done)
            self.assertTrue(whole.startswith(done.stdout), length)
            if length % 35 == 0:
                for reader in others:
                    with self.subTest([reader, length]):
                        self.assertDamaged(self.read(reader))

    def test_flipped_bits(self):
        data, chance = self.trace.read_bytes(), random.Random(8)
        whole = set(self.read("dump").stdout.splitlines())
        for _ in range(150):
            at, bit = chance.randrange(len(data)), chance.randrange(8)
            self.trace.write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1:])
            done = self.read("dump")
            self.assertDamaged(done)
            self.assertLessEqual(set(done.stdout.splitlines()), whole, f"bit {bit} of byte {at}")
        for reader in READERS:
            with self.subTest(reader):
                self.assertDamaged(self.read(reader))

    STEPS, EACH = 7, 4200  # chunks, and the notes in one

    def write_chunks(self):
        """A trace of many chunks: where each begins, behind which events, and whether it is a
        tally."""
        script = "".join(f"note step step={step}\n" * self.EACH + "flush\n"
                         for step in range(self.STEPS))
        self.trace.unlink()
        subprocess.run([WRITER, self.trace], check=True, text=True,
                       input=CALLS.format(pid=4242, command="./train") + script)
        data, chunks = self.trace.read_bytes(), []
        at = data.find(b"RPC\x1a")
        while at < len(data):
            flags, stored, _, events, _, first = struct.unpack_from("<IIIIIQ", data, at + 4)
            if flags != 1:
                chunks.append((at, stored, first, events, flags == 2))
            at += 56 + stored
        self.assertEqual(len([chunk for chunk in chunks if not chunk[4]]), self.STEPS)
        self.assertTrue(any(tally for *_, tally in chunks))
        return chunks

    def flip(self, *places):
        data = bytearray(self.trace.read_bytes())
        for place in places:
            data[place] ^= 1
        self.trace.write_bytes(data)

    def test_what_is_behind_damage_is_shown(self):
        """A flip in the header or payload of any chunk costs its own events alone, and one in a
        tally none."""
        chunks = self.write_chunks()
        whole, good = self.trace.read_bytes(), self.read("dump").stdout.decode().splitlines()
        for at, stored, first, events, tally in chunks:
            lost = set() if tally else set(range(first, first + events))
            left = [line for line in good if int(line.split()[0]) not in lost]
            for place in (at + 30, at + 55 + stored):
                with self.subTest(at=at, place=place, tally=tally):
                    self.trace.write_bytes(whole)
                    self.flip(place)
                    done, follows = self.read("dump"), self.read("dump", "--follow")
                    self.assertDamaged(done)
                    self.assertEqual(done.stdout.decode().splitlines(), left)
                    self.assertEqual((done.stdout, done.stderr, done.returncode),
                                     (follows.stdout, follows.stderr, follows.returncode))
                    info = self.read("info", "--json")
                    self.assertDamaged(info)
                    self.assertEqual(json.loads(info.stdout)["steps"], len(left))

    def test_damage_all_over_is_told_in_few_lines(self):
        chunks = self.write_chunks()
        self.flip(*(at + 55 + stored for at, stored, *_, tally in chunks if not tally))
        for reader in ("dump", "dump --json", "info", "check", "report"):
            with self.subTest(reader):
                done = self.read(reader)
                self.assertDamaged(done)
                lines = done.stderr.decode().splitlines()
                self.assertEqual(len(lines), 5, lines)
                self.assertIn(f"is damaged in {self.STEPS - 4} more places", lines[-1])
        self.assertIn(f"events are lost (and {self.STEPS - 1} more)",
                      self.read("info").stdout.decode())
        follows = self.read("dump", "--follow")
        self.assertEqual(follows.stderr, self.read("dump").stderr)

    def test_a_count_of_what_is_left_says_so(self):
        self.write()
        data = self.trace.read_bytes()
        self.trace.write_bytes(data[:len(data) - 20])
        for text in (self.read("check").stdout.decode(),
                     self.read("check", "--buffer", "nothing").stdout.decode()):
            self.assertIn("this run's data is damaged: what could not be read may hold more", text)
        self.assertTrue(json.loads(self.read("check", "--json").stdout)["damaged"])
        self.trace.write_bytes(data[:data.find(b"RPC\x1a") + 60])
        text = self.read("check").stdout.decode()
        self.assertIn("no hazards in what could be read: 0 replays followed in it\n", text)
        self.assertNotIn("nothing was checked", text)

    def test_what_is_no_trace(self):
        for data, why in ((b"", "empty"), (b"nonsense" * 99, "no trace of reprise"),
                          (b"\x89RPT\r\n\x1a\n", "breaks off in the header")):
            self.trace.write_bytes(data)
            for reader in READERS:
                with self.subTest([reader, why]):
                    done = self.read(reader)
                    self.assertDamaged(done)
                    self.assertIn(why, done.stderr.decode())

    def test_a_newer_one_is_named_so(self):
        data = bytearray(self.trace.read_bytes())
        data[8:12] = b"\x63\0\x63\0"
        self.trace.write_bytes(data)
        for reader in READERS:
            with self.subTest(reader):
                self.assertDamaged(self.read(reader))

    def test_an_empty_folder(self):
        self.trace.unlink()
        for reader in READERS:
            with self.subTest(reader):
                done = self.read(reader)
                self.assertDamaged(done, "reprise.data")
                self.assertIn("holds no trace", done.stderr.decode())
                self.assertEqual(done.stdout, b"")

    def test_nothing_of_that_name(self):
        for reader in READERS:
            with self.subTest(reader):
                done = self.read(reader, "nowhere")
                self.assertEqual((done.returncode, done.stdout), (2, b""))
                self.assertIn("nowhere: No such file or directory", done.stderr.decode())

    def as_nobody(self):
        """Root may read everything; so the reader is somebody else."""
        if os.getuid() == 0:
            self.folder.chmod(0o755)
            return {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        return {}

    def test_no_permission(self):
        somebody = self.as_nobody()
        self.run_folder.chmod(0o755)
        self.trace.chmod(0)
        for reader in READERS:
            with self.subTest([reader, "trace"]):
                done = self.read(reader, **somebody)
                self.assertDamaged(done)
                self.assertIn("Permission denied", done.stderr.decode())
        summary = self.run_folder / "summary-4242.json"
        summary.touch(0)
        self.assertIn(b"summary-4242.json: can't be read: Permission denied\n",
                      self.read("info", **somebody).stderr)
        self.run_folder.chmod(0)
        for reader in READERS:
            with self.subTest([reader, "folder"]):
                done = self.read(reader, **somebody)
                self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
                self.assertIn("reprise.data: Permission denied", done.stderr.decode())
        self.run_folder.chmod(0o755)

    def test_a_full_disk(self):
        for reader, words in READERS.items():
            with self.subTest(reader), open("/dev/full", "wb") as full:
                done = subprocess.run([harness.REPRISE, *words], stdout=full,
                                      stderr=subprocess.PIPE, cwd=self.folder, text=True,
                                      env=harness.environment(), check=False)
                if reader == "discover":
                    self.assertEqual(done.returncode, 1)  # there was nothing to be written
                    continue
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("No space left on device", done.stderr)

    def test_a_file_that_finds_no_room_is_not_left_there(self):
        def little_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
        for reader, words in READERS.items():
            if "-o" not in words or reader == "discover":
                continue
            out = [*words[:-1], "out"]
            with self.subTest(reader):
                done = subprocess.run(["sh", "-c", 'trap "" XFSZ; exec "$@"', "-", harness.REPRISE,
                                       *out], stderr=subprocess.PIPE, cwd=self.folder, text=True,
                                      env=harness.environment(), check=False,
                                      preexec_fn=little_room)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("File too large", done.stderr)
                self.assertEqual([path.name for path in self.folder.iterdir()], ["reprise.data"])

    def test_a_closed_pipe(self):
        for reader, words in READERS.items():
            with self.subTest(reader):
                read_end, write_end = os.pipe()
                os.close(read_end)
                done = subprocess.run([harness.REPRISE, *words], stdout=write_end,
                                      stderr=subprocess.PIPE, cwd=self.folder, text=True,
                                      env=harness.environment(), check=False)
                os.close(write_end)
                self.assertIn(done.returncode, (0, WHOLE.get(reader, 0)), done.stderr)
                if reader != "discover":
                    self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    harness.main()
