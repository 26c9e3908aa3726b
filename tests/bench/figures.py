# SPDX-License-Identifier: Apache-2.0
"""Figures: what a benchmark measured, for `tools/dev bench`; see figures.h for their fields."""
import json
import os
import statistics


def figure(name, values, unit, goal=None, published=None):
    """Adds a figure: the median of `values` (one value, or a run's each) and their quartiles."""
    path = os.environ.get("BENCH_FIGURES")
    if not path:
        return
    values = sorted(values) if isinstance(values, (list, tuple)) else [values]
    low, _, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    line = {"name": name, "unit": unit, "value": statistics.median(values), "low": low,
            "high": high, "runs": len(values)}
    line |= {key: value for key, value in (("goal", goal), ("published", published))
             if value is not None}
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
