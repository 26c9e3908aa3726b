# SPDX-License-Identifier: Apache-2.0
"""Which function cuGetProcAddress answers with. The layer tells what a job asked for by the
address that the driver returns, which nothing documents."""
import json
import sys

from check import QUICK, Wrong, check
from place import HERE

JOB = HERE / "addresses_job.py"


def answers(place):
    return [place.source("cuda/calls/driver_calls.tsv")]


@check("pointer identity", "cuGetProcAddress returns the exported function's address", QUICK)
def identity(place):
    told = json.loads(place.python(JOB, *answers(place)).stdout)
    figures = {key: told[key] for key in ("same", "otherwise", "private", "refused", "questions")}
    words = (f"{told['same']} answers are the exported symbol of the table, "
             f"{len(told['otherwise'])} another one, {len(told['private'])} none, "
             f"{told['refused']} refused")
    if told["private"] or not told["same"]:
        raise Wrong(words, **figures)
    return words, figures


@check("wrappers", "under the layer every answer of a known call is the layer's", QUICK)
def wrappers(place):
    done, _ = place.layered("--no-trace", command=[sys.executable, JOB, *answers(place), "layer"])
    if done.returncode:
        raise Wrong(done.stderr.strip()[-300:])
    told = json.loads(done.stdout)
    words = f"{told['layer']} answers lead to the layer, {len(told['past'])} past it"
    if told["past"] or not told["layer"]:
        raise Wrong(words, past=told["past"][:40])
    return words, {"layer": told["layer"]}
