#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`reprise plan` from outside; the planner itself has tests of its own.

usage: test_plan.py REPRISE"""
import contextlib
import json
import os
import pty
import subprocess

import harness

PROFILE = {"version": 1, "base_bytes": 0, "segments": [{"name": "s0", "options": {
    "retain": {"hold_bytes": 2, "peak_bytes": 8, "time_ns": 34},
    "whole": {"hold_bytes": 10, "peak_bytes": 20, "time_ns": 99},
    "regions": {"hold_bytes": 0, "peak_bytes": 11, "time_ns": 75}}}]}

def stated(**figures):
    return {name: {"value": value, "source": "stated"} for name, value in figures.items()}


def segment_of_facts(name, activation, offset):
    """Reads a part of the state and overwrites it."""
    here = [{"buffer": "state", "offset": offset, "bytes": 100}]
    return {"name": name, "facts": stated(
        forward_ns=50, backward_ns=90, replay_ns=40 + activation // 10, tracking_ns=1,
        activation_bytes=activation, forward_workspace_bytes=10, backward_workspace_bytes=20)
        | {"reads": here, "writes": here, "backward_writes": []}}


FACTS = {"version": 1, "base_bytes": 0, "copy": stated(fixed_ns=3, bytes_per_us=1000),
         "buffers": [{"name": "state", "bytes": 1000}],
         "segments": [segment_of_facts("a", 500, 0), segment_of_facts("b", 600, 50),
                      segment_of_facts("c", 700, 0), segment_of_facts("d", 400, 300)]}


def powers_of_two(count):
    """Every choice makes another sum: all labels live."""
    return {"version": 1, "base_bytes": 0, "segments": [
        {"name": f"s{i}", "options": {
            "retain": {"hold_bytes": 1 << i, "peak_bytes": 1 << i, "time_ns": 1},
            "regions": {"hold_bytes": 0, "peak_bytes": 0, "time_ns": 1 + (1 << i)}}}
        for i in range(count)]}


class Plan(harness.Case):
    def setUp(self):
        super().setUp()
        (self.folder / "profile.json").write_text(json.dumps(PROFILE))

    def plan(self, *words, **more):
        return self.reprise("plan", "-P", "profile.json", *words, **more)

    def on_terminal(self, *words):
        """What stderr gets where it is one."""
        terminal, line = pty.openpty()
        planner = subprocess.Popen([harness.REPRISE, *words], cwd=self.folder, stderr=line,
                                   stdout=subprocess.DEVNULL, env=harness.environment())
        os.close(line)
        said = b""
        with contextlib.suppress(OSError):
            while more := os.read(terminal, 65536):
                said += more
        os.close(terminal)
        self.assertEqual(planner.wait(), 0)
        return said.decode()

    def answer(self, *words, code=0):
        done = self.plan("--json", *words)
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        return json.loads(done.stdout)

    def test_a_budget(self):
        answer = self.answer("-b", "8")
        self.assertEqual((answer["status"], answer["choices"], answer["time_ns"]),
                         ("optimal", ["retain"], 34))

    def test_none_fits(self):
        answer = self.answer("--budget", "7", code=1)
        self.assertEqual((answer["status"], answer["min_budget_bytes"]), ("infeasible", 8))

    def test_a_policy_restricts_the_choices(self):
        self.assertEqual(self.answer("-b", "11", "-p", "regions")["choices"], ["retain"])
        self.assertEqual(self.answer("-b", "7", "-p", "whole", code=1)["min_budget_bytes"], 8)

    def test_profile_from_stdin_and_from_a_run(self):
        text = (self.folder / "profile.json").read_text()
        piped = self.reprise("plan", "-P", "-", "--format=csv", stdin=text)
        self.assertEqual(piped.returncode, 0, piped.stderr)
        self.assertTrue(piped.stdout.startswith("budget_bytes,"))
        self.assertEqual(self.reprise("plan", ".", "--format=csv").stdout, piped.stdout)
        self.assertRefused(self.reprise("plan"), 2,
                           "reprise.data: No such file or directory; `reprise run`")
        (self.folder / "empty").mkdir()
        self.assertRefused(self.reprise("plan", "empty"), 65, "empty: there is no profile.json")
        self.assertRefused(self.reprise("plan", "nowhere"), 2, "nowhere: No such file or directory")

    def test_json_is_a_format(self):
        named = self.plan("-b", "8", "--format", "json")
        self.assertEqual(self.plan("-b", "8", "--json").stdout, named.stdout)
        self.assertEqual(self.plan("-b", "8", "--json", "--format", "json").stdout, named.stdout)
        self.assertRefused(self.plan("-b", "8", "--json", "--format", "csv"), 2, "--format csv")

    def test_a_plan_file_is_not_overwritten_unasked(self):
        self.assertEqual(self.plan("-qb", "8", "-o", "plan.json").returncode, 0)
        self.assertRefused(self.plan("-b", "8", "-o", "plan.json"), 2, "--force")
        self.assertEqual(self.plan("-b", "8", "-o", "plan.json", "--force").returncode, 0)

    def test_what_is_no_file_is_not_replaced(self):
        link, target = self.folder / "link.json", self.folder / "target.json"
        link.symlink_to("target.json")
        os.mkfifo(self.folder / "pipe")
        self.assertEqual(self.plan("-qb", "8", "-o", "link.json").returncode, 0)
        self.assertTrue(link.is_symlink())
        self.assertEqual(json.loads(target.read_text())["format"], "reprise-plan")
        for words in (["-b", "8", "-o"], ["--compare", "--svg"]):
            with subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE,
                                  cwd=self.folder) as reader:
                try:
                    self.assertEqual(self.plan(*words, "pipe", "--force").returncode, 0)
                    self.assertTrue((self.folder / "pipe").is_fifo())
                    self.assertTrue(reader.stdout.read())
                finally:
                    reader.kill()

    def test_what_can_not_be_written_is_said_before_anything_runs(self):
        (self.folder / "file").write_text("")
        for words in (["-b", "8", "-o"], ["--force", "-b", "8", "-o"], ["--compare", "--svg"]):
            self.assertRefused(self.plan(*words, "file/x"), 2, "file/x: Not a directory")

    def test_bad_profile(self):
        (self.folder / "profile.json").write_text('{"version": 1, "base_bites": 0}')
        self.assertRefused(self.plan(), 2, "profile.json:1:", "base_bytes")

    def test_several_processes_left_profiles(self):
        (self.folder / "profile-7.json").write_text(json.dumps(PROFILE))
        self.assertRefused(self.reprise("plan", "."), 2, "2 processes", "profile-7.json")
        self.assertEqual(self.plan("-b", "8").returncode, 0)

    def test_what_is_printed_can_be_given_back(self):
        options = {"retain": {"hold_bytes": 893441, "peak_bytes": 893442, "time_ns": 1},
                   "regions": {"hold_bytes": 893440, "peak_bytes": 893440, "time_ns": 2}}
        (self.folder / "profile.json").write_text(json.dumps(
            {"version": 1, "base_bytes": 0, "segments": [{"name": "s", "options": options}]}))
        table = self.plan().stdout
        budgets = [line.lstrip("* ").split()[0] for line in table.splitlines()[1:-1]]
        self.assertEqual(budgets, ["893440", "893441", "893442"])
        for budget, code in (("893439", 1), *((each, 0) for each in budgets)):
            self.assertEqual(self.plan("-b", budget).returncode, code)
        self.assertIn("893440 (872.5 KiB)", self.plan("-b", "893440").stdout)

    def test_a_budget_cuts_the_curve(self):
        def peaks(*words, code=0):
            done = self.plan("--curve", "--json", *words)
            self.assertEqual(done.returncode, code, done.stderr)
            return [point["peak_bytes"] for point in json.loads(done.stdout)["points"]]
        self.assertEqual(peaks(), [8])
        self.assertEqual(peaks("-b", "8"), [8])
        self.assertEqual(peaks("-b", "7", code=1), [])
        options = {"retain": {"hold_bytes": 8, "peak_bytes": 9, "time_ns": 1},
                   "regions": {"hold_bytes": 2, "peak_bytes": 6, "time_ns": 5}}
        (self.folder / "profile.json").write_text(json.dumps(
            {"version": 1, "base_bytes": 0, "segments": [{"name": name, "options": options}
                                                         for name in "abc"]}))
        whole = peaks()
        self.assertGreater(len(whole), 2)
        self.assertEqual(peaks("-b", str(whole[1])), whole[:2])
        self.assertEqual(peaks("-b", str(whole[2] - 1)), whole[:2])
        done = self.plan("--curve", "-b", str(whole[1]))
        self.assertIn(f"{len(whole) - 2} more points need more than the budget", done.stderr)
        done = self.plan("--curve", "-b", str(whole[0] - 1))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"smallest budget is {whole[0]}", done.stderr)

    def test_every_answer_is_to_be_had_under_every_model(self):
        (self.folder / "profile.json").write_text(json.dumps(FACTS))
        for model in ("nested", "shared", "lazy"):
            points = json.loads(self.plan("-m", model, "--curve", "--json").stdout)["points"]
            self.assertGreater(len(points), 1, model)
            done = self.plan("-qm", model, "--compare", "--json", "--svg", model + ".svg")
            self.assertEqual(done.returncode, 0, done.stderr)
            compared = json.loads(done.stdout)
            self.assertEqual(compared["model"], model)
            self.assertIn(f"the {model} model", (self.folder / (model + ".svg")).read_text())
            for point in points:
                plan = json.loads(self.plan("-m", model, "--json", "-b",
                                            str(point["peak_bytes"])).stdout)
                self.assertEqual(plan["time_ns"], point["time_ns"])

    def test_models_that_need_ranges_say_so(self):
        for words in (["-b", "8"], ["--curve"], ["--compare"], []):
            self.assertRefused(self.plan("-m", "shared", *words), 2,
                               "the shared model needs facts", "the nested model does with them")

    def test_what_takes_long_says_how_far_it_is(self):
        """On a terminal, after a second, and not with -q."""
        for count in range(12, 54, 2):  # until it takes longer than a second here and now
            (self.folder / "profile.json").write_text(json.dumps(powers_of_two(count)))
            text = self.on_terminal("plan", "-P", "profile.json", "--curve")
            if text:
                break
        self.assertRegex(text, r"\r\x1b\[Kreprise: planning: \d+ (labels|of \d+)\r")
        self.assertTrue(text.endswith("\r\x1b[K"), "it is gone at the end")
        self.assertEqual(self.on_terminal("plan", "-qP", "profile.json", "--curve"), "")

    def test_names_do_not_move_the_terminal_about(self):
        profile = json.loads(json.dumps(PROFILE))
        profile["segments"][0]["name"] = "a\u202eb\u001b[2J"
        (self.folder / "profile.json").write_text(json.dumps(profile))
        for words in (["-b", "8"], ["-b", "7"], [], ["-b", "7", "-o", "plan.json"],
                      ["-b", "8", "-p", "regions"]):
            done = self.plan(*words)
            for character in "\u202e\u001b":
                self.assertNotIn(character, done.stdout + done.stderr, words)

    def test_usage_errors(self):
        for words, text in ((["--points", "0"], "--points"), (["-m", "nestd"], "'nested'"),
                            (["-o", "x"], "give --budget"), (["--svg", "x"], "--compare"),
                            (["--curve", "--terms"], "different answers"),
                            (["a", "b"], "'b'"), (["--budgt", "1"], "--budget")):
            self.assertRefused(self.plan(*words), 2, text)


if __name__ == "__main__":
    harness.main()
