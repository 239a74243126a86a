"""Compares the multiply-accumulates and FLOPs of single operators, in the graphs of exported and of traced models, with
torch.utils.flop_counter, or with the definitions in operator_cost_cases.py where that counts nothing."""

import os

import operator_cost_cases
import pytest
import tiers
import torch

CASES = operator_cost_cases.CASES


@pytest.fixture(autouse=True)
def settings():
    """Equations are summed from the left, and recorded as they are written."""
    torch.manual_seed(0)
    enabled = torch.backends.opt_einsum.enabled
    torch.backends.opt_einsum.enabled = False
    yield
    torch.backends.opt_einsum.enabled = enabled


def macs_and_flops(collection: dict) -> tuple[int, int]:
    """Of all nodes of the root's graph, which is what the graph says: a leaf has those of the operators inside
    it."""
    graph = collection["graphs"][0]
    total = uncounted = 0
    for node in graph["nodes"]:
        cost = (node["meta"] or {}).get("cost", {"macs": 0})  # without one, it does nothing that costs
        assert cost is not None and cost["macs"] is not None, f"nothing is known of {node['name']}"
        assert "unknown" not in cost, f"{node['name']}: {cost['unknown']}"
        total += cost["macs"]
        uncounted += cost.get("uncounted_macs", 0)
    assert graph["cost"]["macs"] == total
    assert graph["cost"].get("uncounted_macs", 0) == uncounted
    return total, 2 * (total - uncounted)


@pytest.mark.parametrize("case", tiers.one_in(6, [case for case in CASES if case.exported]), ids=lambda case: case.name)
def test_exported(program, tmp_path, case):
    model, inputs = case.model().eval(), case.inputs()
    expected = operator_cost_cases.expected_macs(case, model, inputs)
    path = os.fspath(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(model, inputs), path)
    assert macs_and_flops(program.trace(path)) == (expected, operator_cost_cases.expected_flops(case, expected))


@pytest.mark.parametrize("case", tiers.one_in(16, CASES), ids=lambda case: case.name)
def test_traced(program, tmp_path, case):
    model, inputs = case.model().eval(), case.inputs()
    expected = operator_cost_cases.expected_macs(case, model, inputs)
    path = os.fspath(tmp_path / "model.pt")
    torch.jit.save(torch.jit.trace(model, inputs, check_trace=False), path)
    options = []
    for value in inputs:
        sizes = ",".join(str(size) for size in value.shape)
        options += ["--input", f"{str(value.dtype).removeprefix('torch.')}[{sizes}]"]
    found = macs_and_flops(program.trace(path, *options))
    assert found == (expected, operator_cost_cases.expected_flops(case, expected))
