#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy over C files, as many at a time as there are processors.

usage: lint.py BUILD [FILE...]

Reads what the compiler was told in BUILD. A file in which nothing was found is noted in
BUILD/clean by the text that the compiler sees of it, comments too, and by the configuration: as
long as neither changes it is not looked at again, so that a run that was stopped goes on where it
was. The exit status is 1 where anything was found."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
CLEAN = BUILD / "clean"


def commands():
    """{file: (folder, words)} of the compiler's; of a file that is compiled twice the first."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        folder = pathlib.Path(entry["directory"])
        path = (folder / entry["file"]).resolve()
        found.setdefault(path, (folder, shlex.split(entry["command"])))
    return found


def text_of(folder, words):
    """What the compiler sees."""
    words = [word for word in words if word != "-c"]
    at = words.index("-o")
    del words[at:at + 2]
    return subprocess.run([*words, "-E", "-CC", "-P"], cwd=folder, capture_output=True).stdout


def tidy(path, command):
    """(whether nothing was found, what was said)"""
    text = command and text_of(*command)
    if not text:
        return False, f"{path}: it does not compile\n"
    stamp = CLEAN / hashlib.sha256((ROOT / ".clang-tidy").read_bytes() + text).hexdigest()
    if stamp.exists():
        return True, ""
    done = subprocess.run(["clang-tidy", "-p", str(BUILD), "--quiet", str(path)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    clean = done.returncode == 0 and not done.stdout.strip()
    if clean:
        stamp.touch()
    return clean, done.stdout


def main():
    CLEAN.mkdir(exist_ok=True)
    compiled = commands()
    paths = [pathlib.Path(name).resolve() for name in sys.argv[2:]]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        good = True
        for clean, said in pool.map(lambda path: tidy(path, compiled.get(path)), paths):
            good &= clean
            print(said, end="", flush=True)
    return 0 if good else 1


sys.exit(main())
