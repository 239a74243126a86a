"""Tests that arguments which a failed module passes to its submodules are known in their own graphs, and stated by guards."""

import copy
from typing import List, Optional

import harness
import torch
from fxtrace import _torchscript
from torch import Tensor, nn


class Child(nn.Module):
    """Without defaults: only its callers can tell."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(
        self, x: Tensor, causal: bool, mask: Optional[Tensor], mode: str, dims: List[int], gain: float
    ) -> Tensor:
        x = self.fc(x) * gain
        if causal:
            x = x.tril()
        if mask is not None:
            x = x + mask
        if mode == "double":
            x = x * 2
        for dim in dims:
            x = x.sum(dim, keepdim=True)
        return x


class Stops(nn.Module):
    """Fails inside of a failed module, which goes on behind it."""

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            x = x * 2
        return x


class Root(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before = Child()
        self.after = Child()
        self.twice = Child()
        self.inside = Child()
        self.stops = Stops()

    def forward(self, x: Tensor) -> Tensor:
        x = self.before(x, False, None, "double", [0, 1], 2.0)
        x = self.twice(x, True, None, "double", [0], 1.0)
        if bool(x.max() > 3):
            x = self.inside(x, True, None, "", [1], 1.0)
        x = self.stops(x)
        x = self.twice(x, True, x, "double", [0], 1.0)
        return self.after(x, False, x, "single", [0], 1.0)


def graphs(collection: dict) -> dict:
    return {graph["module"]: graph for graph in collection["graphs"]}


def guards(graph: dict) -> List[str]:
    return sorted(guard["expr"] for guard in graph["guards"])


def save(module: nn.Module, tmp_path) -> str:
    path = str(tmp_path / "model.pt")
    torch.jit.script(module).save(path)
    return path


def test_plain_values(program, tmp_path):
    path = save(Root(), tmp_path)
    collection = program.trace(path)
    harness.check_collection(collection)
    # One call of `twice` has a mask, the other has none; that of `after` is a tensor, which is no plain value.
    assert harness.failed_modules(collection) == ["", "after", "stops", "twice"]
    graph = graphs(collection)
    # What nobody asks about stays as it is.
    assert guards(graph["before"]) == [
        "causal == False",
        "dims == [0, 1]",
        "mask is None",
        "mode == 'double'",
    ]
    assert guards(graph["inside"]) == ["causal == True", "dims == [1]", "mask is None", "mode == ''"]
    # The caller passes them, so they are inputs.
    names = [node["target"] for node in graph["before"]["nodes"] if node["op"] == "placeholder"]
    assert names == ["x", "causal", "mask", "mode", "dims", "gain"]


def test_results(program, tmp_path):
    path = save(Root(), tmp_path)
    graph = graphs(program.trace(path))["before"]
    given = (torch.rand(4, 4), False, None, "double", [0, 1], 2.0)
    with torch.no_grad():
        expected = _torchscript.load(path).before(*copy.deepcopy(given))
        actual = harness.rebuild(path, graph)(*given)
    assert harness.difference(expected, actual) is None


def test_a_failed_submodule_tells_too(program, tmp_path):
    """The module that fails is not the root."""

    class Outer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.root = Root()

        def forward(self, x: Tensor) -> Tensor:
            return self.root(x) + 1

    collection = program.trace(save(Outer(), tmp_path))
    assert harness.failed_modules(collection) == ["root", "root.after", "root.stops", "root.twice"]
    assert "causal == False" in guards(graphs(collection)["root.before"])


def test_defaults_come_after_calls(program, tmp_path):
    class Flagged(nn.Module):
        def forward(self, x: Tensor, flag: bool = False, other: bool = False) -> Tensor:
            if flag:
                x = x * 2
            if other:
                x = x * 3
            return x

    class Caller(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.flagged = Flagged()

        def forward(self, x: Tensor, other: bool) -> Tensor:
            if bool(x.sum() > 0):
                x = self.flagged(x, True, other)
            return x

    collection = program.trace(save(Caller(), tmp_path))
    assert guards(graphs(collection)["flagged"]) == ["flag == True", "other == False"]


def test_shapes_behind_a_failure(program, tmp_path):
    """One question that sizes do not answer costs nothing below it."""

    class Sized(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            if x.size(-1) == 4:
                x = self.fc(x)
            return x

    class Empty(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([Sized() for _ in range(4)])
            self.stops = Stops()

        def forward(self, x: Tensor) -> Tensor:
            if x.numel() > 100:
                x = x[:1]
            if x.size(0) == 7:
                if x.size(1) != 8:
                    raise ValueError("seven")
                x = x * 2
            for layer in self.layers:
                x = layer(x)
            return self.stops(x)

    collection = program.trace(save(Empty(), tmp_path), "--input", "x=float32[N,4]")
    assert harness.failed_modules(collection) == ["", "stops"]
