#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Help, usage errors and completion.

usage: test_help.py REPRISE"""
import re

import harness



class Help(harness.Case):
    def commands(self):
        return self.reprise("--list-commands").stdout.split()

    def options(self, command):
        return self.reprise("--list-options", command).stdout.split()

    def test_every_page_fits_a_screen(self):
        pages = [["help"], ["-h"], ["--help"], ["help", "env"]]
        for command in self.commands():
            pages += [["help", command], [command, "-h"], [command, "--help"]]
        for words in pages:
            done = self.reprise(*words)
            with self.subTest(words):
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                lines = done.stdout.splitlines()
                self.assertTrue(lines)
                self.assertLessEqual(len(lines), 50)
                self.assertLessEqual(max(map(len, lines)), 80)

    def test_the_overview_names_every_command(self):
        overview = self.reprise("help").stdout
        for command in self.commands():
            self.assertRegex(overview, rf"(?m)^  {command} ")

    def test_help_and_completion_know_the_same_options(self):
        for command in self.commands():
            page = self.reprise("help", command).stdout
            in_page = set(re.findall(r"(?m)^  .{4}(--[a-z-]+)", page))
            listed = {word.rstrip("=") for word in self.options(command) if word[:2] == "--"}
            with self.subTest(command):
                self.assertIn("--help", listed)
                self.assertEqual(in_page, listed)

    def test_the_parser_takes_every_option_that_is_listed(self):
        """With a wrong word after it, each is known and only the word is complained about."""
        for command in self.commands():
            for word in self.options(command):
                if word in ("--help", "-h"):
                    continue
                done = self.reprise(command, word, "--no-such-option")
                with self.subTest([command, word]):
                    self.assertNotIn(f"no option {word.rstrip('=')}", done.stderr)

    def test_environment_page_shows_values_in_force(self):
        done = self.reprise("help", "env", REPRISE_MODE="check")
        self.assertRegex(done.stdout, r"REPRISE_MODE .*\n.*now: check")

    def test_version(self):
        self.assertRegex(self.reprise("--version").stdout, r"^reprise \d+\.\d+\.\d+\n$")


class UsageErrors(harness.Case):
    def test_no_command(self):
        self.assertRefused(self.reprise(), 2, "a command is missing")

    def test_misspelt_command(self):
        self.assertRefused(self.reprise("chekc"), 2, "did you mean 'check'")

    def test_command_like_nothing(self):
        done = self.reprise("xylophone")
        self.assertRefused(done, 2, "xylophone")
        self.assertNotIn("did you mean", done.stderr)

    def test_misspelt_option(self):
        self.assertRefused(self.reprise("run", "--contrct", "x"), 2, "did you mean --contract?",
                           "reprise help run")

    def test_option_of_another_command(self):
        self.assertRefused(self.reprise("info", "--budget", "1GiB"), 2, "no option --budget")

    def test_unknown_letter(self):
        self.assertRefused(self.reprise("run", "-Z"), 2, "no option -Z")

    def test_misspelt_word(self):
        self.assertRefused(self.reprise("run", "-m", "gaurd", "true"), 2, "did you mean 'guard'")

    def test_missing_argument(self):
        for words in (["-c"], ["--contract"], ["-qc"]):
            self.assertRefused(self.reprise("run", *words), 2, "needs an argument: FILE")

    def test_flag_with_argument(self):
        self.assertRefused(self.reprise("run", "--quiet=yes", "true"), 2, "takes no argument")

    def test_bad_numbers(self):
        for words, text in ((["--budget", "12parsecs"], "no size"), (["-e", "0"], "no exit code"),
                            (["-e256"], "no exit code"), (["--error-exitcode=x"], "no exit code")):
            self.assertRefused(self.reprise("run", *words, "true"), 2, text)
        self.assertRefused(self.reprise("dump", "--step", "-3"), 2, "no whole number")
        self.assertRefused(self.reprise("dump", "--calls", "9-3"), 2, "--calls")
        self.assertRefused(self.reprise("dump", "--grep", "("), 2, "--grep")

    def test_bad_value_in_the_environment_is_named_by_its_variable(self):
        self.assertRefused(self.reprise("run", "true", REPRISE_BUDGET="lots"), 2,
                           "REPRISE_BUDGET")

    def test_nothing_to_run(self):
        for words in ([], ["--"], ["-q"]):
            self.assertRefused(self.reprise("run", *words), 2, "no command to run")

    def test_nothing_to_read(self):
        for command in ("dump", "info", "check"):
            self.assertRefused(self.reprise(command), 2, "reprise.data", "reprise run")
            self.assertRefused(self.reprise(command, "nowhere"), 2, "nowhere")
            self.assertRefused(self.reprise(command, "a", "b"), 2, "'b'")


if __name__ == "__main__":
    harness.main()
