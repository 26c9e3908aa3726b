# SPDX-License-Identifier: Apache-2.0
"""Claims about what programs do, told by the Test Anything Protocol."""
import sys

held = []


def claim(text, holds, *details):
    """One line; where it does not hold the details below it."""
    held.append(bool(holds))
    print(f"{'ok' if holds else 'not ok'} {len(held)} - {text}", flush=True)
    for line in () if holds else "\n".join(map(str, details)).splitlines():
        print(f"# {line}")


def finish():
    """Ends the program: with 0 where all claims hold and there were some."""
    print(f"1..{len(held)}")
    sys.exit(not (held and all(held)))
