"""Tests named tuples that models make, take and return: those of the graph have the same classes and fields."""

import copy
import json
import pickle
from typing import Dict, List, NamedTuple, Optional, Tuple

import fxtrace
import harness
import pytest
import torch
from torch import Tensor, nn


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


class Point(NamedTuple):
    a: Tensor
    b: Tensor


class Other(NamedTuple):
    point: Point
    n: int
    parts: List[Tensor]
    none: Optional[Tensor]


class Gives(nn.Module):
    def forward(self, x: Tensor) -> Point:
        return Point(x + 1, x)


class Nested(nn.Module):
    def forward(self, x: Tensor) -> Tuple[Other, List[Point], Dict[str, Point]]:
        p = Point(x, x + 1)
        return Other(p, 2, [x], None), [p, Point(x, x)], {"k": p}


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, p: Point) -> Other:
        return Other(Point(self.linear(p.a), p.b), 3, [p.a], None)


class Takes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, p: Point) -> Other:
        other = self.inner(Point(p.b, p.a))
        return Other(other.point, other.n + 1, other.parts, other.none)


class Whole(nn.Module):
    def forward(self, p: Point) -> Tuple[Point, Point]:
        return p, p


class Branches(nn.Module):
    def forward(self, x: Tensor) -> Point:
        if bool(x.sum() > 0):
            p = Point(x + 1, x)
        else:
            p = Point(x, x - 1)
        return p


def structure(value):
    """Classes and fields, with `t` for each tensor."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return (type(value).__name__, *zip(value._fields, map(structure, value)))
    if isinstance(value, (tuple, list)):
        return (type(value), *map(structure, value))
    if isinstance(value, dict):
        return {key: structure(item) for key, item in value.items()}
    return "t" if isinstance(value, Tensor) else value


X = torch.arange(4.0).reshape(2, 2)
CASES = {
    "gives": (Gives(), (X,), {}),
    "nested": (Nested(), (X,), {}),
    "takes": (Takes(), (Point(X, X + 1),), {}),
    "leaf": (Takes(), (Point(X, X + 1),), {"leaf": "**.Inner"}),
    "fixed": (Takes(), (Point(X, X + 1),), {"concrete": {"p": Point(X, X)}}),
    "whole": (Whole(), (Point(X, X + 1),), {}),
    "branches": (Branches(), (X,), {"control_flow": "subgraph"}),
    "passes": (Nested(), (X,), {"pass_": ["functional", "eliminate-dead-code"]}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_an_archive_gives(program, tmp_path, name):
    model, inputs, options = CASES[name]
    path = str(tmp_path / "model.pt")
    torch.jit.save(torch.jit.script(model.eval()), path)
    expected = torch.jit.load(path)(*inputs)
    collection = fxtrace.trace(path, **options)
    saved = str(tmp_path / "model.json")
    collection.save(saved)
    modules = [collection.graph_module(), fxtrace.load(saved).graph_module(path)]
    modules.append(copy.deepcopy(modules[0]))
    if name in ("gives", "whole"):  # no ScriptModules inside, and no classes that torch.fx writes without an import
        modules.append(pickle.loads(pickle.dumps(modules[0])))
    namespace = {}
    exec(compile(collection.render("fx"), "source", "exec"), namespace)
    modules.append(namespace[type(model).__name__](torch.jit.load(path)))
    for module in modules:
        actual = module(*inputs)
        assert structure(actual) == structure(expected)
        assert harness.difference(expected, actual) is None
    again = program.run("render", saved, "-f", "json")
    with open(saved, encoding="utf-8") as file:
        assert again.returncode == 0 and json.loads(again.stdout) == json.load(file)


def test_the_json(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.save(torch.jit.script(Gives()), path)
    graph = program.trace(path)["graphs"][0]
    (given,) = graph["nodes"][-1]["args"]
    point = given["namedtuple"]
    assert point == {
        "type": f"{__name__}.Point",
        "fields": ["a", "b"],
        "values": [{"node": "add"}, {"node": "x"}],
    }
    point["fields"].pop()
    with pytest.raises(fxtrace.Error):
        fxtrace.Graph.from_json(graph).graph_module(path)


class Exported(nn.Module):
    def forward(self, x, p):
        return Point(x + p.a, [x, Point(p.b, x)])


def test_what_a_program_gives(tmp_path):
    torch.utils._pytree._register_namedtuple(Point, serialized_type_name="pkg.Point")
    path = str(tmp_path / "model.pt2")
    inputs = (X, Point(X + 1, X + 2))
    torch.export.save(torch.export.export(Exported(), inputs), path)
    collection = fxtrace.trace(path)
    (given,) = collection.root["output"].args
    assert given._fields == ("a", "b") and given._type == "pkg.Point" and given[1][1]._fields == ("a", "b")
    actual = collection.graph_module()(*inputs)
    assert isinstance(actual, Point) and isinstance(actual.b[1], Point)
    assert harness.difference(Exported()(*inputs), actual) is None
