"""Tests shapes in the graphs of submodules, which follow from their calls, whichever graph was traced first."""

import itertools
import os

import harness
import pytest
import torch
from torch import Tensor, nn


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.linear(x))


class Caller(nn.Module):
    """Fails, so that what it calls gets a graph; knows what it calls it with."""

    def __init__(self, shared: nn.Module, sizes: list[int]) -> None:
        super().__init__()
        self.shared = shared
        self.sizes = sizes

    def forward(self, x: Tensor) -> Tensor:
        y = self.shared(torch.zeros(self.sizes))
        while bool(x.sum() > 0):
            x = x - 1
        return y


class Root(nn.Module):
    """Children that are called behind a loop that nobody can follow."""

    def __init__(self, order: tuple[str, ...], children: dict[str, nn.Module]) -> None:
        super().__init__()
        for name in order:
            self.add_module(name, children[name])

    def forward(self, x: Tensor) -> Tensor:
        while bool(x.sum() > 1):
            x = x - 1
        return self.one(x).sum() + self.two(x).sum() + self.shared(torch.ones(2, 4)).sum()


ORDERS = list(itertools.permutations(("one", "two", "shared")))


def graph_of_shared(program: harness.Program, folder: str, order: tuple[str, ...], one: list, two: list) -> dict:
    shared = torch.jit.script(Shared().eval())
    children = {"one": Caller(shared, one), "two": Caller(shared, two), "shared": shared}
    path = os.path.join(folder, "model.pt")
    torch.jit.script(Root(order, children).eval()).save(path)
    collection = program.trace(path, "--input=x=float32[3]")
    harness.check_collection(collection)
    names = {m["alias_of"] or m["path"] for m in collection["modules"] if m["path"] == "shared"}
    return next(graph for graph in collection["graphs"] if graph["module"] in names)


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_calls_of_all_graphs_count(program, tmp_path, order):
    same = graph_of_shared(program, os.fspath(tmp_path), order, [2, 4], [2, 4])
    assert [node["meta"]["shape"] for node in same["nodes"]] == [[2, 4]] * len(same["nodes"])
    for one, two in (([2, 4], [3, 2, 4]), ([3, 2, 4], [2, 4])):
        differs = graph_of_shared(program, os.fspath(tmp_path), order, one, two)
        assert [node["meta"]["shape"] for node in differs["nodes"]] == [None] * len(differs["nodes"])


class Later(nn.Module):
    """One graph calls a module twice; a loop comes between them, in which the graph is left."""

    def __init__(self, late: list[int]) -> None:
        super().__init__()
        self.inner = Caller(torch.jit.script(Shared()), [2, 4])
        self.late = late

    def forward(self, x: Tensor) -> Tensor:
        first = self.inner.shared(torch.zeros(2, 4))
        return first.sum() + self.inner(x).sum() + self.inner.shared(torch.zeros(self.late)).sum()


@pytest.mark.parametrize("late, known", [([2, 4], [2, 4]), ([5, 4], None)])
def test_a_later_call_in_the_graph_that_called_first(program, tmp_path, late, known):
    path = os.fspath(tmp_path / "model.pt")
    torch.jit.script(Later(late).eval()).save(path)
    collection = program.trace(path, "--input=x=float32[3]")
    graph = next(graph for graph in collection["graphs"] if graph["module"] == "inner.shared")
    assert graph["nodes"][0]["meta"]["shape"] == known
