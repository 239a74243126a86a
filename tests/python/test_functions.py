"""Functions that stay one call: those that torch has."""

import importlib.machinery
import inspect
import os
import types

import harness
import pytest
import torch
from fxtrace import _functions, _torch_functions


@pytest.fixture(scope="module")
def writer() -> types.ModuleType:
    """scripts/torch_functions, which has no suffix."""
    path = os.path.join(harness.ROOT, "scripts", "torch_functions")
    loader = importlib.machinery.SourceFileLoader("write_torch_functions", path)
    module = types.ModuleType(loader.name)
    module.__file__ = path
    loader.exec_module(module)
    return module


def test_the_table_is_torchs(writer):
    table = writer.tables()
    for path, write in writer.FILES.items():
        with open(os.path.join(harness.ROOT, path), encoding="utf-8") as file:
            assert file.read() == write(table), f"{path}: run scripts/torch_functions"


def test_the_table_has_functions_of_torch_alone(writer):
    """No module, class or function of another package; none that reads or writes a file or calls what it is given."""
    for space, names in _torch_functions.FUNCTIONS.items():
        for name in names:
            function = _functions.resolve_function(f"{space}.{name}")
            assert inspect.isroutine(function), (space, name)
            origin = getattr(function, "__module__", None) or "torch"
            assert origin.partition(".")[0] in ("torch", "fxtrace"), (space, name, origin)
    for name in ("load", "save", "compile", "from_file", "os", "sys", "Tensor", "hub", "set_default_device"):
        assert name not in _torch_functions.FUNCTIONS["torch"]


def private_function(x: torch.Tensor, value: float) -> torch.Tensor:
    """As an older torch.nn.functional had it."""
    return torch.relu(x) + value


def test_what_torch_no_longer_has_is_followed(program, tmp_path, monkeypatch):
    monkeypatch.setattr(private_function, "__module__", "torch.nn.functional")
    monkeypatch.setattr(private_function, "__qualname__", "_pad")
    monkeypatch.setattr(private_function, "__name__", "_pad")

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return private_function(torch.nn.functional.relu6(x), 1.5)

    path = str(tmp_path / "model.pt")
    torch.jit.script(Net()).save(path)
    graph = program.trace(path)["graphs"][0]
    targets = [node["target"] for node in graph["nodes"] if node["op"] == "call_function"]
    assert targets == ["torch.nn.functional.relu6", "aten.relu.default", "aten.add.Scalar"]
    harness.compare_runs(path, graph, "forward", (torch.randn(5),), {})
    kept = program.trace(path, "--wrap", "torch.nn.functional._pad")["graphs"][0]
    assert "torch.nn.functional._pad" in [node["target"] for node in kept["nodes"]]
