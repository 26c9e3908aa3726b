#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains on a software device that is too small for the job.

The digits example, with sixteen blocks, keeps all its activations. On a device with half of the
memory that it takes it dies of CUDA_ERROR_OUT_OF_MEMORY; under `reprise run -m recompute` it must
leave the bytes of the run that had enough. Memory over the last step, with enough and with too
little, is drawn to an SVG. Exit status 1 when a byte differs, or when the bare job survives."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

root = pathlib.Path(__file__).resolve().parents[2]
examples = root / "examples" / "digits"
WIDTH, HEIGHT, MARGIN = 720, 300, 56


class Demo:
    def __init__(self, options):
        self.build = options.build.resolve()
        self.job = [self.build / "examples/digits/digits", "-n", str(options.steps), "-b", "512",
                    "-l", "16"]
        self.output = self.build / "demo-memory"
        self.output.mkdir(parents=True, exist_ok=True)

    def run(self, name, *layer, memory=None):
        """(what the process came to, its bytes, its summary, its seconds); the trace stays."""
        folder, dump = self.output / name, self.output / f"{name}.dump"
        dump.unlink(missing_ok=True)
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("REPRISE_")}
        environment["REPRISE_SOFT_GRANULARITY"] = "4KiB"  # the job's buffers are small
        if memory:
            environment["REPRISE_SOFT_MEMORY"] = str(memory)
        start = time.monotonic()
        done = subprocess.run([self.build / "tools/reprise", "run", "-q", "--device", "soft", "-o",
                               folder, *layer, "--", *self.job, f"--dump={dump}"],
                              capture_output=True, text=True, env=environment)
        seconds = time.monotonic() - start
        summary = json.loads(next(folder.glob("summary-*.json")).read_text())
        return done, dump.read_bytes() if dump.exists() else b"", summary, seconds

    def curve(self, name):
        """[(event number, bytes)] of the last step but one, from the trace: of what the layer has
        counted, or else of what the job has allocated and freed."""
        lines = subprocess.run([self.build / "tools/reprise", "dump", "--json", self.output / name],
                               capture_output=True, text=True, check=True).stdout.splitlines()
        events = [(number, event["name"], event["fields"]) for number, event in
                  enumerate(map(json.loads, lines)) if event.get("class") == "note"]
        counted = any(kind == "memory" for _, kind, _ in events)
        alive, sizes, steps = 0, {}, [[]]
        for number, kind, fields in events:
            if kind == "step":
                steps.append([(number, alive)])
                continue
            if kind == "memory":
                alive = fields["used"]
            elif kind == "allocation" and fields["kind"] == "device" and not counted:
                sizes[fields["allocation"]] = fields["bytes"]
                alive += fields["bytes"]
            elif kind == "free" and not counted:
                alive -= sizes.pop(fields["allocation"], 0)
            steps[-1].append((number, alive))
        return steps[-2]


def size(count):
    return f"{count / 1048576:.2f} MiB"


def steps_of(points, top):
    """The outline of a curve of steps, in the picture's coordinates."""
    first, last = points[0][0], points[-1][0]
    outline, height = [], None
    for at, used in points:
        x = MARGIN + (WIDTH - 2 * MARGIN) * (at - first) / max(1, last - first)
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * used / top
        if height is not None:
            outline.append(f"{x:.1f},{height:.1f}")
        outline.append(f"{x:.1f},{y:.1f}")
        height = y
    return " ".join(outline)


def draw(path, before, after, limit):
    top = max(used for _, used in before + after) * 1.05
    y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * limit / top
    path.write_text(f"""<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"
  font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
<text x="{MARGIN}" y="24">device memory over one step of the digits job, sixteen blocks</text>
<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{y:.1f}" y2="{y:.1f}" stroke="#b00"
  stroke-dasharray="5"/>
<text x="{WIDTH - MARGIN}" y="{y - 4:.1f}" text-anchor="end" fill="#b00">all that the device has,
 {size(limit)}</text>
<polyline fill="none" stroke="#888" stroke-width="1.5" points="{steps_of(before, top)}"/>
<polyline fill="none" stroke="#06c" stroke-width="1.5" points="{steps_of(after, top)}"/>
<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{HEIGHT - MARGIN}" y2="{HEIGHT - MARGIN}"
  stroke="black"/>
<text x="{MARGIN}" y="{HEIGHT - 24}" fill="#666">grey: everything kept, on a device with
 enough</text>
<text x="{MARGIN}" y="{HEIGHT - 8}" fill="#06c">blue: under recompute, on a device with too
 little</text>
</svg>
""")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=root / "build")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("-o", "--output", type=pathlib.Path, help="the picture")
    demo = Demo(parser.parse_args())
    options = parser.parse_args()
    done, wanted, summary, roomy = demo.run("enough", "-m", "check", "-c",
                                            examples / "discovered.json")
    if done.returncode:
        sys.exit(f"demo: {done.stderr.strip()}")
    peak = summary["device_peak_bytes"]
    small = peak // 2
    dies, _, _, _ = demo.run("bare", "-m", "observe", memory=small)
    lives, found, saved, tight = demo.run("recompute", "-m", "recompute", "-c",
                                          examples / "discovered.json", memory=small)
    figures = saved.get("recompute", {})
    print(f"a device with enough:       {size(peak)} at most, {roomy:.1f} s")
    print(f"a device with {size(small)}:    {dies.stderr.strip().splitlines()[0]}")
    print(f"the same, under recompute:  {size(saved['device_peak_bytes'])} at most, {tight:.1f} s; "
          f"{size(figures.get('bytes_dropped', 0))} dropped, {figures.get('recalls', 0)} forwards "
          f"run again; " + ("the same bytes" if found == wanted and found else "OTHER BYTES"))
    path = options.output or demo.output / "memory.svg"
    draw(path, demo.curve("enough"), demo.curve("recompute"), small)
    print(f"picture: {path}")
    sys.exit(0 if dies.returncode and not lives.returncode and found == wanted else 1)


if __name__ == "__main__":
    main()
