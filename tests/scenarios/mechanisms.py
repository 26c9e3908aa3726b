# SPDX-License-Identifier: Apache-2.0
"""What each mechanism of the layer is needed for: the programs that go red without it.

mechanisms.json names them, by mechanism and hazard kind, as seeds of the generator. A program that
goes red under a mechanism for which nobody expects its kind is found by looking for them anew."""
import json
import pathlib

from runs import generate, is_repaired, judge_all, way_of

TABLE = pathlib.Path(__file__).resolve().parent / "mechanisms.json"
PAGE = TABLE.parent.parent.parent / "docs" / "mechanisms.md"
MECHANISMS = ("preserve", "copy-on-save", "restore", "reinstate", "live-writes", "pairing",
              "absence", "graphs", "order", "doubts")
NAMED = 2     # programs of a kind in the table
CONTROLS = 6  # of those that must stay right
# Controls do not need their state put back, but to be paired, and to be proved.
MEANT_FOR_ALL = {"pairing", "absence"}


def red(runner, programs, mechanism):
    """The names of the programs that are wrong without the mechanism."""
    # Where a transaction orders nothing, races of the replay's own may order the same two.
    off = "order,races" if mechanism == "order" else mechanism
    environment = {"REPRISE_TEST_DISABLE": off}
    if mechanism == "order":  # what is not ordered may come out right: the device knows better
        return {program.name for program in programs if runner.run(
            [program], "replay", ("guard", *way_of(program)), environment, races=True).races}
    return {program.name for program, wrong in judge_all(runner, programs, environment) if wrong}


def find(runner, programs):
    """Writes the table, from what goes red of these programs; how many mechanisms have none."""
    table = {}
    for mechanism in MECHANISMS:
        some = [each for each in programs if is_repaired(each) != (mechanism == "doubts") and
                (mechanism != "order" or "order" in each.words)]
        names = red(runner, some, mechanism)
        row = table[mechanism] = {}
        for program in some:
            seeds = row.setdefault(program.kind, [])
            if program.name in names and not program.control and len(seeds) < NAMED:
                seeds.append(program.seed)
        table[mechanism] = {kind: row[kind] for kind in sorted(row) if row[kind]}
        print(f"# {mechanism}: {len(names)} programs red, {table[mechanism]}")
    lines = [f'  "{mechanism}": {json.dumps(row)}' for mechanism, row in table.items()]
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    write_page(table)
    return sum(not row for row in table.values())


def cells(row):
    return "; ".join(f"{kind} {', '.join(map(str, seeds))}" for kind, seeds in row.items())


def write_page(table):
    """The last column of the page's table."""
    lines = PAGE.read_text().splitlines()
    for index, line in enumerate(lines):
        name = line.split("`")[1] if line.startswith("| `") else None
        if name in table:
            lines[index] = "|".join(line.split("|")[:-2]) + f"| {cells(table[name])} |"
    PAGE.write_text("\n".join(lines) + "\n")


def program_of(runner, kind, seed):
    return generate(runner.options, seed, 1, kind)[0]


def claims(runner):
    """(claim, holds, detail) for each mechanism."""
    table = json.loads(TABLE.read_text())
    yield "every mechanism has its programs", set(table) == set(MECHANISMS), sorted(table)
    page = PAGE.read_text().splitlines()
    lacking = [mechanism for mechanism, row in table.items() if not any(
        line.startswith(f"| `{mechanism}`") and line.endswith(f"| {cells(row)} |")
        for line in page)]
    yield "docs/mechanisms.md has this table", not lacking, lacking
    controls = [program for program in generate(runner.options, 0, 75)
                if program.control and "idempotent" not in program.words
                and is_repaired(program)][:CONTROLS]
    for mechanism, row in table.items():
        named = {f"{kind}/{seed}": program_of(runner, kind, seed)
                 for kind, seeds in row.items() for seed in seeds}
        programs = {program.name: program for program in [*named.values(), *controls]}
        names = red(runner, list(programs.values()), mechanism)
        right = [name for name, program in named.items() if program.name not in names]
        yield (f"without {mechanism}: {len(named)} programs of {', '.join(row)} go red",
               bool(named) and not right, f"right without it: {right}")
        idle = [program.name for program in controls if program.name in names]
        if mechanism not in MEANT_FOR_ALL:
            yield f"without {mechanism}: controls stay right", not idle, idle
