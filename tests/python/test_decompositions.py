"""Compares `--pass functional` with torch's own functionalization, `run_decompositions({})`: no writes, and no more calls than
torch's."""

import harness
import pytest
import torch
import zoo
from fxtrace import _exported
from test_exported_zoo import prepare
from test_random_programs import writes

MODELS = ("resnet18", "mobilenet_v3", "bert", "gpt2", "vit", "swin")


def calls_of_torch(exported: torch.export.ExportedProgram) -> int:
    decomposed = exported.run_decompositions({})
    graphs = [each.graph for each in decomposed.graph_module.modules() if isinstance(each, torch.fx.GraphModule)]
    return sum(node.op == "call_function" for graph in graphs for node in graph.nodes)


def calls(collection: dict) -> int:
    return sum(node["op"].startswith("call_") for node in harness.all_nodes(collection["graphs"][0]))


@pytest.mark.volume
@pytest.mark.parametrize("name", [name for name in zoo.exported_names() if name in {f"{each}_exported" for each in MODELS}])
def test_no_write_and_no_more_calls(program, zoo_archive, name):
    path = zoo_archive(name)
    prepare(name)
    after = program.trace(path, "--no-default-leaves", "--pass", "functional")
    assert writes(after) == 0
    assert calls(after) <= calls_of_torch(_exported.load(path))
