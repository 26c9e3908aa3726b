#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks on a GPU what this project's tests show on the software device, and measures there.

Prints a line a check, then what failed, and writes all of it as JSON with the device and its
driver: that file is what to send back. Exit status 0 when nothing failed, 1 otherwise, 77 without
a GPU. `--device soft` rehearses the same checks without one; what it finds says nothing of a GPU,
and the file says so."""
import argparse
import dataclasses
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
import time

import check
from place import HERE, ROOT, Place

SKIPPED = 77
SUBJECTS = ("addresses", "questions", "launches", "kernels", "accesses", "copies", "overheads",
            "frameworks", "suites", "experiments")


def arguments():
    parser = argparse.ArgumentParser(prog="gpu", description=__doc__.split("\n\n")[0],
                                     epilog=__doc__.split("\n\n")[1])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT, metavar="FOLDER",
                        help="where the programs are (default: this bundle)")
    parser.add_argument("--device", choices=("cuda", "soft"), default="cuda",
                        help="soft: a rehearsal on the software device")
    parser.add_argument("--quick", action="store_true", help="the short checks only, and shorter")
    parser.add_argument("--only", action="append", metavar="TEXT", default=[],
                        help="checks whose names contain it; may be repeated")
    parser.add_argument("--python", default=sys.executable, metavar="PROGRAM",
                        help="the Python that has PyTorch, CuPy, Triton, JAX (default: this one)")
    parser.add_argument("--list", action="store_true", help="name the checks, run none")
    parser.add_argument("-o", "--output", type=pathlib.Path, metavar="FILE",
                        help="default gpu-results.json, of a rehearsal rehearsal.json")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER",
                        help="a copy there too, named after device and driver; of a GPU's only")
    options = parser.parse_args()
    if options.keep and options.device == "soft":
        parser.error("--keep is for a GPU's results; a rehearsal is none")
    return options


def device_of(place):
    """What the device says of itself, or None and why there is none."""
    done = subprocess.run([sys.executable, HERE / "device_job.py"], capture_output=True, text=True,
                          env=place.environment())
    try:
        told = json.loads(done.stdout)
    except ValueError:
        return None, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no answer"
    return (None, told["reason"]) if done.returncode == SKIPPED else (told, None)


def version_of(place):
    done = subprocess.run([place.reprise, "--version"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def chosen(options):
    for subject in SUBJECTS:
        __import__(subject)
    return [one for one in check.CHECKS if (one.quick or not options.quick) and
            (not options.only or any(text in one.name for text in options.only))]


def print_result(result):
    name, words = result.name, result.words
    print(f"{result.outcome:<8}{name:<28}{result.seconds:>7.1f} s  {words}"[:400], flush=True)


def write(path, document):
    """Appears under its name only when it is whole."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(document, indent=1) + "\n")
    draft.replace(path)


def keep(folder, document):
    """Beside the results of other devices and drivers. Never those of a rehearsal."""
    assert not document["rehearsal"]
    driver = re.search(r"\d+\.\d+(\.\d+)?", document["device"].get("driver") or "")
    words = f"{document['device']['device']} {driver[0] if driver else 'unknown'}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (re.sub(r"[^a-z0-9.]+", "-", words.lower()) + ".json")
    write(path, document)
    print(f"kept: {path}")


def run_all(checks, place):
    results = []
    for one in checks:
        results.append(check.carry_out(one, place))
        print_result(results[-1])
    return results


def document_of(place, results, started):
    return {"format": "reprise-gpu", "version": 1, "rehearsal": place.rehearsal,
            "reprise": version_of(place), "device": place.about,
            "host": {"system": platform.platform(), "libc": " ".join(platform.libc_ver()),
                     "python": platform.python_version(), "processors": os.cpu_count()},
            "started": started, "quick": place.quick,
            "checks": [dataclasses.asdict(result) for result in results]}


def say_end(place, results, output):
    counts = {outcome: sum(result.outcome == outcome for result in results)
              for outcome in ("passed", "failed", "skipped")}
    print(f"\n{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    print(f"written: {output}" + (" (a rehearsal: it says nothing of a GPU)" if place.rehearsal
                                  else "; please send it back, whatever it says"))
    return counts["failed"] > 0


def main():
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="reprise-gpu-") as scratch:
        place = Place(options.build, options.device, options.quick, scratch)
        place.python_of_jobs = options.python
        checks = chosen(options)
        if options.list:
            for one in checks:
                print(f"{one.name:<28}{one.goal}")
            return 0
        if not checks:
            sys.exit("gpu: no check has such a name; --list names them")
        place.about, reason = device_of(place)
        if not place.about:
            print(f"gpu: no GPU here ({reason}): nothing was checked; "
                  "--device soft rehearses the checks without one")
            return SKIPPED
        about = place.about
        print(f"{'REHEARSAL on ' if place.rehearsal else ''}{about['device']}, CUDA "
              f"{about['cuda'] // 1000}.{about['cuda'] % 1000 // 10}, "
              f"{about['driver'] or 'no kernel driver'}; {version_of(place)}\n", flush=True)
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        results = run_all(checks, place)
        output = options.output or pathlib.Path("rehearsal.json" if place.rehearsal
                                                else "gpu-results.json")
        document = document_of(place, results, started)
        write(output, document)
        if options.keep:
            keep(options.keep, document)
        return say_end(place, results, output)


if __name__ == "__main__":
    sys.exit(main())
