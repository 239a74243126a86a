"""Tests fxtrace partition: regions against torch's partitioner and against the order of execution, the pieces against the models."""

import copy
import json
import os
import random

import convert_cases
import fxtrace
import harness
import pytest
import tiers
import torch
import zoo
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

FLAT = ("--no-default-leaves", "--no-wrap", "**", "--control-flow", "subgraph", "--pass", "functional")
KINDS = ("torchscript", "exported_program")
# They ask whether gradients are enabled, which partition answers as convert does, and trace as torch's default.
ASK_FOR_GRADIENTS = {"transformer_scripted.pt", "tv_vit_scripted.pt"}
SHARES = (0.5, 0.8, 0.2, 0.95)


@pytest.fixture(autouse=True)
def package(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


def validate(document: dict, name: str = "partition") -> None:
    import jsonschema_rs

    with open(os.path.join(harness.ROOT, "schemas", f"{name}.schema.json"), encoding="utf-8") as file:
        jsonschema_rs.Draft202012Validator(json.load(file)).validate(document)


def partition(program, path: str, ops: list[str], folder, *options: str) -> dict:
    file = os.path.join(folder, "drawn.ops")
    with open(file, "w", encoding="utf-8") as out:
        out.writelines(f"{op}\n" for op in ops)
    document = json.loads(program.stdout("partition", path, "--ops", file, "--json", *options))
    validate(document)
    return document


def operators(program, path: str, folder, options: list[str]) -> list[str]:
    return sorted({call["target"] for call in partition(program, path, ["no.such.operator"], folder, *options)["left"]})


def draw(names: list[str], number: int) -> list[str]:
    chance = random.Random(number)
    return [name for name in names if chance.random() < SHARES[number % len(SHARES)]] or names[:1]


class Taken(OperatorSupportBase):
    def __init__(self, names: set[str]):
        self.names = names

    def is_node_supported(self, submodules, node) -> bool:
        return node.name in self.names


def nothing(*_, **__) -> None:
    """Stands for every operator: the partitioner only looks at the edges."""


def inputs_of(value) -> list[str]:
    if isinstance(value, dict):
        return [value["node"]] if value.keys() == {"node"} else [name for item in value.values() for name in inputs_of(item)]
    return [name for item in value for name in inputs_of(item)] if isinstance(value, list) else []


def fx_graph(nodes: list[dict]) -> torch.fx.GraphModule:
    made = torch.fx.Graph()
    values: dict[str, torch.fx.Node] = {}
    for node in nodes:
        inputs = tuple(values[name] for name in inputs_of([node["args"], node["kwargs"]]) if name in values)
        if node["op"] == "output":
            made.output(inputs)
        elif node["op"] == "placeholder":
            values[node["name"]] = made.placeholder(node["name"])
        elif node["op"] != "get_attr":  # for torch its value would be one that crosses
            values[node["name"]] = made.create_node("call_function", nothing, inputs, name=node["name"])
    return torch.fx.GraphModule(torch.nn.Module(), made)


def check_parts(program, path: str, document: dict, options: list[str]) -> None:
    """The parts are an order of execution, and torch's partitioner makes no fewer regions of the same nodes."""
    parts = [part for part in document["parts"] if part["graph"] == ""]
    place = {name: i for i, part in enumerate(parts) for name in part["nodes"]}
    if os.path.basename(path) in ASK_FOR_GRADIENTS:
        return
    nodes = program.trace(path, *FLAT, *options)["graphs"][0]["nodes"]
    assert place.keys() == {node["name"] for node in nodes if node["op"].startswith("call_")}
    for node in nodes:
        for name in inputs_of([node["args"], node["kwargs"]]):
            if name in place and node["name"] in place:
                assert place[name] <= place[node["name"]], (name, node["name"])
    regions = [part for part in parts if part["set"]]
    taken = Taken({name for part in regions for name in part["nodes"]})
    torchs = CapabilityBasedPartitioner(fx_graph(nodes), taken, allows_single_node_partition=True).propose_partitions()
    assert len(regions) <= len(torchs)
    assert sum(part["calls"] for part in document["parts"] if part["set"]) <= document["totals"]["calls"]["taken"]


def input_options(path: str, inputs: tuple) -> list[str]:
    if path.endswith(".pt2"):
        return []
    names = [argument.name for argument in torch.jit.load(path).forward.schema.arguments[1:]]
    return convert_cases.options(names, inputs, {})


def check_pieces(program, path: str, model: torch.nn.Module, args: tuple, kwargs: dict, folder, number: int) -> None:
    """Pieces of a drawn set, joined, give what the model gives."""
    options = input_options(path, args)
    chosen = draw(operators(program, path, folder, options), number)
    pieces = os.path.join(folder, f"pieces_{number}")
    document = partition(program, path, chosen, folder, "--extract", pieces, *options)
    check_parts(program, path, document, options)
    with open(os.path.join(pieces, "plan.json"), encoding="utf-8") as file:
        validate(json.load(file), "plan")
    joined = fxtrace.Plan(pieces).module()
    theirs, ours = copy.deepcopy((args, kwargs)), copy.deepcopy((args, kwargs))
    with torch.no_grad():
        for run in range(2):  # the first may change buffers and inputs
            torch.manual_seed(run)
            expected = model(*theirs[0], **theirs[1])
            torch.manual_seed(run)
            assert convert_cases.difference(expected, joined(*ours[0], **ours[1])) == ""
    assert convert_cases.difference(theirs, ours) == ""


SAMPLES = ["vision_exported.pt2", "attention_exported.pt2", "exported_containers.pt2", "exported_mutations.pt2", "vision_traced.pt", "recurrent.pt"]


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("name", SAMPLES)
def test_samples(program, tmp_path, name, number):
    sample = next(each for kind in KINDS for each in harness.samples(kind) if each["file"] == name)
    args, kwargs = harness.make_inputs(sample["inputs"][0])
    model = harness.load_exported(sample).module() if name.endswith(".pt2") else torch.jit.load(harness.sample_path(sample))
    check_pieces(program, harness.sample_path(sample), model, args, kwargs, tmp_path, number)


@pytest.mark.parametrize("name", tiers.in_turn([], zoo.names("exported", "scripted", "traced")))
def test_zoo(program, zoo_archive, tmp_path, name):
    path = zoo_archive(name)
    inputs = torch.load(os.path.splitext(path)[0] + ".inputs.pt", weights_only=False)
    args, kwargs = ((), inputs) if isinstance(inputs, dict) else (tuple(inputs), {})
    for number in range(4):
        model = torch.export.load(path).module() if path.endswith(".pt2") else torch.jit.load(path)
        check_pieces(program, path, model, args, kwargs, tmp_path, number)


# --- sets and options ---


def npu(folder, *rows) -> str:
    file = os.path.join(folder, "npu.json")
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"name": "npu", "ops": rows}, out)
    return file


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ({"padding": {"<": 1}}, "padding is 1, less than 1 is taken"),
        ({"padding": {"in": [0, 2]}}, "padding is 1, only 0 or 2 is taken"),
        ({"groups": 2}, "groups is 1, only 2 is taken"),
        ({"dtype": "float16"}, "dtype is float32, only float16 is taken"),
        ({"weight.rank": {">": 4}}, "weight.rank is 4, more than 4 is taken"),
        ({"input.constant": True}, "input is no constant"),
        ({"kernel": 3}, "it has no argument kernel"),
        ({"wieght.constant": True}, "it has no argument wieght"),
        ({"out.rank": 4, "dilation": 1, "weight.constant": True, "weight.sizes_known": True}, None),
    ],
)
def test_conditions(program, tmp_path, where, reason):
    ops = npu(tmp_path, {"op": "aten.conv2d.default", "where": where})
    document = json.loads(program.stdout("partition", harness.SAMPLES + "/vision_exported.pt2", "--ops", ops, "--json"))
    reasons = {each["text"] for each in document["reasons"] if each["target"] == "aten.conv2d.default"}
    assert reasons == ({reason} if reason else set())


def test_the_nearest_row_tells_why(program, tmp_path):
    rows = [{"op": "aten.conv2d.default", "where": where} for where in ({"groups": 2, "padding": 5}, {"groups": 3}, {"groups": 1, "padding": 0})]
    document = json.loads(program.stdout("partition", harness.SAMPLES + "/vision_exported.pt2", "--ops", npu(tmp_path, *rows), "--json"))
    reasons = {each["text"] for each in document["reasons"] if each["target"] == "aten.conv2d.default"}
    assert "groups is 1, only 3 is taken; or padding is 1, only 0 is taken" in reasons


def test_types_of_modules(program, tmp_path):
    """A row may name a module, which is taken as a whole where its attributes fit."""
    path = harness.SAMPLES + "/vision_exported.pt2"
    for momentum, expected in ((0.1, 0), (0.2, 4)):
        ops = npu(tmp_path, {"op": "torch.nn.BatchNorm2d", "where": {"eps": 1e-5, "num_features": {">": 0}, "momentum": momentum}})
        document = json.loads(program.stdout("partition", path, "--ops", ops, "--json"))
        left = [call for call in document["left"] if call["target"] == "aten.batch_norm.default"]
        assert (len(left) == 0) == (expected == 0), momentum


def exported(folder, module: torch.nn.Module, *args) -> str:
    path = os.path.join(folder, "model.pt2")
    torch.export.save(torch.export.export(module, args), path)
    return path


def joined(folder, path: str, *ops: str, **options):
    file = os.path.join(folder, "some.ops")
    with open(file, "w", encoding="utf-8") as out:
        out.writelines(f"{op}\n" for op in ops)
    return fxtrace.partition(path, file, extract=os.path.join(folder, "pieces"), **options).plan


class Modes(torch.nn.Module):
    """The body of the region asserts what its conversion gives."""

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x.relu().tan().float()
        return y.relu()


def test_a_body_that_asserts(program, tmp_path):
    path = exported(tmp_path, Modes(), torch.randn(4))
    document = partition(program, path, ["aten.relu.default"], tmp_path)
    assert "higher_order.wrap_with_autocast" in {call["target"] for call in document["left"]}
    assert "aten.tan.default" in {call["target"] for call in document["left"]}


class Sizes(torch.nn.Module):
    def forward(self, x):
        return x.relu().view(x.shape[0] * 2, -1).sin()


def test_sizes_are_where_they_are_used(program, tmp_path):
    path = os.path.join(tmp_path, "model.pt2")
    torch.export.save(torch.export.export(Sizes(), (torch.randn(4, 6),), dynamic_shapes={"x": {0: torch.export.Dim("n")}}), path)
    assert len(partition(program, path, ["aten.*"], tmp_path)["parts"]) == 1


class Floats(torch.nn.Module):
    """Floats, which no program takes: of an element, and of a size."""

    def forward(self, x, y):
        return (x.relu() * (y.item() * 2)).sin() * (x.shape[0] / 3)


def test_floats_stay_with_their_users(tmp_path):
    path, x = os.path.join(tmp_path, "model.pt2"), torch.randn(4, 6)
    program = torch.export.export(Floats(), (x, torch.tensor(0.5)), dynamic_shapes={"x": {0: torch.export.Dim("n")}, "y": {}})
    torch.export.save(program, path)
    module = joined(tmp_path, path, "aten.relu.default", "aten.sin.default").module()
    assert torch.equal(module(x, torch.tensor(0.5)), program.module()(x, torch.tensor(0.5)))


class Statistics(torch.nn.Module):
    """Buffers that a part writes and a later one reads."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(6)

    def forward(self, x, n):
        return self.norm(self.norm(x).relu()) * n


def test_state_is_shared(tmp_path):
    x = torch.randn(4, 6)
    path = exported(tmp_path, Statistics().train(), x, 3)
    plan = joined(tmp_path, path, "aten.relu.default", "aten.batch_norm.default")
    model = torch.export.load(path).module()
    module = plan.module({"some.ops": lambda piece: piece.load().module()})
    for _ in range(3):
        assert torch.equal(module(x, 3), model(x, 3))
    with pytest.raises(ValueError, match="exported for n=3"):
        module(x, 4)
    for args, kwargs in (((x,), {}), ((x, 3, 3), {}), ((x, 3), {"z": 1})):
        with pytest.raises(TypeError):
            module(*args, **kwargs)


class Returned(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(2))

    def forward(self, x):
        return x.relu(), self.b


def test_a_tensor_that_no_part_reads(program, tmp_path):
    path = exported(tmp_path, Returned(), torch.randn(2))
    done = program.run("partition", path, "--ops", "core-aten", "--extract", str(tmp_path / "pieces"))
    assert done.returncode == 4 and b"no part reads it" in done.stderr
    assert not list((tmp_path / "pieces").iterdir())


class InPlace(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        z = y.relu()  # before the write
        y.add_(1)
        return y.sigmoid() + z + torch.rand(2) + torch.rand(2)


def test_order_of_writes(program, tmp_path):
    path = str(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(InPlace(), (torch.ones(2),)), path)
    for ops in (["aten.relu.default", "aten.sigmoid.default"], ["aten.add_.Tensor"], ["aten.rand.default"], ["aten.mul.Tensor", "aten.add_.Tensor"]):
        parts = partition(program, path, ops, tmp_path, "--pass", "remove-noops")["parts"]
        place = {name: i for i, part in enumerate(parts) for name in part["nodes"]}
        assert place["relu"] <= place["add_"] <= place["sigmoid"], ops
        assert place["rand"] <= place["rand_1"]


def test_requirements(program, tmp_path):
    path = harness.SAMPLES + "/vision_exported.pt2"
    found = fxtrace.partition(path, npu(tmp_path, "aten.*"), require=["covered>=100%", "left<=0", "regions<=1", "cut_bytes<=0"])
    assert found.holds and found.calls.ratio == 1 and len(found.regions) == 1
    found = fxtrace.partition(path, npu(tmp_path, "aten.conv2d"), require="covered>=50%")
    assert not found.holds and found.reasons[0].text == "not in the set"


def test_several_sets(program, tmp_path):
    """The first set that takes a call has it."""
    for name, op in (("a", "aten.conv2d"), ("b", "aten.*")):
        (tmp_path / f"{name}.ops").write_text(op)
    path = harness.SAMPLES + "/vision_exported.pt2"
    found = fxtrace.partition(path, [str(tmp_path / "a.ops"), str(tmp_path / "b.ops")], extract=tmp_path / "pieces")
    assert {part.set for part in found} == {"a.ops", "b.ops"}
    seen = []
    module = found.plan.module({"b.ops": lambda piece: seen.append(piece) or piece.load().module()})
    assert len(seen) == sum(part.set == "b.ops" for part in found)
    assert [node.op for node in module.split.graph.nodes].count("call_module") == len(found.parts)
    with pytest.raises(fxtrace.UsageError):
        found.plan.module({"c": torch.nn.Identity()})


def test_what_is_no_plan(tmp_path):
    with pytest.raises(fxtrace.InputError):
        fxtrace.Plan(tmp_path)
    for text in ("{", "[]", '{"format": "fxtrace.plan", "version": 2}'):
        (tmp_path / "plan.json").write_text(text)
        with pytest.raises(fxtrace.InputError):
            fxtrace.Plan(tmp_path)

