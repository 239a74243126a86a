"""Tests special exported programs: effects in order, joint graphs with gradients, names that are Python keywords, sizes that
follow from others, and files that torch's own loader cannot read."""

import copy
import json
import os

import fxtrace
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.export.experimental import _export_forward_backward
from torch.utils import _pytree as pytree

DOWN = ["--no-default-leaves"]
OPTIONS = [[], DOWN, ["--leaf", "@inner"], [*DOWN, "--pass", "functional"], [*DOWN, "--pass", "eliminate-dead-code"]]


def save(path, model, args, **options):
    exported = torch.export.export(model, args, **options)
    torch.export.save(exported, path)
    return exported


def graph_module(program, path, *options):
    collection = program.trace(path, *options)
    libraries = ["fxtrace_test"]
    return fxtrace.Collection.from_json(collection, path).graph_module(libraries=libraries), collection["graphs"][0]


def assert_same(actual, expected):
    actual, expected = pytree.tree_leaves(actual), pytree.tree_leaves(expected)
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected):
        assert torch.equal(ours, theirs)


# --- effects ---


@torch.library.custom_op("fxtrace_test::tell", mutates_args=())
def tell(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.library.custom_op("fxtrace_test::both", mutates_args=())
def both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x * 2, x + 1


@torch.library.custom_op("fxtrace_test::parts", mutates_args=())
def parts(x: torch.Tensor) -> list[torch.Tensor]:
    return [x * 2, x + 1, x - 1]


tell.register_fake(lambda x: torch.empty_like(x))
both.register_fake(lambda x: (torch.empty_like(x), torch.empty_like(x)))
parts.register_fake(lambda x: [torch.empty_like(x) for _ in range(3)])


class Inverse(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return torch.linalg.inv(torch.linalg.inv(x) + self.linear(x))


class Inverses(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.other = Inverse(), Inverse()

    def forward(self, x):
        return self.other(self.inner(x)) + self.inner(x)


class Custom(nn.Module):
    def forward(self, x):
        first, second = torch.ops.fxtrace_test.both(torch.ops.fxtrace_test.tell(x))
        listed = torch.ops.fxtrace_test.parts(first)
        torch.ops.aten._print("")
        return listed[0] + listed[2], second, torch.ops.fxtrace_test.both(second)[1]


class Printing(nn.Module):
    def forward(self, x):
        torch.ops.higher_order.print("{x}", x=x.sum())
        return torch.linalg.cholesky(x @ x.mT).relu()


@torch.compiler.nested_compile_region
def region(x):
    return torch.linalg.inv(x + 1) * 2


class Regions(nn.Module):
    def forward(self, x):
        return region(region(x)) + x


EFFECTS = {  # calls of effectful operators, in order
    "inverses": (Inverses, ["aten._linalg_check_errors.default"] * 6),
    "custom": (
        Custom,
        [f"fxtrace_test.{name}.default" for name in ("tell", "both", "parts")] + ["aten._print.default", "fxtrace_test.both.default"],
    ),
    "printing": (Printing, ["higher_order.print", "aten._linalg_check_errors.default"]),
}


@pytest.fixture
def effectful():
    from torch._higher_order_ops.effects import _EffectType, _register_effectful_op

    handles = [_register_effectful_op(operator, _EffectType.ORDERED) for operator in (tell, both, parts)]
    yield
    for handle in handles:
        handle.destroy()


@pytest.mark.parametrize("name", EFFECTS)
def test_effects_are_in_order_without_tokens(program, tmp_path, effectful, name):
    torch.manual_seed(0)
    model, wanted = EFFECTS[name]
    x = torch.rand(3, 3) + 3 * torch.eye(3)
    path = os.fspath(tmp_path / "model.pt2")
    exported = torch.export.export(model().eval(), (x,)).run_decompositions()
    assert any(spec.kind.name == "TOKEN" for spec in exported.graph_signature.input_specs)
    torch.export.save(exported, path)
    expected = torch.export.load(path).module()(x)
    for options in OPTIONS:
        rebuilt, graph = graph_module(program, path, *options)
        nodes = graph["nodes"]
        assert [node["name"] for node in nodes if node["op"] == "placeholder"] == ["x"]
        assert {entry["role"] for entry in graph["graph_signature"]["inputs"]} <= {"user_input", "parameter"}
        assert [entry["role"] for entry in graph["graph_signature"]["outputs"]] == ["user_output"] * len(pytree.tree_leaves(expected))
        if "--leaf" not in options:
            assert [node["target"] for node in nodes if node["target"] in wanted] == wanted, options
        assert_same(rebuilt(x), expected)
        if name != "custom":  # LibTorch does not have these
            assert b"equal" in program.stdout("verify", path, *options)
    if name == "inverses":
        extracted = json.loads(program.stdout("extract", path, "-f", "json", "--module", "other", *DOWN))
        assert_same(fxtrace.Collection.from_json(extracted, path).graph_module()(x), exported_part(exported, model, x))


def exported_part(exported, model, x):
    other = model().eval()
    other.load_state_dict(exported.state_dict)
    return other.other(x)


def test_effects_in_a_region(program, tmp_path):
    path = os.fspath(tmp_path / "model.pt2")
    x = torch.rand(3, 3) + 3 * torch.eye(3)
    torch.export.save(torch.export.export(Regions(), (x,), strict=True).run_decompositions(), path)
    expected = torch.export.load(path).module()(x)
    for options in OPTIONS:
        rebuilt, graph = graph_module(program, path, *options)
        assert [node["name"] for node in graph["nodes"] if node["op"] == "placeholder"] == ["x"]
        assert_same(rebuilt(x), expected)
        assert b"equal" in program.stdout("verify", path, *options)


# --- joint graphs ---


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.last, self.norm = nn.Linear(4, 8), nn.Linear(8, 3), nn.BatchNorm1d(8)

    def forward(self, x, y):
        return nn.functional.cross_entropy(self.last(self.norm(self.inner(x)).relu()), y)


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x, y):
        z = self.inner(x)
        return {"z": z.detach(), "loss": z.pow(2).sum() + y.sum() * 0}


@pytest.mark.parametrize(("model", "index"), [(Loss, None), (Named, 1)])
def test_joint_graphs_give_all_of_their_results(program, tmp_path, model, index):
    torch.manual_seed(0)
    args = (torch.rand(5, 4), torch.randint(0, 3, (5,)))
    made, path = model(), os.fspath(tmp_path / "model.pt2")
    exported = _export_forward_backward(torch.export.export(made, args), **({} if index is None else {"joint_loss_index": index}))
    torch.export.save(exported, path)
    trained = copy.deepcopy(made)
    results = trained(*args)
    (results["loss"] if index is not None else results).backward()
    gradients = {name: parameter.grad for name, parameter in trained.named_parameters()}
    for options in OPTIONS:
        rebuilt, graph = graph_module(program, path, *options)
        outputs = graph["graph_signature"]["outputs"]
        given = [entry for entry in outputs if not entry["role"].endswith("_mutation")]
        assert [entry["path"] for entry in given] == [[i] for i in range(len(given))]
        assert {"node": given[0]["node"]} == graph["nodes"][-1]["args"][0]["tuple"][0]
        actual = rebuilt(*args)
        assert len(actual) == len(given)
        told = set()
        for entry, value in zip(given, actual):
            if entry["role"] == "gradient_to_parameter":
                assert torch.allclose(value, gradients[entry["target"]], atol=1e-6)
                told.add(entry["target"])
            elif entry["role"] == "loss_output":
                assert torch.allclose(value, results if index is None else results["loss"])
        assert told == set(gradients)
        assert b"equal" in program.stdout("verify", path, *options)


# --- names ---


class Words(nn.Module):
    def __init__(self, *words):
        super().__init__()
        self.heads = nn.ModuleDict({word: nn.Sequential(nn.Linear(3, 3), nn.ReLU()) for word in words})
        for word in words:
            self.register_buffer(word, torch.rand(3))
            self.register_parameter(f"{word}_", nn.Parameter(torch.rand(3)))
        self.words = words

    def forward(self, x):
        for word in self.words:
            x = self.heads._modules[word](x) * self._buffers[word] + self._parameters[f"{word}_"]
        return x


@pytest.mark.parametrize("kind", ["exported", "traced"])
@pytest.mark.parametrize("rules", [[], DOWN], ids=["default", "down"])
def test_names_that_are_words_of_python(program, tmp_path, kind, rules):
    x = torch.rand(2, 3)
    if kind == "exported":
        model, path = Words("class", "lambda", "in", "__hidden", "None"), os.fspath(tmp_path / "model.pt2")
        save(path, model, (x,))
    else:  # torch.jit.load reads these
        model, path = Words("lambda", "from", "try"), os.fspath(tmp_path / "model.pt")
        torch.jit.save(torch.jit.trace(model, (x,)), path)
    collection = fxtrace.Collection.from_json(program.trace(path, *rules), path)
    for rebuilt in (collection.graph_module(), collection.graph_module(model)):
        assert_same(rebuilt(x), model(x))
        assert set(rebuilt.state_dict()) <= set(model.state_dict())
        assert_same(copy.deepcopy(rebuilt)(x), model(x))
    names: dict = {}
    exec(compile(program.stdout("trace", path, "-f", "fx", *rules), "model.py", "exec"), names)
    assert_same(names["Words"](model)(x), model(x))
    for name, module in model.heads.named_children():
        part = program.stdout("extract", path, "-f", "json", "--module", f"heads.{name}", *rules)
        part = fxtrace.Collection.from_json(json.loads(part), path)
        assert_same(part.graph_module()(x), module(x))
        assert_same(part.graph_module(model)(x), module(x))


def test_words_that_torch_does_not_read_again(program, tmp_path):
    """torch.jit.save writes self.class, which torch.jit.load refuses."""
    x, path = torch.rand(2, 3), os.fspath(tmp_path / "model.pt")
    model = Words("class", "in", "global", "is", "import", "True", "else_")
    torch.jit.save(torch.jit.trace(model, (x,)), path)
    for rules in ([], DOWN):
        collection = fxtrace.Collection.from_json(program.trace(path, *rules), path)
        assert_same(collection.graph_module(model)(x), model(x))
        with pytest.raises(fxtrace.RebuildError, match=r"cannot load .*expected ident.*graph_module\(MODEL\)"):
            collection.graph_module()


class Texts(nn.Module):
    def forward(self, x, mode="sum"):
        return {"x": x * 2, "mode": mode}


def test_what_torch_cannot_load(program, tmp_path):
    path = os.fspath(tmp_path / "model.pt2")
    save(path, Texts(), (torch.rand(2),), kwargs={"mode": "sum"})
    collection = fxtrace.Collection.from_json(program.trace(path), path)
    with pytest.raises(fxtrace.RebuildError, match=r"cannot load .*as_string.*graph_module\(MODEL\).*import"):
        collection.graph_module()
    assert collection.graph_module(Texts())(torch.ones(2), mode="sum")["mode"] == "sum"
    path = os.fspath(tmp_path / "model.pt")
    torch.jit.save(torch.jit.trace(Words("lambda"), torch.rand(2, 3)), path)
    collection = fxtrace.Collection.from_json(program.trace(path), path)
    with open(path, "r+b") as file:
        file.truncate(1000)
    with pytest.raises(fxtrace.RebuildError, match=r"torch.jit.load cannot load .*graph_module\(MODEL\)"):
        collection.graph_module()


# --- sizes ---


class Halves(nn.Module):
    def forward(self, x, y):
        return x.reshape(x.shape[0] // 2, 2, -1).sum(1) * y.sum()


class Around(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Halves()

    def forward(self, x, y):
        return self.inner(x, y) * x.shape[0]


@pytest.mark.parametrize(("factor", "offset"), [(2, 0), (4, 0), (2, 2)])
def test_sizes_that_the_exporter_derived(program, tmp_path, factor, offset):
    s, t = Dim("s", min=2, max=64), Dim("t", min=2, max=9)
    path = os.fspath(tmp_path / "model.pt2")
    x = torch.rand(3 * factor + offset, 4)
    save(path, Around(), (x, torch.rand(5)), dynamic_shapes=({0: factor * s + offset if offset else factor * s}, {0: t}))
    for rules in ([], ["--leaf", "@inner"]):
        text = program.stdout("verify", path, "--runs", "4", *rules).decode()
        assert "the first on the file's sample inputs" in text and "=3," in text, text
        rebuilt, _ = graph_module(program, path, *rules)
        for size in (3, 5):
            given = torch.rand(size * factor + offset, 4), torch.rand(6)
            assert_same(rebuilt(*given), Around()(*given))
