#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A manual page from its Markdown and from the table of options.

usage: make_man.py REPRISE VERSION PAGE.md OUT

The Markdown is as small as a manual page: `## HEADINGS`, paragraphs, indented examples, terms
(a line, and below it one that begins with `: `), `code`, **bold** and *italic*. Of a command's
page, @SYNOPSIS@ and @OPTIONS@ come from `reprise --list-details COMMAND`, so they can't go
stale; @FILTERS@ is what all pages of commands that filter say of it."""
import pathlib
import re
import subprocess
import sys

REPRISE, VERSION = sys.argv[1:3]
PAGE, OUT = (pathlib.Path(word) for word in sys.argv[3:5])
FILTERS = """\
Filters mean the same in **dump**, **info**, **check**, **export**, **report** and **discover**.
They add up: a call passes, with its notes, when it or one of its notes has passed every filter that
was given. Where nothing passes, the command says so and ends with 1."""


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"\\fB\1\\fR", text)
    text = re.sub(r"(?:(?<!\w)|(?<=\\fR))\*([^*\s][^*]*)\*", r"\\fI\1\\fR", text)
    return "\\&" + text if text.startswith((".", "'")) else text


def details(command):
    done = subprocess.run([REPRISE, "--list-details", command], capture_output=True, text=True,
                          check=True)
    head, *options = (line.split("\t") for line in done.stdout.splitlines())
    return head, options


def options_text(options):
    for name, letter, argument, variable, words in options:
        term = (f"**-{letter}**, " if letter else "") + f"**{name}**"
        term += f" *{argument}*" if argument else ""
        yield ".TP"
        yield roff(term)
        yield roff(words[0].upper() + words[1:] + ("" if words.endswith(".") else ".") +
                   (f" Also set by `{variable}`." if variable else ""))


def body(lines, command):
    head, options = details(command) if command else (None, None)
    example = False
    for line in lines:
        if example and not line.startswith("    ") and line.strip():
            yield ".EE\n.RE"
            example = False
        if line.startswith("## "):
            yield f'.SH "{line[3:]}"'
        elif line == "@SYNOPSIS@":
            yield roff(f"**reprise {head[0]}** {head[1]}")
        elif line == "@OPTIONS@":
            yield from options_text(options)
        elif line == "@FILTERS@":
            yield ".PP\n" + roff(FILTERS)
        elif line.startswith("    "):
            if not example:
                yield ".PP\n.RS 4\n.EX"
                example = True
            yield "\\&" + line[4:].replace("\\", "\\e").replace("-", "\\-")
        elif line.startswith(": "):
            yield roff(line[2:])
        elif not line.strip():
            yield "" if example else ".PP"
        else:
            yield roff(line)
    if example:
        yield ".EE\n.RE"


def joined(lines):
    """Puts the lines of a paragraph into one: what is marked in it may go on in the next line."""
    paragraph = []
    for line, after in zip(lines, lines[1:] + [""]):
        paragraph.append(line.lstrip() if paragraph else line)
        if re.match(r"\s*$|## |@|    ", line) or re.match(r"\s*$|## |@|    |: ", after):
            yield " ".join(paragraph)
            paragraph = []


def terms(lines):
    """Puts .TP before a line that is followed by its `: ` explanation."""
    for line, after in zip(lines, lines[1:] + [""]):
        if after.startswith(": "):
            yield "\0" + line
        else:
            yield line


def main():
    lines = PAGE.read_text().splitlines()
    name, section = PAGE.stem, "5" if PAGE.stem in ("reprise-contract", "reprise-trace") else "1"
    command = name.removeprefix("reprise-") if section == "1" and name != "reprise" else None
    text = [f'.TH "{name.upper()}" "{section}" "" "reprise {VERSION}" "User Commands"']
    for line in body(terms(list(joined(lines))), command):
        text.append(line if not line.startswith("\0") else ".TP\n" + line[1:])
    merged = "\n".join(text)
    merged = re.sub(r"(\.PP\n)+(?=\.(PP|TP|SH))", "", merged)
    merged = re.sub(r'(\.SH "[^"]*"\n)\.PP\n', r"\1", merged)
    OUT.write_text(merged + "\n")


main()
