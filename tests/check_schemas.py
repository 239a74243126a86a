#!/usr/bin/env python3
"""Validates the schemas themselves, and by them every document that tests/golden has recorded, with jsonschema-rs.

Also that each schema names itself and its format, that objects are closed where docs/reference/json.md says so, and that the schema allows what exported programs add where it belongs, and nowhere else.
"""

import copy
import json
import pathlib
import sys

import jsonschema_rs

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))
import golden  # noqa: E402


# Files that people write: no object of theirs has a field that fxtrace does not know.  In the others later versions may add fields to
# the document itself and to the records of OPEN.
WRITTEN_BY_PEOPLE = {"config", "check_rules", "check_baseline", "devices", "ops"}
OPEN = {
    "graph_collection": {"/$defs/graph", "/$defs/root_graph", "/$defs/body_graph", "/$defs/node"},
    "summary": {"/properties/totals", "/$defs/module"},
}
PARTS = ("properties", "$defs", "items", "additionalProperties", "anyOf", "oneOf")  # others have conditions on what is described elsewhere


def objects_in(schema, place=""):
    """Yield the place and the schema of each object with named fields, but for one that only adds to another."""
    if isinstance(schema, dict) and "properties" in schema and ("$ref" not in schema or place.count("/") == 2):
        yield place, schema
    for key, value in schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ():
        is_name = place.endswith(("/properties", "/$defs")) or isinstance(key, int)
        if is_name or key in PARTS:
            yield from objects_in(value, f"{place}/{key}")


def faults_of_schemas():
    for path in sorted((ROOT / "schemas").glob("*.json")):
        name = path.name.removesuffix(".schema.json")
        schema = json.loads(path.read_text(encoding="utf-8"))
        jsonschema_rs.meta.validate(schema)
        fields = schema["properties"]
        if schema["$id"] != path.name or fields["format"] != {"const": f"fxtrace.{name}"}:
            yield f"{path.name}: its $id or format is not its name"
        if name != "version" and fields["version"] != {"const": 1}:  # there it is the version of the program
            yield f"{path.name}: version is not 1"
        by_people = name in WRITTEN_BY_PEOPLE
        wanted = OPEN.get(name, set()) | (set() if by_people else {""})
        found = {place for place, part in objects_in(schema) if part.get("additionalProperties") is not False}
        yield from (f"{path.name}: {place or 'the document'} is {'closed' if place in wanted else 'open'}" for place in sorted(wanted ^ found))


def validator(name):
    schema = json.loads((ROOT / "schemas" / name).read_text(encoding="utf-8"))
    schema["additionalProperties"] = False  # what this version writes has no field of later ones
    return jsonschema_rs.Draft202012Validator(schema)


NODE = {
    "name": "l", "op": "call_module", "target": "l", "args": [], "kwargs": {}, "users": [],
    "scope": {"module_path": "l", "module_type": "L", "call": 1}, "meta": None, "source": None,
}  # fmt: skip
PARAMETER = {"name": "p", "kind": "buffer", "shape": [2], "dtype": "int64", "alias_of": None}
OBJECT = {"name": "o", "kind": "custom_object", "shape": None, "dtype": None, "type": "T", "alias_of": None}
INPUT = {"role": "user_input", "name": "x", "path": ["d", 0], "value": {"tuple": [1]}, "node": "x"}
BUFFER = {"role": "buffer", "name": "b", "target": "m.b", "persistent": False, "node": None}
OUTPUT = {"role": "buffer_mutation", "name": "add", "target": "m.b", "node": None}
META = {"type": "int", "shape": None, "dtype": None}

# Documents that no golden records, as they tell times, need a database, are read, or are written beside another: tests in tests/python validate them.
NOT_RECORDED = {f"fxtrace.{name}" for name in ("check_baseline", "check_rules", "config", "devices", "ops", "plan", "query", "verification", "version")}

# Changes of the document below, as (place, value).
ALLOWED = [
    ("parameters", [PARAMETER, OBJECT]),
    ("graphs 0 graph_signature", {"inputs": [INPUT, BUFFER], "outputs": [OUTPUT]}),
    ("graphs 0 nodes 0 program_nodes", ["linear", "relu"]),
    ("graphs 0 nodes", [{**NODE, "op": "placeholder", "program_nodes": ["linear"]}]),
    ("graphs 0 nodes 0 meta", {**META, "value": 3}),
    ("graphs 0 nodes 0 meta", {**META, "value": "2*batch"}),
    ("graphs 0 nodes 0 args", [{"function": "aten.mm.default"}]),
    ("options", {"model": "encoder"}),
]
REFUSED = [
    ("parameters", [{**PARAMETER, "shape": None}]),
    ("parameters", [{**PARAMETER, "type": "T"}]),
    ("parameters", [{**OBJECT, "shape": []}]),
    ("parameters", [{key: value for key, value in OBJECT.items() if key != "type"}]),
    ("graphs 0 graph_signature", {"inputs": []}),
    ("graphs 0 graph_signature", {"inputs": [OUTPUT], "outputs": []}),
    ("graphs 0 graph_signature", {"inputs": [], "outputs": [INPUT]}),
    ("graphs 0 graph_signature", {"inputs": [{**INPUT, "shape": []}], "outputs": []}),
    ("graphs 0 graph_signature", {"inputs": [{**INPUT, "path": "d"}], "outputs": []}),
    ("graphs 0 graph_signature", {"inputs": [{"role": "user_input", "name": "x"}], "outputs": []}),
    ("graphs 0 subgraphs body graph_signature", {"inputs": [], "outputs": []}),
    ("graphs 0 nodes 0 program_nodes", []),
    ("graphs 0 nodes 1 program_nodes", ["add"]),
    ("graphs 0 nodes 0 meta", {**META, "value": 1.5}),
    ("graphs 0 nodes 0 meta", {**META, "value": None}),
    ("graphs 0 nodes 0 args", [{"function": "f", "graph": "g"}]),
    ("options", {"model": ""}),
    ("options", {"models": "encoder"}),
]


def document_with(place, value):
    graph = {
        "module": "", "type": "N", "nodes": [NODE, {**NODE, "op": "call_function"}], "constants": {},
        "subgraphs": {}, "guards": [],
    }  # fmt: skip
    execution = {"module_forward_order": [], "param_forward_order": [], "module_param_usage": []}
    document = {
        "format": "fxtrace.graph_collection",
        "version": 1,
        "producer": {"name": "fxtrace", "version": "0.0.0"},
        "model": {"file": "m.pt2", "kind": "exported_program", "type": "N", "method": "forward"},
        "options": {},
        "summary": {
            "graphs": 1,
            "nodes": 1,
            "modules": {"traced": 1, "leaf": 0, "failed": 0, "unvisited": 0},
            "parameters": 0,
            "unused_parameters": [],
        },
        "modules": [],
        "parameters": [],
        "graphs": [{**graph, "subgraphs": {"body": graph}, "execution": execution}],
    }
    document = target = copy.deepcopy(document)
    *parents, last = place.split()
    for key in parents:
        target = target[int(key) if key.isdigit() else key]
    target[last] = value
    return document


def main():
    collections = validator("graph_collection.schema.json")
    configs = validator("config.schema.json")
    others = {}
    for path in sorted((ROOT / "schemas").glob("*.schema.json")):
        kind = json.loads(path.read_text(encoding="utf-8"))["properties"].get("format", {}).get("const")
        if kind not in {None, "fxtrace.graph_collection", *NOT_RECORDED}:
            others[kind] = validator(path.name)
    count = 0
    other_counts = dict.fromkeys(others, 0)
    bad = list(faults_of_schemas())
    for name in golden.names():
        try:
            # run_golden.py records the version as a word.
            document = json.loads(golden.Case.read(name).stdout.replace(b"{VERSION}", b"0.0.0"))
        except ValueError:
            continue  # DOT, help
        if not isinstance(document, dict):
            continue
        kind = document.get("format")
        if kind in others:
            other_counts[kind] += 1
            errors = list(others[kind].iter_errors(document))
            bad += [f"{name}: {error.instance_path}: {error.message[:200]}" for error in errors]
        if kind != "fxtrace.graph_collection":
            continue
        count += 1
        # `options` is a configuration file, so that a run can be repeated.
        errors = [*collections.iter_errors(document), *configs.iter_errors(document["options"])]
        bad += [f"{name}: {error.instance_path}: {error.message[:200]}" for error in errors]
    for wanted, changes in ((True, ALLOWED), (False, REFUSED)):
        for place, value in changes:
            document = document_with(place, value)
            valid = collections.is_valid(document) and configs.is_valid(document["options"])
            if valid != wanted:
                bad.append(f"{place} = {value}: {'refused' if wanted else 'allowed'}")
    print(*bad, sep="\n", end="\n" if bad else "")
    counts = {"fxtrace.graph_collection": count, **other_counts}
    missing = [kind for kind, found in counts.items() if found == 0]
    if missing:
        print("no golden output is: " + ", ".join(missing))
    print(", ".join(f"{found} of {kind}" for kind, found in counts.items()) + f", {len(bad)} violations")
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
