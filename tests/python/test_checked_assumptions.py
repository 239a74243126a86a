"""Tests that what a trace assumed is checked where the graph runs: the state of the process, arguments that are left out, the caller's
own modules and functions in the place of operations, and types and keys of inputs."""

import importlib
import sys
from typing import Dict, List, Optional, Union

import fx_source
import fxtrace
import pytest
import torch
from torch import Tensor, nn

pytestmark = pytest.mark.filterwarnings("ignore::fxtrace.FxtraceWarning")


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


def scripted(model, path) -> str:
    torch.jit.save(torch.jit.script(model), path)
    return str(path)


def exported(model, args, kwargs, path, **options) -> str:
    torch.export.save(torch.export.export(model, args, kwargs, **options), path)
    return str(path)


def source_of(collection, path) -> nn.Module:
    """The class of `-f fx`, with the archive's modules."""
    return fx_source.make(fx_source.classes(fx_source.load_text(collection.render("fx")))[0], torch.jit.load(path), path)


class Asks(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if torch.is_grad_enabled():
            return x + 1
        return x * 9


def test_the_gradient_mode_is_checked(program, tmp_path):
    path, x = scripted(nn.Sequential(Asks(), nn.ReLU()), tmp_path / "model.pt"), torch.rand(2, 4)
    collection = fxtrace.trace(path)
    graph, source = collection.graph_module(), source_of(collection, path)
    for module, error in ((graph, fxtrace.GuardError), (source, ValueError)):
        assert torch.equal(module(x), torch.jit.load(path)(x))
        with torch.no_grad(), pytest.raises(error, match=r"torch.is_grad_enabled\(\)"):
            module(x)


class Scales(nn.Module):
    def forward(self, x: Tensor, k: int = 3, *, mode: str = "add") -> Tensor:
        return x * k if mode == "add" else x


def test_an_argument_that_was_exported_is_required(tmp_path):
    x = torch.rand(2, 4)
    graph = fxtrace.trace(exported(Scales(), (x, 5), {"mode": "mul"}, tmp_path / "model.pt2")).graph_module()
    assert torch.equal(graph(x, 5, mode="mul"), x)
    for args, kwargs in (((x,), {"mode": "mul"}), ((x, 5), {}), ((x,), {})):
        with pytest.raises(TypeError):
            graph(*args, **kwargs)


class Constant(nn.Module):
    def forward(self, x: Tensor, k: float = 2.0) -> Tensor:
        return x * k


class Two(nn.Module):
    def forward(self, x: Tensor):
        return x + 1, x.mean()


class Keyword(nn.Module):
    def forward(self, *, x: Tensor) -> Tensor:
        return x - 1


class Holder(nn.Module):
    def __init__(self, sub: nn.Module):
        super().__init__()
        self.sub = sub


class CallsConstant(Holder):
    def forward(self, x: Tensor) -> Tensor:
        return self.sub(x, 0.5)


class CallsDefault(Holder):
    def forward(self, x: Tensor) -> Tensor:
        return self.sub(x)


class CallsOne(Holder):
    def forward(self, x: Tensor) -> Tensor:
        return self.sub(x)[0]


class CallsKeyword(Holder):
    def forward(self, x: Tensor) -> Tensor:
        return self.sub(x=x)


@pytest.mark.parametrize(
    "model, fits",
    [
        (CallsConstant(Constant()), False),
        (CallsDefault(Constant()), True),
        (CallsOne(Two()), False),
        (CallsKeyword(Keyword()), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_modules_of_the_caller_are_compared(tmp_path, model, fits):
    x = torch.rand(2, 4)
    collection = fxtrace.trace(exported(model, (x,), {}, tmp_path / "model.pt2"), leaf="@sub")
    assert torch.equal(collection.graph_module()(x), model(x))
    if fits:
        assert torch.equal(collection.graph_module(model)(x), model(x))
    else:
        with pytest.raises(fxtrace.RebuildError, match="differ from those of the file's operations"):
            collection.graph_module(model)


FUNCTIONS = """import torch

def gate(x, w, scale=1.0):
    y = torch.sigmoid(x * w)
    return y * scale

def minus(a, b):
    c = b * 2
    return c - a

class Once(torch.nn.Module):
    def forward(self, x, w):
        return gate(x, w, 0.5)

class Plain(torch.nn.Module):
    def forward(self, x, w):
        return gate(x, w)

class Twice(torch.nn.Module):
    def forward(self, x, w):
        y = gate(x, w, 0.5)
        return y + gate(x, w, 3.0)

class Order(torch.nn.Module):
    def forward(self, x, w):
        return minus(x, w)
"""


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("functions")
    (folder / "wrapped_functions.py").write_text(FUNCTIONS)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield importlib.import_module("wrapped_functions")
    sys.path.remove(str(folder))


@pytest.mark.parametrize("kind", ["traced", "strict"])
@pytest.mark.parametrize("name, kept, fits", [("Plain", 1, True), ("Once", 1, False), ("Order", 1, False), ("Twice", 0, True)])
def test_functions_are_compared_with_what_was_recorded(tmp_path, functions, name, kept, fits, kind):
    model, args = getattr(functions, name)(), (torch.rand(2, 4), torch.rand(4))
    path = str(tmp_path / ("model.pt" if kind == "traced" else "model.pt2"))
    if kind == "traced":
        torch.jit.trace(model, args).save(path)
    else:
        exported(model, args, {}, path, strict=True)
    collection = fxtrace.trace(path, wrap="wrapped_functions.*")
    assert sum(node.recorded for node in collection.root) == kept
    given = {f"wrapped_functions.{each}": getattr(functions, each) for each in ("gate", "minus")}
    graph = collection.graph_module(functions=given)
    if fits:
        torch.testing.assert_close(graph(*args), model(*args))
    else:
        with pytest.raises(fxtrace.RebuildError, match="neither the constants of the code nor the order"):
            graph(*args)


class Default(nn.Module):
    def forward(self, x: Tensor, n: int = 2, m: Optional[Tensor] = None) -> Tensor:
        return x * n if m is None else x * m


@pytest.mark.parametrize("dimension", ["n", "m", "b"])
def test_a_dimension_may_be_called_as_an_input(tmp_path, dimension):
    path = scripted(Default(), tmp_path / "model.pt")
    converted = fxtrace.convert(path, input={"x": f"float32[{dimension},4]"}).module()
    for size in (2, 5):
        x = torch.rand(size, 4)
        assert torch.equal(converted(x), torch.jit.load(path)(x))


class Either(nn.Module):
    def forward(self, x: Tensor, v: Union[float, int, bool, None] = 2) -> Tensor:
        if v is None:
            return x
        if isinstance(v, int):
            return x + v
        return x * 3


class Many(nn.Module):
    def forward(self, x: Tensor, v: List[Union[int, float]]) -> Tensor:
        return x * len(v)


def test_values_of_a_union(tmp_path):
    path, x = scripted(Either(), tmp_path / "model.pt"), torch.rand(2, 3)
    values = (2, 2.0, True, None)
    for value in values:
        collection = fxtrace.trace(path, concrete={"v": value})
        assert not collection.failures
        graph, source = collection.graph_module(), source_of(collection, path)
        assert torch.equal(graph(x, value), torch.jit.load(path)(x, value))
        assert torch.equal(source(x, value), torch.jit.load(path)(x, value))
        for other in values:
            if other is not value:
                for module in (graph, source):
                    with pytest.raises(ValueError):
                        module(x, other)
    path = scripted(Many(), tmp_path / "model.pt")
    assert torch.equal(fxtrace.trace(path, concrete={"v": [1, 2.5]}).graph_module()(x, [1, 2.5]), x * 2)


class Keys(nn.Module):
    def forward(self, d: Dict[str, Tensor]) -> Tensor:
        return d["b"] - d["a"] * 2


class Goes(nn.Module):
    def forward(self, d: Dict[str, Tensor]) -> Tensor:
        y = torch.zeros(3)
        for value in d.values():
            y = y * 2 + value
        return y


@pytest.mark.parametrize("model, is_ordered", [(Keys, False), (Goes, True)])
def test_the_order_of_keys_is_a_guard_where_it_decides(tmp_path, model, is_ordered):
    path = scripted(model(), tmp_path / "model.pt")
    graph = fxtrace.trace(path, input={"d.b": "float32[3]", "d.a": "float32[3]"}).graph_module()
    x, y = torch.rand(3), torch.rand(3)
    assert torch.equal(graph({"b": x, "a": y}), torch.jit.load(path)({"b": x, "a": y}))
    if is_ordered:
        with pytest.raises(fxtrace.GuardError):
            graph({"a": y, "b": x})
    else:
        assert torch.equal(graph({"a": y, "b": x}), torch.jit.load(path)({"a": y, "b": x}))
    with pytest.raises(fxtrace.GuardError):
        graph({"a": y, "b": x, "c": x})


def test_a_program_takes_keys_in_any_order(tmp_path):
    class Nested(nn.Module):
        def forward(self, d, e):
            return d["b"] - d["a"] * 2 + e[0]["q"]

    x, y = torch.rand(3), torch.rand(3)
    graph = fxtrace.trace(exported(Nested(), ({"b": x, "a": y}, ({"q": x}, 1)), {}, tmp_path / "model.pt2")).graph_module()
    want = Nested()({"b": x, "a": y}, ({"q": x}, 1))
    assert torch.equal(graph({"a": y, "b": x}, ({"q": x}, 1)), want)
