#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks cuGetProcAddress for every row of the call table, and tells what came back, as JSON.

usage: addresses_job.py TABLE [layer]

Bare: whether an answer is the address of the exported symbol that the table says (same), of
another one (otherwise), or of none (private). With `layer`: whether it lies in the layer."""
import ctypes
import json
import sys

LEGACY, PER_THREAD = 1, 2
# What the toolkit's headers and its typedefs disagree about.
QUESTIONS = [("cuCtxGetDevice", 13000), ("cuCtxSynchronize", 13000), ("cuStreamGetCtx", 12050),
             ("cuGraphInstantiate", 12000)]

driver = ctypes.CDLL("libcuda.so.1")


def rows(path):
    with open(path, encoding="ascii") as table:
        lines = [line.rstrip("\n").split("\t") for line in table if not line.startswith("#")]
    head = lines[0]
    return [dict(zip(head, line)) for line in lines[1:]]


def resolve(base, version, flags):
    pointer, status = ctypes.c_void_p(), ctypes.c_int()
    result = driver.cuGetProcAddress_v2(base.encode(), ctypes.byref(pointer), version,
                                        ctypes.c_uint64(flags), ctypes.byref(status))
    return pointer.value if result == 0 else None


def exported(symbol):
    try:
        return ctypes.cast(getattr(driver, symbol), ctypes.c_void_p).value
    except AttributeError:
        return None


def asked(table):
    for row in table:
        flags = PER_THREAD if row["mode"] != "legacy" else LEGACY
        yield row, flags, resolve(row["base"], int(row["version"]), flags)


def bare(table):
    symbols = {row["symbol"]: exported(row["symbol"]) for row in table}
    names = {address: symbol for symbol, address in symbols.items() if address}
    told = {"same": 0, "otherwise": [], "private": [], "refused": 0}
    for row, flags, pointer in asked(table):
        what = f"{row['base']} {row['version']} {flags}"
        if not pointer:
            told["refused"] += 1
        elif pointer == symbols[row["symbol"]]:
            told["same"] += 1
        elif pointer in names:
            told["otherwise"].append(f"{what}: {names[pointer]}, not {row['symbol']}")
        else:
            told["private"].append(what)
    told["questions"] = {
        f"{base} {version} flags {flags}": names.get(resolve(base, version, flags), "none")
        for base, version in QUESTIONS for flags in (0, LEGACY, PER_THREAD)}
    return told


def mapped_files():
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            words = line.split(maxsplit=5)
            if len(words) == 6:
                low, high = (int(end, 16) for end in words[0].split("-"))
                yield low, high, words[5].strip()


def layered(table):
    files = list(mapped_files())
    told = {"layer": 0, "past": []}
    for row, flags, pointer in asked(table):
        place = next((name for low, high, name in files if pointer and low <= pointer < high), "")
        if pointer and place.endswith("libreprise.so"):
            told["layer"] += 1
        elif pointer:
            told["past"].append(f"{row['base']} {row['version']} {flags}: {place}")
    return told


def main():
    table = rows(sys.argv[1])
    print(json.dumps(layered(table) if sys.argv[2:] == ["layer"] else bare(table)))


if __name__ == "__main__":
    main()
