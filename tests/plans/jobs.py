# SPDX-License-Identifier: Apache-2.0
"""The jobs that are measured and planned here, and what they leave.

usage: test_X.py REPRISE DIGITS DECLARED_CONTRACT LAW_JOB LAW_KERNELS PLAN_JOB FAKE_CUPTI BANKS"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import harness  # noqa: E402

DIGITS, DECLARED, LAW_JOB, KERNELS, PLAN_JOB, FAKE_CUPTI, BANKS = (
    pathlib.Path(word).resolve() for word in sys.argv[2:9])
CONTRACT = json.loads(DECLARED.read_text())


def buffer(name, kernel, param):
    return {"name": name, "at": {"kernel": kernel, "param": param}}


RING = buffer("ring", "read_queue", 0)
STATE = buffer("state", "step_state", 0)
SEGMENTS = ["segment/block1", "segment/block2", "segment/contrast"]


class Case(harness.Case):
    def contract(self, **changes):
        contract = CONTRACT | changes
        text = json.dumps({key: value for key, value in contract.items() if value is not None})
        (self.folder / "contract.json").write_text(text)

    def digits(self, *words, steps=6, **changes):
        return self.reprise("run", "--device", "soft", "--no-trace", *words, "-c", "contract.json",
                            "--", str(DIGITS), "--checkpoint", "--steps", str(steps), **changes)

    def law(self, scenario, *words, **changes):
        return self.reprise("run", "--device", "soft", "--no-trace", *words, "-c", "contract.json",
                            "--", str(LAW_JOB), str(KERNELS), scenario, "replay", **changes)

    def good(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def profile(self):
        return json.loads((self.folder / "reprise.data" / "profile.json").read_text())

    def summary(self):
        found = [json.loads(path.read_text())
                 for path in (self.folder / "reprise.data").glob("summary-*.json")]
        return max(found, key=lambda summary: summary["launches"])

    def options(self):
        return {segment["name"]: segment["options"] for segment in self.profile()["segments"]}


def near(case, got, wanted, share):
    case.assertLessEqual(abs(got - wanted), share * wanted, f"{got} against {wanted}")


main = harness.main
