"""Tests requires_grad of values: a trace's answer is the archive's for each input that the guards accept."""

import random

import fxtrace
import pytest
import tiers
import torch
from torch import Tensor, nn

INPUTS = {"x": "float32[2,4]", "y": "float32[2,4]", "i": "int64[2,4]"}

# Statements over floats a, b and integers i, of which each gives one float more.
FLOATS = [
    "{a} + {b}", "{a} * 2", "{a}.relu()", "{a}.detach()", "torch.zeros_like({a})", "self.frozen({a})", "self.trained({a})", "{a} * self.buffer",
    "{a} + self.weight", "{a} + self.fixed", "{a}.view(2, 4)", "{a}.t().t()", "{a}[:]", "{a}.unbind(0)[0].expand(2, 4)", "torch.cat([{a}, {b}])[:2]",
    "({a} > 0).float() + {b}", "{a}.argmax(1, True).float().expand(2, 4)", "{a} + {i}", "{i}.float()", "{a}.to(torch.int64).to({b}.dtype)",
    "torch.where({a} > 0, {a}, {b})", "{a}.clone().add_({b})", "{a}.contiguous()", "torch.ones(2, 4)", "helper({a}, {b})", "self.sub({a}, {b})", "{a}.new_zeros(2, 4)",
]  # fmt: skip
WRITES = ["{a}.add_(1)", "{a}[0].mul_({b}[0])", "{a}.copy_({b})", "{a}.view(-1)[1:].add_({b}.view(-1)[1:])", "{a}.t().sub_({b}.t())", "torch.add({a}, 1, out={c})"]

SOURCE = """
import torch
from torch import Tensor, nn

def helper(a, b):
    # type: (Tensor, Tensor) -> Tensor
    return a * b if a.requires_grad else a - b

class Sub(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4), requires_grad={sub})
    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        c = a * self.scale
        return c if b.requires_grad else c + b

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen, self.trained, self.sub = nn.Linear(4, 4), nn.Linear(4, 4), Sub()
        self.frozen.requires_grad_(False)
        self.weight, self.fixed = nn.Parameter(torch.ones(2, 4)), nn.Parameter(torch.ones(2, 4), requires_grad=False)
        self.register_buffer("buffer", torch.ones(4))
    def forward(self, x: Tensor, y: Tensor, i: Tensor):
{body}
        return [{asked}], [{values}]
"""


def drawn_source(draw, writes):
    lines, floats = [], ["x.clone()", "y.clone()"]
    indent = " " * 8
    for n in range(2):
        lines.append(f"{indent}v{n} = {floats[n]}")
    count = 2
    depth = 0
    for _ in range(draw.randrange(3, 10)):
        names = [f"v{n}" for n in range(count)] + ["x", "y"]
        words = {"a": draw.choice(names), "b": draw.choice(names), "c": draw.choice(names[:-2]), "i": "i"}
        if writes and draw.random() < 0.4:
            words["a"] = draw.choice(names[:-2])
            lines.append(f"{indent}{draw.choice(WRITES[:-1]).format(**words)}")
            continue
        if draw.random() < 0.15 and depth == 0:
            lines.append(f"{indent}with torch.no_grad():")
            indent, depth = " " * 12, 1
        lines.append(f"{indent}v{count} = {draw.choice(FLOATS).format(**words)}")
        count += 1
        if depth and draw.random() < 0.5:
            indent, depth = " " * 8, 0
    names = [f"v{n}" for n in range(count)] + ["x", "i"]
    return SOURCE.format(
        body="\n".join(lines), asked=", ".join(f"{n}.requires_grad" for n in names), values=", ".join(names[:-1]), sub=draw.random() < 0.5
    )


def scripted(source, folder, name):
    file = folder / f"{name}.py"
    file.write_text(source)
    scope = {"__name__": name}
    exec(compile(source, str(file), "exec"), scope)
    import linecache

    linecache.checkcache(str(file))
    return torch.jit.script(scope["Net"]().eval())


def outcome(function, *inputs):
    try:
        return function(*[v.clone().requires_grad_(v.requires_grad) if v.requires_grad else v.clone() for v in inputs])
    except Exception as error:
        return str(error)


def check(path, model):
    """How many answers were known."""
    collection = fxtrace.trace(path, input=INPUTS)
    asked = collection.root.output.args[0][0]
    known = [item for item in asked if isinstance(item, bool)]
    graph = collection.graph_module()
    x, y, i = torch.rand(2, 4), torch.rand(2, 4), torch.randint(0, 2, (2, 4))
    for given in ((x, y, i), (x.clone().requires_grad_(), y, i), (x, y.clone().requires_grad_(), i)):
        with torch.enable_grad():
            actual, wanted = outcome(graph, *given), outcome(model, *given)
        if isinstance(actual, str):
            assert given[0].requires_grad or given[1].requires_grad or isinstance(wanted, str), (actual, wanted)
            continue
        assert not isinstance(wanted, str), wanted
        assert list(actual[0]) == list(wanted[0]), (asked, actual[0], wanted[0], [guard.expr for guard in collection.root.guards])
        assert all(map(torch.equal, actual[1], wanted[1]))
    return len(known)


@pytest.fixture(autouse=True)
def the_program(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.attention = nn.Linear(8, 8), nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        y = self.first(x)
        return self.attention(y, y, y, need_weights=False)[0]


@pytest.mark.parametrize("is_frozen", [True, False])
def test_attention(tmp_path, is_frozen):
    """Its forward asks whether anything requires a gradient."""
    path = str(tmp_path / "model.pt")
    torch.jit.save(torch.jit.script(Attention().requires_grad_(not is_frozen).eval()), path)
    collection = fxtrace.trace(path, no_default_leaves=True, input={"x": "float32[2,6,8]"})
    assert not collection.failures
    assert ("not x.requires_grad" in [guard.expr for guard in collection.root.guards]) == is_frozen
    x = torch.rand(2, 6, 8)
    with torch.enable_grad():
        assert torch.equal(collection.graph_module()(x), torch.jit.load(path)(x))


@pytest.mark.parametrize("seed", tiers.in_turn([0], range(12), 2))
@pytest.mark.parametrize("writes", [False, True])
def test_drawn(tmp_path, seed, writes):
    draw, known, tried = random.Random(f"{seed} {writes}"), 0, 0
    for n in range(6 if seed == 0 else 60):
        source = drawn_source(draw, writes)
        model = scripted(source, tmp_path, f"drawn_{seed}_{n}")
        path = str(tmp_path / "model.pt")
        torch.jit.save(model, path)
        try:
            collection = fxtrace.trace(path, input=INPUTS)
        except fxtrace.UsageError:
            raise
        if collection.failures:
            continue
        tried += 1
        known += check(path, torch.jit.load(path))
    assert tried and known
