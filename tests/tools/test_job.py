#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands around a real job: the digits example, with replays, on the software device.

usage: test_job.py REPRISE DIGITS CONTRACT"""
import json
import pathlib
import re
import resource
import signal
import subprocess
import sys

import harness
import schema

DIGITS, CONTRACT = (pathlib.Path(word).resolve() for word in sys.argv[2:4])


def killed(job, size):
    """A shell's script that kills the job when its trace has so many bytes, however long it takes
    on a machine that is busy."""
    return (f"{job} & job=$!; while [ \"$(cat reprise.data/trace-* | wc -c)\" -lt {size} ] && "
            "kill -0 $job; do sleep 0.2; done 2>/dev/null; kill -9 $job; wait $job")


class Job(harness.Case):
    def run_job(self, *words, steps=2, **changes):
        return self.reprise("run", "--device", "soft", *words, "--", str(DIGITS), "--checkpoint",
                            "--steps", str(steps), **changes)

    def contract_without(self, *names):
        contract = json.loads(CONTRACT.read_text())
        contract["buffers"] = [buffer for buffer in contract["buffers"]
                               if buffer["name"] not in names]
        (self.folder / "partial.json").write_text(json.dumps(contract))
        return "partial.json"

    def test_check_names_what_went_wrong(self):
        done = self.run_job("-m", "check", "-c", str(CONTRACT))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout.startswith("steps 2\n"))
        figures, hazards, advice = done.stderr.splitlines()
        self.assertRegex(figures, r"^reprise: [\d,]+ calls, [\d,]+ launches; trace [\d.]+ KiB in "
                                  r"reprise\.data$")
        self.assertRegex(hazards, r"^reprise: \d+ hazards$")
        self.assertEqual(advice, "reprise: next: reprise check")

        check = self.reprise("check")
        self.assertEqual(check.returncode, 1)
        self.assertIn("the first to be met: stale-read of queue in step 1, written by "
                      "enqueue_keys", check.stdout)
        buffers = {hazard["buffer"] for hazard in
                   json.loads(self.reprise("check", "--json").stdout)["hazards"]}
        self.assertEqual(buffers, {buffer["name"] for buffer in
                                   json.loads(CONTRACT.read_text())["buffers"]})

    def test_the_end_of_a_run_in_a_ring(self):
        done = self.run_job("-q", "-c", str(CONTRACT), "--last", "64KiB", steps=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        older, newer = sorted((self.folder / "reprise.data").glob("trace-*.rpt"))
        self.assertLessEqual(older.stat().st_size + newer.stat().st_size, 64 << 10)
        lines = self.reprise("dump").stdout.splitlines()
        ids = [int(line.split()[0]) for line in lines]
        self.assertGreater(ids[0], 0)
        # One run in order, over the seam of its two files; leaving a call has no line of its own.
        self.assertTrue(all(0 < later - earlier < 3 for earlier, later in zip(ids, ids[1:])))
        process, = json.loads(self.reprise("info", "--json").stdout)["processes"]
        summary, = (self.folder / "reprise.data").glob("summary-*.json")
        all_there_were = json.loads(summary.read_text())["trace_events"]
        self.assertEqual(process["first_event"] + process["events"], all_there_were)
        shown = self.reprise("info").stdout
        self.assertRegex(shown, r"\nsteps    \d+, [\d,]+ launches, in the whole run\n")
        for title in ("kernels, by launches", "driver calls", "allocations"):
            self.assertIn(f"\n{title}, of the events kept\n", shown)
        self.assertIn(f"  the last {process['events']:,} of {all_there_were:,} events\n",
                      self.reprise("info").stdout)

    def test_a_ring_whose_files_do_not_join_is_damage(self):
        for name in ("a", "b"):
            done = self.run_job("-q", "-o", name, "--last", "64KiB", steps=30)
            self.assertEqual(done.returncode, 0, done.stderr)
        older, newer = sorted((self.folder / "a").glob("trace-*.rpt"))
        self.assertEqual(self.reprise("dump", "a").returncode, 0)
        whole = older.read_bytes()
        # The first of the run: it ends elsewhere than where the second begins.
        short = self.run_job("-q", "-o", "short", steps=2)
        self.assertEqual(short.returncode, 0, short.stderr)
        first, = (self.folder / "short").glob("trace-*.rpt")
        older.write_bytes(first.read_bytes())
        for command in ("dump", "info"):
            done = self.reprise(command, "a")
            self.assertEqual(done.returncode, 65)
            self.assertRegex(done.stderr, r"begins with event \d+ where event \d+ was due")
        older.write_bytes(whole)
        newer.unlink()
        done = self.reprise("dump", "a")
        self.assertEqual(done.returncode, 65)
        self.assertIn("the file that goes on from it is missing", done.stderr)

    def test_a_program_in_the_place_of_another(self):
        script = ("import ctypes, os, sys\n"
                  "ctypes.CDLL('libcuda.so.1').cuInit(0)\n"
                  "os.execv(sys.argv[1], sys.argv[1:])\n")
        done = self.reprise("run", "-q", "-d", "soft", "-m", "guard", "-c", str(CONTRACT), "--",
                            sys.executable, "-c", script, sys.executable, "-c", script,
                            str(DIGITS), "--steps", "3", "--checkpoint")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        traces = sorted((self.folder / "reprise.data").glob("trace-*.rpt"))
        pid, = {trace.stem.split("-")[1] for trace in traces}
        self.assertEqual({trace.name for trace in traces},
                         {f"trace-{pid}{number}.rpt" for number in ("", "-2", "-3")})
        info = self.reprise("info")
        self.assertEqual((info.returncode, info.stderr), (0, ""))
        self.assertIn("steps    3, ", info.stdout)
        listed = re.findall(r"^process  (\d+)(?:, program (\d+))?  ", info.stdout, re.M)
        self.assertCountEqual(listed, [(pid, ""), (pid, "2"), (pid, "3")])
        self.assertEqual(self.reprise("dump").returncode, 0)

    def test_processes_that_leave_by_exit_are_whole(self):
        script = ("import ctypes, multiprocessing, os, sys\n"
                  "def work():\n"
                  "    cuda = ctypes.CDLL('libcuda.so.1')\n"
                  "    for i in range(100): cuda.cuInit(0)\n"
                  "if __name__ == '__main__':\n"
                  "    make = multiprocessing.get_context(sys.argv[1]).Process\n"
                  "    workers = [make(target=work) for i in range(2)]\n"
                  "    for worker in workers: worker.start()\n"
                  "    for worker in workers: worker.join()\n"
                  "    work()\n"
                  "    sys.stdout.flush()\n"
                  "    os._exit(3)\n")
        (self.folder / "job.py").write_text(script)
        for method in ("fork", "spawn"):
            done = self.reprise("run", "-d", "soft", "--", sys.executable, "job.py", method)
            self.assertEqual(done.returncode, 3, done.stderr)
            dump = self.reprise("dump")
            self.assertEqual((dump.returncode, dump.stderr), (0, ""))
            self.assertEqual(len(re.findall(r"cuInit\(.*\) = 0", dump.stdout)), 300)
            info = json.loads(self.reprise("info", "--json").stdout)
            self.assertEqual([process["events"] >= 200 for process in info["processes"]],
                             [True] * 3)

    def test_a_trace_that_ends_at_its_limit(self):
        done = self.run_job("-q", "-c", str(CONTRACT), "--limit", "64KiB", steps=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        trace, = (self.folder / "reprise.data").glob("trace-*.rpt")
        self.assertLessEqual(trace.stat().st_size, 64 << 10)
        dump = self.reprise("dump")
        self.assertEqual(dump.returncode, 0)
        summary, = (self.folder / "reprise.data").glob("summary-*.json")
        self.assertNotIn("trace_error", json.loads(summary.read_text()))
        lost = json.loads(summary.read_text())["trace_lost"]
        self.assertGreater(lost, 0)
        self.assertIn(f"-- gap lost={lost}", dump.stdout.splitlines()[-1])
        self.assertIn(f"lost     {lost:,} events are not in the trace",
                      self.reprise("info").stdout)

    def test_a_job_that_is_killed_after_the_limit_of_its_trace(self):
        script = (f"'{DIGITS}' --steps 100000 & job=$!; was=-1; is=0; "
                  "while [ $is -lt 32768 -o $is -ne $was ] && kill -0 $job; do sleep 2; was=$is; "
                  "is=$(cat reprise.data/trace-* | wc -c); done 2>/dev/null; "
                  "kill -9 $job; wait $job")
        done = self.reprise("run", "-d", "soft", "--limit", "64KiB", "--", "sh", "-c", script)
        told = re.search(r"reprise: (\d+) events came after the trace's limit", done.stderr)
        self.assertTrue(told, done.stderr)
        self.assertNotIn("lost", done.stderr)
        dump = self.reprise("dump")
        self.assertIn(f"-- gap lost={told[1]}", dump.stdout.splitlines()[-1])
        process, = json.loads(self.reprise("info", "--json").stdout)["processes"]
        self.assertEqual(process["lost"], int(told[1]))
        trace, = (self.folder / "reprise.data").glob("trace-*.rpt")
        self.assertLessEqual(trace.stat().st_size, 64 << 10)

    def test_what_the_last_write_loses_is_counted(self):
        """No file may grow past 6 KiB: the summary fits, and the trace does not."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (6 << 10, 6 << 10))
        done = subprocess.run([harness.REPRISE, "run", "-d", "soft", "--", str(DIGITS), "--steps",
                               "20"], cwd=self.folder, env=harness.environment(), text=True,
                              capture_output=True, preexec_fn=limit, restore_signals=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("EVENTS WERE LOST: File too large\n", done.stderr)
        self.assertIn("the trace could take no more: File too large\n", self.reprise("info").stdout)
        summary, = (self.folder / "reprise.data").glob("summary-*.json")
        summary = json.loads(summary.read_text())
        info = json.loads(self.reprise("info", "--json").stdout)
        process, = info["processes"]
        schema.validate(summary, "summary")
        schema.validate(info, "info")
        self.assertGreater(summary["trace_lost"], 0)
        self.assertEqual(summary["trace_events"] - summary["trace_lost"],
                         process.get("events", 0))

    def test_documents_are_what_their_schemas_say(self):
        for mode in ("observe", "check", "guard"):
            words = ["-q", "-m", mode] + (["-c", str(CONTRACT)] if mode != "observe" else [])
            self.assertEqual(self.run_job(*words, steps=3).returncode, 0)
            summary, = (self.folder / "reprise.data").glob("summary-*.json")
            schema.validate(json.loads(summary.read_text()), "summary")
        schema.validate(json.loads(CONTRACT.read_text()), "contract")
        schema.validate(json.loads((self.folder / "reprise.data/profile.json").read_text()),
                        "profile")
        schema.validate(json.loads(self.reprise("plan", "--budget", "1GiB", "--json").stdout),
                        "plan")

    def test_documents_of_recompute_are_what_their_schemas_say(self):
        """With a plan, and where none is sure to fit."""
        peak, answers = None, set()
        for share in (None, 0.9, 0.6):
            budget = [f"--budget={int(peak * share)}"] if share else []
            done = self.reprise("run", "-q", "-d", "soft", "-m", "recompute", "-c", str(CONTRACT),
                                "--policy=joint", *budget, "--", str(DIGITS), "--steps=5",
                                "--batch=64", "--blocks=6", REPRISE_SOFT_GRANULARITY="4KiB",
                                REPRISE_SOFT_CLOCK="h100nl")
            self.assertEqual(done.returncode, 0, done.stderr)
            summary, = (self.folder / "reprise.data").glob("summary-*.json")
            summary = json.loads(summary.read_text())
            schema.validate(summary, "summary")
            schema.validate(json.loads((self.folder / "reprise.data/profile.json").read_text()),
                            "profile")
            answers.add(summary["recompute"]["plan"]["answer"])
            peak = peak or summary["device_peak_bytes"]
        self.assertEqual(answers, {"optimal", "infeasible"})
        with self.assertRaises(schema.Mismatch):
            schema.validate({**summary, "recompute": {**summary["recompute"], "plan": {}}},
                            "summary")

    def test_what_readers_print_is_what_their_schemas_say(self):
        for mode in ("observe", "check", "guard"):
            words = ["-q", "-m", mode] + (["-c", str(CONTRACT)] if mode != "observe" else [])
            self.run_job(*words, steps=3)
            printed = self.reprise("dump", "--json").stdout
            self.assertGreater(schema.validate_lines(printed, "dump"), 1000)
            self.reprise("export", "-f", "jsonl", "-o", "out.jsonl", "--force")
            exported = (self.folder / "out.jsonl").read_text()
            self.assertGreater(schema.validate_lines(exported, "dump"), 1000)
            for words in ([], ["--kernel", "bn_*"], ["--step", "2"]):
                schema.validate(json.loads(self.reprise("info", "--json", *words).stdout), "info")
            if mode != "observe":
                check = json.loads(self.reprise("check", "--json").stdout)
                schema.validate(check, "check")
                self.assertEqual(len(check["hazards"]) > 0, mode == "check")

    def test_what_readers_print_of_a_killed_job(self):
        script = f"'{DIGITS}' -c --steps 100000 & job=$!; sleep 1; kill -9 $job; wait $job"
        self.reprise("run", "-q", "-d", "soft", "-m", "check", "-c", str(CONTRACT), "--", "sh",
                     "-c", script)
        info = json.loads(self.reprise("info", "--json").stdout)
        schema.validate(info, "info")
        self.assertIn("broken", info["processes"][0])
        check = json.loads(self.reprise("check", "--json").stdout)
        schema.validate(check, "check")
        self.assertTrue(check["hazards"])

    def test_a_document_that_breaks_its_schema_is_told(self):
        summary = {"format": "reprise-summary", "version": 1, "pid": 7}
        for broken in (summary, {**summary, "pid": -1}, {**summary, "hazards": {}}):
            with self.assertRaises(schema.Mismatch):
                schema.validate(broken, "summary")
        event = {"id": 1, "time_ns": 2, "pid": 3, "tid": 4, "class": "note", "name": "step",
                 "fields": {"step": 1}}
        schema.validate(event, "dump")
        for broken in ({**event, "id": "1"}, {**event, "more": 1}, {**event, "class": "done"},
                       {"format": "reprise-dump", "version": 2, "trace": "x"}):
            with self.assertRaises(schema.Mismatch):
                schema.validate(broken, "dump")

    def test_error_exitcode(self):
        self.assertEqual(self.run_job("-m", "check", "-c", str(CONTRACT), "-e", "9").returncode, 9)
        self.assertEqual(self.reprise("check", "-e", "9").returncode, 9)

    def test_guard_leaves_nothing_to_complain_about(self):
        done = self.run_job("-c", str(CONTRACT), "-e", "9")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("preserved", done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1], "reprise: next: reprise info")
        self.assertIn("no hazards: 6 replays followed, which", self.reprise("check").stdout)

    def test_guard_stops_where_the_contract_is_too_small(self):
        """Law 4: a replay that can't be right never passes for right."""
        done = self.run_job("-c", self.contract_without("queue", "queue_labels"))
        self.assertEqual((done.returncode, done.stdout), (70, ""), done.stderr)
        self.assertIn("reprise: next: reprise check", done.stderr)
        self.assertEqual(self.reprise("check").returncode, 1)
        done = self.run_job("-c", "partial.json", "-e", "33")
        self.assertEqual(done.returncode, 33)

    def test_what_the_contract_names_in_vain(self):
        contract = json.loads(CONTRACT.read_text())
        contract["buffers"].append({"name": "ghost", "at": {"kernel": "no_kernel", "param": 0}})
        (self.folder / "more.json").write_text(json.dumps(contract))
        done = self.run_job("-m", "check", "-c", "more.json")
        self.assertIn("never seen in the job: buffer ghost", done.stderr)

    def test_info(self):
        self.run_job("-c", str(CONTRACT))
        info = json.loads(self.reprise("info", "--json").stdout)
        self.assertEqual(info["segments"]["segment"]["replays"], 6)
        self.assertEqual(info["calls"]["cuLaunchKernel"], info["launches"])
        self.assertEqual(sum(kernel.get("launches", 0) for kernel in info["kernels"].values()),
                         info["launches"])
        self.assertEqual(info["allocations"]["count"], info["allocations"]["freed"])
        self.assertEqual(info["run"]["mode"], "guard")
        text = self.reprise("info").stdout
        self.assertRegex(text, r"segment +6 +6 +0\n")
        self.assertRegex(text, r"bn_relu_forward +writes: exact")
        self.assertIn("reads", self.reprise("info", "--proof", "bn_*").stdout)

    def test_dump(self):
        self.run_job("-c", str(CONTRACT))
        lines = self.reprise("dump").stdout.splitlines()
        calls = [line for line in lines if re.search(r" cu\w+\(", line)]
        info = json.loads(self.reprise("info", "--json").stdout)
        self.assertEqual(len(calls), sum(info["calls"].values()))
        self.assertTrue(all(re.search(r"\) = 0( |$)", line) for line in calls))
        events = [json.loads(line) for line in self.reprise("dump", "--json").stdout.splitlines()]
        self.assertEqual(len(events) - 1, info["processes"][0]["events"])

    def test_a_killed_job_leaves_its_calls(self):
        script = killed(f"'{DIGITS}' --checkpoint --steps 100000", 100_000)
        self.reprise("run", "-q", "--device", "soft", "-m", "check", "-c", str(CONTRACT), "--",
                     "sh", "-c", script)
        lines = self.reprise("dump").stdout.splitlines()
        self.assertGreater(len(lines), 1000)
        check = self.reprise("check")
        self.assertIn("stale-read", check.stdout)
        self.assertEqual(check.returncode, 65)  # and there may be more

    def test_hazards_of_a_job_without_a_summary_are_counted(self):
        script = killed(f"'{DIGITS}' --checkpoint --steps 100000", 100_000)
        done = self.reprise("run", "--device", "soft", "-m", "check", "-c", str(CONTRACT), "-e",
                            "9", "--", "sh", "-c", script)
        self.assertEqual(done.returncode, 9, done.stderr)
        told = re.search(r"reprise: (\d+) hazards\n", done.stderr)
        self.assertTrue(told, done.stderr)
        found = json.loads(self.reprise("check", "--json").stdout)["hazards"]
        self.assertEqual(len(found), int(told[1]))
        self.assertIn("next: reprise check\n", done.stderr)

    def test_a_process_without_a_summary_counts_with_the_others(self):
        script = ("import ctypes, os, subprocess, sys\n"
                  "subprocess.run(sys.argv[1:])\n"
                  "cuda = ctypes.CDLL('libcuda.so.1')\n"
                  "for i in range(1000): cuda.cuInit(0)\n"
                  "os._exit(0)\n")
        done = self.reprise("run", "-d", "soft", "--", sys.executable, "-c", script, str(DIGITS),
                            "--steps=2")
        summary, = (self.folder / "reprise.data").glob("summary-*.json")
        calls = int(re.search(r"reprise: ([\d,]+) calls", done.stderr)[1].replace(",", ""))
        self.assertGreaterEqual(calls, json.loads(summary.read_text())["calls"] + 1000)

    def test_a_killed_job_leaves_its_last_call(self):
        """What it had not yet written is there, down to the call that it was in. On a busy machine
        a kill may meet a job that has just written all."""
        script = killed(f"'{DIGITS}' --steps 100000", 10_000)
        for _ in range(8):
            done = self.reprise("run", "--device", "soft", "--", "sh", "-c", script)
            found = re.search(r"reprise: (\d+) events that the job had not yet written when it "
                              "ended are saved\n", done.stderr)
            if found:
                break
        self.assertTrue(found, done.stderr)
        saved = int(found[1])
        events = [json.loads(line) for line in self.reprise("dump", "--json").stdout.splitlines()]
        self.assertEqual([event["id"] for event in events[1:]], list(range(len(events) - 1)))
        self.assertGreater(len(events), saved)
        calls = [event for event in events if event.get("class") in ("enter", "leave")]
        self.assertEqual([event["class"] for event in calls],
                         ["enter", "leave"] * (len(calls) // 2) + ["enter"] * (len(calls) % 2))

    def test_without_a_trace(self):
        self.run_job("--no-trace", "-m", "check", "-c", str(CONTRACT))
        self.assertEqual(list((self.folder / "reprise.data").glob("trace-*")), [])
        self.assertRefused(self.reprise("dump"), 65, "--no-trace")
        self.assertEqual(self.reprise("check").returncode, 1)

    def test_doctor(self):
        done = self.reprise("doctor", REPRISE_SOFT_MEMORY="1GiB")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertNotIn("broken", done.stdout)
        self.assertIn("variable  REPRISE_SOFT_MEMORY=1GiB", done.stdout)
        report = json.loads(self.reprise("doctor", "--json").stdout)
        self.assertTrue(report["well"])
        texts = " ".join(check["text"] for check in report["checks"])
        self.assertRegex(texts, r"(\d+) of the \1 driver calls known pass through the layer")

    def test_doctor_knows_what_becomes_of_each_call(self):
        self.assertIn("637 driver calls: ", self.reprise("doctor").stdout)
        told = json.loads(self.reprise("doctor", "-v", "--json").stdout)["coverage"]
        self.assertEqual((told["calls"], told["unclassified"]), (637, 0))
        fates = "followed", "everything", "reported", "refused", "passed"
        self.assertEqual(sum(told[fate] for fate in fates), 637)
        self.assertEqual(len(told["each"]), 637)
        for call in told["each"]:
            self.assertIn(call["fate"], fates)
            self.assertTrue(call["why"], call)
        self.assertIn({"call": "cuInit", "fate": "passed", "why": "makes the driver ready"},
                      told["each"])


if __name__ == "__main__":
    harness.main()
