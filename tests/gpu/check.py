# SPDX-License-Identifier: Apache-2.0
"""What a check is. A function with @check comes to (words, figures) when all holds, raises Wrong
with what does not, or Skip with the reason that it can't run here."""
import dataclasses
import time
import traceback

QUICK, LONG = True, False


class Skip(Exception):
    pass


class Wrong(Exception):
    def __init__(self, words, **figures):
        super().__init__(words)
        self.figures = figures


@dataclasses.dataclass
class Check:
    name: str
    goal: str
    quick: bool
    run: object


@dataclasses.dataclass
class Result:
    name: str
    goal: str
    outcome: str  # passed, failed, skipped
    words: str
    figures: dict
    seconds: float


CHECKS = []


def check(name, goal, quick=LONG):
    """Registers a function of a Place. `quick` ones are for every day's rehearsal."""
    def register(function):
        CHECKS.append(Check(name, goal, quick, function))
        return function
    return register


def carry_out(one, place):
    """Whatever goes wrong in a check is that check's outcome; the others go on."""
    start = time.monotonic()
    try:
        words, figures = one.run(place)
        outcome = "passed"
    except Skip as reason:
        outcome, words, figures = "skipped", str(reason), {}
    except Wrong as wrong:
        outcome, words, figures = "failed", str(wrong), wrong.figures
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        outcome, figures = "failed", {}
        words = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
    return Result(one.name, one.goal, outcome, words, figures, time.monotonic() - start)
