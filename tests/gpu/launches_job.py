#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches a kernel many times, by each of the driver's ways to do so.

usage: launches_job.py KERNELS [COUNTER]

COUNTER stands for what a driver loads when CUDA_INJECTION64_PATH says so: the software device
does not, and no CUPTI looks at it, so that in a rehearsal the job does both."""
import ctypes
import sys

TIMES = 250


class Launch(ctypes.Structure):  # CUlaunchConfig
    _fields_ = [(name, ctypes.c_uint) for name in
                ("gx", "gy", "gz", "bx", "by", "bz", "shared")] + [
                    ("stream", ctypes.c_void_p), ("attributes", ctypes.c_void_p),
                    ("count", ctypes.c_uint)]


driver = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    result = getattr(driver, name)(*arguments)
    if result:
        sys.exit(f"launches_job: {name} answers {result}")


def allocate(size):
    memory = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(size))
    call("cuMemsetD8_v2", memory, 0, ctypes.c_size_t(size))
    return memory


def open_device(kernels):
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    with open(kernels, "rb") as file:
        call("cuModuleLoadData", ctypes.byref(module), file.read() + b"\0")
    call("cuModuleGetFunction", ctypes.byref(function), module, b"step_state")
    return function


def launch(function):
    """Three times TIMES."""
    memory = [allocate(64) for _ in range(3)]
    count = ctypes.c_int(16)
    params = (ctypes.c_void_p * 4)(*(ctypes.cast(ctypes.byref(value), ctypes.c_void_p)
                                     for value in (*memory, count)))
    config = Launch(1, 1, 1, 32, 1, 1, 0, None, None, 0)
    for _ in range(TIMES):
        call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, params, None)
        call("cuLaunchKernelEx", ctypes.byref(config), function, params, None)
        call("cuLaunchCooperativeKernel", function, 1, 1, 1, 32, 1, 1, 0, None, params)
    call("cuCtxSynchronize")


def main():
    counter = ctypes.CDLL(sys.argv[2]) if len(sys.argv) > 2 else None
    if counter and not counter.InitializeInjection():
        sys.exit("launches_job: the counter does not start")
    launch(open_device(sys.argv[1]))
    if counter:
        ctypes.CDLL("libcupti.so.13").stand_in_launched(ctypes.c_uint64(3 * TIMES))


if __name__ == "__main__":
    main()
