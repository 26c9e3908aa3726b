#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what the first device says of itself, as JSON; exit status 77 without one.

usage: device_job.py"""
import ctypes
import json
import sys

SKIPPED = 77
ATTRIBUTES = {"major": 75, "minor": 76, "multiprocessors": 16, "clock_khz": 13,
              "memory_clock_khz": 36, "bus_bits": 37, "l2_bytes": 38}


def none(reason):
    print(json.dumps({"reason": reason}))
    sys.exit(SKIPPED)


def main():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        none(str(error))
    result = driver.cuInit(0)
    if result:
        none(f"cuInit answers {result}")
    count, version, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    device, name = ctypes.c_int(), ctypes.create_string_buffer(128)
    driver.cuDeviceGetCount(ctypes.byref(count))
    if count.value == 0:
        none("the driver has no device")
    driver.cuDriverGetVersion(ctypes.byref(version))
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDeviceGetName(name, 128, device)
    driver.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    about = {"device": name.value.decode(errors="replace"), "devices": count.value,
             "cuda": version.value, "memory_bytes": memory.value}
    for key, number in ATTRIBUTES.items():
        value = ctypes.c_int()
        if driver.cuDeviceGetAttribute(ctypes.byref(value), number, device) == 0:
            about[key] = value.value
    try:
        with open("/proc/driver/nvidia/version", encoding="ascii", errors="replace") as file:
            about["driver"] = file.readline().strip()
    except OSError:
        about["driver"] = None
    print(json.dumps(about))


if __name__ == "__main__":
    main()
