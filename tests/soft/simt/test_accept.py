#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the interpreter accept what NVIDIA's assembler accepts, and refuse what it refuses?

usage: test_accept.py JUDGE [--every N] [--ptxas FILE] [--list]

Every form of forms.py goes to both. Where they differ, differences.tsv must say why: its rows
are a side ("more" where only the interpreter accepts, "less" where only the assembler does),
a glob over the instruction, and the reason. A row that no form needs is an error too. With
--every N a sample of the forms is compared, and unneeded rows don't count. Without an
assembler there is nothing to compare with, and the test is skipped (77).
"""
import argparse
import fnmatch
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import forms


def judged(judge, instructions):
    """The interpreter's reason against each instruction, empty where it accepts."""
    text = ''.join(forms.kernel(i, form) for i, form in enumerate(instructions))
    done = subprocess.run([judge, forms.HEADER], input=text, capture_output=True, text=True,
                          check=True)
    return dict(zip(instructions, done.stdout.splitlines()))


def complaints(ptxas, lines, folder):
    """{index of line: message} from one run over these kernels."""
    source = pathlib.Path(folder, 'forms.ptx')
    source.write_text(forms.HEADER + ''.join(lines))
    done = subprocess.run([ptxas, '-arch=sm_90', '-O0', str(source), '-o', '/dev/null'],
                          capture_output=True, text=True)
    found = {}
    for line in (done.stdout + done.stderr).splitlines():
        place = re.search(r'line (\d+); (?:error|fatal)\s*: (.*)', line)
        if place:
            # what is wrong with the end of the file is wrong with its last line
            at = min(int(place.group(1)) - 4, len(lines) - 1)
            found.setdefault(at, place.group(2))
    if done.returncode and not found: # a failure that names no line
        if len(lines) == 1:
            return {0: f'ptxas ends with {done.returncode}'}
        half = len(lines) // 2
        found = complaints(ptxas, lines[:half], folder)
        found.update((half + i, m) for i, m in complaints(ptxas, lines[half:], folder).items())
    return found


def assembled(ptxas, expected):
    """The assembler's reason against each instruction, empty where it accepts. An error of
    syntax hides those behind it, so what is left over is tried until nothing is wrong; that is
    quick when those that the interpreter refuses stand apart."""
    reasons = dict.fromkeys(expected, '')
    right = [form for form, refusal in expected.items() if not refusal]
    wrong = [form for form, refusal in expected.items() if refusal]
    groups = [forms[start:start + size] for forms, size in ((right, 90), (wrong, 30))
              for start in range(0, len(forms), size)]
    with tempfile.TemporaryDirectory() as folder:
        for group in groups:
            while group:
                found = complaints(ptxas, [forms.kernel(i, f) for i, f in enumerate(group)], folder)
                if not found:
                    break
                reasons.update((group[i], message) for i, message in found.items())
                group = [f for i, f in enumerate(group) if i not in found]
    return reasons


def explanations():
    """Rows of differences.tsv."""
    path = pathlib.Path(__file__).with_name('differences.tsv')
    rows = [line.split('\t') for line in path.read_text().splitlines()
            if line and not line.startswith('#')]
    return [(side, glob, reason) for side, glob, reason in rows]


def compare(ours, theirs, rows, show_all):
    """Prints what nobody explains; (differences without a reason, rows nobody needed)."""
    needed, unexplained, counts = set(), 0, {'more': 0, 'less': 0}
    for form, refusal in ours.items():
        if bool(refusal) == bool(theirs[form]):
            continue
        side = 'less' if refusal else 'more'
        counts[side] += 1
        reasons = [row for row in rows if row[0] == side and fnmatch.fnmatchcase(form, row[1])]
        needed.update(reasons)
        if reasons and not show_all:
            continue
        unexplained += not reasons
        print(f'{side}\t{form}\t{refusal or theirs[form]}')
    accepted = sum(not reason for reason in theirs.values())
    print(f'{len(ours)} forms, {accepted} accepted by ptxas; the interpreter accepts '
          f'{counts["more"]} more and {counts["less"]} less')
    return unexplained, [row for row in rows if row not in needed]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('judge')
    parser.add_argument('--every', type=int, default=1)
    parser.add_argument('--ptxas', default=shutil.which('ptxas'))
    parser.add_argument('--list', action='store_true', help='show what is explained too')
    options = parser.parse_args()
    if not options.ptxas:
        print('no ptxas to compare with')
        sys.exit(77)
    instructions = forms.forms()[::options.every]
    ours = judged(options.judge, instructions)
    unexplained, unneeded = compare(ours, assembled(options.ptxas, ours), explanations(),
                                    options.list)
    if options.every > 1:
        unneeded = []
    for row in unneeded:
        print('nothing needs this row:', *row, sep='\t')
    sys.exit(bool(unexplained or unneeded))


if __name__ == '__main__':
    main()
