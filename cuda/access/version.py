#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The version of the analyser: a hash of its sources. usage: version.py HEADER DEPFILE FOLDER..."""
import hashlib
import pathlib
import sys

header, depfile, *folders = map(pathlib.Path, sys.argv[1:])
files = sorted(path for folder in folders for path in folder.iterdir()
               if path.suffix in (".c", ".h") or path.name == "meson.build")
digest = hashlib.sha256()
for path in files:
    digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
header.write_text(f'#define RP_ANALYSER_VERSION "{digest.hexdigest()[:32]}"\n')
depfile.write_text(f"{header}: " + " ".join(str(path).replace(" ", "\\ ") for path in files) + "\n")
