# SPDX-License-Identifier: Apache-2.0
"""The cohort of real frameworks, and the field's experiments at their budgets."""
import collections
import json

from check import LONG, Skip, Wrong, check
from place import tap_counts, told

SKIPPED = 77
EXPERIMENTS = "tests/experiments/experiments.py"
BUDGETS = ("32GiB", "44GiB")


@check("cohort", "no job of the cohort diverges in silence", LONG)
def cohort(place):
    records = place.folder() / "cohort.jsonl"
    done = place.run(place.python_of_jobs, place.source("tests/suites/cohort.py"), "--build",
                     place.build, "--records", records, "--seeds", 1, "--steps", 3, patience=7200)
    if done.returncode == SKIPPED:
        raise Skip("; ".join(line.removeprefix("cohort: ") for line in
                             done.stderr.splitlines()) or "no framework of it is here")
    counts = collections.Counter()
    for line in records.read_text().splitlines():
        record = json.loads(line)
        counts[f"{record['framework']}, {record['run']}: {record['outcome']}"] += 1
    words = "; ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    if done.returncode:
        raise Wrong(f"{told(done)}; {words}", **counts)
    return words, dict(counts)


def register_experiment(budget):
    @check(f"experiments at {budget}", "the field's experiments fit and are exact", LONG)
    def run(place):
        script = place.source(EXPERIMENTS)
        if not script.exists():
            raise Skip(f"no {EXPERIMENTS} here")
        if place.rehearsal:
            raise Skip("the budgets are a GPU's")
        done = place.run(place.python_of_jobs, script, "--build", place.build, "--device", "cuda",
                         "--budget", budget, patience=7200)
        if done.returncode == SKIPPED:
            raise Skip((done.stdout.strip().splitlines() or ["it says so"])[-1])
        passed, failed, skipped, names = tap_counts(done.stdout)
        words = f"{passed} hold, {failed} do not, {skipped} skipped"
        figures = {"passed": passed, "failed": failed, "skipped": skipped, "output": done.stdout}
        if failed or done.returncode or not passed:
            raise Wrong(f"{words}: {'; '.join(names)[:300] or told(done)}", **figures)
        return words, figures


for size in BUDGETS:
    register_experiment(size)
