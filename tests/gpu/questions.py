# SPDX-License-Identifier: Apache-2.0
"""What no document says of a driver: recorded, and held to what the layer assumes."""
import json

from check import QUICK, Wrong, check
from place import HERE

JOB = HERE / "questions_job.py"


@check("identity of memory", "a buffer id is never met again; two mappings show one memory", QUICK)
def identity(place):
    told = json.loads(place.python(JOB).stdout)
    words = (f"{told['ids']} allocations, {told['distinct']} ids; "
             f"remapped: {'another' if told['remapped_differs'] else 'the same'} id; "
             f"aliases: {'one memory' if told['aliases_agree'] else 'two'}")
    if told["ids"] != told["distinct"] or not told["aliases_agree"]:
        raise Wrong(words, **told)
    return words, told
