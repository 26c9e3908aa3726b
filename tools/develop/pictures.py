#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the README's pictures anew, each by the tool itself: the demo's table, a report as a
browser shows it (Debian: chromium, chromium-driver), time over the budget, memory under recompute.

usage: pictures.py [--build FOLDER] [PICTURE...]      (all of: table report plan memory)"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
pictures, readme = root / "docs/pictures", root / "README.md"
example, scripts = root / "examples/digits", root / "tools/develop"
sys.path.insert(0, str(root / "tests/tools"))
import webdriver  # noqa: E402


class Maker:
    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.reprise = build / "tools/reprise"
        (folder / "digits").symlink_to(build / "examples/digits/digits")

    def call(self, *words, **variables):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("REPRISE_")}
        done = subprocess.run([str(word) for word in words], cwd=self.folder, text=True,
                              env=environment | variables, stdout=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit(f"pictures: {words[0]} {words[1]} ended with {done.returncode}")
        return done.stdout

    def guard(self, name, steps, **variables):
        self.call(self.reprise, "run", "-q", "-d", "soft", "-o", name, "-c",
                  example / "declared.json", "--", "./digits", "--checkpoint", "--steps", steps,
                  **variables)

    def table(self):
        """The block of the README that begins with the table's head."""
        said = self.call(sys.executable, scripts / "demo.py", "--build", self.build,
                         "--output", self.folder / "demo", "--device", "soft")
        lines = said[said.index("run  "):said.index("\nNext:")].rstrip().splitlines()
        block = "\n".join(f"    {line}".rstrip() for line in lines)
        text, count = re.subn(r"(?m)^    run  .*\n(?:    .*\n|\n)*?    First to diverge.*$",
                              lambda _: block, readme.read_text())
        if count != 1:
            sys.exit("pictures: the README has no place for the demo's table")
        readme.write_text(text)

    def report(self):
        if not webdriver.present():
            sys.exit("pictures: no browser; get chromium and chromium-driver")
        self.guard("seen", 12)
        self.call(self.reprise, "report", "-q", "-o", "page.html", "seen")
        browser = webdriver.Browser(1240, 1260)
        try:
            browser.open(self.folder / "page.html")
            (pictures / "report.png").write_bytes(browser.screenshot())
        finally:
            browser.close()

    def plan(self):
        self.guard("priced", 12, REPRISE_SOFT_CLOCK="h100nl")
        self.call(self.reprise, "plan", "-q", "--compare", "--force",
                  "--svg", pictures / "plan.svg", "priced")

    def memory(self):
        self.call(sys.executable, scripts / "demo_memory.py", "--build", self.build,
                  "-o", pictures / "memory.svg")


def main():
    names = ("table", "report", "plan", "memory")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=root / "build", metavar="FOLDER")
    parser.add_argument("pictures", nargs="*", choices=[*names, []], metavar="PICTURE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        maker = Maker(given.build.resolve(), pathlib.Path(folder))
        for name in given.pictures or names:
            print(f"pictures: {name}", flush=True)
            getattr(maker, name)()


if __name__ == "__main__":
    main()
