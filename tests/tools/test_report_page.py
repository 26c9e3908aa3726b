#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of a report in a headless Chromium: it loads, says no error, draws, obeys the keys.

usage: test_report_page.py REPRISE DIGITS CONTRACT [SCREENSHOT.png]"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import harness
import webdriver

DIGITS, CONTRACT = (pathlib.Path(word).resolve() for word in sys.argv[2:4])
LEFT, ESCAPE = "\ue012", "\ue00c"


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        for mode in ("check", "guard"):
            cls.reprise("run", "-q", "-m", mode, "-o", mode, "-c", CONTRACT, "--", DIGITS,
                        "--checkpoint", "--steps", "12")
        cls.reprise("report", "-q", "-o", "page.html", "--diff", "guard", "check")
        cls.reprise("run", "-q", "-o", "observe", "--", DIGITS, "--checkpoint", "--steps", "2")
        cls.reprise("report", "-q", "-o", "observe.html", "observe")
        cls.reprise("report", "-q", "-o", "guard.html", "guard")
        cls.planned()
        cls.cut()
        cls.browser = webdriver.Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.browser.open(cls.folder / "page.html")

    @classmethod
    def planned(cls):
        """A run that a plan and a budget steer, once whole and once as a kill would leave it."""
        cls.reprise("run", "-q", "--policy", "joint", "--budget", "64MiB", "-o", "planned",
                    "-c", CONTRACT, "--", DIGITS, "--checkpoint", "--steps", "12")
        cls.reprise("report", "-q", "-o", "planned.html", "planned")
        cls.reprise("run", "-q", "--budget", "2MiB", "-o", "close", "-c", CONTRACT, "--", DIGITS,
                    "--checkpoint", "--steps", "4")
        cls.reprise("report", "-q", "-o", "close.html", "close")
        summary, = (cls.folder / "planned").glob("summary-*.json")
        summary.unlink()
        cls.reprise("report", "-q", "-o", "killed.html", "planned")

    @classmethod
    def cut(cls):
        """Runs whose trace kept its end, ended at its limit, was torn."""
        for name, *words in (("last", "--last", "48KiB"), ("limit", "--limit", "48KiB"), ("torn",)):
            cls.reprise("run", "-q", *words, "-o", name, "-c", CONTRACT, "--", DIGITS,
                        "--checkpoint", "--steps", "40")
            for trace in (cls.folder / name).glob("trace-*.rpt") if name == "torn" else ():
                trace.write_bytes(trace.read_bytes()[:-500])
            subprocess.run([harness.REPRISE, "report", "-q", "-o", f"{name}.html", name],
                           cwd=cls.folder, env=harness.environment(), stderr=subprocess.DEVNULL)

    def text(self, page, place):
        self.addCleanup(self.browser.open, self.folder / "page.html")
        self.browser.open(self.folder / page)
        self.assertEqual(self.browser.log(), [])
        return self.browser.run(f"return document.querySelector('{place}').innerText")

    @classmethod
    def reprise(cls, *words):
        subprocess.run([harness.REPRISE, *words], cwd=cls.folder, env=harness.environment(),
                       check=True, stdout=subprocess.DEVNULL)

    def window(self):
        return self.browser.run("return [timeline.from, timeline.to, timeline.process.end_ns]")

    def test_1_no_error_and_no_request(self):
        self.assertEqual(self.browser.log(), [])
        sent = [json.loads(entry["message"])["message"]
                for entry in self.browser.log("performance")]
        asked = [message["params"]["request"]["url"] for message in sent
                 if message["method"] == "Network.requestWillBeSent"]
        self.assertTrue(asked)
        self.assertTrue(all(url.startswith(("file:", "data:")) for url in asked), asked)

    def test_2_every_picture_shows_something(self):
        blank = self.browser.run("""
            return [...document.querySelectorAll('canvas')].filter(canvas => {
                const cells = canvas.getContext('2d')
                    .getImageData(0, 0, canvas.width, canvas.height).data;
                return cells.every((value, i) => value === cells[i % 4]);
            }).map(canvas => canvas.getAttribute('aria-label'))""")
        count = self.browser.run("return document.querySelectorAll('canvas').length")
        self.assertEqual(blank, [])
        self.assertGreater(count, 4)

    def test_3_every_section_has_its_content(self):
        texts = self.browser.run("""return Object.fromEntries([...document.querySelectorAll(
            'main section')].map(section => [section.id, section.innerText]))""")
        self.assertIn("stale-read", texts["hazards"])
        self.assertIn("dropout_forward", texts["kernels"])
        self.assertIn("forwards", texts["plan"])
        self.assertIn("at the peak", self.browser.run(
            "return document.querySelector('#memories figcaption').textContent + ' at the peak'"))
        self.assertIn("preserved", texts["diff"])

    def test_4_keys_move_and_zoom_the_timeline(self):
        low, high, end = self.window()
        self.assertEqual((low, high), (0, end))
        self.browser.press("+", "+", "+")
        low, high, _ = self.window()
        self.assertAlmostEqual((high - low) / end, 0.7 ** 3, 6)
        self.browser.press(LEFT)
        self.assertLess(self.window()[0], low)
        self.browser.press("0")
        self.assertEqual(self.window()[:2], [0, end])

    def test_5_keys_jump_and_search(self):
        self.browser.press("4")
        self.assertEqual(self.browser.run("return document.activeElement.id"), "hazards")
        self.browser.press("/")
        self.assertEqual(self.browser.run("return document.activeElement.id"), "search")
        self.browser.press(*"philox")
        names = self.browser.run("""return [...document.querySelectorAll('#kernel-table tbody tr')]
            .filter(row => !row.hidden).map(row => row.cells[1].textContent)""")
        self.assertIn("philox_advance", names)
        self.assertNotIn("dense_forward", names)
        self.browser.press(ESCAPE)

    def test_6_a_hazard_is_told_in_a_sentence(self):
        told = self.browser.run("return document.querySelector('#hazard-list p').textContent")
        self.assertRegex(told, r"^queue_\w+, in step 1, bytes 0 to [\d,]+, version \d+ where \d+ "
                         r"was wanted, written by enqueue_keys in step 1, 12 times in all$")

    def test_6_no_hazards_are_none_only_where_replays_were_followed(self):
        for page, figure, told in (
                ("observe.html", "nothing was checked", "Nothing was checked: this run had no "
                 "contract, so no replay was followed."),
                ("guard.html", "0", r"None were found: \d+ replays were followed\.")):
            self.assertRegex(self.text(page, "#hazards"), told)
            figures = self.text(page, "#figures").split("\n")
            self.assertEqual(figures[figures.index("hazards") + 1], figure)

    def test_6_a_part_of_a_run(self):
        self.reprise("report", "-q", "-o", "part.html", "check", "--kernel", "bn_*")
        self.assertEqual(self.text("part.html", "#damage"), "A part of the run: what passes "
                         "--kernel bn_*. Only memory is shown as a whole.")
        whole, part = (self.text(page, "#memories") for page in ("page.html", "part.html"))
        peaks = [re.search(r"at most (.*?)\)", text)[1] for text in (whole, part)]
        self.assertEqual(peaks[0], peaks[1])
        self.assertNotIn("dense", self.text("part.html", "#kernel-table"))

    def test_6_a_hazard_leads_to_its_moment(self):
        self.browser.press("0")
        self.browser.run("document.querySelector('#hazard-list a').click()")
        low, high, end = self.window()
        self.assertLess(high - low, end / 100)

    def test_8_a_plan_is_told_in_words_and_units(self):
        plan = self.text("planned.html", "#plan")
        self.assertIn("segment\tchoice", plan)
        self.assertRegex(plan, r"\nblock\S*\t(retain|regions|whole)\n|\n\S+\t(retain|regions)")
        self.assertRegex(plan, r"\ntime\t[\d.]+ (ns|µs|ms|s)\t[\d.]+ (ns|µs|ms|s)\t-?[\d.]+ %\n")
        self.assertRegex(plan, r"\npeak\t[\d.]+ [KM]iB\t[\d.]+ [KM]iB\t-?[\d.]+ %\n")
        self.assertIn("optimal; in force", plan)
        self.assertNotIn("[object", plan)

    def test_8_memory_under_a_budget(self):
        memory = self.text("planned.html", "#memories")
        self.assertIn("Far above it: budget 64.0 MiB.", memory)
        self.assertIn("The line: budget 2.0 MiB.", self.text("close.html", "#memories"))
        self.assertRegex(memory, r"is not drawn; all together took [\d.]+ [KM]iB at most\.")
        peak, = re.findall(r"device memory of the job \(at most (.*?)\)", memory)
        figures = self.text("planned.html", "#figures").split("\n")
        self.assertEqual(figures[figures.index("device memory of the job at its peak") + 1], peak)
        self.assertNotIn("budget", self.text("page.html", "#memories figcaption").split(". ")[0])

    def test_9_what_no_summary_tells_is_not_told_as_zero(self):
        figures = self.text("killed.html", "#figures").split("\n")
        self.assertEqual(figures[figures.index("steps") + 1], "12")
        self.assertNotIn("0", figures[figures.index("launches") + 1][:1])
        self.assertNotIn("preserved", figures)

    def test_7_what_is_missing_is_said_on_top(self):
        self.assertEqual(self.text("page.html", "#damage"), "")
        for name, text in (("last", r"process \d+: of its trace only the end was kept; the [\d,]+"),
                           ("limit", r"process \d+: [\d,]+ events were lost"),
                           ("torn", r"process \d+: not all of its trace could be read: .*torn")):
            shown = self.text(f"{name}.html", "#damage")
            self.assertRegex(shown, text)
            self.assertIn("what is left", shown)

    def test_7_a_slice_tells_how_to_find_its_call(self):
        self.browser.press("0")
        self.browser.run("describe(0)")
        self.assertIn("reprise dump --calls",
                      self.browser.run("return document.getElementById('detail').textContent"))
        if len(sys.argv) > 4:
            self.browser.press("0")
            self.browser.run("describe(-1); scrollTo(0, 0)")
            pathlib.Path(sys.argv[4]).write_bytes(self.browser.screenshot())


if __name__ == "__main__":
    if not webdriver.present():
        print("skipped: Debian's chromium and chromium-driver are not there")
        sys.exit(77)
    harness.main()
