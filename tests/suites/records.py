# SPDX-License-Identifier: Apache-2.0
"""The record of every execution: one JSON line a step of a run."""
import collections
import json


class Records:
    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8") if path else None
        self.counts = collections.Counter()  # by run and outcome
        self.first = {}                       # (run, outcome): case, step, reason

    def add(self, suite, case, condition, run, step, outcome, reason=""):
        self.counts[run, outcome] += 1
        self.first.setdefault((run, outcome), f"{case} step {step}: {reason}")
        if self.file:
            self.file.write(json.dumps({
                "suite": suite, "case": case, "condition": condition, "run": run, "step": step,
                "outcome": outcome, "reason": reason}) + "\n")

    def claims(self, suite, runs):
        """(text, holds, detail): each of these runs matches in every step, and there are some."""
        claims = []
        for run in runs:
            match, rejection, divergence = (self.counts[run, outcome] for outcome in
                                            ("match", "rejection", "divergence"))
            first = self.first.get((run, "divergence")) or self.first.get((run, "rejection"))
            claims.append((f"{suite}, {run}: {match} match, {rejection} rejections, {divergence} "
                           "divergences", match > 0 and not rejection + divergence, first))
        return claims

    def finish(self, claims):
        """Prints the claims as TAP; the number of those that do not hold."""
        if self.file:
            self.file.close()
        for number, (text, holds, detail) in enumerate(claims, 1):
            print(f"{'ok' if holds else 'not ok'} {number} - {text}")
            if not holds:
                print(f"# {detail}")
        print(f"1..{len(claims)}")
        return sum(not holds for _, holds, _ in claims)
