#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the call table into C.

usage: generate.py PRODUCT TABLE OUTPUT

Products: ids and calls (headers), table (the rows of rp_calls), wrappers (the preloaded
object's exports), nop (the same without a layer behind them), handler_list and handlers (who
serves which call), stubs (weak entry points of a driver that implements only some), page
(docs/seen-and-unseen.md); for tests, fake (a driver that notes its arguments) and probes
(calls with given arguments).
"""
import re
import sys

HANDLES = set("""
    CUarray CUasyncCallbackHandle CUcontext CUdevResourceDesc CUevent CUexternalMemory
    CUexternalSemaphore CUfunction CUgraph CUgraphConditionalHandle CUgraphExec CUgraphNode
    CUgraphicsResource CUgreenCtx CUkernel CUlibrary CUlinkState CUlogsCallbackHandle
    CUmemGenericAllocationHandle CUmemGenericAllocationHandle_v1 CUmemoryPool CUmipmappedArray
    CUmodule CUsurfObject_v1 CUsurfref CUtexObject_v1 CUtexref CUuserObject""".split())
FUNCTIONS = set("""
    CUasyncCallback CUhostFn CUlogsCallback CUoccupancyB2DSize CUstreamCallback""".split())
STRUCTS = {"CUipcEventHandle_v1", "CUipcMemHandle_v1", "CUmemLocation_v1"}
NUMBERS = {
    "CUdevice": "SINT", "CUdevice_v1": "SINT", "int": "SINT", "float": "FLOAT", "size_t": "SIZE",
    "unsigned char": "UINT", "unsigned short": "UINT", "unsigned int": "UINT",
    "unsigned long long": "UINT", "cuuint32_t": "UINT", "cuuint64_t": "UINT",
    "CUdeviceptr": "ADDRESS", "CUdeviceptr_v1": "ADDRESS", "CUdeviceptr_v2": "ADDRESS"}
# Calls whose answer the layer must change: the wrapper goes on to these instead of the driver.
REDIRECTED = {"cuGetProcAddress": "rp_lookup_cuGetProcAddress",
              "cuGetProcAddress_v2": "rp_lookup_cuGetProcAddress_v2"}


def kind_of(ctype):
    """The RP_ARG_ kind of a C type. What is nothing else is an enumeration; the generated
    code asserts its size, so that a new type can't slip through as one."""
    if ctype == "const char *":
        return "TEXT"
    if ctype.endswith("*"):
        return "POINTER"
    if ctype == "CUstream":
        return "STREAM"
    if ctype in HANDLES:
        return "HANDLE"
    if ctype in FUNCTIONS:
        return "FUNCTION"
    if ctype in STRUCTS:
        return "STRUCT"
    return NUMBERS.get(ctype, "ENUM")


class Argument:
    def __init__(self, text):
        self.out = text.startswith("out ")
        match = re.fullmatch(r"(.*?)(\w+)", text.removeprefix("out "))
        self.type, self.name = match[1].strip(), match[2]
        self.kind = kind_of(self.type)
        self.value_type = self.type[:-1].strip() if self.out else None

    def declaration(self):
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


FATES = ("followed", "everything", "reported", "refused", "passed")


class Call:
    def __init__(self, symbol, base, version, mode, class_, fate, handlers, note, prototype):
        self.symbol, self.base, self.version = symbol, base, int(version)
        self.mode, self.class_, self.fate, self.note = mode, class_, fate, note
        self.handlers = [] if handlers == "-" else handlers.split("/")
        self.check()
        self.args = [] if prototype == "void" else [Argument(a) for a in prototype.split(", ")]
        self.id = f"RP_CALL_{symbol}"

    def check(self):
        """No call without a fate and a reason, and none whose fate is not what its handlers do."""
        of_handlers = {"unknown_writer": "everything", "refused": "refused"}
        expected = [of_handlers[name] for name in self.handlers if name in of_handlers]
        expected = expected[0] if expected else self.fate
        if (self.fate not in FATES or not self.note or self.fate != expected
                or (self.fate == "passed") != (not self.handlers)
                or (self.fate in of_handlers.values() and not self.handlers)
                or len(self.handlers) not in (0, 2)):
            sys.exit(f"{self.symbol}: fate, handlers and note do not agree")

    def parameters(self):
        return ", ".join(arg.declaration() for arg in self.args) or "void"

    def names(self, prefix=""):
        return ", ".join(prefix + arg.name for arg in self.args)

    def stream(self):
        return next((i for i, arg in enumerate(self.args) if arg.kind == "STREAM"), -1)


def read_table(path):
    with open(path, encoding="ascii") as table:
        lines = [line.rstrip("\n") for line in table if not line.startswith("#")]
    calls = [Call(*line.split("\t")) for line in lines[1:]]
    names = [call.symbol for call in calls]
    if names != sorted(set(names)):
        sys.exit(f"{path}: symbols are not sorted and unique")
    return calls


def by_base(calls):
    return sorted(calls, key=lambda call: (call.base, call.mode != "legacy", call.version))


def ids(calls):
    yield "#ifndef RP_CUDA_CALLS_CALL_IDS_H\n#define RP_CUDA_CALLS_CALL_IDS_H\n\n"
    yield "enum rp_call_id {\n"
    for call in calls:
        yield f"    {call.id},\n"
    yield "    RP_CALL_COUNT,\n    RP_CALL_NONE = RP_CALL_COUNT\n};\n\n"
    yield "/* All ids, sorted by base name, then legacy before per-thread, then version. */\n"
    yield "extern const enum rp_call_id rp_calls_by_base[RP_CALL_COUNT];\n\n#endif\n"


CALLS_PREAMBLE = """\
/* Typed arguments and entry points of every driver call. Includes cuda.h in the form that
 * declares all versions of a call under their exported names and renames none, so it must
 * come before any other inclusion of cuda.h. */
#ifndef RP_CUDA_CALLS_CALLS_H
#define RP_CUDA_CALLS_CALLS_H

#include "cuda/calls/call.h"

#ifndef __CUDA_API_VERSION_INTERNAL
#ifdef __cuda_cuda_h__
#error "include cuda/calls/calls.h before cuda.h, or instead of it"
#endif
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cudaProfiler.h>

#pragma GCC visibility push(default)
"""


def calls(table):
    yield CALLS_PREAMBLE
    for call in table:
        yield f"CUresult {call.symbol}({call.parameters()});\n"
    yield "#pragma GCC visibility pop\n\n"
    for call in table:
        fields = "".join(f"    {arg.declaration()};\n" for arg in call.args)
        yield f"struct rp_args_{call.symbol} {{\n{fields or '    char none;' + chr(10)}}};\n"
    yield "\n/* One pointer for each call: by name with its type, and by id without. */\n"
    yield "struct rp_real {\n    union {\n        struct {\n"
    for call in table:
        yield f"            CUresult (*{call.symbol})({call.parameters()});\n"
    yield "        };\n        void (*by_id[RP_CALL_COUNT])(void);\n    };\n};\n\n#endif\n"


SIZES = {"HANDLE": 8, "STREAM": 8, "FUNCTION": 8, "POINTER": 8, "TEXT": 8, "ENUM": 4, "SIZE": 8}


def table(rows):
    yield '#include "cuda/calls/calls.h"\n\n'
    types = {(arg.type, arg.kind) for call in rows for arg in call.args}
    types |= {(arg.value_type, kind_of(arg.value_type))
              for call in rows for arg in call.args if arg.out}
    for ctype, kind in sorted(types):
        if kind in SIZES:
            yield f'_Static_assert(sizeof({ctype}) == {SIZES[kind]}, "{ctype} is no {kind}");\n'
    for call in rows:
        if call.args:
            yield f"\nstatic const struct rp_arg_info args_{call.symbol}[] = {{\n"
            for arg in call.args:
                yield table_argument(call, arg)
            yield "};\n"
    yield "\nconst struct rp_call_info rp_calls[RP_CALL_COUNT] = {\n"
    for call in rows:
        args = f"args_{call.symbol}" if call.args else "NULL"
        size = f"sizeof(struct rp_args_{call.symbol})" if call.args else "0"
        yield (f'    {{"{call.symbol}", "{call.base}", "{call.class_}", {args}, {call.version}, '
               f"{size}, RP_MODE_{call.mode.upper()}, {len(call.args)}, {call.stream()}, "
               f'RP_FATE_{call.fate.upper()}, "{call.note}"}},\n')
    yield "};\n\nconst enum rp_call_id rp_calls_by_base[RP_CALL_COUNT] = {\n"
    for call in by_base(rows):
        yield f"    {call.id},\n"
    yield "};\n"


def table_argument(call, arg):
    value = f"RP_ARG_{kind_of(arg.value_type)}, sizeof({arg.value_type})" if arg.out else "0, 0"
    return (f'    {{"{arg.name}", "{arg.type}", '
            f"offsetof(struct rp_args_{call.symbol}, {arg.name}), sizeof({arg.type}), "
            f"RP_ARG_{arg.kind}, {str(arg.out).lower()}, {value}}},\n")


def wrappers(rows):
    yield '#include "interpose/door/wrap.h"\n'
    for call in rows:
        name, args, real = call.symbol, call.args, REDIRECTED.get(call.symbol)
        real = real or f"rp_real.{name}"
        values = f" = {{{call.names()}}}" if args else " = {0}"
        yield (f"\nRP_SLOW CUresult slow_{name}({call.parameters()})\n{{\n"
               f"    if (!rp_wrap_wanted({call.id}))\n"
               f"        return {real}({call.names()});\n"
               f"    struct rp_args_{name} rp_args{values};\n"
               f"    struct rp_frame rp_frame = {{.id = {call.id}, .args = &rp_args}};\n"
               f"    if (rp_wrap_enter(&rp_frame))\n"
               f"        do\n"
               f"            rp_frame.result = {real}({call.names('rp_args.')});\n"
               f"        while (rp_frame.result == CUDA_ERROR_OUT_OF_MEMORY &&\n"
               f"               rp_wrap_again(&rp_frame));\n"
               f"    return rp_wrap_leave(&rp_frame);\n}}\n"
               f"RP_EXPORT CUresult {name}({call.parameters()})\n{{\n"
               f"    if (rp_wrap_idle())\n"
               f"        return {real}({call.names()});\n"
               f"    return slow_{name}({call.names()});\n}}\n")
    yield "\nvoid (*const rp_wrappers[RP_CALL_COUNT])(void) = {\n"
    for call in rows:
        yield f"    (void (*)(void)){call.symbol},\n"
    yield "};\n"


def entries(rows, array, prefix=""):
    yield f"\nconst soft_entry {array}[RP_CALL_COUNT] = {{\n"
    for call in rows:
        yield f"    (soft_entry){prefix}{call.symbol},\n"
    yield "};\n"


def nop(rows):
    """What being preloaded costs at the least: every call goes on, and nobody looks."""
    yield '#include "interpose/door/nop.h"\n'
    for call in rows:
        name = call.symbol
        real = REDIRECTED.get(name) or f"rp_real.{name}"
        yield (f"\nRP_EXPORT CUresult {name}({call.parameters()})\n{{\n"
               f"    rp_nop_open();\n    return {real}({call.names()});\n}}\n")
    yield "\nvoid (*const rp_wrappers[RP_CALL_COUNT])(void) = {\n"
    for call in rows:
        yield f"    (void (*)(void)){call.symbol},\n"
    yield "};\n"


def faults(rows):
    """Stand before the driver in test builds, and let single calls of the layer's own fail."""
    yield '#include "interpose/door/fault.h"\n\nstruct rp_real rp_fault_real;\n'
    for call in rows:
        name = call.symbol
        yield (f"\nstatic CUresult fault_{name}({call.parameters()})\n{{\n"
               f"    CUresult rp_result;\n"
               f"    return rp_fault_due({call.id}, &rp_result)\n"
               f"        ? rp_result : rp_fault_real.{name}({call.names()});\n}}\n")
    yield "\nvoid (*const rp_fault_thunks[RP_CALL_COUNT])(void) = {\n"
    for call in rows:
        yield f"    (void (*)(void))fault_{call.symbol},\n"
    yield "};\n"


def handler_names(rows):
    return sorted({name for call in rows for name in call.handlers if name != "-"})


def handler_list(rows):
    yield "/* Each serves the calls that the table names it for, before or after the driver. */\n"
    for name in handler_names(rows):
        yield f"void rp_on_{name}(struct rp_frame *frame);\n"


def in_classes(call, names):
    return any(call.class_ == name or call.class_.startswith(name + ".") for name in names)


# What these do is over when they are done: nothing that the layer knows is other than before.
PASSING = ("launch.kernel", "launch.host", "write", "read", "sync", "event.destroy")


def changes(call):
    """Whether other calls may mean something else behind it."""
    return not in_classes(call, PASSING)


# What these mean follows from their arguments, and for launches from the kernel's parameters.
REPEATING = ("launch.kernel", "write.memset", "write.h2d", "write.d2d", "read.d2h")


def repeats(call):
    """Whether all that its handlers see of a call is in its arguments; host addresses count as
    numbers, what stands behind other pointers may be another each time."""
    plain = all(arg.kind != "POINTER" or arg.type in ("void *", "const void *")
                for arg in call.args)
    is_launch = in_classes(call, ("launch.kernel",)) and call.handlers[0].startswith("launch")
    return in_classes(call, REPEATING) and (plain or is_launch)


def handlers(rows):
    yield '#include "interpose/calls/handlers.h"\n\n'
    yield "const struct rp_handler rp_handlers[RP_CALL_COUNT] = {\n"
    for call in rows:
        functions = ["NULL" if name == "-" else f"rp_on_{name}" for name in call.handlers]
        if functions:
            functions += [str(changes(call)).lower(), str(repeats(call)).lower()]
            yield f"    [{call.id}] = {{{', '.join(functions)}}},\n"
    yield "};\n"


def stubs(rows):
    yield '#include "cuda/calls/stubs.h"\n\n'
    yield '#define STUB __attribute__((weak, visibility("default")))\n'
    yield '#pragma GCC diagnostic ignored "-Wunused-parameter"\n\n'
    for call in rows:
        yield (f"STUB CUresult {call.symbol}({call.parameters()})\n{{\n"
               f"    return soft_unsupported({call.id});\n}}\n")
    yield from entries(rows, "soft_entries")


def fake(rows):
    yield '#include "tests/interpose/fake.h"\n\n'
    yield '#define FAKE __attribute__((weak, visibility("default")))\n\n'
    for call in rows:
        name, values = call.symbol, f"{{{call.names() or '0'}}}"
        yield (f"FAKE CUresult {name}({call.parameters()})\n{{\n"
               f"    struct rp_args_{name} rp_args = {values};\n"
               f"    return fake_called({call.id}, &rp_args, sizeof(rp_args));\n}}\n"
               f"static CUresult thunk_{name}({call.parameters()})\n{{\n"
               f"    return {name}({call.names()});\n}}\n")
    yield from entries(rows, "fake_entries")
    yield from entries(rows, "fake_thunks", "thunk_")


def probes(rows):
    yield '#include "tests/interpose/probes.h"\n'
    for call in rows:
        use = f"const struct rp_args_{call.symbol} *a = args;" if call.args else "(void)args;"
        yield (f"\nstatic CUresult probe_{call.symbol}(soft_entry function, const void *args)\n"
               f"{{\n    {use}\n    CUresult (*call)({call.parameters()}) =\n"
               f"        (CUresult (*)({call.parameters()}))function;\n"
               f"    return call({call.names('a->')});\n}}\n")
    yield "\nconst probe_fn probes[RP_CALL_COUNT] = {\n"
    for call in rows:
        yield f"    probe_{call.symbol},\n"
    yield "};\n"


PAGE_HEAD = """\
# What is seen, and what is not

A job reaches the device through the calls of the CUDA driver, and `reprise` stands before all of
them. This page says of each call what becomes of it. It is made from the call table
(`cuda/calls/driver_calls.tsv`); `reprise doctor` counts the same table.

"""
PAGE_UNSEEN = """\
## Not seen at all

No call tells of these. Where a job uses them, declare what they write.

- Stores of host code to pinned, registered and managed memory. What a forward reads there by a
  kernel is not proved: with discovered state the segment is refused.
- Writes by other processes, devices and network cards to memory that was given to them, or that
  came from them.
- Functions of the driver that have no name: `cuGetExportTable` hands out tables of them, and
  NVIDIA's libraries use those.
- What a kernel launches or allocates by itself on the device. A kernel that can do so counts as
  writing everything.
- Programs that reach the GPU without the driver's library.

"""
FATE_TITLES = {
    "followed": ("Followed", "What the call reads, writes, makes or frees is known."),
    "everything": ("Counted as writing everything", "The call may write, and what is not worked "
                   "out: every live byte counts as possibly written, and the summary names it."),
    "reported": ("Reported", "From the call on memory may change unseen. The summary says so; "
                 "what a forward reads there is not proved."),
    "refused": ("Refused", "The call makes ways to memory that can't be followed. A guarded job "
                "is stopped, a checked one has a hazard; observing only names it."),
    "passed": ("Passed through", "The call goes to the driver untouched: it writes no memory and "
               "does not change what an address or a handle means.")}


def variants(rows):
    """Calls by note, in order of appearance; the variants of one name in one word."""
    notes = {}
    for call in rows:
        notes.setdefault(call.note, []).append(f"`{call.symbol}`")
    return notes


def page(rows):
    yield PAGE_HEAD
    yield "| what becomes of a call | calls |\n|---|---|\n"
    for fate in FATES:
        count = sum(call.fate == fate for call in rows)
        yield f"| {FATE_TITLES[fate][0].lower()} | {count} |\n"
    yield f"| all | {len(rows)} |\n\n"
    yield PAGE_UNSEEN
    for fate in FATES:
        title, text = FATE_TITLES[fate]
        yield f"## {title}\n\n{text}\n\n"
        for note, names in variants([call for call in rows if call.fate == fate]).items():
            yield f"- {note}:\n  {', '.join(names)}\n"
        yield "\n"


PRODUCTS = {"ids": ids, "calls": calls, "table": table, "wrappers": wrappers, "nop": nop,
            "faults": faults,
            "handler_list": handler_list, "handlers": handlers, "stubs": stubs, "page": page,
            "fake": fake, "probes": probes}


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in PRODUCTS:
        sys.exit(__doc__)
    product, source, output = sys.argv[1:]
    rows = read_table(source)
    with open(output, "w", encoding="ascii") as out:
        if product != "page":
            out.write("/* SPDX-License-Identifier: Apache-2.0 */\n")
            out.write("/* Generated by cuda/calls/generate.py from driver_calls.tsv. */\n")
        out.writelines(PRODUCTS[product](rows))


main()
