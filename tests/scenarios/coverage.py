# SPDX-License-Identifier: Apache-2.0
"""What generated programs cover: how many of each hazard kind have each value of each axis.

An axis is a property of a program's text, which a person could check by reading it. The table is
complete when every value is met by some kind, every kind has programs of each role that it can
have, and no kind stands apart from an axis that all kinds have."""
import collections
import re

KINDS = [f"H{number:02}" for number in range(1, 16)]


class Text:
    """A program's lines, and which of them lie in forwards."""

    def __init__(self, program):
        self.program, self.text = program, program.text
        self.lines = [line.split() for line in program.text.splitlines() if line.strip()]
        self.forward, depth = [], 0
        for words in self.lines:
            depth += words[0] == "forward"
            self.forward.append(depth > 0)
            depth -= words[0] == "end" and depth > 0

    def has(self, pattern):
        return re.search(pattern, self.text, re.M) is not None

    def sizes(self):
        return [int(words[2]) for words in self.lines if words[0] == "buffer"]

    def alive(self):
        """The most forwards of a step."""
        steps = self.text.split("\nbegin\n")[1:]
        return max((len(re.findall(r"^forward ", step, re.M)) for step in steps), default=0)

    def replays(self):
        """How often each forward's lines are run again."""
        return collections.Counter(re.findall(r"^again (\S+) 0 ", self.text, re.M)).values()

    def written_outside(self, streams=None):
        writers = {"fill", "put", "set", "copy", "upload", "slow", "add", "roll", "bump", "count",
                   "ema", "evolve", "atomic", "highest", "decay", "patch", "scatter", "column"}
        return any(words[0] in writers and not inside and words[1][0] not in "XYGD"
                   for words, inside in zip(self.lines, self.forward))


def moment(name):
    """A value of the axis 'moment': where state is written."""
    return {"inside": lambda text: any(
        words[0] in ("evolve", "ema", "add", "bump", "atomic", "count", "drawnext", "put", "copy",
                     "highest", "decay", "scatter") and inside
        for words, inside in zip(text.lines, text.forward)),
        "outside": Text.written_outside,
        "in the replay": lambda text: text.has(r"^replay [^\n]*\n(?:again[^\n]*\n)?(?!again|end)")
    }[name]


AXES = {
    "role": {
        "hazard": lambda text: not text.program.control,
        "control": lambda text: text.program.control,
    },
    "writer": {
        "kernel store": lambda text: text.has(r"^(evolve|ema|put|fill|add|bump|drawnext) "),
        "kernel atomic": lambda text: text.has(r"^(atomic|count) "),
        "copy on the device": lambda text: text.has(r"^copy "),
        "copy from the host": lambda text: text.has(r"^upload "),
        "memset": lambda text: text.has(r"^set "),
        "graph node": lambda text: text.has(r" graph\b"),
    },
    "pointer": {
        "direct": lambda text: text.has(
            r"^(use|evolve|draw\w*|readrows|grad) [A-Z]\d*( |:)[^/\n]*$"),
        "interior": lambda text: text.has(r"^(?!buffer)\w+ [A-Z]\d*:[1-9]"),
        "by-value struct": lambda text: text.has("/boxed"),
        "device table": lambda text: text.has("/tabled"),
        "module variable": lambda text: text.has("/global"),
    },
    "memory": {
        "pinned": lambda text: text.has(" pinned$"),
        "second device": lambda text: text.has(" second$"),
        "address reuse": lambda text: text.has("^free "),
    },
    "stream": {
        "legacy default": lambda text: not text.has("@"),
        "side, with events": lambda text: text.has(r"@[123]\b") and text.has("^wait "),
        "no event": lambda text: text.program.race,
        "second context": lambda text: text.has(r"@[4-7]\b"),
        "a thread's default": lambda text: text.has(r"@8\b"),
        "delay kernel": lambda text: text.has("^slow "),
    },
    "moment": {name: moment(name) for name in ("inside", "outside", "in the replay")},
    "thread": {
        "one": lambda text: not text.has("&"),
        "replay on another": lambda text: text.has(r"^replay [^\n]*&\d$"),
        "at the same time": lambda text: text.has(r"&\d\+$"),
    },
    "alive": {
        "1": lambda text: text.alive() == 1,
        "2 to 8": lambda text: 2 <= text.alive() <= 8,
        "9 to 64": lambda text: text.alive() > 8,
    },
    "order": {order: lambda text, order=order: text.has(f"^segment s {order}")
              for order in ("lifo", "fifo", "key")},
    "replays": {
        "never": lambda text: len(text.replays()) < len(re.findall("^forward s", text.text, re.M)),
        "once": lambda text: 1 in text.replays(),
        "twice or more": lambda text: any(count > 1 for count in text.replays()),
    },
    "largest buffer": {
        "up to 4 KiB": lambda text: max(text.sizes()) <= 4096,
        "up to 64 KiB": lambda text: 4096 < max(text.sizes()) <= 65536,
        "more": lambda text: max(text.sizes()) > 65536,
    },
}
# What every kind has to meet; the rest belongs to some kinds and has to be met by one.
OF_ALL = {("role", "hazard"), ("role", "control"), ("stream", "legacy default"),
          ("stream", "side, with events"), ("stream", "second context"),
          ("stream", "a thread's default"), ("thread", "one"), ("writer", "kernel store"),
          ("writer", "graph node"), ("alive", "1"), ("replays", "once"),
          ("largest buffer", "up to 4 KiB"), ("pointer", "direct")}


def count(programs):
    """Programs by (axis, value) and kind."""
    table = {(axis, value): collections.Counter() for axis in AXES for value in AXES[axis]}
    for program in programs:
        text = Text(program)
        for (axis, value), row in table.items():
            row[program.kind] += bool(AXES[axis][value](text))
    return table


def print_table(table):
    """As comments of TAP."""
    print(f"# {'axis':<16}{'value':<20}" + "".join(f"{kind:>6}" for kind in KINDS))
    for (axis, value), row in table.items():
        print(f"# {axis:<16}{value:<20}" + "".join(f"{row[kind] or '.':>6}" for kind in KINDS))


def claims(table):
    """(claim, holds, detail): no row or column is empty, and what all kinds have has no gap."""
    for (axis, value), row in table.items():
        met = [kind for kind in KINDS if row[kind]]
        missing = [kind for kind in KINDS if (axis, value) in OF_ALL and kind not in met]
        yield (f"{axis}, {value}: {sum(row.values())} programs of {len(met)} kinds",
               bool(met) and not missing, f"none of {missing or 'any kind'}")
