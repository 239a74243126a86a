"""Names, order of registration and order of use in exported programs whose modules and parameters are shared."""

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
    assert bool(aliases) == (strict and cls is not LanguageModel)


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
