#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every launch of a real program against the oracle: what the layer says of it, and what the device
saw it touch. tests/access/instances.py has the details.

usage: accesses.py CLIENT REPRISE DEVICE_FOLDER SOURCE"""
import os
import pathlib
import subprocess
import sys
import tempfile

from clients import CLIENTS, HERE, SKIPPED, Missing, Place

FEWEST = 5

client, reprise, device, source = sys.argv[1:5]
with tempfile.TemporaryDirectory() as scratch:
    place = Place(reprise, device, source, scratch)
    try:
        command, environment = CLIENTS[client](place, pathlib.Path(scratch, "results"))
    except Missing as missing:
        print(f"{client}: {missing}")
        sys.exit(SKIPPED)
    sys.exit(subprocess.run([sys.executable, HERE.parent / "access" / "instances.py", reprise,
                             str(FEWEST), *map(str, command)], env=os.environ | environment,
                            check=False).returncode)
