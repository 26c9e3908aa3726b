# SPDX-License-Identifier: Apache-2.0
"""The project's JSON Schemas, and documents held against them (Debian: python3-jsonschema).

Who reads a document must bear keys that he does not know; who writes it must not have any that its
schema does not tell of. So here every object that lists its keys has no others."""
import json
import pathlib
import warnings

import jsonschema

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "tools"
Mismatch = jsonschema.ValidationError


def closed(part):
    if isinstance(part, list):
        return [closed(each) for each in part]
    if not isinstance(part, dict):
        return part
    part = {key: closed(value) for key, value in part.items()}
    if part.get("type") == "object" and isinstance(part.get("properties"), dict):
        part.setdefault("additionalProperties", False)
    return part


def load(name):
    schema = json.loads((FOLDER / name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return closed(schema)


def validator(name):
    """Of tools/NAME.schema.json, which may refer to its neighbours."""
    neighbours = {path.name: load(path.name) for path in FOLDER.glob("*.schema.json")}
    schema = neighbours[f"{name}.schema.json"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the newer way is not in Debian 12
        resolver = jsonschema.RefResolver("", schema, store=neighbours)
        return jsonschema.Draft202012Validator(schema, resolver=resolver)


def validate(document, name):
    """Raises Mismatch unless the document is what tools/NAME.schema.json says."""
    validator(name).validate(document)


def validate_lines(text, name):
    """The same of each line. How many there were."""
    of_lines, lines = validator(name), text.splitlines()
    for line in lines:
        of_lines.validate(json.loads(line))
    return len(lines)
