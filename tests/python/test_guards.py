"""Tests guards, which are Python expressions over a graph's inputs: true for inputs that the model treats as traced, false for
others."""

import enum
import re
from typing import Any, List, Optional

import fx_source
import fxtrace
import harness
import pytest
import torch
from fxtrace import _torchscript
from torch import Tensor, nn


class Ranks(nn.Module):
    """As torch.nn's own checks are written, behind layers that keep the number of dimensions."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 3, 1)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.conv(x)) + x
        y.mul_(2)
        if y.dim() != 2 and y.dim() != 3:
            raise ValueError("expected 2D or 3D")
        return self.norm(y)


class Choice(enum.Enum):
    ONCE = 1
    TWICE = 2


class Chooses(nn.Module):
    def forward(self, x: Tensor, c: Choice = Choice.TWICE) -> Tensor:
        return x + 1 if c.name == "ONCE" else x * c.value


class Either(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        assert x.size(0) == 2 or x.size(1) % 4 == 0, "no such sizes"
        assert n <= 3 and (n >= 0 or x.dim() == 1)
        return x * n


class Values(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = (x * x).sum()
        torch._assert(y.item() > 1e-7, "all zero")
        assert float(y + y * y) < 3e20
        return x / y


class Bits(nn.Module):
    def forward(self, x: Tensor, flag: bool, n: int) -> Tensor:
        if not ((n & 3) == 1) or (flag | (n > 100)):
            raise ValueError("flags")
        return x + n


class Doubled(nn.Module):
    """2**40 paths to the input: each value is used twice."""

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for _ in range(30):
            y = torch.matmul(y, y)
        assert y.size(0) == 2
        return y


class Deep(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        for _ in range(2000):
            x = torch.matmul(x, x)
        assert x.size(1) == 2
        return x


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Tensor) -> Tensor:
        return x[0] * self.scale


class Attributes(nn.Module):
    """A module by its number, a parameter, a keyword, a name of Python's own."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), Inner())

    def forward(self, input: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        y = self.layers(input)
        assert y.mean(dim=0, keepdim=True).size(0) == 1 and input.size(-1) == 4
        assert y.dtype == torch.float32 and not y.is_complex()
        return y


class WholeSizes(nn.Module):
    """Sizes and strides against lists: in Python those of a tensor are tuples."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        assert x.size() == [2, 3]
        if (x * 2).size() != y.size() or y.stride() != [x.size(1), 1]:
            raise ValueError("sizes")
        size = y.size()
        assert size + [1] == [size[0], 3, 1]
        return x + y


class Random(nn.Module):
    """Working the value out again would give another one, and it is written in place: it is checked where it is."""

    def forward(self, x: Tensor) -> Tensor:
        y = x + torch.rand_like(x)
        y += 1
        assert y.min() >= 0
        return y


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    """The program under test is the one that the package finds."""
    monkeypatch.setenv("FXTRACE", program.path)


CASES = [
    (Ranks, [(torch.ones(2, 3, 4),), (torch.ones(3, 3),)], []),
    (Either, [(torch.ones(2, 3), 1), (torch.ones(5, 8), 3)], [(torch.ones(3, 3), 1), (torch.ones(2, 2), 7), (torch.ones(2, 2), -1)]),
    (Values, [(torch.ones(3),)], [(torch.zeros(3),), (torch.full((3,), 1e12),)]),
    (Bits, [(torch.ones(1), False, 5)], [(torch.ones(1), False, 6), (torch.ones(1), True, 5), (torch.ones(1), False, 105)]),
    (Doubled, [(torch.eye(2),)], []),
    (Deep, [(torch.eye(2),)], []),
    (Attributes, [(torch.ones(3, 4),), (torch.ones(3, 1, 4),)], []),
    (WholeSizes, [(torch.ones(2, 3), torch.ones(2, 3))], [(torch.ones(3, 3), torch.ones(3, 3)), (torch.ones(2, 3), torch.ones(1, 3)), (torch.ones(2, 3), torch.ones(3, 2).t())]),
    (Random, [(torch.ones(3),)], []),
]


def holds(guards: List[dict], values: dict[str, Any], model: nn.Module) -> bool:
    scope = {"torch": torch, "self": model}
    return all(eval(guard["expr"], scope | values) for guard in guards)


@pytest.mark.parametrize("module, good, bad", CASES, ids=lambda case: getattr(case, "__name__", ""))
@pytest.mark.parametrize("options", [(), ("--no-default-leaves",), ("--no-wrap", "**", "--no-default-leaves")])
def test_guards_tell_which_inputs_a_graph_is_for(program, tmp_path, module, good, bad, options):
    path = str(tmp_path / "model.pt")
    model = module().eval()
    torch.jit.script(model).save(path)
    collection = program.trace(path, *options)
    assert harness.failed_modules(collection) == []
    graph = collection["graphs"][0]
    assert graph["guards"] or "aten._assert_async.msg" in [node["target"] for node in graph["nodes"]]
    assert all(len(guard["expr"]) < 20_000 for guard in graph["guards"])
    rebuilt = harness.rebuild(path, graph)
    for args in good:
        harness.compare_runs(path, graph, "forward", args, {})
        values = harness.guard_values(rebuilt, graph, args, {})
        assert holds(graph["guards"], values, _torchscript.load(path)), args
    for args in bad:
        with pytest.raises(Exception):
            model(*args)
        values = dict(zip([node["target"] for node in graph["nodes"] if node["op"] == "placeholder"], args))
        assert not holds(graph["guards"], values, _torchscript.load(path)), args


class Many(nn.Module):
    """Each of 3,000 guards has a long list in it, and all that was before."""

    def forward(self, x: Tensor) -> Tensor:
        for i in range(3000):
            x = torch.matmul(x, x).sum(list(range(0))) + torch.tensor([[1.0] * 100]).sum()
            assert x.stride(0) > 0
        return x


def test_guards_stay_shorter_than_graphs(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Many()).save(path)
    graph = program.trace(path)["graphs"][0]
    assert len(graph["guards"]) + sum(node["target"] == "aten._assert_async.msg" for node in graph["nodes"]) == 3000
    assert 0 < sum(len(guard["expr"]) for guard in graph["guards"]) < 6_000_000


def test_a_rank_is_asked_of_the_input(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Ranks().eval()).save(path)
    graph = program.trace(path, "--no-default-leaves")["graphs"][0]
    assert {guard["expr"] for guard in graph["guards"]} == {"not (x.dim() != 2 and x.dim() != 3)"}


def test_a_size_has_one_spelling(program, tmp_path):
    """The same model, scripted with named dimensions and exported with them."""

    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.cat([x, x]).unfold(1, 3, 2)

    batch, width = torch.export.Dim("batch", max=64), torch.export.Dim("width", min=5, max=64)
    exported = torch.export.export(Net(), (torch.ones(5, 9),), dynamic_shapes=({0: batch, 1: width},))
    torch.export.save(exported, tmp_path / "model.pt2")
    torch.jit.script(Net()).save(tmp_path / "model.pt")

    def result(path, *options):
        nodes = program.trace(str(tmp_path / path), *options)["graphs"][0]["nodes"]
        placeholder, last = nodes[0]["meta"]["shape"], nodes[-2]["meta"]["shape"]
        names = dict(zip(placeholder, ("batch", "width")))
        return [size if isinstance(size, int) else rename(size, names) for size in last]

    def rename(text, names):
        for name, other in names.items():
            text = text.replace(name, other)
        return text

    assert result("model.pt2") == result("model.pt", "--input", "x=float32[batch,width]", "--dim", "width=5..64")
    assert result("model.pt2") == ["batch*2", "(width+1)//2-1", 3]


class Decided(nn.Module):
    """Each branch is decided by what --input says."""

    def forward(self, x: Tensor, other: Tensor) -> Tensor:
        if x.size(1) == 3:
            x = x + 1
        else:
            x = x * 100
        if x.dim() == 2 and x.dtype == torch.float32:
            x = x + 5
        if x.size(0) > 1:
            x = x * 2
        y = torch.relu(other)
        batch, width = y.shape  # nobody takes batch
        if not y.is_cuda and width % 2 == 0:
            y = y[:, ::2]
        return x.sum() + y.sum()


def test_what_input_decides_is_a_guard_that_graph_module_checks(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Decided()).save(path)
    collection = fxtrace.trace(path, input={"x": "float32[b,3]", "other": "float32[7,4]"}, dim={"b": (2, None)})
    exprs = [guard.expr for guard in collection.root.guards]
    assert exprs == [
        "x.size(1) == 3",
        "x.dim() == 2",
        "x.dtype == torch.float32",
        "b > 1",
        "other.dim() == 2",
        "other.size(0) == 7",
        "other.size(1) == 4",
        "other.device.type == 'cpu'",
    ]
    module, model = collection.graph_module(), torch.jit.load(path)
    good = torch.rand(2, 3), torch.rand(7, 4)
    assert torch.equal(module(*good), model(*good))
    for x, other, failing in [
        (torch.rand(2, 5), good[1], "x.size(1) == 3"),
        (torch.rand(2, 3, 1), good[1], "x.dim() == 2"),
        (torch.rand(2, 3).double(), good[1], "x.dtype == torch.float32"),
        (torch.rand(1, 3), good[1], "b > 1"),
        (good[0], torch.rand(7, 3), "other.size(1) == 4"),
        (good[0], None, "other.dim() == 2"),
    ]:
        with pytest.raises(fxtrace.GuardError, match=re.escape(failing)):
            module(x, other)
    assert torch.fx.symbolic_trace(module)(*good) == model(*good)
    collection.graph_module(check=False)(torch.rand(2, 5), good[1])


def test_inputs_that_export_fixed_are_guards(tmp_path):
    class Fixed(nn.Module):
        def forward(self, x: Tensor, f: float, flag: bool, mode: str, mask: Optional[Tensor], nan: float):
            return x * f + 1 if flag and mode == "one" and mask is None else x

    args = (torch.rand(3), 0.5, True, "one", None, float("nan"))
    torch.export.save(torch.export.export(Fixed(), args), tmp_path / "model.pt2")
    collection = fxtrace.trace(tmp_path / "model.pt2")
    exprs = [guard.expr for guard in collection.root.guards]
    assert exprs == [
        *("f == 0.5", "flag == True", "mode == 'one'", "mask is None", "math.isnan(nan)"),
        *("x.dim() == 1", "x.size(0) == 3"),
    ]
    module = collection.graph_module()
    assert torch.equal(module(*args), Fixed()(*args))
    with pytest.raises(fxtrace.GuardError, match="f == 0.5"):
        module(args[0], 0.7, *args[2:])
    with pytest.raises(fxtrace.GuardError, match="mask is None"):
        module(*args[:4], torch.ones(3), args[5])


def test_a_member_of_an_enum_is_fixed_by_its_value(tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Chooses()).save(path)
    model, x = torch.jit.load(path), torch.rand(3)
    for given, member in [({}, Choice.TWICE), ({"concrete": {"c": 1}}, Choice.ONCE), ({"concrete": {"c": "ONCE"}}, Choice.ONCE)]:
        collection = fxtrace.trace(path, **given)
        assert [guard.expr for guard in collection.root.guards] == [f"c == {member.value}"]
        module = collection.graph_module()
        assert torch.equal(module(x, member), model(x, member))
        other = Choice.ONCE if member is Choice.TWICE else Choice.TWICE
        with pytest.raises(fxtrace.GuardError, match=f"c == {member.value}"):
            module(x, other)
    assert torch.equal(fxtrace.trace(path).graph_module()(x), model(x))
    with pytest.raises(fxtrace.Error, match="Choice has no such member; its members are ONCE, TWICE"):
        fxtrace.trace(path, concrete={"c": 7})


class Judged(nn.Module):
    """What a layer gives decides."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.5))
        nn.init.ones_(self.layers[0].weight)
        nn.init.zeros_(self.layers[0].bias)
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Tensor) -> Tensor:
        y = self.layers(x)
        if bool(y.sum() * self.scale < 0):
            raise ValueError("negative")
        return y


class Counting(nn.Module):
    """A leaf that cannot be asked twice: it counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls.add_(1)
        return x - self.calls


class CountsCalls(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.counting = Counting()

    def forward(self, x: Tensor) -> Tensor:
        y = self.counting(x)
        assert bool(y.sum() > 0)
        return y


@pytest.mark.parametrize("leaf", ["torch.nn.Linear", "**.Sequential"])
def test_what_modules_and_parameters_decide_is_asserted_in_the_graph(tmp_path, leaf):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Judged().eval()).save(path)
    collection, archive = fxtrace.trace(path, leaf=leaf), torch.jit.load(path)
    assert not collection.root.guards
    module, outcomes = collection.graph_module(), set()
    for x in torch.randn(20, 4, 3):
        try:
            expected = archive(x)
        except torch.jit.Error:
            outcomes.add("refused")
            with pytest.raises(RuntimeError, match="raise ValueError|y.sum"):
                module(x)
        else:
            outcomes.add("taken")
            assert torch.equal(module(x), expected)
    assert outcomes == {"refused", "taken"}


def test_a_module_that_writes_is_not_asked_twice(tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(CountsCalls()).save(path)
    module = fxtrace.trace(path, leaf="**.Counting").graph_module()
    assert torch.equal(module(torch.full((2,), 3.0)), torch.full((2,), 2.0))
    assert module.counting.calls == 1
    with pytest.raises(RuntimeError, match="y.sum"):
        module(torch.ones(2))


class AsksInBodies(nn.Module):
    """Assertions in bodies of control flow hold for who enters them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x: Tensor, n: int) -> Tensor:
        y = x * 2
        if bool(x.sum() > 0):
            assert n > 2 or x.size(0) == 3
            y = y * n
        elif bool(self.scale < 0) and n > 1:
            raise ValueError("negative")
        for _ in range(n):
            assert bool(y.max() < 50) and n < 7
            y = y + 1
        if y.dim() == 1 and (bool(self.scale > 5) or n == 6):
            raise ValueError("one")
        return y


def test_assertions_in_bodies(tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(AsksInBodies()).save(path)
    collection, archive = fxtrace.trace(path, control_flow="subgraph"), torch.jit.load(path)
    assert not any(graph.guards for graph in collection.root.subgraphs.values())
    module, outcomes = collection.graph_module(), set()
    for x in (torch.ones(2, 2), torch.ones(3, 2), torch.ones(3), -torch.ones(2), torch.full((2, 1), 11.0)):
        for n in (-1, 0, 3, 6, 8):
            try:
                expected = archive(x, n)
            except torch.jit.Error:
                outcomes.add("refused")
                with pytest.raises(RuntimeError):
                    module(x, n)
            else:
                outcomes.add("taken")
                assert torch.equal(module(x, n), expected)
    assert outcomes == {"refused", "taken"}


class Structures(nn.Module):
    def forward(self, x: Tensor, past: List[Tensor], d: dict[str, List[Tensor]], more: Optional[List[Tensor]] = None) -> Tensor:
        for p in past:
            x = x * 2 + p
        for items in d.values():
            for item in items:
                x = x * 2 + item
        if more is not None:
            for p in more:
                x = x * 2 + p
        return x


@pytest.mark.parametrize(
    "options",
    [
        {"concrete": {"past": ["$PH", "$PH"], "d": {"b": ["$PH"], "a": []}, "more": ["$PH"]}},
        {"input": {name: "float32[2]" for name in ("x", "past.0", "past.1", "d.b.0", "more.0")}, "concrete": {}},
    ],
)
def test_lengths_and_keys_are_guards(program, tmp_path, options):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Structures()).save(path)
    collection = fxtrace.trace(path, **options)
    has_two = "input" not in options
    exprs = [guard.expr for guard in collection.root.guards if guard.source is None]
    assert exprs[:3] == ["len(past) == 2", "sorted(d) == ['a', 'b']" if has_two else "list(d) == ['b']", "len(d['b']) == 1"]
    order = ["list(d) == ['b', 'a']"] if has_two else []
    assert [expr for expr in exprs if expr.startswith(("more", "len(more)", "list(d) == ['b',"))] == ["more is not None", "len(more) == 1", *order]
    module, archive = collection.graph_module(), torch.jit.load(path)
    one = torch.ones(2)
    keys = {"b": [one * 3], "a": []} if has_two else {"b": [one * 3]}
    good = one, [one, one * 2], keys, [one]
    assert torch.equal(module(*good), archive(*good))
    (graph_class,) = fx_source.classes(fx_source.load_text(collection.render("fx")))
    written = graph_class(archive)
    written.check(*good)
    for place, value in [
        (1, [one, one, one]),
        (1, [one]),
        (1, []),
        (2, {**keys, "c": [one]}),
        (2, dict(reversed([*keys.items(), *([] if has_two else [("c", [])])]))),
        (2, {}),
        (2, {**keys, "b": [one, one]}),
        (2, {**keys, "b": []}),
        (3, [one, one]),
        (3, []),
        (3, None),
    ]:
        bad = [*good[:place], value, *good[place + 1 :]]
        with pytest.raises(fxtrace.GuardError):
            module(*bad)
        with pytest.raises((ValueError, TypeError)):
            written.check(*bad)


def test_a_tuple_has_its_own_length(tmp_path):
    class Tuples(nn.Module):
        def forward(self, t: tuple[Tensor, List[int]]) -> Tensor:
            return t[0] * t[1][0]

    path = str(tmp_path / "model.pt")
    torch.jit.script(Tuples()).save(path)
    module, x = fxtrace.trace(path, concrete={"t": ["$PH", [3, 4]]}).graph_module(), torch.ones(2)
    assert torch.equal(module((x, [3, 4])), x * 3)
    for bad in [(x, [3, 4], x), (x,), (x, [3, 4, 5]), (x, [3])]:
        with pytest.raises(fxtrace.GuardError):
            module(bad)


@pytest.mark.parametrize(
    "expr",
    [
        "self.forward(x) is None",
        "getattr(x, 'add_')(1) is x",
        "x.numpy().tofile('HERE') is None",
        "torch.os.system('touch HERE') == 0",
        "torch.save(x, 'HERE') is None",
        "x.__class__.__init__.__globals__['os'].system('touch HERE') == x",
        "x.add_(1).size(0) == 2",
        "torch.add(x, 1, out=x).size(0) == 2",
        "x.size(0) ** 9 ** 9 ** 9 > 1",
        "x.size(0) << 10 ** 10 > 1",
        "[x for x in open('HERE', 'w')]",
        "(lambda: x)()",
        "(" * 5000 + "x" + ")" * 5000,
        "not " * 9000 + "x",
        "f'{open(\"HERE\", \"w\")}' == x",
        "nobody.size(0) == 2",
    ],
)
def test_a_guard_of_a_collection_is_no_code(program, tmp_path, monkeypatch, expr):
    monkeypatch.chdir(tmp_path)
    torch.jit.script(Random()).save("model.pt")
    document = program.trace("model.pt")
    document["graphs"][0]["guards"] = [{"expr": expr, "source": None}]
    x = torch.ones(2)
    try:
        fxtrace.Collection.from_json(document, "model.pt").graph_module()(x)
    except fxtrace.GuardError:
        pass
    assert not (tmp_path / "HERE").exists() and torch.equal(x, torch.ones(2))


class Same(nn.Module):
    """Operations that give their input back, for some inputs."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.reshape(2, 3).to(torch.float32)
        return nn.functional.dropout(y, 0.5, False) + 1


def test_what_a_pass_takes_from_input_is_a_guard(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Same()).save(path)
    inputs = {"x": "float32[2,3]"}
    whole = fxtrace.trace(path, input=inputs)
    assert not whole.root.guards
    without = fxtrace.trace(path, pass_="remove-noops")
    assert not without.root.guards and [node.target for node in without.root if node.op == "call_function"][0] == "aten.reshape.default"
    for passes in ("remove-noops", "functional"):
        collection = fxtrace.trace(path, input=inputs, pass_=passes)
        assert [node.target for node in collection.root if node.op == "call_function"] == ["aten.add.Scalar"]
        assert {(guard.expr, guard.reason) for guard in collection.root.guards} == {
            (f"x.{what}", "input") for what in ("dim() == 2", "size(0) == 2", "size(1) == 3", "dtype == torch.float32")
        }
        with pytest.raises(fxtrace.GuardError):
            collection.graph_module()(torch.ones(3, 2))
    assert not fxtrace.trace(path, input=inputs, pass_="eliminate-dead-code").root.guards


def test_who_says_what_a_guard_says(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Decided()).save(path)
    options = {"input": {"x": "float32[b,3]", "other": "float32[7,4]"}, "dim": {"b": (2, None)}}
    (by_number,) = fxtrace.why(path, guard=1, **options).guards
    (by_text,) = fxtrace.why(path, guard="x.size(1) == 3", **options).guards
    assert by_number == by_text and (by_text.reason, by_text.number, by_text.source.text) == ("input", 1, "if x.size(1) == 3:")
    reasons = {guard.expr: guard.reason for guard in fxtrace.trace(path, **options).root.guards}
    assert reasons["b > 1"] == "dim" and reasons["x.dtype == torch.float32"] == "input"
    text = program.stdout("why", path, "--input", "x=float32[b,3]", "--input", "other=float32[7,4]", "--dim", "b=2..", "--guard", "b > 1").decode()
    assert "guard" in text and "--dim" in text and "if x.size(0) > 1" in text
    with pytest.raises(fxtrace.UsageError, match="no guard"):
        fxtrace.why(path, guard="y > 1", **options)
