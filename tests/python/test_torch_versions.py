"""Tests files of torch 2.14 and 2.15 (tests/fixtures/torch_2_14, torch_2_15), whose details no other version writes; fxtrace
reads them whichever torch is installed."""

import os
import re
import zipfile

import harness
import pytest

FOLDER = os.path.join(harness.ROOT, "tests", "fixtures")
VERSIONS = ("torch_2_14", "torch_2_15")
FILES = sorted(
    f"{version}/{name}"
    for version in VERSIONS
    for name in os.listdir(os.path.join(FOLDER, version))
    if name.endswith((".pt", ".pt2"))
)
SAMPLES = {sample["file"]: sample for sample in [*harness.samples(), *harness.samples("exported_program")]}
SAME = [name for name in FILES if os.path.basename(name) in SAMPLES]


def path_of(name: str) -> str:
    return os.path.join(FOLDER, name if "/" in name else f"torch_2_14/{name}")


def without_lines_of_torch(value):
    """torch's own files have other lines in each version, and the version itself stands in the collection."""
    if isinstance(value, dict):
        ours = value.get("source") is None or value["source"]["file"].startswith("nets/")
        left_out = {"producer_version"} if ours else {"producer_version", "source"}
        return {key: without_lines_of_torch(item) for key, item in value.items() if key not in left_out}
    return [without_lines_of_torch(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", SAME)
def test_the_same_graphs_as_of_2_13(program, name):
    sample = SAMPLES[os.path.basename(name)]
    options = ["--model", sample["model"]] if "model" in sample else []
    collections = [program.trace(path, *options) for path in (harness.sample_path(sample), path_of(name))]
    earlier, later = map(without_lines_of_torch, collections)
    assert earlier == later


@pytest.mark.parametrize("version", VERSIONS)
def test_there_are_both_kinds(version):
    same = [name for name in SAME if name.startswith(version)]
    assert {os.path.splitext(name)[1] for name in same} == {".pt", ".pt2"}
    assert len([name for name in FILES if name.startswith(version)]) > len(same)


@pytest.mark.parametrize("name", FILES)
def test_small_and_without_a_path_of_any_machine(name):
    assert os.path.getsize(path_of(name)) < 30_000
    with zipfile.ZipFile(path_of(name)) as archive:
        for record in archive.namelist():
            if not re.search(r"/(data|constants)/\d+$|/(weight|tensor)_\d+$|/\.data/serialization_id$", record):
                found = re.search(rb"(^|[^\w.])/(usr|opt|home|root|tmp|work|var|builds?)/|site-packages", archive.read(record))
                assert not found, f"{record}: {found}"


def nodes_of(program, name: str, *options: str) -> list[dict]:
    return program.trace(path_of(name), *options)["graphs"][0]["nodes"]


def test_lists_of_lists(program):
    """As torch.export.load gives them: integers as tuples, numbers as lists."""
    first, second = [node for node in nodes_of(program, "lists.pt2") if "pick" in node["target"]]
    assert first["args"][1:] == [[{"tuple": [1, 2]}, {"tuple": [3]}], [[0.5, 1.0], [2.0]]]
    assert second["args"][1:] == [[], []]


def test_flex_gemm(program):
    (graph,) = program.trace(path_of("flex_gemm.pt2"))["graphs"]
    assert [node["target"] for node in graph["subgraphs"]["flex_gemm_body_graph_0"]["nodes"]][3:5] == ["aten.addmm.default", "aten.relu.default"]
    (gemm,) = [node for node in graph["nodes"] if node["target"] == "higher_order.flex_gemm"]
    assert gemm["args"][0] == {"function": "aten.addmm.default"}
    assert gemm["args"][2] == [{"node": "block_bias"}, {"node": "x"}, {"node": "block_weight"}]
    uses = {use["module"]: use["uses"] for use in graph["execution"]["module_param_usage"]}
    assert uses["block"] == [{"module": "block", "params": ["block.bias", "block.weight"]}]


def test_opaque_objects(program):
    nodes = nodes_of(program, "objects.pt2")
    types = {node["target"]: node["meta"]["type"] for node in nodes if node["op"] == "get_attr"}
    assert types == {"lifted_custom_0": "later_nets.Scale", "_custom_obj_0": "later_nets.Mode"}


def test_several_models_and_a_compiled_one(program):
    assert [len(nodes_of(program, "everything.pt2", "--model", name)) for name in ("first", "second")] == [5, 11]
    done = program.run("trace", path_of("everything.pt2"), "--model", "compiled")
    assert done.returncode == 2 and b"compiled by AOTInductor" in done.stderr


def test_effects_of_2_15(program):
    """The calls in their order, and no token among inputs and outputs."""
    (graph,) = program.trace(path_of("torch_2_15/effects.pt2"), "--no-default-leaves")["graphs"]
    calls = [(node["target"], node["scope"]["module_path"]) for node in graph["nodes"] if node["target"].startswith("aten._")]
    check, printed = "aten._linalg_check_errors.default", "aten._print.default"
    assert calls == [(check, "first")] * 2 + [(check, "second")] * 2 + [(printed, "")] + [(check, "first")] * 2
    assert [node["name"] for node in graph["nodes"] if node["op"] == "placeholder"] == ["x"]
    assert [entry["role"] for entry in graph["graph_signature"]["outputs"]] == ["user_output"]


def test_joint_graph_of_2_15(program):
    (graph,) = program.trace(path_of("torch_2_15/joint.pt2"))["graphs"]
    given = [entry for entry in graph["graph_signature"]["outputs"] if entry["role"] != "buffer_mutation"]
    assert [(entry["role"], entry.get("target")) for entry in given] == [
        ("loss_output", None),
        *(("gradient_to_parameter", name) for name in ("first.weight", "first.bias", "norm.weight", "norm.bias")),
    ]
    assert graph["nodes"][-1]["args"] == [{"tuple": [{"node": entry["node"]} for entry in given]}]
