#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gathers a build folder into a bundle: a folder that runs wherever it is put, on another machine
that has a driver and none of our packages, and an archive of it.

usage: bundle.py BUILD OUT

BUILD was configured with .cache/glibc-2.28/native.ini (tools/develop/fetch_glibc.py). What goes
into the bundle lies as it does in the sources and in a build folder, so that scripts find it in
both. OUT gets reprise-VERSION-x86_64/ and reprise-VERSION-x86_64.tar.zst."""
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]

PROGRAMS = ("tests/laws/law_job", "tests/scenarios/scenario", "tests/suites/derive",
            "tests/suites/jacobian", "examples/digits/digits", "examples/banks/banks")
SOURCES = ("tests/gpu/*.py", "tests/tap.py", "tests/laws/*.py", "tests/laws/kernels.ptx",
           "tests/scenarios/*.py", "tests/scenarios/*.json", "tests/scenarios/kernels.ptx",
           "tests/suites/*.py", "tests/suites/*.cu", "tests/suites/kernels.ptx", "tests/kernels/*",
           "tests/clients/triton_job.py",
           "tests/experiments/*.py", "tests/experiments/*.json", "cuda/calls/driver_calls.tsv",
           "examples/digits/*.json", "examples/digits/*.ptx", "examples/digits/kernels.cu",
           "examples/digits/README.md", "examples/banks/*.json", "examples/banks/*.ptx",
           "examples/banks/kernels.cu", "examples/banks/README.md", "tools/develop/demo.py",
           "LICENSE")
# Where scripts look for the parts of a build.
LINKS = {"tools/reprise": "../bin/reprise", "cuda/soft": "../lib/reprise/soft",
         "interpose": "lib/reprise"}
LICENCES = ("jansson", "zstd", "lz4", "xxhash")
NVTX = "nvtx3/nvToolsExt.h"
DIGITS = """The 8x8 "optical recognition of handwritten digits" test set (E. Alpaydin, C. Kaynak) of
the UCI machine learning repository, CC BY 4.0, as the Python package scikit-learn ships it.
"""
LAUNCHER = """#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# {what}; --help says how.
here=$(dirname "$(readlink -f "$0")")
for python in python3 python3.13 python3.12 python3.11 python3.10 python3.9; do
    if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
        exec "$python" -B "$here/{script}" {arguments}"$@"
    fi
done
echo "{name}: this needs Python 3.9 or later (its standard library only), and there is none;" \\
    "bin/reprise itself needs no Python" >&2
exit 1
"""
LAUNCHERS = {
    "gpu": dict(what="Checks on this machine's GPU", script="tests/gpu/checks.py", arguments=""),
    "demo": dict(what="Trains a small network with and without reprise",
                 script="tools/develop/demo.py", arguments='--build "$here" --output demo.data '),
}


def answer(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"bundle: {' '.join(map(str, command[:3]))}: "
                 f"{done.stderr.strip() or done.stdout.strip()[-1000:]}")
    return done.stdout.strip()


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def compile_all(build):
    """What is installed, by Meson's own list, and the programs."""
    targets = json.loads(answer("meson", "introspect", "--targets", build))
    files = [os.path.relpath(name, build) for target in targets if target["installed"]
             for name in target["filename"]]
    done = subprocess.run(["ninja", "-C", build, "bundle", *files], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bundle: it does not compile:\n{done.stdout[-4000:]}")


def install(build, bundle):
    """What any installation has, below the bundle instead of /usr."""
    with tempfile.TemporaryDirectory() as folder:
        answer("meson", "install", "-C", build, "--no-rebuild", "--quiet", "--strip",
               env={**os.environ, "DESTDIR": folder})
        shutil.copytree(pathlib.Path(folder) / "usr", bundle, symlinks=True, dirs_exist_ok=True)
    for name in ("jansson", "zstd"):  # which programs over the tracker's library link with
        copy(root / ".cache" / "glibc-2.28" / "usr" / "lib" / f"lib{name}.a",
             bundle / "lib" / f"lib{name}.a")


def copy_programs(build, bundle):
    programs = [build / name for name in PROGRAMS]
    programs += sorted(path for path in (build / "tests" / "gpu").iterdir() if path.is_file() and
                       path.suffix in ("", ".so") and os.access(path, os.X_OK))
    for path in programs:
        target = bundle / path.relative_to(build)
        copy(path, target)
        answer("strip", "--strip-debug", target)  # a contract may name a variable by its symbol


def copy_sources(bundle):
    for pattern in SOURCES:
        for path in sorted(root.glob(pattern)):
            copy(path, bundle / path.relative_to(root))
    copy(root / ".cache" / "digits.bin", bundle / "examples" / "digits" / "digits.bin")
    copy(root / "docs" / "gpu" / "README.md", bundle / "README.md")


def copy_licences(bundle):
    for name in LICENCES:
        copy(f"/usr/share/doc/lib{name}-dev/copyright", bundle / "licences" / f"{name}.txt")
    headers = pathlib.Path(answer(sys.executable, root / "cuda" / "find_headers.py"))
    comment = (headers / NVTX).read_text().partition("*/")[0]
    (bundle / "licences" / "nvtx.txt").write_text(comment.replace("/*\n", "").replace(" * ", ""))
    (bundle / "licences" / "digits.txt").write_text(DIGITS)


def add_links_and_launchers(bundle):
    for name, to in LINKS.items():
        (bundle / name).parent.mkdir(parents=True, exist_ok=True)
        (bundle / name).symlink_to(to)
    for name, about in LAUNCHERS.items():
        path = bundle / name
        path.write_text(LAUNCHER.format(name=name, **about))
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def pack(bundle):
    """The same contents give the same bytes."""
    archive = bundle.with_name(bundle.name + ".tar.zst")
    when = os.environ.get("SOURCE_DATE_EPOCH") or answer("git", "-C", root, "log", "-1",
                                                          "--format=%ct")
    answer("tar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", f"--mtime=@{when}",
           "--use-compress-program=zstd -q -9", "-C", bundle.parent, "-cf", archive, bundle.name)
    return archive


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    build, out = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    compile_all(build)
    version = json.loads(answer("meson", "introspect", "--projectinfo", build))["version"]
    bundle = out / f"reprise-{version}-x86_64"
    shutil.rmtree(bundle, ignore_errors=True)
    bundle.mkdir(parents=True)
    install(build, bundle)
    copy_programs(build, bundle)
    copy_sources(bundle)
    copy_licences(bundle)
    add_links_and_launchers(bundle)
    print(f"{bundle}\n{pack(bundle)}")


if __name__ == "__main__":
    main()
