#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks by what launchers tell their processes: torchrun, srun, mpirun of several kinds. No
launcher is needed: a shell sets the variables that each of them documents.

usage: test_launchers.py REPRISE DIGITS CONTRACT"""
import json
import pathlib
import re
import subprocess
import sys

import harness

DIGITS, CONTRACT = (pathlib.Path(word).resolve() for word in sys.argv[2:4])
COUNT = 3
# Of one process: its own number, and how many there are.
LAUNCHERS = {
    "torchrun": "RANK={rank} LOCAL_RANK={rank} WORLD_SIZE={count} LOCAL_WORLD_SIZE={count} "
                "MASTER_ADDR=127.0.0.1 MASTER_PORT=29500",
    "srun": "SLURM_PROCID={rank} SLURM_LOCALID={rank} SLURM_NTASKS={count} "
            "SLURM_STEP_NUM_TASKS={count} SLURM_JOB_ID=7",
    "mpirun of OpenMPI": "OMPI_COMM_WORLD_RANK={rank} OMPI_COMM_WORLD_SIZE={count} "
                         "OMPI_COMM_WORLD_LOCAL_RANK={rank} PMIX_RANK={rank}",
    "mpiexec of MPICH": "PMI_RANK={rank} PMI_SIZE={count} MPI_LOCALRANKID={rank}",
    "torchrun in a step of Slurm": "SLURM_PROCID= RANK={rank} LOCAL_RANK={rank} "
                                   "WORLD_SIZE={count}",
}


class Launchers(harness.Case):
    def script(self, launcher, command):
        """Starts all ranks at once and waits for them."""
        lines = [f"env {launcher.format(rank=rank, count=COUNT)} {command} >/dev/null & p{rank}=$!"
                 for rank in range(COUNT)]
        waits = [f"wait $p{rank} || exit" for rank in range(COUNT)]
        return "\n".join(lines + waits)

    def job(self):
        return f"'{DIGITS}' --checkpoint --steps 3"

    def hazards(self, folder):
        done = self.reprise("check", "--json", folder)
        self.assertEqual(done.returncode, 1, done.stderr)
        return json.loads(done.stdout)["hazards"]

    def assertRanked(self, folder):
        traces = [path.name for path in (self.folder / folder).glob("trace-*.rpt")]
        ranks = {int(re.fullmatch(r"trace-rank(\d+)-\d+\.rpt", name)[1]) for name in traces}
        self.assertEqual((ranks, len(traces)), (set(range(COUNT)), COUNT))
        self.assertEqual({hazard["rank"] for hazard in self.hazards(folder)}, ranks)
        told = self.reprise("info", folder).stdout
        for rank in ranks:
            self.assertRegex(told, rf"(?m)^process  \d+, rank {rank}  ")
        self.assertRegex(self.reprise("check", folder).stdout,
                         r"(?m)^  rank     2, process \d+$|^  ranks    0 to 2, the same in each$")
        self.assertEqual(json.loads(self.reprise("info", "--json", folder).stdout)["steps"],
                         3 * COUNT)

    def test_a_launcher_under_run(self):
        for number, (name, variables) in enumerate(LAUNCHERS.items()):
            with self.subTest(name):
                done = self.reprise("run", "-q", "-d", "soft", "-m", "check", "-c", str(CONTRACT),
                                    "-o", f"d{number}", "--", "sh", "-c",
                                    self.script(variables, self.job()))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRanked(f"d{number}")

    def test_run_under_a_launcher(self):
        """Each rank calls run: each has a folder of its own, and can be read alone."""
        for number, (name, variables) in enumerate(LAUNCHERS.items()):
            command = (f"'{harness.REPRISE}' run -q -d soft -m check -c '{CONTRACT}' "
                       f"-o e{number}.%r -- {self.job()}")
            with self.subTest(name):
                done = self.run_shell(self.script(variables, command))
                self.assertEqual(done.returncode, 0, done.stderr)
                for rank in range(COUNT):
                    found = self.hazards(f"e{number}.{rank}")
                    self.assertEqual({hazard["rank"] for hazard in found}, {rank})

    def run_shell(self, script):
        return subprocess.run(["sh", "-c", script], cwd=self.folder, env=harness.environment(),
                              capture_output=True, text=True, timeout=harness.PATIENCE, check=False)

    def test_what_is_no_rank(self):
        for value in ("", "x", "-1", "1.5", "12345678901"):
            with self.subTest(value):
                done = self.reprise("run", "-q", "-d", "soft", "-o", "plain", "--", str(DIGITS),
                                    "-n", "1", RANK=value)
                self.assertEqual(done.returncode, 0, done.stderr)
                trace, = (self.folder / "plain").glob("trace-*.rpt")
                self.assertRegex(trace.name, r"^trace-\d+\.rpt$")


if __name__ == "__main__":
    harness.main()
