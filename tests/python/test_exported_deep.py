"""Tests exported programs whose modules are nested more deeply than in real models, and the error for those beyond the limit."""

import json
import os
import sys
import threading
import zipfile

import harness
import pytest
import tiers
import torch
from torch import nn


class Level(nn.Module):
    def __init__(self, inner: nn.Module):
        super().__init__()
        self.l = inner  # noqa: E741  (a path of a thousand levels)
        self.unused = nn.ModuleList([nn.Identity()])

    def forward(self, x):
        return self.l(x) + 1


def in_deep_thread(function) -> None:
    """Python's own recursion needs a large stack."""
    failed = []

    def run():
        try:
            function()
        except BaseException as error:
            failed.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(1 << 29)
    sys.setrecursionlimit(1_000_000)
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if failed:
        raise failed[0]


def export_levels(levels: int, path: str) -> None:
    model: nn.Module = nn.Linear(2, 2)
    for _ in range(levels):
        model = Level(model)
    torch.export.save(torch.export.export(model.eval(), (torch.ones(1, 2),), strict=False), path)


def copy_with_program(source: str, target: str, change) -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(content) if name.endswith("models/model.json") else content)


# The text of a program grows with the third power of its levels: 1,100 are a gigabyte.
@pytest.mark.parametrize("levels", tiers.only([250], [250, 350]))
def test_deep_modules(program, tmp_path, levels):
    path = os.fspath(tmp_path / "deep.pt2")
    in_deep_thread(lambda: export_levels(levels, path))
    collection = program.trace(path)
    harness.check_collection(collection)
    graph = collection["graphs"][0]
    (leaf,) = [node for node in graph["nodes"] if node["op"] == "call_module"]
    assert leaf["target"] == ".".join(["l"] * levels)
    assert len([node for node in graph["nodes"] if node["target"] == "aten.add.Tensor"]) == levels
    assert b"cluster" in program.stdout("trace", path, "-f", "dot")
    assert program.stdout("inspect", path)
    assert program.trace(path, "--max-depth", "200")["summary"]["modules"]["leaf"] > 0


def with_path(path: str, module_path: str) -> None:
    """A small program that lists one more module."""
    sample = next(item for item in harness.samples("exported_program") if item["file"] == "nested_exported.pt2")

    def change(content: bytes) -> bytes:
        text = json.loads(content)
        text["graph_module"]["module_call_graph"].append({"fqn": module_path, "signature": None})
        return json.dumps(text).encode()

    copy_with_program(harness.sample_path(sample), path, change)


def test_thousands_of_levels(program, tmp_path):
    path = os.fspath(tmp_path / "listed.pt2")
    with_path(path, ".".join(["l"] * 4_000))
    modules = program.trace(path)["modules"]
    assert sum(module["path"].startswith("l.l") for module in modules) == 3_999


@pytest.mark.parametrize("levels, message", [(4_001, b"4001 levels, and at most 4000"), (0, b"50000 are read")])
def test_beyond_the_limit_the_message_names_it(program, tmp_path, levels, message):
    path = os.fspath(tmp_path / "beyond.pt2")
    with_path(path, ".".join(["l"] * levels) if levels else "l" * 50_001)
    done = program.run("trace", path)
    assert done.returncode == 3 and message in done.stderr, done.stderr


def test_types_of_modules_that_are_never_called_are_null(program, tmp_path):
    path = os.fspath(tmp_path / "shallow.pt2")
    export_levels(2, path)
    for options in ([], ["--leaf", "**", "--no-leaf", "@l"]):
        collection = program.trace(path, *options)
        modules = {module["path"]: module for module in collection["modules"]}
        assert modules["unused"]["type"] is None and modules["unused"]["rule"] is None
        assert modules["unused"]["status"] == "unvisited"
        assert modules["l"]["type"].endswith(".Level")
    inspected = json.loads(program.stdout("inspect", path, "--json"))
    assert {module["path"]: module["type"] for module in inspected["modules"]}["unused"] is None
    rows = program.stdout("inspect", path).decode().splitlines()
    assert any(row.split()[:2] == ["unused", "-"] for row in rows)
