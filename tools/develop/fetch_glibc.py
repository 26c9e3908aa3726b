#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes .cache/glibc-2.28, a system root to build against: glibc as it was in 2018, and the
third-party archives that go into the objects.

What is linked against it asks for no newer glibc and runs on every distribution since RHEL 8 and
Debian 10; the compiler stays this machine's. Headers, start files and stubs of that glibc come out
of a wheel of the Zig compiler, in a fixed version, checked: it carries them for every release, and
makes those of one when it links a program. Nothing is installed. jansson, zstd, lz4 and
xxhash are this machine's packages; their archives ask for old symbols only, which tests/bundle
holds them to.

The folder also gets native.ini, by which Meson is told to build against it."""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

RELEASE = "2.28"
PACKAGE = "ziglang==0.17.1"
SHA256 = "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54"
PLATFORM = "manylinux_2_12_x86_64"
# The more particular folders hide what the general ones have.
HEADERS = ("any-linux-any", "x86-linux-any", "generic-glibc", "x86-linux-gnu")
LIBRARIES = {"m": 6, "dl": 2, "pthread": 0, "rt": 1}
LIBC = "GROUP ( libc.so.6 libc_nonshared.a AS_NEEDED ( ld-linux-x86-64.so.2 ) )\n"
ARCHIVES = ("jansson", "zstd", "lz4")
INCLUDED = ("jansson.h", "jansson_config.h", "zstd.h", "zstd_errors.h", "lz4.h", "xxhash.h")

root = pathlib.Path(__file__).resolve().parents[2]
target = root / ".cache" / f"glibc-{RELEASE}"


def fail(reason):
    sys.exit(f"fetch_glibc: {reason}")


def answer(*command, **more):
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if run.returncode:
        fail(f"{command[0]} failed: {run.stderr.strip()}")
    return run.stdout.strip()


def download(folder):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
               "--disable-pip-version-check", "--only-binary=:all:", "--platform", PLATFORM,
               "--dest", folder, PACKAGE]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        # Where packages come from is the business of this machine's settings, not of a log.
        reason = re.sub(r"https?://\S+", "(address)", run.stderr.strip()).splitlines()
        fail(f"could not download {PACKAGE}" + (f": {reason[-1]}" if reason else ""))
    wheel = next(pathlib.Path(folder).glob("*.whl"))
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
        fail(f"{wheel.name}: not the file that is expected (SHA-256 differs)")
    return wheel


def made_by_linking(zig, folder):
    """The start files and stubs that Zig makes to link a program: {name: path}."""
    program = folder / "program.c"
    program.write_text("int main(void)\n{\n    return 0;\n}\n")
    cache = folder / "cache"
    answer(zig, "cc", "-target", f"x86_64-linux-gnu.{RELEASE}", program, "-o", folder / "program",
           *(f"-l{name}" for name in LIBRARIES),
           env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(cache),
                "ZIG_LOCAL_CACHE_DIR": str(cache)})
    return {path.name: path for path in cache.rglob("*") if path.is_file()}


def fill(draft, zig, made):
    include, lib = draft / "usr" / "include", draft / "usr" / "lib"
    lib.mkdir(parents=True)
    for part in HEADERS:
        shutil.copytree(zig.parent / "lib" / "libc" / "include" / part, include, dirs_exist_ok=True)
    names = ["libc.so.6", "libc_nonshared.a", *(f"lib{n}.so.{v}" for n, v in LIBRARIES.items())]
    for name in names:
        shutil.copy(made[name], lib / name)
    shutil.copy(made["libld.so.2"], lib / "ld-linux-x86-64.so.2")
    for name in ("crt1.o", "Scrt1.o"):
        shutil.copy(made["crt1.o"], lib / name)
    for name in ("crti.o", "crtn.o"):  # the same in every release: a prologue and an epilogue
        shutil.copy(answer("gcc", f"-print-file-name={name}"), lib / name)
    for name, version in LIBRARIES.items():
        (lib / f"lib{name}.so").symlink_to(f"lib{name}.so.{version}")
    (lib / "libc.so").write_text(LIBC)


def make():
    """The folder appears under its name only when it is whole."""
    draft = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            with zipfile.ZipFile(download(folder)) as archive:
                archive.extractall(folder / "wheel")
            zig = folder / "wheel" / "ziglang" / "zig"
            zig.chmod(0o755)
            fill(draft, zig, made_by_linking(zig, folder))
        shutil.rmtree(target, ignore_errors=True)
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def find_header(name):
    folder = pathlib.Path("/usr/include")
    for path in (folder / name, *folder.glob(f"*/{name}")):
        if path.exists():
            return path
    fail(f"no {name} here; tools/dev installs the package that has it")


def copy_third_party():
    for name in ARCHIVES:
        archive = answer("gcc", f"-print-file-name=lib{name}.a")
        if not os.path.isabs(archive):
            fail(f"no lib{name}.a here; tools/dev installs the package that has it")
        shutil.copy(archive, target / "usr" / "lib")
    for name in INCLUDED:
        shutil.copy(find_header(name), target / "usr" / "include")


def write_native():
    lib = target / "usr" / "lib"
    words = ["gcc", f"--sysroot={target}", f"-B{lib}", f"-L{lib}",
             f"-D__GLIBC_MINOR__={RELEASE.partition('.')[2]}"]
    text = f"[binaries]\nc = [{', '.join(repr(word) for word in words)}]\n"
    (target / "native.ini").write_text(text)


def main():
    target.parent.mkdir(exist_ok=True)
    if not (target / "usr").is_dir():
        make()
    copy_third_party()
    write_native()
    print(target / "native.ini")


if __name__ == "__main__":
    main()
