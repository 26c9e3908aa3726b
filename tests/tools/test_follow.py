#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`reprise dump --follow` beside jobs that run: the digits example on the software device, and jobs
that wait to be told to go on, so that no test depends on who is quick.

usage: test_follow.py REPRISE DIGITS CONTRACT TRACE_FROM_SCRIPT"""
import json
import pathlib
import signal
import subprocess
import sys
import time

import harness

DIGITS, CONTRACT, WRITER = (pathlib.Path(word).resolve() for word in sys.argv[2:5])
# A process of the job that makes a call, and ends when the file of that name is there, or the
# test's folder is not.
WAITS = ("python3 -c 'import ctypes, os, sys, time\nctypes.CDLL(\"libcuda.so.1\").cuInit(0)\n"
         "while os.path.exists(\"reprise.data\") and not os.path.exists(sys.argv[1]):\n"
         "    time.sleep(0.01)' ")


class Follow(harness.Case):
    def start(self, *command, words=()):
        """A run that goes on, once it has its folder."""
        job = subprocess.Popen([harness.REPRISE, "run", "-q", "-d", "soft", *words, "--",
                                *map(str, command)], cwd=self.folder, env=harness.environment(),
                               stdout=subprocess.DEVNULL)
        self.addCleanup(self.stop, job)
        self.wait_for("run.json")
        return job

    def stop(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def follow(self, *words):
        follower = subprocess.Popen([harness.REPRISE, "dump", "--follow", *words],
                                    cwd=self.folder, env=harness.environment(), text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(follower.stdout.close)
        self.addCleanup(follower.stderr.close)
        self.addCleanup(self.stop, follower)
        return follower

    def wait_for(self, pattern, count=1):
        patience = time.monotonic() + harness.PATIENCE
        while len(list(self.folder.glob(f"reprise.data/{pattern}"))) < count:
            self.assertLess(time.monotonic(), patience, f"no {pattern}")
            time.sleep(0.01)

    def until(self, follower, text):
        """The lines up to one with `text`."""
        lines = []
        for line in follower.stdout:
            lines.append(line)
            if text in line:
                return lines
        return self.fail(f"ended without {text}: {''.join(lines)}")

    def by_process(self, text):
        lines = {}
        for line in text.splitlines():
            lines.setdefault(line.split()[2].split(".")[0], []).append(line)
        return lines

    def assertShownAsAfterwards(self, text):
        """Each process's lines are those of the trace that is whole, in their order."""
        self.assertEqual(self.by_process(text), self.by_process(self.reprise("dump").stdout))

    def test_a_running_job(self):
        job = self.start(DIGITS, "-n", "150")
        self.wait_for("trace-*.rpt")
        trace, = self.folder.glob("reprise.data/trace-*.rpt")
        while trace.stat().st_size < 1000:
            time.sleep(0.01)
        followed = self.reprise("dump", "--follow", str(trace))
        self.assertEqual(job.wait(), 0)
        self.assertEqual((followed.returncode, followed.stderr), (0, ""))
        self.assertEqual(followed.stdout, self.reprise("dump").stdout)

    def test_a_job_that_keeps_only_its_end(self):
        job = self.start(DIGITS, "-n", "150", words=["--last", "160KiB"])
        followed = self.reprise("dump", "--follow", "--json")
        self.assertEqual(job.wait(), 0)
        self.assertEqual((followed.returncode, followed.stderr), (0, ""))
        kept = self.reprise("dump", "--json").stdout.splitlines()[1:]
        lines = followed.stdout.splitlines()[1:]
        self.assertLess(0, json.loads(kept[0])["id"], "the ring has turned")
        self.assertEqual(sorted(json.loads(line)["id"] for line in lines), list(range(len(lines))))
        self.assertEqual(set(kept), set(lines[-len(kept):]))

    def test_processes_that_begin_later(self):
        job = self.start("sh", "-c", f"{WAITS} go; {DIGITS} -n 3; {DIGITS} -n 2")
        follower = self.follow()
        shown = self.until(follower, "cuInit")
        (self.folder / "go").touch()
        text, complaints = follower.communicate(timeout=harness.PATIENCE)
        self.assertEqual((job.wait(), follower.returncode, complaints), (0, 0, ""))
        self.assertEqual(len(list(self.folder.glob("reprise.data/trace-*.rpt"))), 3)
        self.assertShownAsAfterwards("".join(shown) + text)

    def test_processes_side_by_side(self):
        job = self.start("sh", "-c", f"{WAITS} go & {DIGITS} -n 3; wait")
        follower = self.follow("--json")
        self.until(follower, "cuMemAlloc")
        self.assertFalse((self.folder / "go").exists(), "the other one has not ended")
        (self.folder / "go").touch()
        follower.communicate(timeout=harness.PATIENCE)
        self.assertEqual((job.wait(), follower.returncode), (0, 0))

    def test_before_the_first_process_has_begun(self):
        wait = "while [ -e reprise.data ] && [ ! -e go ]; do sleep 0.01; done"
        job = self.start("sh", "-c", f"{wait}; {DIGITS} -n 2")
        follower = self.follow()
        with self.assertRaises(subprocess.TimeoutExpired):
            follower.wait(timeout=0.3)
        (self.folder / "go").touch()
        text, complaints = follower.communicate(timeout=harness.PATIENCE)
        self.assertEqual((job.wait(), follower.returncode, complaints), (0, 0, ""))
        self.assertShownAsAfterwards(text)

    def test_what_is_saved_when_the_job_has_ended_is_shown(self):
        job = self.start("sh", "-c", f"python3 -c 'import ctypes, os\n"
                         "ctypes.CDLL(\"libcuda.so.1\").cuInit(0)\nos._exit(0)'; "
                         f"{WAITS} go")
        follower = self.follow()
        (self.folder / "go").touch()
        text, _ = follower.communicate(timeout=harness.PATIENCE)
        self.assertEqual((job.wait(), follower.returncode), (0, 0))
        self.assertShownAsAfterwards(text)

    def test_whoever_stops_reading_ends_it_in_silence(self):
        self.start("sh", "-c", f"{WAITS} never")
        follower = self.follow()
        self.until(follower, "cuInit")
        follower.stdout.close()
        self.assertEqual(follower.wait(timeout=harness.PATIENCE), 0)
        self.assertEqual(follower.stderr.read(), "")

    def test_an_interrupt_ends_it_in_silence(self):
        self.start("sh", "-c", f"{WAITS} never")
        follower = self.follow()
        self.until(follower, "cuInit")
        follower.send_signal(signal.SIGINT)
        self.assertEqual(follower.wait(timeout=harness.PATIENCE), 0)
        self.assertEqual(follower.stderr.read(), "")

    BACKLOG = 200_000

    def backlog(self, name, pid):
        """A trace of one line an event, in many turns."""
        subprocess.run([WRITER, self.folder / name], check=True, text=True,
                       input=f"property pid {pid}\n" + "note step step=1\n" * self.BACKLOG)

    def test_an_interrupt_ends_it_before_all_that_there_is_was_read(self):
        """Nobody reads what it prints, so it comes no further than a pipe holds."""
        self.backlog("long.rpt", 1)
        follower = self.follow("long.rpt")
        self.assertIn("step=1", follower.stdout.readline())
        follower.send_signal(signal.SIGINT)
        text, complaints = follower.communicate(timeout=harness.PATIENCE)
        self.assertEqual((follower.returncode, complaints), (0, ""))
        self.assertLess(text.count("\n"), self.BACKLOG // 2)

    def test_hazards_that_come_again_are_shown_in_each_step(self):
        job = self.start(DIGITS, "-n", "6", "--checkpoint", words=["-m", "check", "-c", CONTRACT])
        follower = self.follow("--step", "4")
        shown, told = follower.communicate(timeout=harness.PATIENCE)
        job.wait()
        self.assertEqual(told, "")
        self.assertIn("-- again hazard=stale-read", shown)
        self.assertEqual(shown, self.reprise("dump", "--step", "4").stdout)

    def test_a_process_that_nobody_waits_for_has_ended(self):
        child = subprocess.Popen(["true"])
        self.addCleanup(child.wait)
        while pathlib.Path(f"/proc/{child.pid}/stat").read_text().rsplit(")")[1].split()[0] != "Z":
            time.sleep(0.01)
        self.backlog("whole.rpt", child.pid)
        whole = (self.folder / "whole.rpt").read_bytes()
        (self.folder / "torn.rpt").write_bytes(whole[:-20])
        done = self.reprise("dump", "--follow", "torn.rpt")
        self.assertEqual(done.returncode, 65)
        self.assertIn("torn.rpt: breaks off", done.stderr)

    def test_a_process_that_was_killed_is_shown_as_afterwards(self):
        job = self.start("sh", "-c", f"{WAITS} never & while [ -e reprise.data ] && [ ! -e go ]; "
                         "do sleep 0.01; done; kill -9 $!")
        follower = self.follow()
        shown = self.until(follower, "cuInit")
        (self.folder / "go").touch()
        text, complaints = follower.communicate(timeout=harness.PATIENCE)
        job.wait()
        after = self.reprise("dump")
        self.assertEqual(("".join(shown) + text, complaints, follower.returncode),
                         (after.stdout, after.stderr, after.returncode))


if __name__ == "__main__":
    harness.main()
