# SPDX-License-Identifier: Apache-2.0
"""Jobs in frameworks that replay a segment, bare, observed and guarded.

Under guard each step is the eager run's (a match), or the layer stopped the job and said why (a
rejection). A step that differs in silence fails the check, and so does a bare job that observing
changes. Whether PyTorch's memory is found by allocation sizes depends on its allocator, which is
switched off where a contract names buffers."""
import json

from check import QUICK, Skip, Wrong, check
from place import HERE, told

SKIPPED, STOPPED = 77, 70
F = 4
# Each case: the buffers that a contract declares, the environment, whether bare replays differ.
TORCH = {
    "checkpointed": ({}, {}, False),
    "batchnorm": ({"statistics": 96 * F, "batches": 8}, {}, True),
    "dropout": ({}, {}, True),
    "in-place": ({"input": 64 * 48 * F}, {}, True),
    "queue": ({"queue": 256 * 96 * F}, {}, True),
    "graphs": ({"statistics": 96 * F, "batches": 8}, {"PYTORCH_NO_CUDA_MEMORY_CACHING": "0"}, True),
    "expandable": ({"queue": 256 * 96 * F},
                   {"PYTORCH_NO_CUDA_MEMORY_CACHING": "0",
                    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, True),
}
NO_CACHE = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
STEPS = 4


def contract_of(place, state, buffers):
    path = place.folder() / f"{state}.json"
    text = {"version": 1, "state": state, "policy": "regions", "step": {"nvtx": "step"},
            "segments": [{"name": "segment", "forward": {"nvtx": "forward/*"},
                          "replay": {"nvtx": "recompute/*"}}]}
    if state == "declared":
        text["buffers"] = [{"name": name, "at": {"allocation": {"bytes": size}}}
                           for name, size in buffers.items()]
    path.write_text(json.dumps(text))
    return path


def need(place, module):
    """The interpreter that has it, or Skip."""
    if place.rehearsal:
        raise Skip(f"{module} needs a real driver")
    found = place.run(place.python_of_jobs, "-c", f"import {module}")
    if found.returncode:
        raise Skip(f"no {module} for {place.python_of_jobs}")
    return place.python_of_jobs


def steps_of(done, allowed=(0,)):
    if done.returncode == SKIPPED:
        raise Skip(done.stdout.strip() or "the job says that it can't run here")
    if done.returncode not in allowed:
        raise Wrong(told(done))
    return done.stdout.splitlines()


def judge(place, job, contracts, differs, **environment):
    """`job(mode)` is the command of an eager or a replaying run, `contracts` what to guard by."""
    eager, again = (steps_of(place.run(*job("eager"), **environment)) for _ in range(2))
    if eager != again:
        raise Skip("two eager runs differ: nothing can be compared")
    bare = steps_of(place.run(*job("replay"), **environment))
    observed, _ = place.layered("-m", "observe", command=job("replay"), **environment)
    if steps_of(observed) != bare:
        raise Wrong("observing changes the job")
    if (bare == eager) == differs:
        raise Wrong("a bare replay is " + ("right: there is no hazard" if differs else "wrong"))
    outcomes = {state: guarded(place, job("replay"), contract, eager, **environment)
                for state, contract in contracts.items()}
    words = ", ".join(f"{state}: {outcome}" for state, outcome in outcomes.items())
    if "divergence" in outcomes.values():
        raise Wrong(words, **outcomes)
    return words, outcomes


def guarded(place, command, contract, eager, **environment):
    done, _ = place.layered("--no-trace", "-m", "guard", "-c", contract, command=command,
                            **environment)
    steps = steps_of(done, (0, STOPPED))
    if steps == eager and not done.returncode:
        return "match"
    if done.returncode == STOPPED and steps == eager[:len(steps)]:
        return f"rejection: {told(done).partition('reprise: ')[2]}"
    return "divergence"


def contracts_of(place, buffers):
    return {state: contract_of(place, state, buffers) for state in ("declared", "discovered")}


@check("job: digits", "a guarded job matches its eager run, or is stopped with a reason", QUICK)
def of_digits(place):
    """The job that is always there, so that the judgement itself is rehearsed."""
    def job(mode):
        return [place.digits, {"eager": "--eager", "replay": "--checkpoint"}[mode], "--steps",
                STEPS, "--data", place.data]
    return judge(place, job, {state: place.source(f"examples/digits/{state}.json")
                              for state in ("declared", "discovered")}, True)


def register_torch(case):
    @check(f"job: PyTorch, {case}", "a guarded step matches eager, or is stopped with a reason")
    def run(place):
        python = need(place, "torch")
        buffers, environment, differs = TORCH[case]
        return judge(place, lambda mode: [python, HERE / "torch_job.py", case, mode, STEPS],
                     contracts_of(place, buffers), differs, **(NO_CACHE | environment))


for name in TORCH:
    register_torch(name)


@check("job: CuPy", "a guarded step matches eager, or is stopped with a reason")
def of_cupy(place):
    python = need(place, "cupy")
    return judge(place, lambda mode: [python, HERE / "cupy_job.py", mode, STEPS],
                 contracts_of(place, {"queue": 64 * 96 * F}), True)


@check("job: Triton", "observing changes nothing, its launches are seen")
def of_triton(place):
    python = need(place, "triton")
    output = place.folder() / "result"
    job = [python, place.source("tests/clients/triton_job.py"), output]
    cache = {"TRITON_CACHE_DIR": place.folder()}
    bare = place.run(*job, **cache)
    if "ModuleNotFoundError" in bare.stderr:
        raise Skip(told(bare))
    steps_of(bare)
    expected = output.read_bytes()
    done, summaries = place.layered("-m", "observe", command=job, **cache)
    steps_of(done)
    launches = sum(summary["launches"] for summary in summaries)
    if output.read_bytes() != expected or not launches:
        raise Wrong(f"the results differ, or nothing was seen ({launches} launches)")
    return f"the same bytes, {launches} launches seen", {"launches": launches}
