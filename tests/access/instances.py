#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches of real programs against the oracle: what the layer says of each in its trace, and what
the software device saw it touch.

A byte that is written or read and was not claimed is a false safe verdict, and fails, but where the
verdict is "reachable": that is speculation and called so; it is counted. A table says,
by kernel, how many launches claimed more than they wrote, and how many bytes. The jobs launch from
one thread of one process (others may ask the driver something), have no kernel called "copy" or
"fill" and no virtual memory of their own making.

usage: instances.py REPRISE FEWEST JOB [ARG...] [-- JOB [ARG...]]...
FEWEST: how many launches there must be in all"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

REPRISE, FEWEST = os.path.abspath(sys.argv[1]), int(sys.argv[2])
MOST_OVER = 0.05  # of all launches; published: 0.1854


def jobs():
    job = []
    for word in sys.argv[3:]:
        if word == "--":
            yield job
            job = []
        else:
            job.append(word)
    yield job


def records(path):
    """(sequence, name, reads, writes) of each operation; ranges are pairs of addresses."""
    data = memoryview(path.read_bytes())
    at = len(b"reprise oracle 1\n")

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def ranges():
        end, out = 0, []
        for _ in range(number()):
            start = end + number()
            end = start + number()
            out.append((start, end))
        return out

    while at < len(data):
        number()
        seq, _, _ = number(), number(), number()
        length = number()
        name = bytes(data[at:at + length]).decode()
        at += length
        yield seq, name, ranges(), ranges()


class Claims:
    """The launches of a trace, with what was claimed of each, in addresses."""

    def __init__(self, folder):
        self.launches, self.allocations = [], {}
        accesses = collections.defaultdict(lambda: {"read": [], "write": []})
        dump = subprocess.Popen([REPRISE, "dump", "--json", folder], stdout=subprocess.PIPE,
                                text=True)
        for line in dump.stdout:
            event = json.loads(line)
            fields = event.get("fields", {})
            name = event.get("name") if event.get("class") == "note" else None
            if name == "allocation":
                self.allocations[fields["allocation"]] = int(fields["address"], 16), fields["bytes"]
            elif name == "launch":
                self.launches.append({"kernel": fields["kernel"], "verdict": fields["verdict"],
                                      "reads": fields["reads"]} | accesses[fields["seq"]])
            elif name == "access":  # those of a graph's node come before their launch
                base, _ = self.allocations[fields["allocation"]]
                start = base + fields["offset"]
                accesses[fields["seq"]][fields["effect"]].append((start, start + fields["bytes"]))
        dump.wait()


def join(ranges):
    out = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], end)
        else:
            out.append((start, end))
    return out


def missing(touched, claimed):
    """The first range that was touched and not claimed, or None."""
    for start, end in touched:
        if not any(lo <= start and end <= hi for lo, hi in claimed):
            return start, end
    return None


def size(ranges):
    return sum(end - start for start, end in ranges)


Row = collections.namedtuple("Row", "launches over claimed written")
table, wrong, speculation = collections.defaultdict(lambda: Row(0, 0, 0, 0)), [], []


def judge(launch, name, reads, writes):
    claimed = {effect: join(launch[effect]) for effect in ("read", "write")}
    if launch["kernel"] != name:
        wrong.append(f"the trace has {launch['kernel']} where the device ran {name}")
    for effect, touched, verdict in (("read", reads, launch["reads"]),
                                     ("write", writes, launch["verdict"])):
        stray = None if verdict == "everything" else missing(touched, claimed[effect])
        if stray and verdict == "reachable":
            speculation.append(f"{name}: {effect} [{stray[0]:#x}, {stray[1]:#x})")
        elif stray:
            wrong.append(f"{name}: {effect} [{stray[0]:#x}, {stray[1]:#x}), "
                         f"not claimed ({verdict})")
    said, did = size(claimed["write"]), size(writes)
    row = table[name]
    table[name] = Row(row.launches + 1, row.over + (said > did), row.claimed + said,
                      row.written + did)


def run(job):
    with tempfile.TemporaryDirectory() as place:
        done = subprocess.run(
            [REPRISE, "run", "--device", "soft", "-q", "-o", f"{place}/data", "--", *job],
            env=os.environ | {"REPRISE_SOFT_ORACLE": f"{place}/oracle-%p"},
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            wrong.append(f"{job[0]}: exit {done.returncode}: {done.stderr[-400:]}")
            return
        claims = Claims(f"{place}/data").launches
        kernels = {launch["kernel"] for launch in claims}
        seen = sorted(record for path in pathlib.Path(place).glob("oracle-*")
                      for record in records(path) if record[1] in kernels)
        if len(seen) != len(claims):
            wrong.append(f"{job[0]}: {len(claims)} launches in the trace, "
                         f"{len(seen)} on the device")
        for launch, (_, *record) in zip(claims, seen):
            judge(launch, *record)


for job in jobs():
    run(job)
print(f"# {'kernel':32}{'launches':>9}{'over':>7}{'bytes said':>14}{'written':>14}{'ratio':>9}")
for name, row in sorted(table.items()):
    ratio = row.claimed / row.written if row.written else float(row.claimed > 0)
    print(f"# {name[:32]:32}{row.launches:9}{row.over:7}{row.claimed:14}{row.written:14}"
          f"{ratio:9.2f}")
total, over = sum(row.launches for row in table.values()), sum(row.over for row in table.values())
print(f"# {total} launches, {len(wrong)} wrong, {len(speculation)} missed by speculation, "
      f"over-conservative {over} ({100 * over / max(total, 1):.2f} %)")
for line in wrong[:20]:
    print(f"# {line}")
print("1..3")
print(f"{'not ' * bool(wrong)}ok 1 - no launch touches what was not claimed")
print(f"{'not ' * (over > MOST_OVER * total)}ok 2 - at most 5 % claim more than they write")
print(f"{'not ' * (total < FEWEST)}ok 3 - there were {FEWEST} launches")
sys.exit(bool(wrong) or over > MOST_OVER * total or total < FEWEST)
