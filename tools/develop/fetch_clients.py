#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Obtains the programs that tests/clients runs, in .cache/clients.

Python packages go into an environment of their own there, in fixed versions. PyCUDA has no
binary package: its source is built, against the CUDA headers of this build and the software
device, and stays there for its test suite. What can't be had is named; the tests that need it
are then skipped."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
home = root / ".cache" / "clients"
python = home / "venv" / "bin" / "python"

PACKAGES = {
    "tinygrad": ["tinygrad==0.14.0", "numpy==2.4.6"],
    "cuda-core": ["cuda-core==1.2.2", "cuda-bindings==13.0.3"],
    "numba-cuda": ["numba-cuda==0.30.4", "numba==0.68.1", "cuda-bindings==13.0.3"],
    "taichi": ["taichi==1.7.4"],
    "triton": ["triton==3.9.0"],
    "nvtx": ["nvtx==0.2.17"],
    "nvrtc": ["nvidia-cuda-nvrtc==13.0.88"],
    "tests": ["pytest", "setuptools", "wheel", "pytools", "mako", "platformdirs"],
}
PYCUDA = "pycuda==2026.1"


def attempt(what, command, **options):
    """Whether it worked; if not, a line that says what is missing and why."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          **options)
    if done.returncode:
        # Where packages come from is the business of this machine's settings, not of a log.
        lines = re.sub(r"https?://\S+", "(address)", done.stderr.strip() or "no reason given")
        print(f"fetch_clients: {what}: {lines.splitlines()[-1]}", file=sys.stderr)
    return done.returncode == 0


def pip(what, *words, **options):
    return attempt(what, [python, "-m", "pip", "--disable-pip-version-check", "-q", *words],
                   **options)


def environment():
    if python.exists():
        return True
    draft = home / "venv"
    if attempt("Python environment (Debian: python3-venv)", [sys.executable, "-m", "venv", draft]):
        return True
    shutil.rmtree(draft, ignore_errors=True)
    return False


def has(module):
    return subprocess.run([python, "-c", f"import importlib.util as u; "
                           f"raise SystemExit(not u.find_spec('{module}'))"]).returncode == 0


def headers():
    found = subprocess.run([sys.executable, root / "cuda" / "find_headers.py"], capture_output=True,
                           text=True, check=True)
    return pathlib.Path(found.stdout.strip())


def build_pycuda(device):
    """`device` is the folder of the software device, which stands for the driver's stub."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        if not pip("PyCUDA's source", "download", "--no-binary", "pycuda", "--no-deps",
                   "--no-build-isolation", "--dest", folder, PYCUDA):
            return False
        with tarfile.open(next(folder.glob("pycuda-*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        source = next(path for path in folder.glob("pycuda-*") if path.is_dir())
        stub = folder / "stub"
        stub.mkdir()
        (stub / "libcuda.so").symlink_to(device / "libcuda.so.1")
        ready = attempt("PyCUDA's configuration", [
            python, "configure.py", f"--cuda-inc-dir={headers()}", f"--cudadrv-lib-dir={stub}",
            "--no-cuda-enable-curand"], cwd=source)
        # Unconfigured CUDA_ROOT and a foreign compiler in the interpreter's settings don't matter.
        built = ready and pip("PyCUDA's build", "install", "--no-build-isolation", "--no-deps",
                              source, env={**os.environ, "CC": "gcc", "CXX": "g++"})
        if built:
            shutil.rmtree(home / "pycuda", ignore_errors=True)
            (home / "pycuda").mkdir()
            shutil.copytree(source / "test", home / "pycuda" / "test")
        return built


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: fetch_clients.py DEVICE_FOLDER")
    home.mkdir(parents=True, exist_ok=True)
    if not environment():
        sys.exit(1)
    for what, packages in PACKAGES.items():
        pip(what, "install", "--only-binary=:all:", *packages)
    if not has("pycuda") or not (home / "pycuda" / "test").exists():
        build_pycuda(pathlib.Path(sys.argv[1]).resolve())


if __name__ == "__main__":
    main()
