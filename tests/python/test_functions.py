"""Functions that stay one call: those that torch has."""

import os
import re
import types

import harness
import torch


def functions_of_torch() -> list[str]:
    return sorted(
        f"{module.__name__}.{name}"
        for module in (torch.functional, torch.nn.functional)
        for name, value in vars(module).items()
        if not name.startswith(("_add_docstr", "has_torch_function"))
        and (
            isinstance(value, types.BuiltinFunctionType)
            or (isinstance(value, types.FunctionType) and value.__module__ == module.__name__)
        )
    )


def test_the_table_is_torchs():
    with open(os.path.join(harness.ROOT, "lib", "trace", "torch_functions.cpp"), encoding="utf-8") as file:
        assert re.findall(r'^ +"(torch\.[\w.]+)",$', file.read(), re.MULTILINE) == functions_of_torch()


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
