#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Obtains the handwritten digits that examples/digits trains on, as .cache/digits.bin.

The set is the 8x8 "optical recognition of handwritten digits" test set of the UCI machine
learning repository, as the Python package scikit-learn ships it: 1,797 images of 64 pixels
from 0 to 16, and their digits. One file is taken out of the wheel; nothing is installed.

The result is little-endian: "digits8\\n", the number of rows and of pixels a row (32 bits
each), then for every row its pixels and its digit, one byte each."""
import argparse
import gzip
import hashlib
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "scikit-learn==1.5.2"
# Any wheel of the release holds the same data file; a fixed one makes the step repeatable.
WHEEL = ["--platform", "manylinux2014_x86_64", "--python-version", "3.11",
         "--implementation", "cp", "--abi", "cp311"]
MEMBER = "sklearn/datasets/data/digits.csv.gz"
MEMBER_SHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
OUTPUT_SHA256 = "7f09f272d89f66eab9a28decc5f12fc3605be7ceb4290049e7fd92118b027383"
PIXELS = 64

root = pathlib.Path(__file__).resolve().parents[2]


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def download(folder):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
               "--disable-pip-version-check", "--only-binary=:all:", *WHEEL,
               "--dest", folder, PACKAGE]
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"fetch_digits: could not download {PACKAGE} ({error}); "
                 "with a wheel or digits.csv.gz at hand, pass it by --from")
    return next(pathlib.Path(folder).glob("*.whl"))


def read_member(path):
    """The bytes of digits.csv.gz, from a wheel or from the file itself."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as wheel:
                data = wheel.read(MEMBER)
        else:
            data = path.read_bytes()
    except (OSError, KeyError) as error:
        sys.exit(f"fetch_digits: {path}: {error}")
    if sha256(data) != MEMBER_SHA256:
        sys.exit(f"fetch_digits: {path}: not the digits that are expected (SHA-256 differs)")
    return data


def convert(member):
    rows = [[int(float(cell)) for cell in line.split(",")]
            for line in gzip.decompress(member).decode("ascii").split()]
    header = b"digits8\n" + struct.pack("<II", len(rows), PIXELS)
    return header + b"".join(bytes(row) for row in rows)


def write(path, data):
    """Appears under its name only when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_bytes(data)
    draft.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--from", dest="source", type=pathlib.Path, metavar="FILE",
                        help="a scikit-learn wheel or digits.csv.gz that is already here")
    parser.add_argument("-o", "--output", type=pathlib.Path, metavar="FILE",
                        default=root / ".cache" / "digits.bin")
    options = parser.parse_args()

    if options.output.exists() and sha256(options.output.read_bytes()) == OUTPUT_SHA256:
        return
    with tempfile.TemporaryDirectory() as folder:
        data = convert(read_member(options.source or download(folder)))
    if sha256(data) != OUTPUT_SHA256:
        sys.exit("fetch_digits: the converted set is not the expected one (SHA-256 differs)")
    write(options.output, data)


if __name__ == "__main__":
    main()
