"""Tests that what the archive shares is shared in the graph, or the graph says that it cannot be: lists and dicts that are passed on,
modules that are taken for one, names of one tensor, containers of the caller, and constants that bytes alone do not describe."""

from typing import Dict, List, NamedTuple

import fxtrace
import pytest
import torch
from torch import Tensor, nn

pytestmark = pytest.mark.filterwarnings("ignore::fxtrace.FxtraceWarning")


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


def save(model, path) -> str:
    torch.jit.save(torch.jit.script(model), path)
    return path


def check_calls(path: str, collection: fxtrace.Collection, *inputs, calls: int = 3, **options) -> None:
    """The graph gives what the archive gives, call after call."""
    model, graph = torch.jit.load(path), collection.graph_module(**options)
    for _ in range(calls):
        torch.testing.assert_close(graph(*inputs), model(*inputs), rtol=0, atol=0)


class Push(nn.Module):
    def forward(self, xs: List[Tensor], x: Tensor) -> Tensor:
        xs.append(x * 3)
        return x + 1


class Cache(nn.Module):
    def forward(self, d: Dict[str, Tensor], x: Tensor) -> Tensor:
        d["k"] = torch.cat([d["k"], x]) if "k" in d else x
        return d["k"]


class Same(nn.Module):
    def forward(self, xs: List[Tensor]) -> List[Tensor]:
        return xs


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept: List[Tensor] = [torch.ones(2, 4)]

    def forward(self, x: Tensor) -> List[Tensor]:
        return self.kept


class Reads(nn.Module):
    def forward(self, xs: List[Tensor]) -> Tensor:
        ys = [x + 1 for x in xs]
        ys.append(xs[0])
        return torch.stack(ys).sum(0)


class Pushed(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = Push()

    def forward(self, x: Tensor):
        xs = [x]
        return self.p(xs, x), torch.stack(xs)


class PushedInside(nn.Module):
    """The list is used again by the caller's caller."""

    def __init__(self):
        super().__init__()
        self.inner = Between()

    def forward(self, x: Tensor):
        xs = [x]
        y = self.inner(xs, x)
        return len(xs), y


class Between(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = Push()

    def forward(self, xs: List[Tensor], x: Tensor) -> Tensor:
        return self.p(xs, x)


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = Cache()

    def forward(self, x: Tensor) -> Tensor:
        d: Dict[str, Tensor] = {}
        for i in range(2):
            self.p(d, x + i)
        return self.p(d, x)


class HandedBack(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = Same()

    def forward(self, x: Tensor) -> Tensor:
        xs = [x]
        ys = self.p(xs)
        ys.append(x * 2)
        return torch.stack(xs)


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = Keeps()

    def forward(self, x: Tensor) -> Tensor:
        xs = self.p(x)
        xs.append(x)
        return torch.stack(xs)


class Last(nn.Module):
    """Nobody asks for what the leaf does to the list."""

    def __init__(self):
        super().__init__()
        self.p = Push()
        self.r = Reads()

    def forward(self, x: Tensor) -> Tensor:
        xs = [x]
        y = self.r(xs)
        xs.append(y)
        return self.r(xs) + self.p(xs, x)


@pytest.mark.parametrize(
    "model, leaf, fails",
    [
        (Pushed, "**.Push", True),
        (PushedInside, "**.Push", True),
        (Cached, "**.Cache", True),
        (HandedBack, "**.Same", True),
        (Kept, "**.Keeps", True),
        (Last, ["**.Push", "**.Reads"], False),
        (Pushed, [], False),
    ],
)
def test_lists_and_dicts_that_a_leaf_is_given(tmp_path, model, leaf, fails):
    path = save(model(), tmp_path / "model.pt")
    collection = fxtrace.trace(path, leaf=leaf)
    assert ("" in collection.failures) == fails
    check_calls(path, collection, torch.rand(2, 4))


def put(xs: List[Tensor], x: Tensor) -> Tensor:
    xs.append(x * 3)
    return x


class Puts(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        xs = [x]
        put(xs, x)
        return torch.stack(xs)


def test_a_function_that_changes_a_list_is_not_kept(tmp_path):
    path = save(Puts(), tmp_path / "model.pt")
    collection = fxtrace.trace(path, wrap="**.put")
    assert any("put is traced into: it may change" in message.text for message in collection.messages)
    check_calls(path, collection, torch.rand(2, 4))


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))
        self.k = 0

    def forward(self, x: Tensor) -> Tensor:
        self.k += 1
        return x * self.w + self.k


class Adds(nn.Module):
    """`self.n += 1` writes in place: one module or two are the same."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))
        self.register_buffer("n", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        self.n += 1
        return x * self.w + self.n


class Pair(nn.Module):
    def __init__(self, first: nn.Module, second: nn.Module):
        super().__init__()
        self.a = first
        self.b = second
        self.b.w = self.a.w

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.a(x))


@pytest.mark.parametrize("options", [{}, {"leaf": "**.Counts"}, {"max_depth": 1}], ids=str)
def test_modules_with_state_of_their_own_are_not_one(tmp_path, options):
    path = save(Pair(Counts(), Counts()), tmp_path / "model.pt")
    collection = fxtrace.trace(path, **options)
    assert all(module.alias_of is None for module in collection.modules) and not collection.failures
    check_calls(path, collection, torch.rand(2, 4))


def test_a_shared_module_that_adds_in_place_is_traced(tmp_path):
    shared = Adds()
    path = save(Pair(shared, shared), tmp_path / "model.pt")
    collection = fxtrace.trace(path)
    assert collection.modules["b"].alias_of == "a" and not collection.failures
    check_calls(path, collection, torch.rand(2, 4))


class Names(nn.Module):
    """A buffer, and another name of it or of a part of it, without being a buffer."""

    def __init__(self, part: bool):
        super().__init__()
        self.register_buffer("t", torch.ones(3))
        self.u = self.t[1:2] if part else self.t

    def forward(self, x: Tensor) -> Tensor:
        self.t.add_(1)
        return x + self.u


class Plain(nn.Module):
    def __init__(self, part: bool):
        super().__init__()
        self.t = torch.ones(3)
        self.u = self.t.view(3, 1)[:, 0] if part else self.t

    def forward(self, x: Tensor) -> Tensor:
        self.u.add_(1)
        return x + self.t


@pytest.mark.parametrize("model", [Names, Plain])
@pytest.mark.parametrize("part", [False, True])
def test_names_of_one_tensor(tmp_path, model, part):
    path, x = save(model(part), tmp_path / "model.pt"), torch.rand(3)
    for passes in ([], ["functional"]):
        check_calls(path, fxtrace.trace(path, no_default_leaves=True, pass_=passes), x)
    for dialect in ("training", "aten"):
        try:
            converted = fxtrace.convert(path, input={"x": "float32[3]"}, dialect=dialect).module()
        except fxtrace.CannotConvert:
            pass
        else:
            loaded = torch.jit.load(path)
            assert [converted(x).tolist() for _ in range(2)] == [loaded(x).tolist() for _ in range(2)]


@torch.jit.script
def longer(xs: List[int], ys: Dict[str, int]) -> int:
    xs.append(7)
    ys["new"] = 1
    return len(xs) + len(ys)


def test_containers_of_the_caller_stay_as_they_are(tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.save(longer, path)
    graph = fxtrace.trace(path).graph_module()
    xs, ys = [1], {"old": 0}
    assert [graph(xs, ys), graph(xs, ys)] == [4, 4]
    assert xs == [1] and ys == {"old": 0}


class Point(NamedTuple):
    x: Tensor
    y: int


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = torch.quantize_per_tensor(torch.rand(3), 0.1, 0, torch.quint8)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.dequantize(self.q)


def test_quantized_constants(program, tmp_path):
    path, x = str(tmp_path / "model.pt"), torch.rand(3)
    torch.jit.save(torch.jit.freeze(torch.jit.script(Quantized().eval())), path)
    collection = fxtrace.trace(path, input={"x": "float32[3]"})
    check_calls(path, collection, x)
    check_calls(path, fxtrace.load(collection.save(tmp_path / "graph.json") or tmp_path / "graph.json"), x, model=path)
    converted = fxtrace.convert(path, input={"x": "float32[3]"}).module()
    torch.testing.assert_close(converted(x), torch.jit.load(path)(x))
    program.run("verify", path, "--input", "x=float32[3]")
