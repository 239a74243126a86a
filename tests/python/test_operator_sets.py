"""Tests the shipped sets of operators: those of torch are what torch says, and all are written as scripts/operator_sets writes them."""

import glob
import json
import os
import subprocess
import sys

import harness
import pytest
import torch

SETS = sorted(glob.glob(os.path.join(harness.ROOT, "lib", "partition", "sets", "*.json")))


def test_the_sets_of_torch_are_torchs():
    """In a Python of its own, where nobody has registered other operators."""
    script = os.path.join(harness.ROOT, "scripts", "operator_sets")
    done = subprocess.run([sys.executable, script, "--check", "core-aten", "aten-decomposed"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", SETS, ids=[os.path.basename(path) for path in SETS])
def test_a_set_names_operators_that_torch_has(path):
    import jsonschema_rs

    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    with open(os.path.join(harness.ROOT, "schemas", "ops.schema.json"), encoding="utf-8") as file:
        jsonschema_rs.Draft202012Validator(json.load(file)).validate(document)
    rows = document["ops"]
    rows = [row if isinstance(row, dict) else {"op": row} for row in rows]
    keys = [json.dumps(row) for row in rows]
    assert keys == sorted(set(keys))
    for row in rows:
        for name in row["op"].split("|"):
            space, operator, *overload = name.split(".")
            if space in ("aten", "prims"):
                packet = getattr(getattr(torch.ops, space), operator)
                assert not overload or overload[0] in packet.overloads(), name
