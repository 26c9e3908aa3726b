# SPDX-License-Identifier: Apache-2.0
"""What the tests of the commands that read runs share: traces that a script wrote."""
import json
import pathlib
import subprocess
import sys

import harness

WRITER = pathlib.Path(sys.argv[2]).resolve()
CALLS = """\
property pid 4242
property command ./train
define enter cuMemAlloc_v2 dptr:HEX bytesize:BYTES
define leave cuMemAlloc_v2 result:SINT dptr:HEX
define enter cuLaunchKernel f:HEX hStream:HEX
define leave cuLaunchKernel result:SINT
"""
STORY = CALLS + """\
note process pid=4242 command=./train mode=check device=toy
enter cuMemAlloc_v2 0x7fff10 4096
note allocation allocation=1 kind=device bytes=4096 address=0x1000 seq=1 live=4096
leave cuMemAlloc_v2 0 0x1000
note kernel function=0x9 kernel=bn_forward verdict=exact proof=writes%20param%203%0aall%20of%20it
note step step=1
note segment segment=block phase=forward%20begins step=1 instance=1
enter cuLaunchKernel 0x9 0x0
note launch seq=2 kernel=bn_forward stream=0x0 step=1 index=0 grid_x=8 verdict=exact
leave cuLaunchKernel 0
note segment segment=block phase=forward%20ends step=1 instance=1
enter cuLaunchKernel 0xa 0x55d0
note launch seq=3 kernel=gemm stream=0x55d0 step=1 index=1 verdict=bounded
leave cuLaunchKernel 0
note step step=2
enter cuLaunchKernel 0xa 0x55d0
note launch seq=4 kernel=gemm stream=0x55d0 step=2 index=0 verdict=exact
leave cuLaunchKernel 700
note free allocation=1 seq=5
"""
HAZARDS = """\
note hazard hazard=state-left segment=block buffer=queue allocation=2 offset=0 bytes=64 step=1
note hazard hazard=stale-read segment=block buffer=small allocation=3 bytes=4 step=2 writer=bump
note hazard hazard=stale-read segment=head buffer=large allocation=1 offset=16 bytes=4096 \
version_read=9 version_wanted=4 writer=bn_update writer_seq=9 writer_step=3 writer_launch=17 \
writer_stream=0x55d0 step=3 count=1 reader=bn_forward advice=guard%20it
""".replace("\\\n", "")
# Every command that reads a run, and what it is asked for beside: an answer on stdout.
READERS = {"dump": [], "info": [], "check": [], "export": ["--format", "jsonl", "-o", "-"],
           "report": ["-o", "-"], "discover": ["-o", "-"]}


class ReadingCase(harness.Case):
    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "reprise.data"
        self.run_folder.mkdir()

    def write(self, script, name="trace-4242.rpt"):
        path = self.run_folder / name
        subprocess.run([WRITER, path], input=script, check=True, text=True)
        return path

    def summarise(self, **figures):
        pid = figures.get("pid", 4242)
        summary = {"format": "reprise-summary", "version": 1, "pid": pid, **figures}
        (self.run_folder / f"summary-{pid}.json").write_text(json.dumps(summary))

    def read(self, *words, code=0, **changes):
        done = self.reprise(*words, **changes)
        self.assertEqual(done.returncode, code, done.stderr)
        if code == 0:
            self.assertEqual(done.stderr, "")
        return done.stdout
