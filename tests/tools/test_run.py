#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`reprise run` around jobs that never touch a GPU: it finds and checks everything first, and
then can't be told from the job.

usage: test_run.py REPRISE"""
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import time

import harness

CONTRACT = {"version": 1, "segments": [{"name": "block", "forward": {"nvtx": "forward/*"},
                                        "replay": {"nvtx": "again/*"}, "pair": "key"}],
            "buffers": [{"name": "queue", "at": {"kernel": "enqueue", "param": 0}, "bytes": 64}],
            "state": "declared"}


class RunCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.contract = self.folder / "contract.json"
        self.contract.write_text(json.dumps(CONTRACT))

    def run_job(self, *words, **changes):
        return self.reprise("run", "--device", "soft", *words, **changes)

    def start_job(self, *words, **more):
        return subprocess.Popen([harness.REPRISE, "run", "-q", "--device", "soft", "--", *words],
                                cwd=self.folder, env=harness.environment(), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def write_program(self, name, content, mode=0o755):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return path


def elf(kind=2, segments=()):
    """The start of a 64-bit executable with the given program header types."""
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", kind, 62, 1, 0, 64, 0, 0, 64,
                       56, len(segments), 64, 0, 0)
    return head + b"".join(struct.pack("<IIQQQQQQ", kind, 4, 0, 0, 0, 0, 0, 1)
                           for kind in segments)


class Transparent(RunCase):
    def test_exit_code(self):
        for code in (0, 1, 2, 70, 125, 255):
            self.assertEqual(self.run_job("sh", "-c", f"exit {code}").returncode, code)

    def test_signal_that_ends_the_job_ends_run(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGPIPE):
            # A sanitizer in the job would make an exit status of it.
            done = self.run_job("sh", "-c", f"kill -{int(number)} $$",
                                ASAN_OPTIONS="handle_segv=0")
            self.assertEqual(done.returncode, -number)

    def test_only_one_core_file(self):
        """run dies by the job's signal with the core limit 0 (the job's own is untouched)."""
        done = self.run_job("-q", "sh", "-c", "ulimit -c; kill -ABRT $$")
        bare = subprocess.run(["sh", "-c", "ulimit -c"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGABRT, bare.stdout))

    def test_streams(self):
        text = "one\ntwo\n\0three"
        done = self.run_job("-q", "sh", "-c", "cat; echo to stderr >&2", stdin=text)
        self.assertEqual((done.stdout, done.stderr), (text, "to stderr\n"))

    def test_our_lines_are_on_stderr_and_few(self):
        done = self.run_job(sys.executable, "-c", "import ctypes\n"
                            "ctypes.CDLL('libcuda.so.1').cuInit(0)")
        self.assertEqual(done.stdout, "")
        lines = done.stderr.splitlines()
        self.assertTrue(1 <= len(lines) <= 3, done.stderr)
        for line in lines:
            self.assertTrue(line.startswith("reprise: "), line)
        self.assertRegex(lines[-1], "next: reprise ")

    def test_arguments_pass_unchanged(self):
        odd = ["-q", "--", "--mode", "", "a b", "$HOME", "*", "-m", "ü"]
        script = "import sys, json; print(json.dumps(sys.argv[1:]))"
        for dashes in ([], ["--"]):
            done = self.run_job("-q", *dashes, sys.executable, "-c", script, *odd)
            self.assertEqual(json.loads(done.stdout), odd)

    def test_a_signal_sent_to_run_reaches_the_job(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1,
                       signal.SIGQUIT, signal.SIGUSR2):
            script = ("import signal, sys, time\n"
                      f"signal.signal({int(number)}, lambda *_: sys.exit(40 + {int(number)}))\n"
                      "print('ready', flush=True)\n"
                      "time.sleep(30)")
            # Whoever runs the tests may ignore it (nohup), and run would leave it at that.
            job = self.start_job(sys.executable, "-c", script,
                                 preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
            self.assertEqual(job.stdout.readline(), "ready\n")
            job.send_signal(number)
            job.communicate(timeout=harness.PATIENCE)
            self.assertEqual(job.returncode, 40 + number)

    def test_a_signal_from_the_terminal_reaches_the_job_once(self):
        """The terminal signals the whole group, so run must not pass it on again."""
        script = ("import signal, sys, time\n"
                  "count = 0\n"
                  "def seen(*_):\n    global count\n    count += 1\n"
                  "signal.signal(signal.SIGINT, seen)\n"
                  "print('ready', flush=True)\n"
                  "end = time.monotonic() + 1\n"
                  "while time.monotonic() < end: time.sleep(0.05)\n"
                  "print(count)")
        leader = ("import os, pty, sys\n"
                  "pid, fd = pty.fork()\n"
                  "if pid == 0: os.execv(sys.argv[1], sys.argv[1:])\n"
                  "seen = b''\n"
                  "while b'ready' not in seen: seen += os.read(fd, 100)\n"
                  "os.write(fd, b'\\x03')\n"
                  "try:\n"
                  "    while True: seen += os.read(fd, 100)\n"
                  "except OSError: pass\n"
                  "os.waitpid(pid, 0)\n"
                  "print(seen.decode().split()[-1])")
        done = subprocess.run(
            [sys.executable, "-c", leader, harness.REPRISE, "run", "-q", "--device", "soft", "--",
             sys.executable, "-c", script], cwd=self.folder, env=harness.environment(),
            capture_output=True, text=True, timeout=harness.PATIENCE)
        # Whatever the terminal echoes around it, one number comes back.
        self.assertEqual(re.findall(r"\d+", done.stdout), ["1"], done.stderr)

    def test_ignored_signals_stay_ignored(self):
        job = self.start_job("sh", "-c", "echo ready; sleep 0.5; exit 3",
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        job.stdout.readline()
        job.send_signal(signal.SIGHUP)
        job.communicate(timeout=harness.PATIENCE)
        self.assertEqual(job.returncode, 3)

    def test_the_jobs_signal_mask_and_dispositions_are_the_callers(self):
        script = "grep -E '^Sig(Blk|Ign)' /proc/self/status"
        bare = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
        self.assertEqual(self.run_job("-q", "sh", "-c", script).stdout, bare.stdout)

    def test_descriptors_are_not_leaked_into_the_job(self):
        script = "ls /proc/self/fd | sort -n | xargs"
        bare = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
        self.assertEqual(self.run_job("-q", "sh", "-c", script).stdout, bare.stdout)

    def test_script_without_a_shebang_is_the_shells(self):
        self.write_program("plain", "exit 9\n")
        self.assertEqual(self.run_job("./plain").returncode, 9)

    def test_verbose_prints_a_command_that_does_the_same(self):
        words = ["sh", "-c", "echo \"$REPRISE_MODE $1\"; exit 4", "sh", "it's"]
        done = self.run_job("-qv", *words)
        self.assertEqual((done.returncode, done.stdout), (4, "observe it's\n"))
        line = done.stderr.splitlines()[0].removeprefix("reprise: ")
        again = subprocess.run(["sh", "-c", line], cwd=self.folder, env=harness.environment(),
                               capture_output=True, text=True)
        self.assertEqual((again.returncode, again.stdout), (4, "observe it's\n"), again.stderr)


class Refused(RunCase):
    def test_not_found(self):
        self.assertRefused(self.run_job("no-such-program"), 127,
                           "no-such-program: command not found")
        self.assertRefused(self.run_job("./no-such-program"), 127,
                           "./no-such-program: No such file or directory")

    def test_not_executable(self):
        self.write_program("data", "text", mode=0o644)
        self.assertRefused(self.run_job("./data"), 126, "Permission denied")
        self.assertRefused(self.run_job("/"), 126, "directory")

    def test_found_in_path_but_not_executable(self):
        self.write_program("data", "text", mode=0o644)
        self.assertRefused(self.run_job("data", PATH=str(self.folder)), 126, "Permission denied")

    def test_static_program(self):
        self.write_program("static", elf())
        self.assertRefused(self.run_job("./static"), 125, "./static is statically linked")
        self.write_program("pie", elf(kind=3, segments=(1, 2)))
        self.assertRefused(self.run_job("./pie"), 125, "statically linked")

    def test_script_of_a_static_interpreter(self):
        static = self.write_program("static", elf())
        self.write_program("script", f"#! {static} -x\n")
        self.assertRefused(self.run_job("./script"), 125, "static is statically linked")

    def test_program_of_another_kind(self):
        other = bytearray(elf())
        other[4] = 1
        self.write_program("old", bytes(other))
        self.assertRefused(self.run_job("./old"), 125, "32-bit")

    def test_setuid_program(self):
        program = self.write_program("other", elf(segments=(3,)))
        if os.getuid() == 0:
            os.chown(program, 65534, 65534)
            program.chmod(0o4755)
        else:
            program = "su"
        self.assertRefused(self.run_job(str(program)), 125, "setuid")

    def test_no_driver(self):
        self.assertRefused(self.reprise("run", "--device", "cuda", "true",
                                        REPRISE_DRIVER="/no/libcuda.so"), 125,
                           "REPRISE_DRIVER names no driver: /no/libcuda.so is no readable file")

    def test_a_driver_that_is_not_there_is_not_replaced(self):
        done = self.reprise("run", "true", REPRISE_DRIVER="/no/libcuda.so")
        self.assertRefused(done, 125, "REPRISE_DRIVER names no driver: /no/libcuda.so is no")
        self.assertEqual(done.stderr.count("/no/libcuda.so"), 1, done.stderr)

    def test_limits_of_a_trace_that_make_no_sense(self):
        self.assertRefused(self.run_job("--last", "1MiB", "--limit", "1MiB", "true"), 2,
                           "--last keeps the trace's end and --limit its beginning")
        self.assertRefused(self.run_job("--last", "1MiB", "true", REPRISE_LIMIT="1MiB"), 2,
                           "and REPRISE_LIMIT its beginning")
        self.assertRefused(self.run_job("--last", "0", "true"), 2, "--last", "0 bytes")
        self.assertRefused(self.run_job("--limit", "0", "true"), 2, "--limit", "0 bytes")
        for word in ("--last", "--limit"):
            self.assertEqual(self.run_job(word, "1KiB", "true").returncode, 0)
            self.assertRegex(self.reprise("run", "--help").stdout,
                             word + r" SIZE .*\(64KiB or more\)")

    def test_nop_preloads_an_object_that_does_nothing(self):
        call = ("import ctypes\n"
                "print(ctypes.CDLL('libcuda.so.1').cuInit(0), open('/proc/self/maps').read())")
        done = self.reprise("run", "--nop", "--device", "soft", sys.executable, "-c", call)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(done.stdout.startswith("0 "), done.stdout[:80])
        self.assertIn("libreprise-nop.so", done.stdout)
        self.assertNotIn("libreprise.so", done.stdout)
        self.assertRefused(self.run_job("--nop", "-m", "check", "-c", "contract.json", "true"),
                           2, "--nop")
        self.assertRefused(self.run_job("--nop", "--audit", "1", "true"), 2, "--nop", "audit")

    def test_a_job_without_the_driver_is_nothing_to_talk_of(self):
        done = self.reprise("run", "--device", "soft", "true")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        done = self.reprise("run", "--device", "soft", "-v", "true")
        self.assertIn("no driver call", done.stderr)

    def test_under_reprise_already(self):
        done = self.run_job("-q", harness.REPRISE, "run", "true")
        self.assertEqual(done.returncode, 125)
        self.assertIn("already", done.stderr)

    def test_contract_errors_come_before_the_job(self):
        for text, complaint in (("{", "contract.json:1"), ('{"version": 1, "segmnts": []}', "segm"),
                                ('{"version": 1, "policy": 3}', "policy"), ("", "contract.json")):
            self.contract.write_text(text)
            done = self.run_job("-c", "contract.json", "touch", "started")
            self.assertRefused(done, 2, complaint)
            self.assertFalse((self.folder / "started").exists())
            self.assertFalse((self.folder / "reprise.data").exists())
        self.assertRefused(self.run_job("-c", "nowhere.json", "true"), 2, "nowhere.json")

    def test_modes_that_need_a_contract(self):
        for mode in ("check", "guard"):
            self.assertRefused(self.run_job("-m", mode, "true"), 2, "needs a contract")
        self.assertRefused(self.run_job("-p", "whole", "true"), 2, "needs a contract")

    def test_plan_is_not_ignored(self):
        command = ["-c", "contract.json", "--plan", "plan.json", "touch", "started"]
        self.assertRefused(self.run_job(*command), 2, 'the contract names no "step"')
        contract = json.loads(self.contract.read_text()) | {"step": {"nvtx": "step"}}
        self.contract.write_text(json.dumps(contract))
        self.assertRefused(self.run_job(*command), 2, "plan plan.json")
        self.assertFalse((self.folder / "started").exists())


class Environment(RunCase):
    def seen(self, *words, **changes):
        done = self.run_job("-q", *words, "env", **changes)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)

    def test_without_a_contract(self):
        seen = self.seen(REPRISE_STRICT=None)
        self.assertEqual(seen["REPRISE_MODE"], "observe")
        self.assertEqual(seen["REPRISE_TRACE"], "1")
        self.assertEqual(seen["REPRISE_OUTPUT"], str(self.folder.resolve() / "reprise.data"))
        self.assertTrue(seen["LD_PRELOAD"].endswith("/libreprise.so"))
        self.assertTrue(os.path.isabs(seen["REPRISE_DRIVER"]))
        self.assertEqual(seen["NVTX_INJECTION64_PATH"], seen["LD_PRELOAD"].split(":")[-1])
        self.assertIn(os.path.dirname(seen["REPRISE_DRIVER"]), seen["LD_LIBRARY_PATH"].split(":"))
        if seen["LD_PRELOAD"].endswith("/libreprise.so") and ":" not in seen["LD_PRELOAD"]:
            first = pathlib.Path(seen["LD_LIBRARY_PATH"].split(":")[0])
            for name in "libcuda.so", "libcuda.so.1": # the layer, by the driver's names
                self.assertEqual((first / name).resolve(), pathlib.Path(seen["LD_PRELOAD"]))
        for name in ("REPRISE_CONTRACT", "REPRISE_POLICY", "REPRISE_STRICT", "REPRISE_BUDGET"):
            self.assertNotIn(name, seen)

    def test_with_everything(self):
        seen = self.seen("-m", "check", "-c", "contract.json", "-p", "whole", "-b", "1.5GiB",
                         "-e", "99", "--no-trace", "-o", "out")
        copy = self.folder.resolve() / "out" / "contract.json"
        self.assertEqual(seen["REPRISE_MODE"], "check")
        self.assertEqual(seen["REPRISE_CONTRACT"], str(copy))
        self.assertEqual(copy.read_bytes(), self.contract.read_bytes())
        self.assertEqual(seen["REPRISE_POLICY"], "whole")
        self.assertEqual(seen["REPRISE_BUDGET"], str(3 << 29))
        self.assertEqual(seen["REPRISE_ERROR_EXITCODE"], "99")
        self.assertEqual(seen["REPRISE_TRACE"], "0")

    def test_a_contract_with_segments_is_guarded_by_default(self):
        seen = self.seen("-c", "contract.json")
        self.assertEqual((seen["REPRISE_MODE"], seen["REPRISE_STRICT"]), ("guard", "1"))

    def test_command_line_before_environment(self):
        seen = self.seen(REPRISE_OUTPUT="from-environment", REPRISE_MODE="observe")
        self.assertTrue(seen["REPRISE_OUTPUT"].endswith("/from-environment"))
        seen = self.seen("-o", "from-command-line", REPRISE_OUTPUT="from-environment")
        self.assertTrue(seen["REPRISE_OUTPUT"].endswith("/from-command-line"))

    def test_what_is_preloaded_already_stays(self):
        seen = self.seen(LD_PRELOAD="libm.so.6", ASAN_OPTIONS="verify_asan_link_order=0")
        self.assertRegex(seen["LD_PRELOAD"], r"/libreprise\.so:libm\.so\.6$")

    def test_a_variable_that_means_nothing_is_named(self):
        done = self.run_job("true", REPRISE_MOED="guard")
        self.assertIn("REPRISE_MOED means nothing; did you mean REPRISE_MODE?", done.stderr)


class Folder(RunCase):
    def files(self, name="reprise.data"):
        return sorted(path.name for path in (self.folder / name).iterdir())

    def test_describes_the_run(self):
        self.run_job("-m", "check", "-c", "contract.json", "sh", "-c", "true \xff")
        run = json.loads((self.folder / "reprise.data" / "run.json").read_text())
        self.assertEqual((run["format"], run["version"]), ("reprise-run", 1))
        self.assertEqual((run["mode"], run["contract"]), ("check", "contract.json"))
        self.assertEqual(run["command"][:2], ["sh", "-c"])

    def test_a_folder_that_is_removed_meanwhile(self):
        for words in ([], ["-q"], ["-c", "contract.json"]):
            with self.subTest(words):
                done = self.run_job(*words, "--", "sh", "-c", "rm -r reprise.data; exit 3")
                self.assertRefused(done, 3, "reprise.data was removed while the job ran", "lost")
                self.assertEqual("hazards" in done.stderr, "-c" in words)

    def test_a_folder_that_is_renamed_meanwhile(self):
        done = self.run_job("-v", "--", "sh", "-c", "mv reprise.data elsewhere")
        self.assertEqual(done.returncode, 0)
        self.assertIn("reprise.data was renamed while the job ran\n", done.stderr)

    def test_an_old_run_is_renamed_and_the_one_before_it_removed(self):
        for number in range(3):
            self.run_job("sh", "-c", f"exit {number}")
        commands = [json.loads((self.folder / name / "run.json").read_text())["command"][-1]
                    for name in ("reprise.data", "reprise.data.old")]
        self.assertEqual(commands, ["exit 2", "exit 1"])

    def wait_for_folder(self, name):
        while not (self.folder / name / "run.json").exists():
            time.sleep(0.01)

    def test_runs_at_once_never_take_each_others_folder(self):
        def start(number):
            return subprocess.Popen([harness.REPRISE, "run", "-d", "soft", "--", "sh", "-c",
                                     f"read line; exit {number}"], cwd=self.folder, text=True,
                                    env=harness.environment(), stdin=subprocess.PIPE,
                                    stderr=subprocess.PIPE)
        names = ["reprise.data", "reprise.data.2", "reprise.data.3"]
        jobs = []
        for number, name in enumerate(names):
            jobs.append(start(number))
            self.wait_for_folder(name)
        self.assertFalse((self.folder / "reprise.data.old").exists())
        for number, job in enumerate(jobs):
            _, errors = job.communicate("\n", timeout=harness.PATIENCE)
            self.assertEqual(job.returncode, number)
            self.assertEqual("is that of a run that goes on" in errors, number > 0, errors)
        commands = [json.loads((self.folder / name / "run.json").read_text())["command"][-1]
                    for name in names]
        self.assertEqual(commands, [f"read line; exit {number}" for number in range(3)])
        self.run_job("true")
        self.assertTrue((self.folder / "reprise.data.old").exists())

    def test_runs_that_begin_together_get_a_folder_each(self):
        jobs = [self.start_job("sleep", "1") for _ in range(8)]
        for job in jobs:
            job.communicate(timeout=harness.PATIENCE)
            self.assertEqual(job.returncode, 0)
        self.assertEqual(len(list(self.folder.glob("*/run.json"))), 8)

    def test_a_job_keeps_its_folder_when_run_is_killed(self):
        script = ("import ctypes, sys\nctypes.CDLL('libcuda.so.1').cuInit(0)\n"
                  "print('ready', flush=True)\nsys.stdin.readline()")
        job = self.start_job(sys.executable, "-c", script, stdin=subprocess.PIPE)
        self.assertEqual(job.stdout.readline(), "ready\n")
        job.kill()
        job.wait()
        self.run_job("true")
        self.assertFalse((self.folder / "reprise.data.old").exists())
        self.assertIn("run.json", self.files("reprise.data.2"))
        job.communicate("\n", timeout=harness.PATIENCE)

    def test_what_is_not_ours_is_never_touched(self):
        (self.folder / "mine").mkdir()
        (self.folder / "mine" / "thesis.txt").write_text("years of work")
        self.assertRefused(self.run_job("-o", "mine", "touch", "started"), 2, "other files")
        self.assertEqual(self.files("mine"), ["thesis.txt"])
        self.assertFalse((self.folder / "started").exists())

    def test_a_note_in_an_old_run_is_kept(self):
        self.run_job("true")
        self.run_job("true")
        (self.folder / "reprise.data.old" / "notes.txt").write_text("keep me")
        before = self.files("reprise.data.old")
        for _ in range(2):
            self.assertEqual(self.run_job("true").returncode, 0)
            self.assertEqual(self.files("reprise.data.old"), before)
            self.assertIn("run.json", self.files("reprise.data.old.2"))
        (self.folder / "reprise.data" / "notes.txt").write_text("keep me too")
        for _ in range(2):
            self.assertEqual(self.run_job("true").returncode, 0)
        self.assertEqual((self.folder / "reprise.data.old.2" / "notes.txt").read_text(),
                         "keep me too")
        self.assertIn("run.json", self.files("reprise.data.old.3"))

    def test_a_file_in_the_way(self):
        (self.folder / "reprise.data").write_text("a file")
        self.assertRefused(self.run_job("true"), 125, "reprise.data")
        self.assertEqual((self.folder / "reprise.data").read_text(), "a file")

    def test_names(self):
        self.run_job("-o", "a/b/run.%r.%%", "true", RANK="3")
        self.assertIn("run.json", self.files("a/b/run.3.%"))
        for size, name in (("1", "reprise.data"), ("4", "reprise.data-3")):
            self.run_job("true", RANK="3", WORLD_SIZE=size)
            self.assertIn("run.json", self.files(name))
        self.run_job("-o", "run.%p.%h", "true")
        self.assertTrue(any(path.name.startswith("run.") and str(os.uname().nodename) in path.name
                            for path in self.folder.iterdir()))
        self.assertRefused(self.run_job("-o", "run.%q", "true"), 2, "run.%q")

    def test_an_empty_folder_is_used_as_it_is(self):
        (self.folder / "empty").mkdir()
        self.assertEqual(self.run_job("-o", "empty", "true").returncode, 0)
        self.assertIn("run.json", self.files("empty"))


class Outcome(RunCase):
    """What is said at the end, from summaries that the job itself writes here."""

    def run_with(self, *words, contract=True, **figures):
        summary = {"format": "reprise-summary", "version": 1, "pid": 1, **figures}
        (self.folder / "summary.json").write_text(json.dumps(summary))
        contract = ["-m", "check", "-c", "contract.json"] if contract else []
        # /bin/cp never touches a GPU; the layer adds no summary of its own that counts.
        return self.run_job("-o", "out", *contract, *words, "sh", "-c",
                            "cp summary.json out/summary-1.json")

    def test_hazards(self):
        hazards = [{"hazard": "stale-read", "buffer": "queue", "bytes": 4, "step": 1}]
        done = self.run_with(hazards=hazards)
        self.assertEqual(done.returncode, 0)
        self.assertIn("reprise: 1 hazard", done.stderr)
        self.assertIn("next: reprise check out", done.stderr)
        self.assertEqual(self.run_with("-e", "33", hazards=hazards).returncode, 33)

    def test_harmless_ones_do_not_count(self):
        hazards = [{"hazard": "stale-read", "buffer": "queue", "harmless": True}]
        self.assertEqual(self.run_with("-e", "33", hazards=hazards).returncode, 0)

    def test_warnings_do_not_count_and_are_said(self):
        done = self.run_with("-e", "33", hazards=[{"hazard": "assumed", "warning": True}])
        self.assertEqual(done.returncode, 0)
        self.assertIn("reprise: 1 warning; ", done.stderr)
        self.assertIn("next: reprise check out", done.stderr)
        both = [{"hazard": "assumed"}, {"hazard": "diverged"}]
        self.assertIn("reprise: 1 hazard, 1 warning; ", self.run_with(hazards=both).stderr)

    def test_what_never_appeared_is_named(self):
        done = self.run_with(segments=[{"name": "block", "forwards": 0}],
                             buffers=[{"name": "queue", "found": 0}])
        self.assertIn("never seen in the job: segment block, buffer queue", done.stderr)
        done = self.run_with(segments=[{"name": "block", "forwards": 5, "replays": 0}],
                             buffers=[{"name": "queue", "found": 1}])
        self.assertIn("never seen in the job: a replay of segment block", done.stderr)
        done = self.run_with(segments=[{"name": "block", "forwards": 5, "replays": 5}],
                             buffers=[{"name": "queue", "found": 1}])
        self.assertNotIn("never seen", done.stderr)

    def test_who_reached_past_what_is_proved_is_named(self):
        done = self.run_with(unknown=[
            {"call": "gather", "count": 3, "reason": "nothing is proved of them",
             "unvouched": True}, {"call": "copy", "count": 1, "reason": "remarked"}])
        self.assertIn("not vouched for: undeclared bytes that these may reach: gather\n",
                      done.stderr)

    def test_who_reads_what_is_written_unseen_is_named(self):
        done = self.run_with(unknown=[
            {"call": "gather", "count": 3, "reason": "not checked", "unseen": True},
            {"call": "add", "count": 3, "reason": "not checked", "unseen": True},
            {"call": "copy", "count": 1, "reason": "remarked"}])
        self.assertIn("not vouched for: what host code or others write unseen, where these read or "
                      "copy to: gather, add\n", done.stderr)

    def test_at_most_three_lines(self):
        done = self.run_with(hazards=[{"hazard": "diverged"}], bytes_preserved=4096, calls=1234567)
        self.assertLessEqual(len(done.stderr.splitlines()), 3, done.stderr)
        self.assertIn("1,234,567 calls", done.stderr)
        self.assertIn("4 KiB preserved", done.stderr)


if __name__ == "__main__":
    harness.main()
