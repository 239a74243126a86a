"""Tests modules with several names: in every kind of file, each call has the name that FSDP's tracer of the live model gives."""

import fxtrace
import harness
import pytest
import random_sharing
import tiers
import torch
from peers import Peer
from torch import Tensor, nn

KINDS = ["scripted", "traced", "exported", "strict", "decomposed"]
SEEDS, TOGETHER = 100, 10


def save(model: nn.Module, inputs: tuple, kind: str, path: str) -> str:
    if kind in ("scripted", "traced"):
        made = torch.jit.script(model) if kind == "scripted" else torch.jit.trace(model, inputs, check_trace=False)
        torch.jit.save(made, path)
        return path
    program = torch.export.export(model, inputs, strict=kind == "strict")
    torch.export.save(program.run_decompositions() if kind == "decomposed" else program, path)
    return path


def check_as_fsdp(program, model: nn.Module, x: Tensor, kind: str, path: str) -> None:
    save(model, (x,), kind, path)
    collection = program.trace(path)
    harness.check_collection(collection)
    ours, theirs = collection["graphs"][0]["execution"], Peer(model).execution()
    assert ours["module_forward_order"] == theirs["module_forward_order"]
    assert ours["param_forward_order"] == theirs["param_forward_order"]
    assert ours["module_param_usage"] == theirs["module_param_usage"]
    module = fxtrace.Collection.from_json(collection, path).graph_module()
    torch.testing.assert_close(module(x), model(x))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", tiers.in_turn([0], range(0, SEEDS, TOGETHER), 1))
def test_random_models(program, tmp_path, first, kind):
    for seed in range(first, first + (2 if first == 0 else TOGETHER)):
        model = random_sharing.random_model(seed)
        check_as_fsdp(program, model, torch.rand(2, random_sharing.WIDTH), kind, str(tmp_path / f"{seed}"))


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.r = nn.ReLU()
        self.t = nn.Tanh()
        self.register_buffer("cache", torch.empty(0))

    def forward(self, x: Tensor) -> Tensor:
        return self.t(self.r(self.l(x)))


class Clip(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            x = x - 1
        return x


class Clipped(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.c = Clip()

    def forward(self, x: Tensor) -> Tensor:
        return self.c(self.l(x))


class Pair(nn.Module):
    def __init__(self, first: nn.Module, second: nn.Module):
        super().__init__()
        self.a = first
        self.b = second

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.a(x))


def shared(module: nn.Module) -> Pair:
    return Pair(module, module).eval()


@pytest.mark.parametrize("kind", KINDS[:4])
def test_children_without_parameters_are_those_of_the_first_name(program, tmp_path, kind):
    model, x, path = shared(Cell()), torch.rand(2, 4), str(tmp_path / "model")
    check_as_fsdp(program, model, x, kind, path)
    collection = program.trace(path, "--no-default-leaves", "--leaf", "**.Tanh")
    nodes = collection["graphs"][0]["nodes"]
    assert [node["scope"]["module_path"] for node in nodes if node["op"] == "call_module"] == ["a.t", "a.t"]
    (alias,) = [module for module in collection["modules"] if module["alias_of"] is not None]
    assert (alias["path"], alias["alias_of"]) == ("b", "a")
    assert alias["alias"] == "assumed"  # strict=True never calls it by this name, as it would an unused module
    told = program.run("trace", path, "-v").stderr.decode()
    assert "modules with the same tensors and code are taken as one, b for a:" in told


def test_a_child_that_fails_fails_alone(program, tmp_path):
    collection = program.trace(save(shared(Clipped()), (), "scripted", str(tmp_path / "model")))
    assert [(m["path"], m["status"]) for m in collection["modules"]] == [
        ("", "traced"), ("a", "traced"), ("a.l", "leaf"), ("a.c", "failed"), ("b", "traced"),
    ]  # fmt: skip
    assert [graph["module"] for graph in collection["graphs"]] == [""]
    assert collection["graphs"][0]["execution"]["module_forward_order"] == ["", "a", "a.l", "a.c", "a", "a.l", "a.c"]


class Tied(nn.Module):
    """Two modules that have the same tensors, and do something else."""

    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(4, 4, 3, padding=1)
        self.b = nn.Conv1d(4, 4, 3, padding=1, dilation=1, stride=2)
        self.b.weight, self.b.bias = self.a.weight, self.a.bias

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.a(x))


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_something_else_is_another_module(program, tmp_path, kind):
    collection = program.trace(save(Tied().eval(), (torch.rand(1, 4, 8),), kind, str(tmp_path / "model")))
    assert collection["graphs"][0]["execution"]["module_forward_order"] == ["", "a", "b"]
    assert all(module["alias_of"] is module["alias"] is None for module in collection["modules"])


class Sometimes(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)
        self.m = nn.Linear(4, 4)

    def forward(self, a, b=None):
        return self.l(a) if b is None else self.l(a) - self.m(b)


class CallsSometimes(nn.Module):
    def __init__(self, first_has_both: bool):
        super().__init__()
        self.u = Sometimes()
        self.v = self.u
        self.first_has_both = first_has_both

    def forward(self, x):
        return self.v(self.u(x, x)) if self.first_has_both else self.v(self.u(x), x)


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("first_has_both", [True, False])
def test_names_under_which_some_children_are_not_called(program, tmp_path, kind, first_has_both):
    check_as_fsdp(program, CallsSometimes(first_has_both).eval(), torch.rand(2, 4), kind, str(tmp_path / "model"))


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(8, 8)

    def forward(self, x):
        return self.q(x).view(x.size(0), x.size(1), 2, 4).transpose(1, 2).softmax(-1).flatten(1) * x.size(0)


class TwoLengths(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Heads()
        self.b = self.a

    def forward(self, x, y):
        return self.a(x).sum() + self.b(y).sum()


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("decomposed", [False, True])
def test_sizes_tell_no_modules_apart(program, tmp_path, dynamic, decomposed):
    """Neither those of the inputs, nor that a size was computed before."""
    batch = torch.export.Dim("batch", min=2)
    shapes = ({0: batch}, {0: batch}) if dynamic else None
    inputs = torch.rand(3, 5, 8), torch.rand(3, 7, 8)
    exported = torch.export.export(TwoLengths().eval(), inputs, dynamic_shapes=shapes)
    path = str(tmp_path / "model.pt2")
    torch.export.save(exported.run_decompositions() if decomposed else exported, path)
    order = program.trace(path)["graphs"][0]["execution"]["module_forward_order"]
    assert order == ["", "a", "a.q", "a", "a.q"]


class SharedAndNested(nn.Module):
    def __init__(self):
        super().__init__()
        self.sh = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.p = nn.ModuleDict({"u": nn.Sequential(self.sh, nn.Tanh()), "v": nn.Sequential(nn.Tanh(), self.sh)})

    def forward(self, x):
        return self.p["v"](self.p["u"](x)) + self.sh(x)


@pytest.mark.parametrize("rules", [(), ("--leaf", "**.Sequential"), ("--leaf", "@sh")])
def test_a_call_names_what_has_the_code(program, tmp_path, rules):
    """torch.jit.trace gives the code of a shared module to its last name."""
    x, path = torch.rand(2, 4), str(tmp_path / "model.pt")
    archive = torch.jit.load(save(SharedAndNested().eval(), (x,), "traced", path))
    modules = dict(archive.named_modules(remove_duplicate=False))
    collection = program.trace(path, *rules)
    harness.check_collection(collection)
    for node in collection["graphs"][0]["nodes"]:
        if node["op"] == "call_module":
            assert modules[node["target"]]._c._has_method("forward"), node
    module = fxtrace.Collection.from_json(collection, path).graph_module()
    assert torch.equal(module(x), archive(x))
    program.stdout("verify", path, "--input", "x=float32[2,4]", *rules)


class TiedTables(nn.Module):
    """As in T5: `shared` is called by nobody, and two others have its weight."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Embedding(8, 4)
        self.encoder = nn.Embedding(8, 4)
        self.decoder = nn.Embedding(8, 4)
        self.encoder.weight = self.decoder.weight = self.shared.weight

    def forward(self, index):
        return self.encoder(index) + self.decoder(index + 1)


def test_a_traced_module_without_code_is_none_of_two_that_have_it(program, tmp_path):
    index, path = torch.tensor([1, 2]), str(tmp_path / "model.pt")
    archive = torch.jit.load(save(TiedTables().eval(), (index,), "traced", path))
    collection = program.trace(path)
    assert collection["graphs"][0]["execution"]["module_forward_order"] == ["", "encoder", "decoder"]
    module = fxtrace.Collection.from_json(collection, path).graph_module()
    assert torch.equal(module(index), archive(index))


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x, by=None):
        return self.l(x) * by


class CallsScaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Scaled()
        self.b = self.a

    def forward(self, x):
        return self.b(self.a(x, by=x), by=x)


@pytest.mark.parametrize("names", [("a",), ("b",), ("a", "b")])
def test_signatures_are_those_of_the_name_that_is_called(program, tmp_path, names):
    model, x, path = CallsScaled().eval(), torch.rand(2, 4), str(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(model, (x,), preserve_module_call_signature=names), path)
    collection = program.trace(path, "--leaf", "**.Scaled")
    assert torch.equal(fxtrace.Collection.from_json(collection, path).graph_module()(x), model(x))
