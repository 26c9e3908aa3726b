# SPDX-License-Identifier: Apache-2.0
"""Scenario programs as their judge sees them: text, and what it takes to make it smaller."""
import re


class Program:
    def __init__(self, text):
        self.text = text
        head = text.split("\n", 1)[0].split()
        self.name, self.words = head[1], head[2:]
        digits = re.sub(r"\D", "", self.name)
        self.seed = int(digits) if digits else 0
        self.control = "control" in self.words
        self.kind = self.words[0] if self.words else ""
        self.race, self.noise = "race" in self.words, "noise" in self.words
        self.says = {kind for word in self.words if word.startswith("says=")
                     for kind in word[5:].split(",")}  # the hazards that a guard must report
        sizes = dict(re.findall(r"^buffer (\w+) (\d+)", text, re.M))
        self.about = [int(sizes[word[3:]]) for word in self.words if word.startswith("of=")
                      and word[3:] in sizes]  # sizes of buffers that reports must be about
        self.steps = text.count("\nbegin\n")
        self.segments = [tuple(line.split()[1:3]) for line in text.splitlines()
                         if line.startswith("segment ")]


def read_programs(text):
    parts = re.split(r"^(?=program )", text, flags=re.M)
    return [Program(part) for part in parts if part.startswith("program ")]


# ---- shrinking ---------------------------------------------------------------------------

def blocks(lines, opening, closing):
    """(first, last) of each stretch from a line that begins with `opening` to `closing`."""
    first = None
    for index, line in enumerate(lines):
        if line.split()[0] == opening:
            first = index
        elif line.split()[0] == closing and first is not None:
            yield first, index
            first = None


def without_steps(lines):
    for first, last in blocks(lines, "begin", "finish"):
        yield lines[:first] + lines[last + 1:]


def forward_label(line):
    words = line.split()
    return words[4] if words[0] == "forward" and len(words) > 4 else None


def without_instances(lines):
    """A forward goes with its replays, the drop of its output and the use of it."""
    for first, last in blocks(lines, "forward", "end"):
        label = forward_label(lines[first])
        step = max((i for i in range(first) if lines[i] == "begin"), default=0)
        until = next((i for i in range(first, len(lines)) if lines[i] == "finish"), len(lines))
        if not label:
            continue
        output = "Y" + label.split("_")[1]
        gone = set(range(first, last + 1))
        for start, end in blocks(lines, "replay", "end"):
            if any(line.startswith(f"again {label} ") for line in lines[start:end]):
                gone |= set(range(start, end + 1))
        for i in range(step, until):
            if lines[i] in (f"drop {output}", f"grad G {output}"):
                gone.add(i)
        yield [line for i, line in enumerate(lines) if i not in gone]


def makes_output(lines, first, last, gone):
    """Whether a forward still writes the output that its replay is for, without one line."""
    output = "Y" + forward_label(lines[first]).split("_")[1]
    made = [i for i in range(first, last) if output in lines[i].split()]
    return made != [gone]


def without_forward_lines(lines):
    """One line of a forward, and the numbers of those after it."""
    for first, last in blocks(lines, "forward", "end"):
        label = forward_label(lines[first])
        for gone in range(last - first - 1):
            if last - first <= 2 or not makes_output(lines, first, last, first + 1 + gone):
                continue
            result = []
            for i, line in enumerate(lines):
                words = line.split()
                if i == first + 1 + gone:
                    continue
                if words[0] == "again" and words[1] == label:
                    low, high = int(words[2]), int(words[3])
                    low, high = low - (low > gone), high - (high >= gone)
                    if low > high:
                        continue
                    line = f"again {label} {low} {high}"
                result.append(line)
            yield result


FIXED = {"program", "segment", "begin", "finish", "forward", "replay", "end", "again", "drop",
         "record", "wait", "grad", "buffer", "replaying"}


def without_lines(lines):
    inside = {i for first, last in blocks(lines, "forward", "end") for i in range(first, last)}
    for index, line in enumerate(lines):
        if line.split()[0] not in FIXED and index not in inside:
            yield lines[:index] + lines[index + 1:]


def without_buffers(lines):
    for index, line in enumerate(lines):
        words = line.split()
        if words[0] == "buffer" and not any(
                re.search(rf"\b{words[1]}\b", other) for i, other in enumerate(lines)
                if i != index and not other.startswith(("program", "segment"))):
            yield lines[:index] + lines[index + 1:]


def with_smaller_sizes(lines):
    sizes = sorted({int(line.split()[2]) for line in lines if line.startswith("buffer ")})
    for big in reversed(sizes):
        for small in (16, 64, big // 8 * 4):
            if small < big:
                yield [re.sub(rf"^(buffer \S+) {big}\b", rf"\1 {small}", line) for line in lines]


def shrink(program, is_red, most=150):
    """A smaller program that is red in the same way, found by leaving things out."""
    lines = [line for line in program.text.splitlines() if line.split("#")[0].strip()]
    tried = 0
    again = True
    while again and tried < most:
        again = False
        for smaller in (without_steps, without_instances, without_forward_lines, without_lines,
                        without_buffers, with_smaller_sizes):
            found = True
            while found and tried < most:
                found = False
                for candidate in smaller(lines):
                    tried += 1
                    if is_red(Program("\n".join(candidate) + "\n")):
                        lines, found, again = candidate, True, True
                        break
                    if tried >= most:
                        break
    return Program("\n".join(lines) + "\n")
