# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the runs of one program, or None.

Each program is judged by what its words promise: a real hazard or a control, what a guard has to
say where it cannot repair, a race of the job's own, or kernels that are not the same twice."""
from runner import counting, tell


# What a report has to say, by kind.
OF_ALL = ("hazard", "segment", "step", "count", "order", "advice")
OF_BYTES = ("allocation", "allocation_bytes", "memory", "birth_seq", "offset", "bytes")
OF_WRITER = ("version_read", "writer", "writer_seq", "writer_launch", "writer_step",
             "writer_stream")
OF_KIND = {
    "stale-read": (*OF_BYTES, *OF_WRITER, "version_wanted", "reader", "reader_launch"),
    "foreign-read": (*OF_BYTES, *OF_WRITER, "reader", "reader_launch"),
    "state-left": (*OF_BYTES, *OF_WRITER, "version_wanted", "reader"),
    "live-read": (*OF_BYTES, "reader", "reader_launch", "other"),
    "diverged": ("position",),
    "assumed": (*OF_BYTES, "reader", "reader_launch", "other", "taken_for"),
}


def incomplete(hazards):
    """What a report leaves out, or None."""
    for hazard in hazards:
        wanted = OF_ALL + OF_KIND.get(hazard["hazard"], ())
        missing = [field for field in wanted if field not in hazard or hazard[field] == ""]
        if missing or not (hazard["count"] and ("bytes" not in wanted or hazard["bytes"])):
            return f"a report leaves out {missing}: {tell(hazard)}"
    return None


def misreported(program, expected, checked, steps_before):
    """How the stale reads that were reported of a replay as it is differ from the model's, or
    None."""
    def key(stale):
        return stale["allocation_bytes"], stale.get("writer"), stale.get("reader")

    def figures(stale, before):
        step = max(0, stale["writer_step"] - before)
        return stale["offset"], stale["bytes"], step, stale["writer_launch"] if step else 0

    wanted = {key(stale): figures(stale, 0) for stale in expected["stale"]}
    found = {}
    for stale in sorted(checked.hazards[program.name], key=lambda stale: stale["order"]):
        if stale["hazard"] == "stale-read":
            found.setdefault(key(stale), figures(stale, steps_before))
    for each in wanted.keys() | found.keys():
        if wanted.get(each) != found.get(each):
            return (f"misreports [{each[0]}] written by {each[1]} read by {each[2]}: "
                    f"offset, bytes, step, launch {found.get(each)} for {wanted.get(each)}")
    return None


def judge(program, eager, bare, guarded, checked, policy=None):
    """`policy` is what all programs are guarded with, if not each with its own."""
    name = program.name
    if not eager.lines[name]:
        return f"the retaining run did not come to an end: {eager.stderr.strip()[-300:]}"
    lacking = incomplete(guarded.hazards[name] + checked.hazards[name])
    if lacking:
        return lacking
    if program.race:
        return judge_race(name, eager, guarded, checked)
    differs = eager.lines[name] != bare.lines[name]
    if program.noise:
        return judge_noise(name, eager, guarded, checked)
    if "report" in program.words and (differs or program.says):
        return judge_report(program, eager, guarded, policy)
    if differs == program.control:
        return ("no control: wrong without a guard" if differs else
                "no hazard: right without a guard")
    if counting(guarded.hazards[name]):
        return "reported: " + "; ".join(map(tell, counting(guarded.hazards[name])[:3]))
    if eager.lines[name] != guarded.lines[name]:
        return "not the bytes of the retaining run" + difference(eager.lines[name],
                                                                 guarded.lines[name])
    found = counting(checked.hazards[name])
    if bool(found) == program.control and "idempotent" not in program.words:
        return "a check of the bare run " + (
            "finds a hazard: " + tell(found[0]) if program.control
            else "finds nothing")
    return None


def judge_report(program, eager, guarded, policy):
    """Nobody can put it right: the guard says what is wrong, with the calls that it takes."""
    hazards = guarded.hazards[program.name]
    if policy == "retain" and eager.lines[program.name] == guarded.lines[program.name]:
        return None  # served from outputs, whatever became of the rest
    if not hazards:
        return "nothing was reported"
    kinds = {hazard["hazard"] for hazard in counting(hazards) or hazards}
    if program.says and kinds != program.says and policy != "retain":
        return f"reported {sorted(kinds)} for {sorted(program.says)}: {tell(hazards[0])}"
    silent = set(program.about) - {hazard.get("allocation_bytes") for hazard in hazards}
    if silent and policy != "retain":
        return f"nothing was reported of the buffer of {min(silent)} bytes"
    return None


def judge_race(name, eager, guarded, checked):
    """The job is wrong by itself: so says the device of the run without replays, and the layer
    does not lay it at the replay's door."""
    if not eager.races:
        return "the retaining run has no race"
    for how, outcome in (("guard", guarded), ("check", checked)):
        kinds = {hazard["hazard"] for hazard in counting(outcome.hazards[name])}
        if "live-read" in kinds or (how == "guard" and kinds):
            return f"a {how} blames the replay: {tell(outcome.hazards[name][0])}"
    return None


def judge_noise(name, eager, guarded, checked):
    """Only outputs differ, whose inputs were the forward's: no difference of state."""
    for how, outcome in (("guard", guarded), ("check", checked)):
        if counting(outcome.hazards[name]):
            return f"a {how} takes it for state: {tell(counting(outcome.hazards[name])[0])}"
    changed = {word.split("=")[0] for one, other in zip(eager.lines[name], guarded.lines[name])
               for word, found in zip(one.split(), other.split()) if word != found}
    state = {word for word in changed if word[0] not in "YG"}
    if not changed or state:
        return f"what differs is {sorted(changed) or 'nothing'}"
    return None


def difference(wanted, found):
    for one, other in zip(wanted, found):
        if one != other:
            pairs = [(a, b) for a, b in zip(one.split(), other.split()) if a != b]
            return f": at check {one.split()[1]}: " + ", ".join(f"{b} for {a}" for a, b in pairs)
    return f": {len(found)} of {len(wanted)} checks came"
