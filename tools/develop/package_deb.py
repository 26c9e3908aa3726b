#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Debian package of a build folder: what `meson install` installs below /usr, and what it needs.

usage: package_deb.py BUILD OUT.deb"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CONTROL = """\
Package: reprise
Version: {version}
Architecture: {architecture}
Maintainer: reprise developers <reprise@localhost>
Installed-Size: {kib}
Depends: {depends}
Recommends: less
Suggests: pkg-config, libjansson-dev, libzstd-dev
Section: devel
Priority: optional
Description: makes the recomputation replays of CUDA training jobs correct
 A layer that is preloaded over the CUDA driver. It runs unmodified training
 jobs, knows which bytes each driver call may write, keeps what later writes
 would destroy, restores it for replays, and reinstates what must stand after.
 A software device that runs PTX on the CPU is part of it.
"""

COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: reprise

Files: *
Copyright: the reprise developers
License: Apache-2.0
 On Debian systems the text of this licence is in
 /usr/share/common-licenses/Apache-2.0.
"""


def answer(*command, **more):
    done = subprocess.run(command, check=True, capture_output=True, text=True, **more)
    return done.stdout.strip()


def programs(root):
    return [path for path in root.rglob("*") if path.is_file() and not path.is_symlink() and
            path.read_bytes()[:4] == b"\x7fELF"]


def dependencies(root):
    """The packages of the libraries that the programs need, by dpkg-shlibdeps where it is there."""
    needed = set()
    for path in programs(root):
        for library in re.findall(r"NEEDED.*\[(.*)\]", answer("readelf", "-d", path)):
            found = subprocess.run(["dpkg", "-S", f"*/{library}"], capture_output=True, text=True)
            needed |= {line.split(":")[0] for line in found.stdout.splitlines()
                       if ":i386" not in line}
    # The C library for other architectures (libc6-i386, libc6-x32) has files of the same names.
    glibc = max((tuple(map(int, version.split("."))) for path in programs(root)
                 for version in re.findall(r"GLIBC_(\d+\.\d+)", answer("readelf", "-V", path))),
                default=(2, 34))
    needed = {name for name in needed if not name.startswith("libc6")}
    return ", ".join([f"libc6 (>= {glibc[0]}.{glibc[1]})", *sorted(needed)])


def main():
    build, out = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    project = json.loads(answer("meson", "introspect", "--projectinfo", build))
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "root"
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--strip"],
                       check=True, env=dict(os.environ, DESTDIR=str(root)),
                       stdout=subprocess.DEVNULL)
        for page in root.rglob("man/man*/*"):
            subprocess.run(["gzip", "-9n", page], check=True)
        notice = root / "usr/share/doc/reprise/copyright"
        notice.parent.mkdir(parents=True, exist_ok=True)
        notice.write_text(COPYRIGHT)
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
        control = root / "DEBIAN" / "control"
        depends = dependencies(root)
        control.parent.mkdir()
        control.write_text(CONTROL.format(version=project["version"], kib=size // 1024,
                                          architecture=answer("dpkg", "--print-architecture"),
                                          depends=depends))
        subprocess.run(["dpkg-deb", "--root-owner-group", "--build", root, out], check=True,
                       stdout=subprocess.DEVNULL)
    print(out)


if __name__ == "__main__":
    if not shutil.which("dpkg-deb"):
        sys.exit("package_deb.py: dpkg-deb is not there; packages are made on Debian or Ubuntu")
    main()
