#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The committed kernels.ptx is what nvcc makes of kernels.cu. Skipped (exit status 77) where
there is no nvcc of the release that made it."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


def find_nvcc():
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin:/opt/cuda/bin")


def release(text):
    match = re.search(r"Cuda compilation tools, release (\S+), V(\S+)", text)
    return match and match.group(0)


def code(text):
    """Without comments, which name the build of the compiler."""
    return [line for line in text.splitlines() if not line.lstrip().startswith("//")]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def main():
    folder = pathlib.Path(sys.argv[1])
    committed = (folder / "kernels.ptx").read_text()
    nvcc = find_nvcc()
    if nvcc is None:
        skip("no nvcc")
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True)
    if release(version.stdout) != release(committed):
        skip(f"kernels.ptx is of '{release(committed)}', nvcc of '{release(version.stdout)}'")
    with tempfile.TemporaryDirectory() as scratch:
        made = pathlib.Path(scratch) / "kernels.ptx"
        subprocess.run([nvcc, "-ptx", "-arch=compute_75", "-o", made, folder / "kernels.cu"],
                       check=True)
        if code(made.read_text()) != code(committed):
            sys.exit("kernels.ptx is not what nvcc makes of kernels.cu; see README.md there")


if __name__ == "__main__":
    main()
