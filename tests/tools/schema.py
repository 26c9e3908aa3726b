# SPDX-License-Identifier: Apache-2.0
"""JSON Schema as far as the project's own schemas use it. A keyword that is not known here is an
error, so that no part of a schema is passed over."""
import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"
SILENT = {"$schema", "$defs", "title", "description", "default"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
         "number": (int, float)}


# Which values a keyword speaks of; the others it leaves alone.
SPEAKS_OF = {"minimum": (int, float), "maximum": (int, float), "minLength": str, "pattern": str,
             "minProperties": dict, "maxProperties": dict, "maxItems": list, "items": list,
             "required": dict, "dependentRequired": dict, "properties": dict,
             "additionalProperties": dict}


class Mismatch(Exception):
    pass


def demand(good, where, why):
    if not good:
        raise Mismatch(f"{where}: {why}")


def is_type(value, names):
    """Of one of the types; True is no integer."""
    return any(isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
               for name in ([names] if isinstance(names, str) else names))


def count_matches(value, schemas, root, where):
    count = 0
    for schema in schemas:
        try:
            check(value, schema, root, where)
            count += 1
        except Mismatch:
            pass
    return count


def check_members(value, schema, root, where):
    known = schema.get("properties", {})
    for key, member in value.items():
        rest = schema.get("additionalProperties", True)
        demand(key in known or rest is not False, where, f"nobody knows '{key}'")
        check(member, known.get(key, rest if isinstance(rest, dict) else {}), root,
              f"{where}.{key}")


def check(value, schema, root, where="document"):
    rules = {
        "$ref": lambda to: check(value, root["$defs"][to.rsplit("/", 1)[1]], root, where),
        "type": lambda name: demand(is_type(value, name), where, f"is no {name}"),
        "const": lambda only: demand(value == only, where, f"is not {only}"),
        "enum": lambda words: demand(value in words, where, f"is none of {words}"),
        "minimum": lambda least: demand(value >= least, where, f"is less than {least}"),
        "maximum": lambda most: demand(value <= most, where, f"is more than {most}"),
        "minLength": lambda least: demand(len(value) >= least, where, "is too short"),
        "pattern": lambda form: demand(re.search(form, value), where, f"is not {form}"),
        "minProperties": lambda least: demand(len(value) >= least, where, "has too few members"),
        "maxProperties": lambda most: demand(len(value) <= most, where, "has too many members"),
        "maxItems": lambda most: demand(len(value) <= most, where, "has too many items"),
        "required": lambda keys: demand(set(keys) <= set(value), where,
                                        f"lacks {set(keys) - set(value)}"),
        "dependentRequired": lambda pairs: [
            demand(key not in value or set(needs) <= set(value), where, f"{key} needs {needs}")
            for key, needs in pairs.items()],
        "properties": lambda _: check_members(value, schema, root, where),
        "additionalProperties": lambda _: check_members(value, schema, root, where),
        "items": lambda one: [check(item, one, root, f"{where}[{at}]")
                              for at, item in enumerate(value)],
        "anyOf": lambda any_of: demand(count_matches(value, any_of, root, where) > 0, where,
                                       "matches nothing"),
        "oneOf": lambda one_of: demand(count_matches(value, one_of, root, where) == 1, where,
                                       "matches not just one"),
    }
    for keyword, argument in schema.items():
        if keyword not in SILENT and isinstance(value, SPEAKS_OF.get(keyword, object)):
            rules[keyword](argument)


def validate(document, name):
    """Raises Mismatch unless the document is what tools/NAME.schema.json says."""
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text())
    check(document, schema, schema)
