"""Tests exported programs whose nodes are in another order, or belong to other modules, than after an export.

Passes over a program may do both.  However the nodes are spread over modules, a graph with leaves must still
give the program's own results: leaves are split where they have to be.
"""

import os
import random

import harness
import pytest
import tiers
import torch
from fxtrace import _exported
from test_exported_roundtrip import SAMPLES
from torch.export import ExportedProgram

# Functional: the operators may stand in any order in which each comes after what it uses.
ANY_ORDER = ["exported_modules_decomposed", "vision_exported_decomposed", "attention_exported"]
ORDER_MATTERS = [
    "exported_mutations",
    "exported_mutations_decomposed",
    "exported_training",
    "exported_training_decomposed",
    "exported_regions",
    "exported_vmap",
    "exported_cond",
    "exported_dimensions_unbacked",
    "inplace_exported",
]
RULES = {
    **harness.RULES,
    "max-depth-2": ["--no-default-leaves", "--max-depth", "2"],
    "root-and-below": ["--no-default-leaves", "--leaf", "@*"],
}


def reorder(program: ExportedProgram, chance: random.Random) -> None:
    output = next(node for node in program.graph.nodes if node.op == "output")
    done = {node for node in program.graph.nodes if node.op == "placeholder"}
    waiting = [node for node in program.graph.nodes if node.op not in ("placeholder", "output")]
    while waiting:
        node = chance.choice([node for node in waiting if done.issuperset(node.all_input_nodes)])
        waiting.remove(node)
        done.add(node)
        output.prepend(node)
    program.graph.lint()


def move_to_other_modules(program: ExportedProgram, chance: random.Random) -> None:
    nodes = [node for node in program.graph.nodes if node.meta.get("nn_module_stack")]
    stacks = [node.meta["nn_module_stack"] for node in nodes]
    share = chance.choice([0.05, 0.2, 0.6])
    for node in nodes:
        if chance.random() < share:
            node.meta["nn_module_stack"] = dict(chance.choice(stacks))


@pytest.mark.parametrize("seed", tiers.only([0], range(4)))
@pytest.mark.parametrize("name", [*ANY_ORDER, *ORDER_MATTERS])
def test_leaves_are_split_where_they_must_be(program, tmp_path, name, seed):
    sample = SAMPLES[name]
    exported = harness.load_exported(sample)
    chance = random.Random(f"{name} {seed}")
    if name in ANY_ORDER:
        reorder(exported, chance)
    if name not in ANY_ORDER or seed % 2:
        move_to_other_modules(exported, chance)
    path = os.fspath(tmp_path / (name + ".pt2"))
    torch.export.save(exported, path)
    run = harness.ExportedRun(path, _exported.load(path), *harness.make_inputs(sample["inputs"][0]))
    for options in RULES.values():
        collection = program.trace(path, *options)
        harness.check_collection(collection)
        run.compare(collection["graphs"][0])


@pytest.mark.volume
def test_some_leaf_is_split(program, tmp_path):
    """The shuffled programs do ask for it."""
    calls = 0
    for seed in range(4):
        exported = harness.load_exported(SAMPLES["exported_modules_decomposed"])
        move_to_other_modules(exported, random.Random(seed))
        path = os.fspath(tmp_path / f"{seed}.pt2")
        torch.export.save(exported, path)
        nodes = program.trace(path, *RULES["max-depth-1"])["graphs"][0]["nodes"]
        calls += sum(node["op"] == "call_module" for node in nodes)
    nodes = program.trace(harness.sample_path(SAMPLES["exported_modules_decomposed"]), *RULES["max-depth-1"])[
        "graphs"
    ][0]["nodes"]
    assert calls > 4 * sum(node["op"] == "call_module" for node in nodes)


def test_calls_of_a_functional_program_stay_whole(program, tmp_path):
    """Without effects no leaf has to be split, however its nodes are scattered."""
    name = "exported_modules_decomposed"

    def calls(path: str) -> list[str]:
        nodes = program.trace(path, *RULES["max-depth-1"])["graphs"][0]["nodes"]
        return sorted(node["target"] for node in nodes if node["op"] == "call_module")

    expected = calls(harness.sample_path(SAMPLES[name]))
    for seed in range(4):
        exported = harness.load_exported(SAMPLES[name])
        reorder(exported, random.Random(seed))
        path = os.fspath(tmp_path / f"{seed}.pt2")
        torch.export.save(exported, path)
        assert calls(path) == expected
