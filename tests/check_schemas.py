#!/usr/bin/env python3
"""Validates the schemas themselves, and by them every collection that tests/golden has recorded, with jsonschema."""

import json
import pathlib
import sys

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[1]


def validator(name):
    schema = json.loads((ROOT / "schemas" / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def main():
    collections = validator("graph_collection.schema.json")
    configs = validator("config.schema.json")
    count = 0
    bad = []
    for path in sorted((ROOT / "tests" / "golden").glob("*/stdout")):
        try:
            # run_golden.py records the version as a word.
            document = json.loads(path.read_text(encoding="utf-8").replace("{VERSION}", "0.0.0"))
        except ValueError:
            continue  # DOT, help
        if not isinstance(document, dict) or document.get("format") != "fxtrace.graph_collection":
            continue
        count += 1
        # `options` is a configuration file, so that a run can be repeated.
        errors = [*collections.iter_errors(document), *configs.iter_errors(document["options"])]
        bad += [f"{path.parent.name}: {error.json_path}: {error.message[:200]}" for error in errors]
    print(*bad, sep="\n", end="\n" if bad else "")
    if count == 0:
        print("no golden output is a graph collection")
    print(f"{count} collections, {len(bad)} violations")
    return 1 if bad or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
