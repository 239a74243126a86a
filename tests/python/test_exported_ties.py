"""Tests names, order of registration and order of use in exported programs with shared modules and parameters."""

import fx_source
import fxtrace
import pytest
import torch
from peers import Peer
from torch import nn


class Odd(nn.Module):
    """Uses its parameters in another order than it registers them."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4, 4))
        self.bias = nn.Parameter(torch.rand(4))
        self.gain = nn.Parameter(torch.rand(4))

    def forward(self, x):
        return (x * self.gain + self.bias) @ self.weight


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.bias = nn.Parameter(torch.zeros(4))
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x):
        return torch.addcmul(self.bias, x * self.scale, self.weight)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(4, 4)
        self.o = Odd()

    def forward(self, x):
        return self.o(self.q(x))


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 4)
        self.odd = Odd()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.norm = Norm()
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, index):
        x = self.odd(self.emb(index))
        x = x + self.attention(x, x, x, need_weights=False)[0]
        return self.head(self.norm(x))


class Shared(nn.Module):
    """Modules under two names, called by both, by the second only, by the first only."""

    def __init__(self):
        super().__init__()
        linear = nn.Linear(4, 4)
        self.z = Odd()
        self.a = linear
        self.b = nn.Sequential(linear, nn.ReLU(), self.z)
        self.norm = Norm()
        self.last = self.norm

    def forward(self, x):
        return self.last(self.norm(self.z(self.b(self.a(x)))))


class SharedBlocks(nn.Module):
    def __init__(self):
        super().__init__()
        block = Block()
        self.blocks = nn.ModuleList([block, block, Block()])
        self.out = nn.Linear(4, 4)
        self.blocks[2].q.weight = block.q.weight

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.out(x)


class SecondName(nn.Module):
    """The block is only called by its second name; another module that is used first has one of its weights."""

    def __init__(self):
        super().__init__()
        self.first = Block()
        self.second = self.first
        self.linear = nn.Linear(4, 4)
        self.linear.weight = self.first.q.weight
        self.unused = nn.Linear(4, 4)

    def forward(self, x):
        return self.second(self.linear(x))


MODELS = {
    LanguageModel: torch.tensor([[1, 2, 3]]),
    Shared: torch.rand(3, 4),
    SharedBlocks: torch.rand(3, 4),
    SecondName: torch.rand(3, 4),
}


def trace(program, model, example, strict, path, *options):
    torch.export.save(torch.export.export(model, (example,), strict=strict), path)
    return program.trace(path, *options)


def first_names(model):
    """Of modules and parameters."""
    first, names = {}, {}
    for name, thing in [
        *model.named_modules(remove_duplicate=False),
        *model.named_parameters(remove_duplicate=False),
    ]:
        names[name] = first.setdefault(thing, name)
    return names


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "non_strict"])
@pytest.mark.parametrize("cls", MODELS, ids=lambda cls: cls.__name__)
def test_parameters_stand_in_the_order_of_registration_under_their_first_names(program, tmp_path, cls, strict):
    model = cls().eval()
    collection = trace(program, model, MODELS[cls], strict, tmp_path / "model.pt2")
    names = first_names(model)
    ours = [entry for entry in collection["parameters"] if entry["kind"] == "parameter"]
    known = {entry["name"] for entry in ours}
    expected = [name for name, _ in model.named_parameters(remove_duplicate=False) if name in known]
    assert [entry["name"] for entry in ours] == expected
    assert {entry["name"]: entry["alias_of"] or entry["name"] for entry in ours} == {
        name: names[name] for name in expected
    }
    # A name that is left out belongs to a shared module, which stands under its first name.
    aliases = {module["path"]: module["alias_of"] for module in collection["modules"] if module["alias_of"]}
    for name in names.keys() & aliases.keys():
        assert aliases[name] == names[name]
    missing = {name for name, _ in model.named_parameters(remove_duplicate=False)} - known
    for name in missing:
        assert any(name.startswith(alias + ".") for alias in aliases), name
    is_shared = cls is not LanguageModel and (strict or cls is not SecondName)  # strict=False does not tell of unused names
    assert bool(aliases) == is_shared


@pytest.mark.parametrize("rules", [(), ("--no-default-leaves",)], ids=["default", "no_default_leaves"])
@pytest.mark.parametrize("cls", MODELS, ids=lambda cls: cls.__name__)
def test_strict_orders_are_those_of_fsdp(program, tmp_path, cls, rules):
    model = cls().eval()
    collection = trace(program, model, MODELS[cls], True, tmp_path / "model.pt2", *rules)
    ours, theirs = collection["graphs"][0]["execution"], Peer(model).execution()
    assert ours["param_forward_order"] == theirs["param_forward_order"]
    if not rules:  # torch.fx does not look into torch.nn
        assert ours == theirs


@pytest.mark.parametrize("cls", MODELS, ids=lambda cls: cls.__name__)
def test_non_strict_parameter_order_is_that_of_fsdp(program, tmp_path, cls):
    model = cls().eval()
    collection = trace(program, model, MODELS[cls], False, tmp_path / "model.pt2")
    order = collection["graphs"][0]["execution"]["param_forward_order"]
    assert order == Peer(model).execution()["param_forward_order"]


class TiedTwice(nn.Module):
    """Whether `shared` is the embedding or the head, both of which have its weight, no file tells."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Embedding(10, 4)
        self.emb = self.shared
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.shared.weight

    def forward(self, index):
        return self.head(self.emb(index))


def test_a_tied_name_that_may_be_two_modules_is_neither(program, tmp_path):
    collection = trace(program, TiedTwice(), torch.tensor([1]), True, tmp_path / "model.pt2")
    modules = {module["path"]: module for module in collection["modules"]}
    assert modules["shared"]["alias_of"] is None and modules["emb"]["alias_of"] is None
    assert modules["shared"]["type"] is None
    tied = {entry["name"]: entry["alias_of"] for entry in collection["parameters"]}
    assert tied == {"shared.weight": None, "emb.weight": "shared.weight", "head.weight": "shared.weight"}


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = 3

    def forward(self, x):
        return torch.relu(self.linear(x)) * self.scale


class SharedUnderThreeNames(nn.Module):
    """Beside them, two modules without tensors and two that have only a tensor in common."""

    def __init__(self):
        super().__init__()
        self.first = nn.ReLU()
        self.a = Inner()
        self.b = self.c = self.a
        self.tied = Inner()
        self.tied.linear.weight = self.a.linear.weight
        self.other = Inner()
        self.other.linear = self.a.linear
        self.other.scale = 2
        self.second = nn.ReLU()

    def forward(self, x):
        return self.second(self.other(self.tied(self.c(self.b(self.a(self.first(x)))))))


@pytest.mark.parametrize("kind", ["scripted", "traced", "exported", "strict"])
def test_a_module_under_several_names_is_one(program, tmp_path, kind):
    """As torch.distributed.fsdp's tracer sees it, which has the live module."""
    from torch.distributed.fsdp._trace_utils import _ExecOrderTracer

    model, x = SharedUnderThreeNames().eval(), torch.rand(2, 4)
    peer, tracer = _ExecOrderTracer(), torch.fx.Tracer()
    with peer.patch_tracer(tracer, model):
        tracer.trace(model)
    names = {module: name for name, module in model.named_modules()}
    expected = [names[module] for module in peer.exec_info.module_forward_order]

    path = str(tmp_path / "model")
    if kind in ("scripted", "traced"):
        made = torch.jit.script(model) if kind == "scripted" else torch.jit.trace(model, x)
        torch.jit.save(made, path)
    else:
        torch.export.save(torch.export.export(model, (x,), strict=kind == "strict"), path)
    collection = program.trace(path)
    graph = collection["graphs"][0]
    order = graph["execution"]["module_forward_order"]
    assert order == expected
    alias_of = {module["path"]: module["alias_of"] for module in collection["modules"]}
    assert alias_of["tied"] is alias_of["second"] is alias_of["other"] is None
    if kind != "strict":  # where `b` may be `other` as well, which is called
        assert alias_of["b"] == alias_of["c"] == "a" and "b.linear" not in alias_of
    (weight,) = [item for item in collection["parameters"] if item["name"] == "tied.linear.weight"]
    assert weight["alias_of"] == "a.linear.weight"
    if kind in ("scripted", "traced"):
        module = fxtrace.Collection.from_json(collection, path).graph_module()
        assert torch.equal(module(x), torch.jit.load(path)(x))
        fx_source.compare_scripted(program, path, (x,), {})
