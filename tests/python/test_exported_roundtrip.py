"""Tests every exported sample with three sets of rules: the rebuilt graph computes the program's own results."""

import random

import fxtrace
import harness
import pytest
from fxtrace import _exported

SAMPLES = {sample["file"].removesuffix(".pt2"): sample for sample in harness.samples("exported_program")}
runs: dict[str, list[harness.ExportedRun]] = {}  # the programs' own results, which no rule changes


def options_of(sample: dict, rules: str = "default") -> list[str]:
    return [*harness.RULES[rules], *(["--model", sample["model"]] if "model" in sample else [])]


def runs_of(name: str) -> list[harness.ExportedRun]:
    if name not in runs:
        sample = SAMPLES[name]
        program = harness.load_exported(sample)
        path = harness.sample_path(sample)
        runs[name] = [
            harness.ExportedRun(path, program, *harness.make_inputs(inputs)) for inputs in sample["inputs"]
        ]
    return runs[name]


@pytest.mark.parametrize("rules", harness.RULES)
@pytest.mark.parametrize("name", SAMPLES)
def test_outputs_are_the_programs_own(program, name, rules):
    sample = SAMPLES[name]
    collection = program.trace(harness.sample_path(sample), *options_of(sample, rules))
    harness.check_collection(collection)
    assert collection["model"]["kind"] == "exported_program"
    assert len(collection["graphs"]) == 1 and harness.failed_modules(collection) == []
    for run in runs_of(name):
        run.compare(collection["graphs"][0])


@pytest.mark.volume
@pytest.mark.parametrize("name", SAMPLES)
def test_random_rules(program, name):
    path, several = harness.sample_path(SAMPLES[name]), options_of(SAMPLES[name])
    modules = program.trace(path, *several)
    chance = random.Random(name)
    for _ in range(10):
        rules = harness.random_rules(modules, chance)
        for run in runs_of(name):
            run.compare(program.trace(path, *rules, *several)["graphs"][0])


@pytest.mark.parametrize("name", SAMPLES)
def test_same_bytes_every_time_and_dot_renders(program, name):
    sample = SAMPLES[name]
    for kind in ("json", "dot"):
        command = ("trace", harness.sample_path(sample), "-f", kind, *options_of(sample))
        output = program.stdout(*command)
        assert output == program.stdout(*command)
    harness.check_dot(output)


def test_each_of_several_programs(program):
    sample = SAMPLES["exported_several"]
    path = harness.sample_path(sample)
    graphs = {}
    for model in ("encoder", "decoder"):
        graphs[model] = program.trace(path, "--model", model)["graphs"][0]
    harness.rebuild_exported(path, graphs["encoder"], _exported.load(path, "encoder"))
    assert [node["target"] for node in graphs["encoder"]["nodes"] if node["op"] == "placeholder"] == [
        "tokens"
    ]
    for options in ((), ("--model", "coder")):
        done = program.run("trace", path, *options)
        assert done.returncode in (2, 3) and not done.stdout
        assert b"encoder" in done.stderr and b"decoder" in done.stderr


def test_layouts_make_no_difference(program):
    """The same program in the layout before torch 2.8 and in one with a single record of weights."""
    old, new = (
        program.trace(harness.sample_path(SAMPLES[name]))
        for name in ("exported_old_layout", "exported_one_weights_record")
    )
    for key in ("modules", "parameters", "graphs", "summary"):
        assert old[key] == new[key], key
    assert {item["name"]: item["alias_of"] for item in old["parameters"] if item["alias_of"]} == {
        "decoder.head.weight": "encoder.embedding.weight"
    }


def nodes_of(graph: dict, op: str) -> list[dict]:
    return [node for node in graph["nodes"] if node["op"] == op]


def swap_arguments(graph: dict) -> None:
    node = next(node for node in nodes_of(graph, "call_module") if len(node["args"]) > 1)
    node["args"].reverse()


def drop_argument(graph: dict) -> None:
    next(node for node in nodes_of(graph, "call_module") if len(node["args"]) > 1)["args"].pop()


def drop_program_node(graph: dict) -> None:
    next(node for node in nodes_of(graph, "call_module") if len(node["program_nodes"]) > 1)[
        "program_nodes"
    ].pop(0)


def reverse_program_nodes(graph: dict) -> None:
    next(node for node in nodes_of(graph, "call_module") if len(node["program_nodes"]) > 1)[
        "program_nodes"
    ].reverse()


def take_another_result(graph: dict) -> None:
    module = next(node for node in nodes_of(graph, "call_module") if "getitem" in "".join(node["users"]))
    for node in graph["nodes"]:
        if node["target"] == "operator.getitem" and node["args"][0] == {"node": module["name"]}:
            node["args"][1] = 1 - node["args"][1]


def read_another_parameter(graph: dict) -> None:
    first, second = nodes_of(graph, "get_attr")[:2]
    first["target"], second["target"] = second["target"], first["target"]


def change_constant(graph: dict) -> None:
    constant = next(item for item in graph["constants"].values() if isinstance(item["data"], list))
    constant["data"][0] = 7


def forget_mutation(graph: dict) -> None:
    node = next(node for node in graph["nodes"] if node["target"] == "aten.copy_.default")
    graph["nodes"].remove(node)
    for other in graph["nodes"]:
        other["users"] = [user for user in other["users"] if user != node["name"]]


@pytest.mark.parametrize(
    "change, name, rules",
    [
        (swap_arguments, "exported_modules", "max-depth-1"),
        (drop_argument, "exported_modules", "max-depth-1"),
        (drop_program_node, "exported_modules", "max-depth-1"),
        (reverse_program_nodes, "exported_modules", "max-depth-1"),
        (take_another_result, "exported_modules", "max-depth-1"),
        (read_another_parameter, "shared_tied_exported", "no-default-leaves"),
        (change_constant, "exported_constants", "default"),
        (forget_mutation, "exported_mutations_decomposed", "no-default-leaves"),
    ],
)
def test_a_wrong_graph_is_noticed(program, change, name, rules):
    sample = SAMPLES[name]
    graph = program.trace(harness.sample_path(sample), *options_of(sample, rules))["graphs"][0]
    change(graph)
    with pytest.raises((harness.Different, fxtrace.RebuildError, RuntimeError)):
        runs_of(name)[0].compare(graph)
