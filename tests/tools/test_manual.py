#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completion: nothing stale, and every example runs.

usage: test_manual.py REPRISE PAGES MAN_SOURCES COMPLETION DIGITS CONTRACT PROFILE"""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import harness

PAGES, SOURCES, COMPLETION, DIGITS, CONTRACT, PROFILE = (
    pathlib.Path(word).resolve() for word in sys.argv[2:8])
COMMANDS = subprocess.run([harness.REPRISE, "--list-commands"], capture_output=True, text=True,
                          check=True).stdout.split()
ORDER = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "OUTPUT", "EXIT STATUS", "ENVIRONMENT",
         "FILES", "CAVEATS", "EXAMPLES", "SEE ALSO"]


class Manual(harness.Case):
    def test_every_command_has_a_page_with_every_option(self):
        for command in set(COMMANDS) - {"help"}:
            page = (PAGES / f"reprise-{command}.1").read_text().replace("\\-", "-")
            options = self.reprise("--list-options", command).stdout.split()
            for option in options:
                self.assertIn(f"\\fB{option.rstrip('=')}\\fR", page, command)

    def test_headings_come_in_the_usual_order(self):
        for page in SOURCES.glob("*.md"):
            headings = re.findall("^## (.*)$", page.read_text(), re.M)
            self.assertEqual(headings, [name for name in ORDER if name in headings], page)
            self.assertIn("EXAMPLES", headings, page)

    @unittest.skipUnless(shutil.which("man"), "man is not there")
    def test_pages_are_clean(self):
        for page in PAGES.glob("*.[15]"):
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", page], text=True,
                                  capture_output=True, env={"PATH": "/usr/bin:/bin",
                                                            "MANWIDTH": "80"})
            self.assertEqual(done.stderr, "", page)
            self.assertNotIn("\\f", done.stdout, page)
            self.assertNotRegex(done.stdout, r"`|\*\w|\.{4}", page)
            self.assertNotRegex(done.stdout, "@[A-Z]+@", page)

    def examples(self, page):
        text = page.read_text().split("## EXAMPLES")[1].split("## ")[0]
        return [line.strip() for line in text.splitlines() if line.startswith("    ")]

    def test_examples_run(self):
        (self.folder / "train").symlink_to(DIGITS)
        for name, source in (("contract.json", CONTRACT), ("profile.json", PROFILE)):
            shutil.copy(source, self.folder / name)  # some examples write there
        tools = self.folder / "bin"
        tools.mkdir()
        (tools / "reprise").symlink_to(harness.REPRISE)
        environment = harness.environment(PATH=f"{tools}:/usr/bin:/bin")
        run = lambda line: subprocess.run(["bash", "-c", line], cwd=self.folder, env=environment,
                                          capture_output=True, text=True, timeout=harness.PATIENCE)
        checked = run("reprise run -q -m check -c contract.json -- ./train -n 2 -c; "
                      "cp -r reprise.data reprise.data.old")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        for page in sorted(SOURCES.glob("*.md")):
            if page.stem == "reprise-contract":
                continue
            for line in self.examples(page):
                done = run(line)
                self.assertEqual(done.returncode, 0, f"{page.name}: {line}\n{done.stderr}")

    def test_the_contract_of_the_page_is_accepted(self):
        text = "\n".join(self.examples(SOURCES / "reprise-contract.md"))
        (self.folder / "contract.json").write_text(text)
        done = self.reprise("run", "-q", "-c", "contract.json", "--", DIGITS, "-n", "2", "-c")
        self.assertEqual(done.returncode, 0, done.stderr)


class Completion(harness.Case):
    def complete(self, *words):
        """What bash offers for the last word."""
        line = " ".join(words)
        script = f"""
            PATH={harness.REPRISE.parent}:$PATH
            compopt() {{ :; }}
            source {COMPLETION}/reprise.bash
            COMP_WORDS=({' '.join(f'"{word}"' for word in words)})
            COMP_CWORD={len(words) - 1}
            _reprise reprise "{words[-1]}" "{words[-2]}"
            printf '%s\\n' "${{COMPREPLY[@]}}" """
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                              cwd=self.folder, env=harness.environment())
        self.assertEqual(done.stderr, "", line)
        return done.stdout.split()

    def test_commands_options_and_words(self):
        self.assertEqual(set(COMMANDS) - set(self.complete("reprise", "")), set())
        self.assertEqual(self.complete("reprise", "rep"), ["report"])
        self.assertEqual(self.complete("reprise", "run", "--dev"), ["--device="])
        self.assertEqual(self.complete("reprise", "run", "--device", "s"), ["soft"])
        self.assertEqual(self.complete("reprise", "run", "-d", ""), ["auto", "cuda", "soft"])
        self.assertIn("env", self.complete("reprise", "help", "e"))

    def test_the_words_of_the_job_are_its_own(self):
        for words in (["run", "--", "ls", "--"], ["run", "-d", "soft", "ls", "--qu"],
                      ["run", "-q", "ls", "-d", ""], ["run", "--device", "=", "soft", "ls", "--"],
                      ["dump", "--", "--js"]):
            self.assertEqual(self.complete("reprise", *words), [], words)
        for words in (["-d", "soft"], ["--device", "=", "soft"], ["-q", "--mode", "check"]):
            self.assertEqual(self.complete("reprise", "run", *words, "--qu"), ["--quiet"], words)

    @unittest.skipUnless(shutil.which("fish"), "fish is not there")
    def test_the_words_of_the_job_are_its_own_in_fish(self):
        (self.folder / "train.py").touch()

        def offers(line):
            done = subprocess.run(
                ["fish", "-c", f"source {COMPLETION}/reprise.fish; complete -C '{line}'"],
                capture_output=True, text=True, cwd=self.folder, env=harness.environment(
                    PATH=f"{harness.REPRISE.parent}:/usr/bin:/bin", HOME=str(self.folder)))
            self.assertEqual(done.stderr, "", line)
            return {answer.split("\t")[0] for answer in done.stdout.splitlines()}

        modes = {"observe", "check", "guard", "recompute"}
        self.assertEqual(offers("reprise run -m "), modes)
        self.assertEqual(offers("reprise run --mode="), {f"--mode={mode}" for mode in modes})
        self.assertTrue({"info", "env"} <= offers("reprise help "))
        for line in ("reprise help ", "reprise export -f ", "reprise run -d "):
            self.assertNotIn("train.py", offers(line), line)
        for line in ("reprise info ", "reprise run -o ", "reprise run --cache="):
            self.assertTrue([word for word in offers(line) if "train.py" in word], line)
        self.assertIn("soft", offers("reprise run -d "))
        self.assertEqual(offers("reprise run -d soft --qu"), {"--quiet"})
        for job in ("-- python3", "-d soft python3", "--device soft -q python3"):
            words = offers(f"reprise run {job} ")
            self.assertIn("train.py", words, job)
            self.assertFalse([word for word in words if word.startswith("--")], job)
        self.assertFalse(offers("reprise run ls --qu") & {"--quiet"})
        self.assertIn("env", offers("reprise run -- en"))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not there")
    def test_the_words_of_the_job_are_its_own_in_zsh(self):
        """The completion's own functions stand in: what it hands on to them is what counts."""
        script = f"""
            PATH={harness.REPRISE.parent}:$PATH
            compadd() {{ print -r -- ours }}
            _files() {{ print -r -- files }}
            _normal() {{ print -r -- "$CURRENT: $words" }}
            complete_words() {{ CURRENT=$#words; PREFIX=$words[-1]; source {COMPLETION}/_reprise }}
            words=("$@"); complete_words"""
        for line, expected in (("run --device s", "ours"), ("run -q --", "ours"),
                               ("run -- py", "1: py"), ("run -- python3 t", "2: python3 t"),
                               ("run -d soft python3 -c --d", "3: python3 -c --d"),
                               ("run --device=soft -q ls -", "2: ls -"), ("dump -- x", "files")):
            done = subprocess.run(["zsh", "-fc", script, "zsh", "reprise", *line.split()],
                                  capture_output=True, text=True, cwd=self.folder,
                                  env=harness.environment())
            self.assertEqual((done.stdout.strip(), done.stderr), (expected, ""), line)

    def test_names_come_from_the_run(self):
        self.assertEqual(self.complete("reprise", "dump", "--kernel", ""), [])
        self.reprise("run", "-q", "-m", "check", "-c", CONTRACT, "--", DIGITS, "-n", "2", "-c")
        self.assertIn("dropout_forward", self.complete("reprise", "dump", "--kernel", "drop"))
        self.assertEqual(self.complete("reprise", "check", "-s", ""), ["segment"])
        self.assertIn("queue", self.complete("reprise", "dump", "--buffer", ""))

    def test_the_other_shells_parse_theirs(self):
        for shell, name in (("zsh", "_reprise"), ("fish", "reprise.fish")):
            if shutil.which(shell):
                subprocess.run([shell, "-n", COMPLETION / name], check=True)


if __name__ == "__main__":
    harness.main()
