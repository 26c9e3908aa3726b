#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the directory that holds cuda.h: a toolkit's, else the one that tools/dev fetched."""
import os
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parent.parent
homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
homes += ["/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda"]
places = [pathlib.Path(home) / "include" for home in homes if home]
places += [root / ".cache" / "cuda-headers", pathlib.Path("/usr/include")]

NEEDED = ("cuda.h", "cudaTypedefs.h", "cudaProfiler.h", "nvtx3/nvToolsExt.h")


def is_cuda_13(place):
    try:
        text = (place / "cuda.h").read_text(errors="replace")
    except OSError:
        return False
    return "#define CUDA_VERSION 13" in text and all((place / name).exists() for name in NEEDED)


for place in places:
    if is_cuda_13(place):
        print(place)
        break
else:
    sys.exit("no CUDA 13 headers found; 'tools/dev build' fetches them, or set CUDA_HOME to a "
             "toolkit")
