#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Obtains the CUDA 13 headers that the build needs, as .cache/cuda-headers.

For machines without a CUDA toolkit: the vendor publishes the same headers in Python wheels.
Wheels are downloaded in fixed versions, checked, and only their headers are unpacked;
nothing is installed and no library of theirs is used."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

# package, SHA-256 of the one wheel of that version for x86-64 Linux
WHEELS = (
    ("nvidia-cuda-runtime==13.0.96",
     "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548"),
    ("nvidia-cuda-profiler-api==13.0.85",
     "73d2671deac833db6686d6fbde4753fa3a3a497d87540fc246f081f375243f66"),
    ("nvidia-nvtx==13.0.85",
     "4936d1d6780fbe68db454f5e72a42ff64d1fd6397df9f363ae786930fd5c1cd4"),
)
PLATFORMS = ("manylinux2014_x86_64", "manylinux1_x86_64")
PREFIX = "nvidia/cu13/include/"

root = pathlib.Path(__file__).resolve().parents[2]
target = root / ".cache" / "cuda-headers"


def download(package, folder):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
               "--disable-pip-version-check", "--only-binary=:all:"]
    for platform in PLATFORMS:
        command += ["--platform", platform]
    run = subprocess.run([*command, "--dest", folder, package], capture_output=True, text=True)
    if run.returncode != 0:
        # Where packages come from is the business of this machine's settings, not of a log.
        reason = re.sub(r"https?://\S+", "(address)", run.stderr.strip()).splitlines()
        sys.exit(f"fetch_headers: could not download {package}"
                 + (f": {reason[-1]}" if reason else "")
                 + "; install a CUDA 13 toolkit, or set CUDA_HOME to one")
    return next(pathlib.Path(folder).glob("*.whl"))


def unpack(wheel, digest, place):
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != digest:
        sys.exit(f"fetch_headers: {wheel.name}: not the file that is expected (SHA-256 differs)")
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            inside = member.removeprefix(PREFIX)
            if inside == member or member.endswith("/") or ".." in inside.split("/"):
                continue
            path = place / inside
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(member))


def main():
    target.parent.mkdir(exist_ok=True)
    # The folder appears under its name only when it is whole.
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        for package, digest in WHEELS:
            with tempfile.TemporaryDirectory() as folder:
                unpack(download(package, folder), digest, draft)
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


if __name__ == "__main__":
    main()
