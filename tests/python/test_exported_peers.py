"""Compares exported programs with torch.export.unflatten, and with the same models scripted and traced."""

import copy
import importlib
from unittest import mock

import harness
import pytest
import torch
from fxtrace import _leaf
from test_exported_roundtrip import SAMPLES, options_of

unflatten_module = importlib.import_module(
    "torch.export.unflatten"
)  # torch.export has a function of this name
TORCHSCRIPT = {sample["file"].removesuffix(".pt"): sample for sample in harness.samples()}

# Programs that torch.export.unflatten itself cannot take, and its reason.
UNFLATTEN_FAILS: dict[str, str] = {}


def unflattened_paths(program: torch.export.ExportedProgram) -> dict[str, str]:
    """For each node of the program the module that unflatten copies it into; it leaves out unused ones.

    It makes a module for each call, and in the end drops those that are equal to an earlier call's; so it is
    watched while it copies.
    """
    program = copy.deepcopy(program)  # it takes unused nodes out
    paths = {}
    copy_node = unflatten_module._ModuleFrame.copy_node

    def watched(frame, node):
        paths[node.name] = frame.fqn
        copy_node(frame, node)

    with mock.patch.object(unflatten_module._ModuleFrame, "copy_node", watched):
        unflatten_module.unflatten(program)
    assert {node.name for node in program.graph.nodes if node.op == "call_function"} <= paths.keys()
    return paths


def outside_of_their_caller(program: torch.export.ExportedProgram) -> dict[str, str]:
    """Nodes in a module that a module beside it has called: unflatten leaves them to the caller."""
    paths = {}
    for node in program.graph.nodes:
        stack = [path.partition("@")[0] for path, _ in node.meta.get("nn_module_stack", {}).values()]
        if any(below != "" and not path.startswith(below) for below, path in zip(stack, stack[1:])):
            paths[node.name] = stack[-1]
    return paths


def compare_scopes(program: torch.export.ExportedProgram, collection: dict) -> int:
    """`collection` has no leaves.  Gives the number of nodes compared."""
    aliases = {module["path"]: module["alias_of"] for module in collection["modules"] if module["alias_of"]}

    def first_name(path: str) -> str:
        for alias, first in aliases.items():
            if path == alias or path.startswith(alias + "."):
                return first + path[len(alias) :]
        return path

    program_nodes = _leaf.nodes_by_name(program.graph_module)
    expected = unflattened_paths(program) | outside_of_their_caller(program)
    compared = 0
    for node in collection["graphs"][0]["nodes"]:
        if node["op"] != "call_function":
            continue
        if node["name"] not in program_nodes:
            assert node["target"] == "aten.copy_.default", f"{node['name']} is no node of the program"
            continue  # a mutation that the program has as an output
        name = program_nodes[node["name"]].name
        if name in expected:
            assert node["scope"]["module_path"] == first_name(expected[name]), name
            compared += 1
    return compared


@pytest.mark.parametrize("name", SAMPLES)
def test_scopes_are_unflattens_modules(program, name):
    sample = SAMPLES[name]
    exported = harness.load_exported(sample)
    if name in UNFLATTEN_FAILS:
        with pytest.raises(Exception, match=UNFLATTEN_FAILS[name]):
            unflattened_paths(exported)
        pytest.skip(f"unflatten fails: {UNFLATTEN_FAILS[name]}")
    collection = program.trace(harness.sample_path(sample), *options_of(sample, "no-default-leaves"))
    assert compare_scopes(exported, collection) > 0


@pytest.mark.parametrize("name", SAMPLES)
def test_signature_and_parameters_are_the_programs(program, name):
    sample = SAMPLES[name]
    exported = harness.load_exported(sample)
    collection = program.trace(harness.sample_path(sample), *options_of(sample))
    signature = collection["graphs"][0]["graph_signature"]

    def entries(specs, with_persistent):
        return [
            (
                spec.kind.name.lower(),
                getattr(spec.arg, "name", None),
                spec.target,
                spec.persistent if with_persistent else None,
            )
            for spec in specs
        ]

    def ours(items):
        return [(item["role"], item["name"], item.get("target"), item.get("persistent")) for item in items]

    theirs = exported.graph_signature
    assert ours(signature["inputs"]) == entries(theirs.input_specs, True)
    assert [item[0] for item in ours(signature["outputs"])] == [
        item[0] for item in entries(theirs.output_specs, False)
    ]
    state = _leaf.state_of(exported)
    for parameter in collection["parameters"]:
        value = state[parameter["name"]]
        if parameter["kind"] == "custom_object":
            assert not isinstance(value, torch.Tensor)
            continue
        assert (parameter["kind"] == "parameter") == isinstance(value, torch.nn.Parameter)
        assert parameter["shape"] == list(value.shape)
        assert parameter["dtype"] == str(value.dtype).removeprefix("torch.")
        first = parameter["alias_of"]
        assert first is None or state[first].data_ptr() == value.data_ptr()
    # Strict mode leaves unused tensors and second names out of the signature.
    names = {parameter["name"] for parameter in collection["parameters"]}
    # So does fxtrace with the second names of modules.
    second = tuple(f"{module['path']}." for module in collection["modules"] if module["alias_of"])
    lifted = {spec.target for spec in theirs.input_specs if spec.kind in _leaf.LIFTED}
    assert {name for name in lifted if not name.startswith(second)} <= names <= state.keys()


@pytest.mark.parametrize("name", SAMPLES)
def test_shapes_and_dtypes_are_the_programs(program, name):
    sample = SAMPLES[name]
    exported = harness.load_exported(sample)
    collection = program.trace(harness.sample_path(sample), *options_of(sample, "no-default-leaves"))
    nodes = _leaf.nodes_by_name(exported.graph_module)
    for node in collection["graphs"][0]["nodes"]:
        value = nodes[node["name"]].meta.get("val") if node["name"] in nodes else None
        if node["op"] not in ("placeholder", "call_function") or not isinstance(value, torch.Tensor):
            continue
        assert node["meta"]["dtype"] == str(value.dtype).removeprefix("torch."), node["name"]
        shape = node["meta"]["shape"]
        assert len(shape) == value.dim(), node["name"]
        for ours, theirs in zip(shape, value.shape):
            assert isinstance(ours, int) == isinstance(theirs, int), node["name"]
            assert not isinstance(ours, int) or ours == theirs, node["name"]


@pytest.mark.parametrize("rules", ["default", "no-default-leaves"])
@pytest.mark.parametrize("name", [name for name in SAMPLES if name.removesuffix("_exported") != name])
def test_orders_are_those_of_the_same_model_scripted_and_traced(program, name, rules):
    def order(sample):
        collection = program.trace(harness.sample_path(sample), *harness.RULES[rules])
        assert harness.failed_modules(collection) == []
        return collection["graphs"][0]["execution"]["param_forward_order"]

    stem = name.removesuffix("_exported")
    exported = order(SAMPLES[name])
    assert exported or stem == "inplace"
    assert exported == order(TORCHSCRIPT[stem + "_scripted"]) == order(TORCHSCRIPT[stem + "_traced"])
