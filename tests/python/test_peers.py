"""Compares samples that torch.fx.symbolic_trace can trace too: nodes, scopes and orders are the same."""

import importlib

import harness
import peers
import pytest

SAMPLES = {sample["file"].removesuffix(".pt"): sample for sample in harness.samples() if sample["peers"]}


@pytest.fixture(params=SAMPLES)
def traced(request, program):
    sample = SAMPLES[request.param]
    net = importlib.import_module("nets." + sample["net"])
    eager = next(entry.eager for entry in net.SAMPLES if entry.name == request.param)().eval()
    return peers.Peer(eager), program.trace(harness.sample_path(sample))["graphs"][0]


def test_nodes_and_scopes(traced):
    peer, graph = traced
    ours, theirs = peers.steps_of_collection(graph, peer), peers.steps_of_peer(peer)
    for i, (a, b) in enumerate(zip(ours, theirs)):
        for key in ("what", "inputs", "scope"):
            assert a[key] == b[key], f"step {i}, {a['name']} against {b['name']}: {key}"
    assert len(ours) == len(theirs)


def test_names_of_modules_and_inputs(traced):
    """Names of operations follow the operators, which differ; those of modules and placeholders do not."""
    peer, graph = traced
    named = ("placeholder", "call_module", "output")
    assert [node["name"] for node in graph["nodes"] if node["op"] in named] == [
        node.name for node in peer.graph.nodes if node.op in named
    ]


def test_order_of_execution(traced):
    peer, graph = traced
    expected = peer.execution()
    for key in expected:
        assert graph["execution"][key] == expected[key], key
