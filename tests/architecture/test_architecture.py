#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tree is as docs/architecture.md says it is.

usage: test_architecture.py ROOT [LIBREPRISE.so]"""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
OBJECT = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
PAGE = (ROOT / "docs/architecture.md").read_text()
FLOORS = ("tracker", "planner", "cuda", "interpose", "tools")


def table(heading):
    """{first cell: the other cells} of the table below a heading."""
    text = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return {row[0].strip(" `"): row[1].strip() for row in rows[2:]}


def sources(folder, *suffixes):
    return [path for suffix in suffixes or (".c", ".h")
            for path in sorted((ROOT / folder).rglob("*" + suffix))]


def included(path):
    return re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)


class Floors(unittest.TestCase):
    def test_who_may_include_whom(self):
        allowed = {floor: set(re.findall(r"`(\w+)`", cells)) | {floor}
                   for floor, cells in table("Floors").items()}
        self.assertEqual(set(allowed), set(FLOORS))
        for floor in FLOORS:
            for path in sources(floor):
                for name in included(path):
                    top = name.split("/")[0] if "/" in name else floor
                    if top in FLOORS:
                        self.assertIn(top, allowed[floor], f"{path} includes {name}")
                    self.assertNotIn(top, ("tests", "examples"), f"{path} includes {name}")

    def test_the_ground_knows_no_cuda(self):
        for folder in ("tracker", "planner"):
            for path in sources(folder):
                self.assertNotRegex(path.read_text(), r'#include [<"](cuda|nvtx|cupti)', path)

    def test_examples_know_nothing_of_reprise(self):
        for path in sources("examples"):
            for name in included(path):
                self.assertNotIn(name.split("/")[0], FLOORS, f"{path} includes {name}")

    def test_headers_include_each_other_in_no_circle(self):
        graph = {str(path.relative_to(ROOT)): included(path)
                 for floor in FLOORS for path in sources(floor, ".h")}
        done, open_ = set(), []

        def visit(name):
            self.assertNotIn(name, open_, "circle: " + " -> ".join(open_ + [name]))
            if name in done or name not in graph:
                return
            open_.append(name)
            for other in graph[name]:
                visit(other)
            open_.pop()
            done.add(name)

        for name in graph:
            visit(name)


class Rooms(unittest.TestCase):
    def test_every_room_is_on_the_page(self):
        rooms = set(table("Rooms"))
        for floor in FLOORS:
            folders = {str(path.parent.relative_to(ROOT)) for path in sources(floor)}
            self.assertEqual(folders - rooms, set())
        for room in rooms:
            self.assertTrue((ROOT / room).is_dir(), room)


class Files(unittest.TestCase):
    def test_every_source_has_its_licence(self):
        for folder in (*FLOORS, "examples", "tests"):
            for path in sources(folder, ".c", ".h", ".py", ".S"):
                self.assertIn("SPDX-License-Identifier: Apache-2.0", path.read_text()[:200], path)

    def test_lines_fit(self):
        kinds = (".c", ".h", ".S", ".def", ".py", ".js", "meson.build")
        paths = [path for folder in (*FLOORS, "docs", "examples", "tests")
                 for path in sources(folder, *kinds)]
        for path in (*paths, ROOT / "meson.build", ROOT / "tools/dev"):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                self.assertLessEqual(len(line), 100, f"{path}:{number}")

    def test_what_is_loaded_into_jobs_reads_no_environment_of_who_gains_privileges(self):
        for floor in ("tracker", "planner", "cuda", "interpose"):
            for path in sources(floor):
                self.assertNotRegex(path.read_text(), r"\bgetenv\s*\(", f"{path}: secure_getenv")

    def test_only_one_function_stops_a_job(self):
        for path in sources("interpose", ".c"):
            text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
            text = re.sub(r'"(\\.|[^"\\])*"', "", text)
            for call in re.findall(r"\b(_exit|exit|abort|quick_exit|_Exit)\s*\(", text):
                self.assertEqual(path.name, "report.c", f"{path} calls {call}")

    def test_nothing_waits_for_the_device_but_what_the_page_names(self):
        waits = {file: False for file in table("Who waits for the device")}
        for path in (path for floor in ("tracker", "planner", "cuda", "interpose")
                     for path in sources(floor) if not path.is_relative_to(ROOT / "cuda/soft")):
            text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
            text = re.sub(r'"(\\.|[^"\\])*"', "", text)
            if re.search(r"\bcu\w+Synchronize", text):
                file = str(path.relative_to(ROOT))
                self.assertIn(file, waits)
                waits[file] = True
        self.assertEqual([file for file, does in waits.items() if not does], [])


@unittest.skipUnless(OBJECT, "no object was named")
class Exports(unittest.TestCase):
    def test_nothing_else_leaves_the_object(self):
        listed = subprocess.run(["nm", "-D", "--defined-only", OBJECT], capture_output=True,
                                text=True, check=True).stdout
        names = {line.split()[-1].split("@")[0] for line in listed.splitlines()}
        others = {name for name in names if not re.fullmatch(
            r"cu[A-Z]\w*|dlsym|dlvsym|reprise_\w+|InitializeInjectionNvtx2?|libcuda\S*", name)}
        self.assertEqual(others, set())

    def test_it_can_be_loaded_by_name(self):
        """For those who come late there are 512 bytes (glibc.rtld.optional_static_tls)."""
        listed = subprocess.run(["readelf", "-lW", OBJECT], capture_output=True, text=True,
                                check=True).stdout
        own = sum(int(line.split()[5], 16) for line in listed.splitlines()
                  if line.split()[:1] == ["TLS"])
        self.assertLessEqual(own, 512)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
