#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The committed page says what the call table says. usage: test_page.py GENERATOR TABLE PAGE"""
import pathlib
import subprocess
import sys
import tempfile

GENERATOR, TABLE, PAGE = sys.argv[1:]
with tempfile.TemporaryDirectory() as place:
    made = pathlib.Path(place, "page.md")
    subprocess.run([sys.executable, GENERATOR, "page", TABLE, made], check=True)
    if made.read_text() != pathlib.Path(PAGE).read_text():
        sys.exit(f"{PAGE} is out of date: python3 {GENERATOR} page {TABLE} {PAGE}")
