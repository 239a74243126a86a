"""Tests attributes that forward assigns: call after call, the graph leaves the same state as the archive."""

import copy
import importlib.util
import json
import os
import sys
from typing import Dict, List, Optional

import fx_source
import fxtrace
import harness
import pytest
import random_state
import tiers
import torch
from torch import Tensor, fx, nn

INPUT = "x=float32[3,3]"
pytestmark = pytest.mark.filterwarnings("ignore::fxtrace.FxtraceWarning")


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


class Count(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self, x: Tensor) -> Tensor:
        self.n += 1
        return x * self.n


class Values(nn.Module):
    """Values of all plain kinds, read before they are set; one that is set and never read."""

    def __init__(self) -> None:
        super().__init__()
        self.shape = [0, 0]
        self.pair = (1, 2.0)
        self.name = "a"
        self.on = False
        self.last: Optional[int] = 1
        self.table: Dict[str, int] = {"a": 1}
        self.unread = 0

    def forward(self, x: Tensor) -> Tensor:
        y = x * self.shape[0] + self.pair[1] + int(self.on) + len(self.name)
        self.shape = [x.size(0), x.size(1) + self.shape[1]]
        self.pair = (self.pair[0] + 1, self.pair[1] * 2)
        self.name = self.name + "b"
        self.on = not self.on
        self.last = x.size(0)
        self.table = {"a": self.table["a"] + 1}
        self.unread = self.pair[0]
        return y


class Swap(nn.Module):
    """The value before is assigned to another attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 1
        self.before = 0

    def forward(self, x: Tensor) -> Tensor:
        self.before, self.n = self.n, 3
        return x + self.before * 2 + self.n


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 1
        self.k = 0

    def forward(self, x: Tensor) -> Tensor:
        self.n = self.n * 2
        return x + self.n


class Twice(nn.Module):
    """Submodules, one called twice, whose attributes the caller reads and sets."""

    def __init__(self) -> None:
        super().__init__()
        self.a = Inner()
        self.b = Inner()

    def forward(self, x: Tensor) -> Tensor:
        x = self.b(self.a(self.a(x)))
        self.a.k = self.b.n
        return x * self.a.k


class Buffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("h", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.h = self.h + x[0]
        return x + self.h


class Delta(nn.Module):
    """The old tensor is used after the attribute has got a new one."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("h", torch.zeros(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        row = self.h[0]
        self.h = self.h.t() + x[0]
        return self.h - row


class Exchange(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.zeros(3))
        self.b = torch.ones(3)

    def forward(self, x: Tensor) -> Tensor:
        old = self.a
        self.a = self.b
        self.b = old
        self.a = self.a + x[0]
        return self.a - self.b


class InPlace(nn.Module):
    """`self.h *= 0.5` sets the attribute to itself; then to another tensor, which is written in place again."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("h", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        self.h *= 0.5
        self.h = self.h * 0.5
        self.h += x[0]
        return x + self.h


class Norm(nn.Module):
    """A leaf called later reads the new value."""

    def __init__(self) -> None:
        super().__init__()
        self.bn = nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Tensor:
        self.bn.running_mean = self.bn.running_mean * 0.5 + x.mean(0)
        return self.bn(x)


class Average(nn.Module):
    """As models keep running statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("count", torch.tensor(0))
        self.momentum = 0.1
        self.steps = 0

    def forward(self, x: Tensor) -> Tensor:
        self.mean = self.mean * (1 - self.momentum) + x.mean(0) * self.momentum
        self.count = self.count + x.size(0)
        self.steps += 1
        return (x - self.mean) / (1.0 + self.count) * float(self.steps)


class Loop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0
        self.register_buffer("h", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        for i in range(3):
            self.n += i
            self.h = self.h + x[0] * self.n
        return x + self.h


class Branch(nn.Module):
    """Fails, and is a leaf where another module calls it."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self, x: Tensor) -> Tensor:
        if self.n == 0:
            x = x + 1
        self.n += 1
        return x


class ReadsLeaf(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.b = Branch()

    def forward(self, x: Tensor) -> Tensor:
        n = self.b.n
        y = self.b(x)
        return y * n + self.b.n


class Growing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("h", torch.zeros(1, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.h = torch.cat([self.h, x[:1]])
        return x + self.h.sum(0)


class ReadsGrowing(nn.Module):
    """The size of what a leaf sets, before and after it."""

    def __init__(self) -> None:
        super().__init__()
        self.g = Growing()

    def forward(self, x: Tensor) -> Tensor:
        k = self.g.h.size(0)
        y = self.g(x)
        return y * k + self.g.h.size(0)


class SetsLeaf(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.b = Branch()

    def forward(self, x: Tensor) -> Tensor:
        y = self.b(x)
        self.b.n = 0
        return y


class History(nn.Module):
    """A list and a dict that are changed in place, through the attribute and through a variable."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0
        self.history: List[int] = [0]
        self.table: Dict[str, int] = {"a": 1}

    def forward(self, x: Tensor) -> Tensor:
        self.n += 1
        history = self.history
        y = x * len(history)
        self.history.append(self.n)
        history[0] = x.size(0)
        self.table["a"] = self.table["a"] + 1
        return y * self.n + len(self.history) + self.history[0] + self.table["a"]


class Histories(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = History()

    def forward(self, x: Tensor) -> Tensor:
        x = self.a(self.a(x))
        self.a.history.pop(0)
        return x + self.a.history[-1]


KEPT = (History, Histories, Count, Values, Swap, Twice, Buffer, Delta, Exchange, InPlace, Norm, Average, Loop, ReadsLeaf, ReadsGrowing, SetsLeaf)


class SetsLeafBefore(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.b = Branch()

    def forward(self, x: Tensor) -> Tensor:
        self.b.n = self.b.n - 1
        return self.b(x)


class WrittenAfter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("h", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        y = x[0] * 2
        self.h = y
        y.add_(1)
        return x + self.h


class WrittenInTheNextCall(nn.Module):
    """Then both attributes are one tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.zeros(3))
        self.register_buffer("b", torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        y = x[0] + 1
        self.a.add_(1)
        self.a = y
        self.b = y
        return x + self.a + self.b


class Grows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("h", torch.zeros(0, 3))

    def forward(self, x: Tensor) -> Tensor:
        self.h = torch.cat([self.h, x])
        return self.h.sum() + x


class OtherDtype(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("h", torch.zeros(3, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        self.h = x[0]
        return x + self.h


class Weight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        self.w = self.w + x[0]
        return x * self.w


class Cache(nn.Module):
    h: Optional[Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.h = None

    def forward(self, x: Tensor) -> Tensor:
        h = self.h
        if h is not None:
            x = x + h
        self.h = x
        return x


class ListOfTensors(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.h: List[Tensor] = [torch.zeros(1)]

    def forward(self, x: Tensor) -> Tensor:
        self.h = [x]
        return x + self.h[0]


class NestedInPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n: List[List[int]] = [[1]]

    def forward(self, x: Tensor) -> Tensor:
        self.n[0].append(2)
        return x * len(self.n[0])


class SetAndChanged(nn.Module):
    """In the next call both attributes are one list."""

    def __init__(self) -> None:
        super().__init__()
        self.a: List[int] = [1]
        self.b: List[int] = [2]

    def forward(self, x: Tensor) -> Tensor:
        self.a.append(3)
        y = x * len(self.a) + len(self.b)
        both = [1, 2]
        self.a = both
        self.b = both
        return y


class LeafList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n: List[int] = [1]

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 1e9):
            x = x + 1
        return x * len(self.n)


class ChangesLeaf(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = LeafList()

    def forward(self, x: Tensor) -> Tensor:
        y = self.a(x)
        self.a.n.append(4)
        return y


FAILS = {
    Branch: "an `if` depends on an attribute that changes: n == 0",
    SetsLeafBefore: "a leaf is called after its attribute 'b.n' was set",
    WrittenAfter: "'h' is set: its new tensor is written in place afterwards",
    WrittenInTheNextCall: "'a' is set: its new tensor is visible elsewhere, and one of the two is written in place",
    Grows: "'h' is set to a tensor of another form: float32[3, 3] in the place of float32[0, 3]",
    OtherDtype: "'h' is set to a tensor of another form: float32[3] in the place of float64[3]",
    Weight: "'w' is set, and is a parameter that requires a gradient, which cannot be written",
    Cache: "'h' is set, and holds None: only a tensor in the place of a tensor can be assigned in a graph",
    ListOfTensors: "'h' is set, and holds a list of 1: only a tensor in the place of a tensor can be assigned in a graph",
    NestedInPlace: "a list or dict that the model holds is changed in place",
    SetAndChanged: "'a' is set, and its value is changed in place too",
    ChangesLeaf: "'a.n', which a leaf holds too, is changed in place",
}


@pytest.fixture
def archive(tmp_path):
    def save(model: nn.Module) -> str:
        path = str(tmp_path / "model.pt")
        torch.jit.save(torch.jit.script(model.eval()), path)
        return path

    return save


def outcome(f, x: Tensor) -> Tensor | str:
    try:
        return f(x)
    except torch.jit.Error:
        return "raises"


def check_calls(path: str, run, seed: int = 0) -> None:
    """Three calls in a row, all results looked at when the last one is over."""
    model = torch.jit.load(path)
    torch.manual_seed(seed)
    inputs = [torch.rand(3, 3) for _ in range(3)]
    theirs = [outcome(model, x.clone()) for x in inputs]
    ours = [outcome(run, x.clone()) for x in inputs]
    for call, (one, other) in enumerate(zip(ours, theirs)):
        same = torch.equal(one, other) if isinstance(one, Tensor) and isinstance(other, Tensor) else one == other
        assert same, f"call {call}: {one} and not {other}"


def check_state(module: nn.Module, path: str, graph) -> None:
    """Attributes that the graph assigns are the graph module's own."""
    model = torch.jit.load(path)
    for _ in range(2):
        x = torch.rand(3, 3)
        model(x), module(x)
    for assignment in graph.assignments:
        theirs, ours = model, module
        for name in assignment.target.split("."):
            theirs, ours = getattr(theirs, name), getattr(ours, name)
        assert ours == theirs, assignment.target


@pytest.mark.parametrize("make", tiers.one_in(3, KEPT))
def test_calls_in_a_row(program, archive, make):
    path = archive(make())
    for options in ({}, {"input": INPUT}, {"control_flow": "subgraph"}):
        collection = fxtrace.trace(path, **options)
        check_calls(path, collection.graph_module())
        check_calls(path, copy.deepcopy(collection.graph_module()))
        check_calls(path, fx.Interpreter(collection.graph_module()).run)
    assert not collection.failures or make in (Buffer, Delta, Exchange, InPlace, Norm, Average, Loop, ReadsGrowing)
    collection = fxtrace.trace(path, input=INPUT)
    assert collection.modules[0].failure is None
    check_state(collection.graph_module(), path, collection.root)
    (graph_class, *_) = fx_source.classes(fx_source.load(program, path, "--input", INPUT))
    check_calls(path, fx_source.make(graph_class, torch.jit.load(path), path))
    verified = program.stdout("verify", path, "--input", INPUT).decode()
    assert "2 runs" in verified or make in (ReadsLeaf, ReadsGrowing)


@pytest.mark.parametrize("make", FAILS)
def test_what_a_graph_cannot_say_fails(archive, make):
    path = archive(make())
    collection = fxtrace.trace(path, input=INPUT)
    failure = collection.modules[0].failure
    assert failure is not None and failure.message == FAILS[make]
    assert make in (ListOfTensors, ChangesLeaf) or failure.source is not None and failure.source.text
    check_calls(path, collection.graph_module())


def test_without_input_the_hint_says_what_helps(program, archive):
    output = program.run("trace", archive(Norm()))
    assert "'bn.running_mean' is set to a tensor whose shape and dtype are not known; --input" in output.stderr.decode()


def test_the_note_counts_both(program, archive):
    output = program.run("trace", archive(Average()), "--input", INPUT)
    assert "note: forward keeps state: it writes 2 tensors into attributes and assigns 1 plain value\n" in output.stderr.decode()


@pytest.mark.parametrize(
    "passes",
    [("eliminate-dead-code",), ("common-subexpressions",), ("remove-inplace",), ("fold-constants",),
     ("fold-constants", "remove-inplace", "common-subexpressions", "eliminate-dead-code")],
    ids="+".join,
)  # fmt: skip
def test_passes_keep_it(archive, passes):
    for make in KEPT:
        path = archive(make())
        check_calls(path, fxtrace.trace(path, input=INPUT, pass_=passes).graph_module())


def test_a_saved_collection_and_its_part(program, archive, tmp_path):
    path = archive(Values())
    text = program.stdout("trace", path, "--input", INPUT)
    saved = tmp_path / "c.json"
    saved.write_bytes(text)
    assert program.stdout("render", str(saved), "-f", "json") == text
    part = json.loads(program.stdout("extract", str(saved), "--module", ""))
    assert part["graphs"][0]["assignments"] == json.loads(text)["graphs"][0]["assignments"]


def test_diff_tells_an_assignment(program, archive, tmp_path):
    first = program.stdout("trace", archive(Count()))
    (tmp_path / "a.json").write_bytes(first)
    (tmp_path / "b.json").write_bytes(first.replace(b'{"target": "n", "value": {"node": "add"}', b'{"target": "n", "value": 7'))
    told = program.run("diff", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "--json")
    differences = [each for module in json.loads(told.stdout)["modules"] for each in module["differences"]]
    assert {(each["kind"], each["change"], each["text"]) for each in differences} == {
        ("nodes", "removed", "n = %add"),
        ("nodes", "added", "n = 7"),
    }


@pytest.mark.volume
@pytest.mark.parametrize("block", range(10))
def test_random_programs(tmp_path, block):
    """Calls agree, or the module failed."""
    kept = 0
    for seed in range(block * 40, block * 40 + 40):
        name = f"random_state_{seed}"
        source = tmp_path / f"{name}.py"
        source.write_text(random_state.Writer(seed).source())
        spec = importlib.util.spec_from_file_location(name, source)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        path = str(tmp_path / f"{name}.pt")
        torch.jit.save(torch.jit.script(module.Net().eval()), path)
        for options in ({}, {"input": INPUT}):
            collection = fxtrace.trace(path, **options)
            kept += collection.modules[0].failure is None
            try:
                check_calls(path, collection.graph_module(), seed)
            except Exception as error:
                raise AssertionError(f"seed {seed}, {options}: {error}\n{source.read_text()}") from error
        os.remove(path)
    assert kept > 10


class Limited(nn.Module):
    """What the code asserts of its state holds in the first calls only."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self, x: Tensor) -> Tensor:
        self.n += 1
        assert self.n < 3, "too often"
        return x * self.n


def test_an_assert_over_state_is_made_in_each_call(archive):
    path = archive(Limited())
    collection = fxtrace.trace(path)
    assert not collection.failures and not [guard for guard in collection.root.guards if "self" in guard.expr]
    module, model, x = collection.graph_module(), torch.jit.load(path), torch.rand(3, 3)
    for _ in range(2):
        assert torch.equal(module(x), model(x))
    for run in (module, model):
        with pytest.raises(Exception, match="too often|self.n < 3"):
            run(x)
