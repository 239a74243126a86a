"""Tests conditions that follow from known facts: about lists, devices, layouts, asserts, and the process."""

import os
from typing import Dict, List, Optional, Tuple

import fxtrace
import harness
import pytest
import shapes
import torch
import torch.nn.functional as F
from fxtrace import _torchscript
from torch import Tensor, nn


class Lists(nn.Module):
    def forward(self, x: Tensor):
        xs = list(x.unbind(0))
        ys = xs.copy()
        ys.reverse()
        zs = xs + ys[::-1]
        last = zs.pop()
        first = zs.pop(0)
        zs.append(last)
        zs.insert(1, first)
        doubled = [z * 2 for z in zs[::2]]
        doubled += [first[1:], last]
        total = torch.zeros_like(last)
        for i, z in enumerate(doubled[:2]):
            total = total + z * i
        return torch.cat(doubled[::-1]), total, torch.stack(zs[1:3])


class Pyramid(nn.Module):
    """As torchvision's detectors handle their levels."""

    def __init__(self) -> None:
        super().__init__()
        self.levels = nn.ModuleList([nn.Conv2d(3, 4, 1), nn.Conv2d(3, 4, 1)])
        self.head = nn.Conv2d(4, 2, 1)

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        features: List[Tensor] = []
        for level in self.levels:
            features.append(level(x))
            x = F.max_pool2d(x, 2)
        features.reverse()
        results = [self.head(feature).flatten(2) for feature in features]
        per_level = [result.size(-1) for result in results]
        split = list(torch.cat(results, 2).split(per_level, 2))
        largest = split.pop()
        return {"large": largest, "small": split[-1]}


class Chosen(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if str(x.device) == "cpu" and x.device.type == "cpu" and x.get_device() < 0:
            x = x + 1
        if x.layout == torch.strided and not x.is_sparse:
            x = x * 2
        if x.element_size() == 4 and x.is_floating_point() and not x.is_cuda and x.itemsize == 4:
            x = x - 3
        y = x.transpose(0, 1).contiguous()
        if y.is_contiguous() and y.relu().is_contiguous():
            x = x + y.view(x.size(0), -1)
        if x.nbytes > 16 and x.is_same_size(x * 2) and x.numel() == 9:
            x = x.sin()
        if torch.zeros(3, 4).stride(0) == 4:
            x = x.cos()
        return x


class Parameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 6))
        self.tables = nn.ParameterDict({"a": torch.randn(2, 6)})

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1] == self.weight.shape[-1]:
            x = x @ self.weight.t()
        if self.weight.is_contiguous():
            x = x + 1
        return x


class Gives(nn.Module):
    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        return {"a": x, "b": x[:1]}


class Keys(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gives = Gives()

    def forward(self, x: Tensor) -> Tensor:
        found = self.gives(x)
        total = torch.zeros(1)
        for key in found:
            total = total + found[key].sum()
        for key, value in found.items():
            if key == "b":
                total = total * value.size(0)
        return total * len(found)


CASES = {
    "lists": (Lists, ["float32[4,5,5]"], []),
    "pyramid": (Pyramid, ["float32[2,3,8,8]"], []),
    "chosen": (Chosen, ["float32[3,3]"], []),
    "parameter": (Parameter, ["float32[2,6]"], []),
    "keys": (Keys, ["float32[3,2]"], ["--leaf=@gives"]),
}


def archive(tmp_path, module: nn.Module) -> str:
    path = os.fspath(tmp_path / "model.pt")
    torch.jit.script(module.eval()).save(path)
    return path


@pytest.mark.parametrize("name", CASES)
def test_every_node_is_known(program, tmp_path, name):
    module, inputs, options = CASES[name]
    path = archive(tmp_path, module())
    collection = program.trace(path, *[f"--input={text}" for text in inputs], *options)
    harness.check_collection(collection)
    assert [m["failure"] for m in collection["modules"] if m["failure"]] == []
    values = tuple(torch.randn([int(size) for size in text[8:-1].split(",")]) for text in inputs)
    model = _torchscript.load(path)
    report, actual = shapes.compare(path, collection["graphs"][0], values, {}, model)
    assert not report.unknown, report.unknown
    with torch.no_grad():
        assert harness.difference(model(*values), actual) is None


class Made(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        xs = [x, y, x + y]
        ys = list(xs)
        ys.reverse()
        last = (ys + xs[::-1]).pop()
        total = last
        for value in [z * 2 for z in ys.copy()]:
            total = total + value
        return total


def test_lists_made_while_tracing_need_no_sizes(program, tmp_path):
    path = archive(tmp_path, Made())
    collection = program.trace(path)
    assert harness.failed_modules(collection) == []
    values = (torch.randn(3), torch.randn(3))
    rebuilt = harness.rebuild(path, collection["graphs"][0], _torchscript.load(path))
    assert harness.difference(Made()(*values), rebuilt(*values)) is None


class Contiguous(nn.Module):
    """As kornia asks before it takes a view."""

    def forward(self, x: Tensor) -> Tensor:
        if not x.is_contiguous():
            x = x.contiguous()
        y = x + 1
        if y.is_contiguous() and torch.zeros(3).is_contiguous():
            y = y.view(-1)
        return y


def test_dummy_inputs_are_contiguous_which_is_a_guard(program, tmp_path):
    collection = program.trace(archive(tmp_path, Contiguous()), "--input=float32[N,4]")
    assert harness.failed_modules(collection) == []
    (graph,) = collection["graphs"]
    targets = [node["target"] for node in graph["nodes"] if node["op"] == "call_function"]
    assert targets == ["aten.add.Scalar", "aten.zeros.default", "aten.view.default"]
    assert [guard["expr"] for guard in graph["guards"]] == [
        "x.is_contiguous()",
        "x.add(1).is_contiguous()",
    ]
    without = program.trace(archive(tmp_path, Contiguous()))
    assert harness.failed_modules(without) == [""]


class Small(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        assert x.max().item() > 1e-7, "too small"
        assert x.min().item() < 3e20
        return x / 2


def test_numbers_in_guards_read_back(program, tmp_path):
    collection = program.trace(archive(tmp_path, Small()))
    guards = [guard["expr"] for guard in collection["graphs"][0]["guards"]]
    assert guards == ["x.max().item() > 1e-07", "x.min().item() < 3e+20"]


class Unknown(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.transpose(0, 1).is_contiguous():
            return x
        return x * 2


def test_order_in_memory_that_is_not_known_is_not_claimed(program, tmp_path):
    collection = program.trace(archive(tmp_path, Unknown()), "--input=float32[3,4]")
    assert harness.failed_modules(collection) == [""]


class Item(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.zeros(int(y.nonzero().sum().item()), 3)


def test_an_element_has_a_name(program, tmp_path):
    graph = program.trace(archive(tmp_path, Item()), "--input=x=float32[2]")["graphs"][0]
    made = next(node for node in graph["nodes"] if node["target"] == "aten.zeros.default")
    assert made["meta"]["shape"] == ["u0", 3]


# --- sizes of constants, which no input decides ---


class Recurrent(nn.Module):
    """As detectors of speech do it: no state at first."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, 4)

    def forward(self, x: Tensor, state: Tensor = torch.zeros(0)):
        if len(state):
            h, c = self.cell(x, (state[0], state[1]))
        else:
            h, c = self.cell(x)
        return h, torch.stack([h, c])


class Frozen(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.rand(3, 4))

    def forward(self, x: Tensor) -> Tensor:
        if self.kernel.dim() == 2 and self.kernel.size(0) < self.kernel.size(1):
            x = x @ self.kernel
        for i in range(self.kernel.numel() // 6):
            x = x + i
        return x


class Resized(nn.Module):
    def forward(self, x: Tensor, state: Tensor = torch.zeros(1)) -> Tensor:
        if len(state) == 1:
            x = x * 2
        state.resize_([2])
        if len(state) == 1:
            return x
        return x * 2


def test_sizes_of_constants_need_no_shapes(program, tmp_path):
    path = archive(tmp_path, Recurrent())
    collection = program.trace(path)
    assert harness.failed_modules(collection) == []
    harness.compare_runs(path, collection["graphs"][0], "forward", (torch.rand(2, 4),), {})
    with pytest.raises(fxtrace.GuardError, match="torch.equal"):
        fxtrace.Collection.from_json(collection, path).graph_module()(torch.rand(2, 4), torch.rand(2, 2, 4))
    fxtrace.Collection.from_json(collection, path).graph_module()(torch.rand(2, 4), torch.zeros(0))
    path = str(tmp_path / "frozen.pt")
    torch.jit.save(torch.jit.freeze(torch.jit.script(Frozen().eval()), optimize_numerics=False), path)
    collection = program.trace(path)
    assert harness.failed_modules(collection) == []
    harness.compare_runs(path, collection["graphs"][0], "forward", (torch.rand(2, 3),), {})


class Head(nn.Module):
    def forward(self, x: Tensor, weigh: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
        if x.sum() > 0:
            x = x * 2
        weights: Optional[Tensor] = None
        if weigh:
            weights = x.softmax(-1)
        return x, weights


class Heads(nn.Module):
    """A leaf and a function that give None for what they are not asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.head = Head()

    def forward(self, x: Tensor) -> Tensor:
        mask = F._canonical_mask(None, "mask", None, "", x.dtype)
        y, weights = self.head(x)
        if weights is not None:
            y = y + weights
        if mask is not None:
            y = y + mask
        return y


class AskedForWeights(Heads):
    """Here an input decides."""

    def forward(self, x: Tensor, weigh: bool) -> Tensor:
        y, weights = self.head(x, weigh)
        if weights is not None:
            y = y + weights
        return y


def test_none_of_leaves_needs_no_shapes(program, tmp_path):
    path = archive(tmp_path, Heads())
    collection = program.trace(path, "--leaf", "@head")
    assert harness.failed_modules(collection) == []
    for x in (torch.ones(2), -torch.ones(2)):
        harness.compare_runs(path, collection["graphs"][0], "forward", (x,), {})
    assert harness.failed_modules(program.trace(archive(tmp_path, AskedForWeights()), "--leaf", "@head")) == [""]


def test_a_constant_that_was_resized_answers_nothing(program, tmp_path):
    failure = program.trace(archive(tmp_path, Resized()))["modules"][0]["failure"]
    assert failure["source"]["line"] == Resized.forward.__code__.co_firstlineno + 4


# --- what an assert says, and what asks the same later ---


class Agrees(nn.Module):
    def forward(self, x: Tensor, n: int, m: Optional[Tensor]) -> Tensor:
        assert n > 0
        assert m is not None
        assert x.size(0) != 3
        if 0 < n:
            x = x * 2
        if n <= 0 or not n > 0:
            x = x + 100
        if m is None:
            x = x + 300
        return x + m


def test_conditions_that_are_assumed_are_decided(program, tmp_path):
    path = archive(tmp_path, Agrees())
    collection = program.trace(path)
    assert [m["failure"] for m in collection["modules"] if m["failure"]] == []
    graph = collection["graphs"][0]
    assert [guard["expr"] for guard in graph["guards"]].count("n > 0") == 1
    values = (torch.randn(2), 1, torch.randn(2))
    rebuilt = harness.rebuild(path, graph, _torchscript.load(path))
    assert harness.difference(Agrees()(*values), rebuilt(*values)) is None


class Insists(nn.Module):
    def forward(self, x: Tensor, n: int) -> Tensor:
        assert n > 0
        while bool(x.sum() > 0):
            x = x - 1
        return x


class Asks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.insists = Insists()

    def forward(self, x: Tensor, n: int) -> Tensor:
        y = self.insists(x, n)
        if n > 0:
            return y
        return -y


class Changed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        assert x.size(0) > 1
        y = x.unsqueeze_(0)
        if x.size(0) > 1:
            return y
        return y + 1


class Summed(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        assert bool(x.sum() > 0)
        x.sub_(10)
        if bool(x.sum() > 0):
            return x
        return x + 1


@pytest.mark.parametrize("module, failed", [(Asks, ["", "insists"]), (Changed, [""]), (Summed, [""])])
def test_what_was_taken_back_or_may_have_changed_decides_nothing(program, tmp_path, module, failed):
    assert harness.failed_modules(program.trace(archive(tmp_path, module()))) == failed


# --- what is asked of the process ---


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x, x)[0]


class Quiet(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            if torch.is_grad_enabled():
                x = x + 1
        return x * 2


class Cast(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if torch.is_autocast_enabled():
            return x.half()
        if torch.is_grad_enabled():
            return x * 2
        return x


@pytest.mark.parametrize(
    "module, guards",
    [
        (Attention, ["not torch.is_autocast_enabled()", "torch.is_grad_enabled()"]),
        (Quiet, []),
        (Cast, ["not torch.is_autocast_enabled()", "torch.is_grad_enabled()"]),
    ],
)
def test_what_the_process_says_is_a_guard(program, tmp_path, module, guards):
    collection = program.trace(archive(tmp_path, module()), "--no-default-leaves", "--input=x=float32[2,3,4]")
    assert harness.failed_modules(collection) == []
    found = [guard["expr"] for guard in collection["graphs"][0]["guards"] if "enabled" in guard["expr"]]
    assert found == guards


class Implied(nn.Module):
    """What asserts and the code itself leave no choice about, without any --input."""

    def forward(self, x: Tensor, n: int, k: int) -> Tensor:
        torch._check(n > 0)
        if n == 0 or n + 1 <= 1 or 2 * n < 2:
            x = x * 8
        if n != 0:
            x = x + 2
        assert x.shape[0] > 2
        if x.size()[0] > 1 and not len(x) < 3:
            x = x + 1
        if torch.zeros([n, 3]).dim() == 2 and torch.eye(5).size(-1) == 5 and torch.rand(n, 3).shape[1] == 3:
            x = x + 3
        if x.new_zeros(x.size()[:1] + [7]).size()[-1] == 7:
            x = x + 4
        assert x.dim() == 2
        if len(x.size()) == 2:
            x = x + 5
        for i in range(x.dim()):
            x = x + i
        return x


class NotImplied(nn.Module):
    def forward(self, x: Tensor, n: int, which: int) -> Tensor:
        torch._check(n > 0)
        assert x.size(0) > 2
        if which == 0 and n > 1:
            x = x + 1
        if which == 1 and x.size(1) > 2:
            x = x + 1
        if which == 2:
            y = x + 1
            y.unsqueeze_(0)
            if y.size(0) > 2:
                x = x + 1
        return x


def test_what_asserts_imply_is_known_without_shapes(program, tmp_path):
    path = archive(tmp_path, Implied())
    collection = program.trace(path)
    assert harness.failed_modules(collection) == []
    (graph,) = collection["graphs"]
    assert [node["args"][1] for node in graph["nodes"] if node["target"] == "aten.add.Scalar"] == [2, 1, 3, 4, 5, 0, 1]
    assert [guard["expr"] for guard in graph["guards"]] == ["n > 0", "x.add(2).size()[0] > 2", "x.dim() == 2"]
    harness.compare_runs(path, graph, "forward", (torch.rand(3, 2), 1, 0), {})
    path = archive(tmp_path, NotImplied())
    for which in range(3):
        assert harness.failed_modules(program.trace(path, "--concrete", f"which={which}")) == [""], which


class Decided(nn.Module):
    """By numbers of the code alone, in tensors."""

    def forward(self, x: Tensor) -> Tensor:
        if torch.tensor(3) > 2 and not bool(torch.tensor([0.5, 1.5]).max() > 2):
            x = torch.relu(x)
        count = torch.tensor(0)
        while bool(count < 3):
            count = count + 1
            x = x + count
        for i in range(int(torch.tensor([1, 1]).sum())):
            x = x * i
        return x


class Constant(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.limit = torch.tensor(3)

    def forward(self, x: Tensor) -> Tensor:
        return x * 2 if bool(self.limit + 1 > 3) else x


@pytest.mark.parametrize("module", [Decided, Constant])
def test_numbers_of_the_code_decide_without_inputs(program, tmp_path, module):
    path = os.fspath(tmp_path / "model.pt")
    scripted = torch.jit.script(module().eval())
    (torch.jit.freeze(scripted) if module is Constant else scripted).save(path)
    collection = program.trace(path)
    assert harness.failed_modules(collection) == []
    harness.compare_runs(path, collection["graphs"][0], "forward", (torch.randn(3),), {})


class Writer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.add_(5)


class Written(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.writer = Writer()

    def forward(self, x: Tensor) -> Tensor:
        made = torch.zeros(3)
        if self.how == "itself":
            made.add_(5)
        elif self.how == "a view":
            made[0].add_(5)
        elif self.how == "a view of the size of an input":
            made.view_as(x).add_(x)
        elif self.how == "in a list":
            [made][0].add_(5)
        elif self.how == "in a module":
            self.writer(made)
        return x * 2 if bool(made.sum() > 2) else x


HOW = ["itself", "a view", "a view of the size of an input", "in a list", "in a module"]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("options", [(), ("--input", "x=float32[3]")], ids=["without", "with"])
def test_what_is_written_is_not_known(program, tmp_path, how, options):
    """Or known as it is then."""
    path = archive(tmp_path, Written(how))
    collection = program.trace(path, "--leaf", "@writer", *options)
    if harness.failed_modules(collection) == []:
        harness.compare_runs(path, collection["graphs"][0], "forward", (torch.full([3], 4.0),), {})
