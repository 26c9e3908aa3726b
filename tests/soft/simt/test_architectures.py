#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the kernels of tests/kernels with nvcc for each architecture that it knows, and runs
their tests on each result. Skipped (77) without nvcc.

usage: test_architectures.py KERNELS PROGRAM...
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

WANTED = ['75', '80', '86', '89', '90', '100', '120']


def compile_all(nvcc, sources, architecture, folder):
    """PTX of every source, in a folder of the architecture's own."""
    target = pathlib.Path(folder, architecture)
    target.mkdir()
    for source in sources:
        subprocess.run([nvcc, '-ptx', f'-arch=compute_{architecture}', str(source), '-o',
                        str(target / source.with_suffix('.ptx').name)], check=True)
    return target


def main():
    kernels, *programs = sys.argv[1:]
    nvcc = shutil.which('nvcc')
    if not nvcc:
        print('no nvcc')
        sys.exit(77)
    known = subprocess.run([nvcc, '--list-gpu-arch'], capture_output=True, text=True,
                           check=True).stdout
    sources = sorted(pathlib.Path(kernels).glob('*.cu'))
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for architecture in WANTED:
            if f'compute_{architecture}\n' not in known:
                continue
            target = compile_all(nvcc, sources, architecture, folder)
            bad = any([subprocess.run([program, '2'], env={**os.environ, 'KERNELS': str(target)})
                       .returncode for program in programs])
            print(f'compute_{architecture}: {"failed" if bad else "passed"}')
            failed += [architecture] if bad else []
    sys.exit(bool(failed))


if __name__ == '__main__':
    main()
