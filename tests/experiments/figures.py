# SPDX-License-Identifier: Apache-2.0
"""Figures of cohorts: ratios with intervals, and a picture."""
import random
import statistics

RESAMPLES = 2000
COLOURS = ("#06c", "#888")


def interval(values, share=0.95):
    """(mean, low, high): a percentile bootstrap with a fixed seed; the mean is of the values."""
    draw = random.Random(1)
    means = sorted(statistics.fmean(draw.choices(values, k=len(values)))
                   for _ in range(RESAMPLES))
    cut = int(RESAMPLES * (1 - share) / 2)
    return statistics.fmean(values), means[cut], means[-1 - cut]


def paired_ratio(ours, theirs):
    """Of the times of two cohorts, process by process of the same seed."""
    other = {one.seed: one.ns for one in theirs}
    return interval([one.ns / other[one.seed] for one in ours if one.seed in other])


def gib(count):
    return f"{count / (1 << 30):.3f} GiB"


def bars(title, rows):
    """An SVG of two bars a row: (name, time in ns or None, peak in bytes or None, note)."""
    height, middle, width = 34, 480, 960
    slowest = max((row[1] for row in rows if row[1]), default=1)
    largest = max((row[2] for row in rows if row[2]), default=1)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
             f'height="{60 + height * len(rows)}" font-family="sans-serif" font-size="12">',
             '<rect width="100%" height="100%" fill="white"/>',
             f'<text x="10" y="20" font-size="14">{title}</text>',
             f'<text x="150" y="44" fill="{COLOURS[0]}">time of a step</text>',
             f'<text x="{middle + 60}" y="44" fill="{COLOURS[1]}">peak of device memory</text>']
    for i, (name, ns, peak, note) in enumerate(rows):
        y = 54 + height * i
        parts.append(f'<text x="10" y="{y + 16}">{name}</text>')
        if ns is None:
            parts.append(f'<text x="150" y="{y + 16}" fill="#b00">{note}</text>')
            continue
        for left, value, most, text, colour in (
                (150, ns, slowest, f"{ns / 1e6:.3f} ms", COLOURS[0]),
                (middle + 60, peak, largest, gib(peak), COLOURS[1])):
            parts.append(f'<rect x="{left}" y="{y + 4}" width="{280 * value / most:.1f}" '
                         f'height="16" fill="{colour}" fill-opacity="0.35"/>')
            parts.append(f'<text x="{left + 6}" y="{y + 16}">{text}</text>')
    return "\n".join([*parts, "</svg>", ""])
