#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is installed works from where it was put, and other programs can build on it.

usage: test_install.py REPRISE BUILD DIGITS CONTRACT"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import harness

BUILD, DIGITS, CONTRACT = (pathlib.Path(word).resolve() for word in sys.argv[2:5])
READER = """\
#include <tracker/trace.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct rp_trace_reader *reader;
    struct rp_event event;
    char message[256];
    unsigned long events = 0;
    if (argc < 2 || rp_trace_reader_open(argv[1], &reader, message, sizeof(message)) != RP_OK)
        return 1;
    while (rp_trace_next(reader, &event) == RP_OK)
        events++;
    rp_trace_reader_close(reader);
    printf("%lu\\n", events);
    return 0;
}
"""
ORACLE = """\
#include <cuda/soft/oracle.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct soft_oracle_reader *reader;
    const struct soft_oracle_record *record;
    enum rp_status status;
    if (argc < 2 || soft_oracle_open(argv[1], &reader) != RP_OK)
        return 1;
    while ((status = soft_oracle_next(reader, &record)) == RP_OK)
        printf("%s %llu\\n", record->name,
               (unsigned long long)rp_spans_bytes(&record->writes));
    soft_oracle_close(reader);
    return status != RP_END;
}
"""
PLUS = """\
#include <cuda/soft/oracle.h>
#include <planner/planner.h>
#include <reprise.h>
#include <tracker/contract.h>
#include <tracker/events.h>
#include <tracker/span.h>
#include <tracker/text.h>
#include <tracker/trace.h>
#include <cstdio>
int main()
{
    struct rp_spans spans = {};
    struct soft_oracle_reader *oracle = nullptr;
    struct rp_trace_reader *trace = nullptr;
    struct rp_contract *contract = nullptr;
    struct rp_profile *profile = nullptr;
    char message[256];
    if (rp_spans_add(&spans, 4, 8) != RP_OK || soft_oracle_open("/nowhere", &oracle) == RP_OK ||
        rp_trace_reader_open("/nowhere", &trace, message, sizeof(message)) == RP_OK ||
        rp_contract_parse("", 0, "none", &contract, message, sizeof(message)) == RP_OK ||
        rp_profile_load("/nowhere", &profile, message, sizeof(message)) == RP_OK ||
        rp_event_defs[0].name == nullptr || reprise_segment_begin)
        return 1;
    std::printf("%d %s\\n", (int)rp_spans_bytes(&spans), rp_choice_name(RP_CHOICE_RETAIN));
    rp_spans_release(&spans);
    return 0;
}
"""
JOB = """\
#include <reprise.h>
int main(void) { return reprise_segment_begin ? reprise_segment_begin("s", 0) == 0 : 7; }
"""


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet"], check=True,
                       env=dict(os.environ, DESTDIR=str(cls.folder / "root")),
                       stdout=subprocess.DEVNULL)
        cls.reprise, = cls.folder.glob("root/**/bin/reprise")
        cls.prefix = cls.reprise.parent.parent

    def run_installed(self, *words):
        return subprocess.run([self.reprise, *words], cwd=self.folder, text=True,
                              capture_output=True, env=harness.environment(), timeout=60)

    def test_1_a_job_runs_under_guard(self):
        done = self.run_installed("run", "-d", "soft", "-c", CONTRACT, "--", DIGITS, "-n", "2",
                                  "-c")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary, = self.folder.glob("reprise.data/summary-*.json")
        self.assertIn(str(self.prefix), summary.read_text())

    def compile(self, source, *packages, compiler="cc"):
        path = self.folder / f"program.{'c' if compiler == 'cc' else 'cpp'}"
        path.write_text(source)
        configured, = self.prefix.glob("**/pkgconfig/reprise.pc")
        asked = subprocess.run(
            ["pkg-config", f"--define-variable=prefix={self.prefix}", "--cflags", "--libs",
             *packages],
            capture_output=True, text=True, env=dict(os.environ, PKG_CONFIG_PATH=configured.parent))
        self.assertEqual(asked.returncode, 0, asked.stderr)
        sanitized = ["-fsanitize=address,undefined"] if self.sanitized() else []
        subprocess.run([compiler, "-o", self.folder / "program", path, *asked.stdout.split(),
                        *sanitized], check=True)
        return self.folder / "program"

    def sanitized(self):
        options = subprocess.run(["meson", "introspect", "--buildoptions", BUILD],
                                 capture_output=True, text=True).stdout
        return '"value": "address' in options

    def test_2_a_program_reads_traces(self):
        program = self.compile(READER, "reprise-tracker")
        trace, = self.folder.glob("reprise.data/trace-*.rpt")
        done = subprocess.run([program, trace], capture_output=True, text=True, check=True)
        self.assertGreater(int(done.stdout), 100)

    def test_2_a_program_reads_the_oracle(self):
        program = self.compile(ORACLE, "reprise-oracle")
        record = self.folder / "oracle"
        subprocess.run([self.reprise, "run", "-q", "-d", "soft", "--", DIGITS, "-n", "2"],
                       cwd=self.folder, capture_output=True, timeout=60, check=True,
                       env=harness.environment() | {"REPRISE_SOFT_ORACLE": str(record)})
        done = subprocess.run([program, record], capture_output=True, text=True, check=True)
        written = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
        self.assertIn("copy", written)
        kernels = set(written) - {"copy", "fill"}
        self.assertTrue(any(int(written[name]) > 0 for name in kernels), written)

    def test_2_a_program_in_c_plus_plus_links_against_all_of_them(self):
        program = self.compile(PLUS, "reprise", "reprise-oracle", "reprise-planner",
                               "reprise-tracker", compiler="c++")
        done = subprocess.run([program], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "4 retain\n")

    def test_3_a_job_names_its_segments(self):
        program = self.compile(JOB, "reprise")
        self.assertEqual(subprocess.run([program]).returncode, 7, "without reprise it is not there")

    def test_4_pages_schemas_and_completion_are_there(self):
        names = {path.name for path in self.prefix.rglob("*") if path.is_file()}
        for name in ("reprise-run.1", "reprise-contract.5", "contract.schema.json",
                     "check.schema.json", "dump.schema.json", "info.schema.json",
                     "plan.schema.json", "profile.schema.json", "summary.schema.json", "_reprise",
                     "reprise.fish", "libreprise.so", "reprise.h"):
            self.assertIn(name, names)

    def test_4_a_schema_is_called_as_its_neighbours_refer_to_it(self):
        for path in self.prefix.rglob("*.schema.json"):
            self.assertEqual(json.loads(path.read_text())["$id"], path.name)


if __name__ == "__main__":
    harness.main()
