"""Tests that leaves of exported programs are calls of the model's own modules: the rebuilt graph with the eager modules as leaves
computes the same as the program, bit for bit."""

import copy
import os

import fxtrace
import harness
import leaf_modules
import pytest
import tiers
import torch
from fxtrace import _exported
from torch.utils import _pytree as pytree

MODES = ("nonstrict", "strict", "decomposed")


@pytest.fixture(autouse=True)
def slow_attention():
    """The program has attention's ordinary way; its fast path gives other last bits."""
    torch.backends.mha.set_fastpath_enabled(False)
    yield
    torch.backends.mha.set_fastpath_enabled(True)


def export(case: leaf_modules.Case, mode: str) -> tuple[torch.nn.Module, torch.export.ExportedProgram]:
    torch.manual_seed(0)
    model = case.module().eval()
    exported = torch.export.export(
        model, case.args(), case.kwargs, strict=mode == "strict", dynamic_shapes=case.dynamic
    )
    return model, exported.run_decompositions() if mode == "decomposed" else exported


@pytest.mark.parametrize("mode", tiers.one_in(3, MODES))
@pytest.mark.parametrize("case", tiers.rotating(leaf_modules.CASES, 6), ids=lambda case: case.name)
def test_eager_modules_are_the_leaves(program, tmp_path, case, mode):
    if mode in case.not_for:
        pytest.skip(case.not_for[mode])
    model, exported = export(case, mode)
    path = os.fspath(tmp_path / "model.pt2")
    torch.export.save(exported, path)
    collection = program.trace(path, *case.options)
    harness.check_collection(collection)
    graph = collection["graphs"][0]
    leaves = [node["target"] for node in graph["nodes"] if node["op"] == "call_module"]
    assert set(case.leaves) <= set(leaves)
    run = harness.ExportedRun(path, _exported.load(path), case.args(), case.kwargs)
    run.compare(graph)  # leaves run the program's own nodes
    rebuilt = harness.rebuild_eager(path, graph, model)
    with torch.no_grad():
        args, kwargs = copy.deepcopy((case.args(), case.kwargs))
        actual = rebuilt(*args, **kwargs)
    text = harness.difference(pytree.tree_leaves(run.expected), pytree.tree_leaves(actual))
    assert text is None, f"{text}\n{rebuilt.code}"


DECOMPOSED = [case for case in leaf_modules.CASES if case.name in ("Recurrent", "Layered", "Renamed", "Transformers")]


@pytest.mark.parametrize("case", tiers.rotating(DECOMPOSED), ids=lambda case: case.name)
def test_eager_modules_take_the_calls_of_decomposed_programs(program, tmp_path, case):
    """What torch.nn's modules call is made of others there, whose last bits differ."""
    model, exported = export(case, "decomposed")
    path = os.fspath(tmp_path / "model.pt2")
    torch.export.save(exported, path)
    graph = program.trace(path, *case.options)["graphs"][0]
    leaves = {node["target"] for node in graph["nodes"] if node["op"] == "call_module"}
    assert set(case.leaves) <= leaves
    harness.ExportedRun(path, _exported.load(path), case.args(), case.kwargs).compare(graph)
    rebuilt = harness.rebuild_eager(path, graph, model)
    with torch.no_grad():
        actual = rebuilt(*case.args(), **case.kwargs)
        expected = model(*case.args(), **case.kwargs)
    for ours, theirs in zip(pytree.tree_leaves(actual), pytree.tree_leaves(expected), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


class Linear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.weight = torch.nn.Parameter(torch.rand(4))

    def forward(self, x):
        return self.inner(x) * self.weight


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = torch.nn.Linear(4, 4), Linear()

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.one(x), lambda x: self.other(x), (x,))


class Rows(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch._higher_order_ops.map(lambda row: self.one(row), x)


@pytest.mark.parametrize("module", (Branches, Rows))
def test_bodies_with_leaves_have_gradients(program, tmp_path, monkeypatch, module):
    monkeypatch.setenv("FXTRACE", program.path)
    model = module()
    x = torch.rand(2, 4)
    path = os.fspath(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(model, (x,), strict=True), path)
    rebuilt = fxtrace.trace(path).graph_module()
    for given in (x, -x):
        expected, actual = model(given), rebuilt(given)
        torch.testing.assert_close(actual, expected)
        for name, gradient in zip(
            dict(model.named_parameters()),
            torch.autograd.grad(expected.sum(), list(model.parameters()), allow_unused=True),
            strict=True,
        ):
            own = torch.autograd.grad(actual.sum(), rebuilt.get_parameter(name), retain_graph=True, allow_unused=True)[0]
            # torch.cond gives zeros for the branch that it does not take.
            torch.testing.assert_close(torch.zeros_like(gradient) if own is None else own, gradient, msg=name)


ELSEWHERE: list = []


class Holder:
    pass


class Reached(torch.nn.Module):
    """Calls its modules by other ways than their names."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.third, self.act = Linear(), Linear(), torch.nn.Linear(4, 4), torch.nn.ReLU()
        ELSEWHERE[:] = [self.second, self.first]
        self.plain = {"k": self.third}
        self.holder = Holder()
        self.holder.act = self.act

    def forward(self, x):
        for each in ELSEWHERE:
            x = each(x)
        return self.holder.act(self.plain["k"](x))


def test_strict_programs_call_modules_by_their_names(program, tmp_path):
    model, x = Reached(), torch.rand(2, 4)
    path = os.fspath(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(model, (x,), strict=True), path)
    collection = program.trace(path)
    harness.check_collection(collection)
    graph = collection["graphs"][0]
    calls = [node["target"] for node in graph["nodes"] if node["op"] == "call_module"]
    assert calls == ["second.inner", "first.inner", "third", "act"]
    assert {module["path"]: module["status"] for module in collection["modules"]} == {
        "": "traced",
        "first": "traced",
        "first.inner": "leaf",
        "second": "traced",
        "second.inner": "leaf",
        "third": "leaf",
        "act": "leaf",
    }
    assert set(graph["execution"]["param_forward_order"]) == set(dict(model.named_parameters()))
    leaf = program.trace(path, "--leaf", "@first")["graphs"][0]
    with torch.no_grad():
        assert torch.equal(harness.rebuild_eager(path, leaf, model)(x), model(x))
