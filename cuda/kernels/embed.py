#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A text as a C array, with a zero at the end. usage: embed.py TEXT HEADER"""
import pathlib
import sys

source, header = map(pathlib.Path, sys.argv[1:])
data = source.read_bytes() + b"\0"
rows = [", ".join(map(str, data[at:at + 24])) for at in range(0, len(data), 24)]
name = source.name.replace(".", "_")
header.write_text(f"static const unsigned char {name}[] = {{\n" + ",\n".join(rows) + "\n};\n")
