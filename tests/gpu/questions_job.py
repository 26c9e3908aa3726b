#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at the identities that a driver gives memory: CU_POINTER_ATTRIBUTE_BUFFER_ID over many
allocations and over two mappings of one address; and at one memory mapped twice. Prints JSON.

usage: questions_job.py"""
import ctypes
import json
import sys

BUFFER_ID, TIMES = 7, 200
PINNED, ON_DEVICE, READ_WRITE = 1, 1, 3

driver = ctypes.CDLL("libcuda.so.1")
Address, Size = ctypes.c_uint64, ctypes.c_size_t


class Properties(ctypes.Structure):  # CUmemAllocationProp
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("where", ctypes.c_int),
                ("device", ctypes.c_int), ("win32", ctypes.c_void_p), ("flags", ctypes.c_ubyte * 8)]


class Access(ctypes.Structure):  # CUmemAccessDesc
    _fields_ = [("where", ctypes.c_int), ("device", ctypes.c_int), ("flags", ctypes.c_int)]


def call(name, *arguments):
    result = getattr(driver, name)(*arguments)
    if result:
        sys.exit(f"questions_job: {name} answers {result}")


def buffer_id(address):
    found = ctypes.c_ulonglong()
    call("cuPointerGetAttribute", ctypes.byref(found), BUFFER_ID, Address(address))
    return found.value


def ids_of_allocations():
    ids = []
    for _ in range(TIMES):
        memory = Address()
        call("cuMemAlloc_v2", ctypes.byref(memory), Size(1 << 16))
        ids.append(buffer_id(memory.value))
        call("cuMemFree_v2", memory)
    return ids


def physical(properties, size):
    handle = ctypes.c_uint64()
    call("cuMemCreate", ctypes.byref(handle), Size(size), ctypes.byref(properties),
         ctypes.c_uint64(0))
    return handle


def show(address, size, handle):
    access = Access(ON_DEVICE, 0, READ_WRITE)
    call("cuMemMap", Address(address), Size(size), Size(0), handle, ctypes.c_uint64(0))
    call("cuMemSetAccess", Address(address), Size(size), ctypes.byref(access), Size(1))


def mappings():
    properties = Properties(PINNED, 0, ON_DEVICE, 0, None)
    size, start = Size(), Address()
    call("cuMemGetAllocationGranularity", ctypes.byref(size), ctypes.byref(properties), 0)
    size = size.value
    call("cuMemAddressReserve", ctypes.byref(start), Size(2 * size), Size(0), Address(0),
         ctypes.c_uint64(0))
    one, other = physical(properties, size), physical(properties, size)
    show(start.value, size, one)
    first = buffer_id(start.value)
    call("cuMemUnmap", start, Size(size))
    show(start.value, size, other)
    second = buffer_id(start.value)
    show(start.value + size, size, other)
    call("cuMemsetD8_v2", Address(start.value), ctypes.c_ubyte(0x5a), Size(16))
    seen = (ctypes.c_ubyte * 16)()
    call("cuMemcpyDtoH_v2", seen, Address(start.value + size), Size(16))
    return {"remapped_differs": first != second, "aliases_agree": bytes(seen) == b"\x5a" * 16,
            "aliases_one_id": buffer_id(start.value + size) == second}


def main():
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    ids = ids_of_allocations()
    print(json.dumps({"ids": len(ids), "distinct": len(set(ids)), **mappings()}))


if __name__ == "__main__":
    main()
