"""Tests fxtrace convert: the programs that it writes load in torch and compute the same as the archives."""

import copy
import io
import json
import math
import os
import re
import zipfile
from typing import Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035

import archive_edit
import convert_cases
import harness
import pytest
import random_layouts
import safetensors.torch
import tiers
import torch
from torch.export.pt2_archive._package import load_pt2

# Samples that no program can be made of, and what is said.
REFUSED = {
    "attributes.pt": "the run assigns this attribute",
    "naming.pt": "names in a program cannot contain quotes",
}
SAMPLES = {sample["file"]: sample for sample in harness.samples() if sample["inputs"]}
FAST = ["attention_scripted.pt", "control_flow_root.pt", "constants_scripted.pt", "containers.pt", "inplace_scripted.pt", "nested_traced.pt"]


def check(case: convert_cases.Converted) -> None:
    program = case.load()
    assert case.compare(program.module(), 2) == ""
    assert case.compare(torch.export.unflatten(program)) == ""


@pytest.mark.parametrize("name", tiers.only(FAST, list(SAMPLES)))
def test_samples(program, tmp_path, name):
    sample = SAMPLES[name]
    args, kwargs = harness.make_inputs(sample["inputs"][0])
    case = convert_cases.Converted(program, harness.sample_path(sample), tmp_path, args, kwargs, sample["method"])
    if name in REFUSED:
        assert case.run.returncode == 4 and REFUSED[name] in case.run.stderr.decode()
        assert not os.path.exists(case.file)
        return
    check(case)


@pytest.mark.parametrize("name", ["inplace_traced.pt", "exported_mutations.pt2", "exported_control_flow_nested.pt2"])
def test_dialect_without_writes(program, tmp_path, name):
    """Writes to inputs and buffers become results, which the program gives back to them."""
    path, file = os.path.join(harness.SAMPLES, name), str(tmp_path / "out.pt2")
    if name.endswith(".pt"):
        args, _ = harness.make_inputs(SAMPLES[name]["inputs"][0])
        module = torch.jit.load(path)
        options = convert_cases.options([argument.name for argument in module.forward.schema.arguments[1:]], args, {})
    else:
        before = torch.export.load(path)
        args, module, options = before.example_inputs[0], before.module(), []
    run = program.run("convert", path, "-o", file, "--dialect", "aten", *options)
    assert run.returncode == 0, run.stderr.decode()
    after = torch.export.load(file)
    assert after.dialect == "ATEN" and not any(
        node.target._schema.is_mutable for node in after.graph.nodes if isinstance(node.target, torch._ops.OpOverload)
    )
    functional = after.module()
    for _ in range(2):
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        with torch.no_grad():
            assert convert_cases.difference(module(*theirs), functional(*mine)) == ""
        assert convert_cases.difference(theirs, mine) == ""
    state = dict(functional.state_dict())
    assert all(torch.equal(value, state[key]) for key, value in module.state_dict().items() if key in state)


def test_named_sizes(program, tmp_path):
    """A program for all batches, with the range of --dim; others are refused by torch."""
    path = os.path.join(harness.SAMPLES, "attention_scripted.pt")
    case = convert_cases.Converted(
        program, path, tmp_path, (torch.randn(2, 6, 8),), {}, "forward", "--input", "float32[batch,length,8]", "--dim", "batch=1..64", "--hint", "batch=4"
    )
    exported = case.load()
    assert {str(name): (limits.lower, limits.upper) for name, limits in exported.range_constraints.items()}["s0"] == (1, 64)
    for sizes in ((1, 6, 8), (2, 6, 8), (5, 4, 8)):
        assert case.compare(exported.module(), inputs=(torch.randn(sizes),)) == ""
    with pytest.raises((RuntimeError, AssertionError)):
        exported.module()(torch.randn(65, 6, 8))


def test_the_file_is_as_torch_writes_it(program, tmp_path):
    """Weights are the archive's own bytes, tied ones once; nothing is pickled but the example inputs; the same bytes each time."""
    path = os.path.join(harness.SAMPLES, "shared_tied_scripted.pt")
    args, kwargs = harness.make_inputs(SAMPLES["shared_tied_scripted.pt"]["inputs"][0])
    case = convert_cases.Converted(program, path, tmp_path, args, kwargs)
    first = open(case.load() and case.file, "rb").read()
    convert_cases.Converted(program, path, tmp_path, args, kwargs)
    assert open(case.file, "rb").read() == first
    with zipfile.ZipFile(case.file) as archive:
        assert archive.testzip() is None
        places = json.loads(archive.read("model/data/weights/model_weights_config.json"))["config"]
        assert not any(place["use_pickle"] for place in places.values())
        records = {place["path_name"] for place in places.values()}
        assert len(records) < len(places)  # tied
        stored = {name for name in archive.namelist() if "/weight_" in name}
        assert stored == {f"model/data/weights/{record}" for record in records}
    assert program.run("check", case.file, "--security").returncode == 0


@pytest.mark.parametrize("name", ["vision_scripted.pt", "nested_traced.pt"])
def test_a_program_traces_as_its_archive(program, tmp_path, name):
    """fxtrace sees no difference between both, and writes the program again as it is."""
    path = os.path.join(harness.SAMPLES, name)
    args, kwargs = harness.make_inputs(SAMPLES[name]["inputs"][0])
    case = convert_cases.Converted(program, path, tmp_path, args, kwargs)
    again = str(tmp_path / "again.pt2")
    assert program.run("convert", case.file, "-o", again).returncode == 0
    assert open(again, "rb").read() == open(case.file, "rb").read()
    names = [argument.name for argument in case.model.forward.schema.arguments[1:]]
    run = program.run("diff", path, case.file, "--no-default-leaves", *convert_cases.options(names, args, kwargs))
    assert run.returncode == 0 and b"No difference" in run.stdout


def test_without_weights(program, tmp_path):
    path = os.path.join(harness.SAMPLES, "attention_scripted.pt")
    case = convert_cases.Converted(program, path, tmp_path, (torch.randn(2, 6, 8),), {}, "forward", "--no-weights")
    assert all(not tensor.any() for tensor in case.load().state_dict.values())


class Stored(torch.nn.Module):
    """Weights that are tied, slices, transposed, empty, and of layouts of images; constants of short floats."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4)
        self.second.weight = self.first.weight
        self.conv = torch.nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        self.turned = torch.nn.Parameter(torch.randn(6, 5).t()[1:])
        self.register_buffer("short", torch.randn(3).half())
        self.register_buffer("part", self.short[1:])
        self.register_buffer("nothing", torch.zeros(0, 3))

    def forward(self, x, y):
        short = torch.tensor([0.1, 1e-7, 65519.0, 70000.0, -3.3e-5, 2.0**-14], dtype=torch.half)
        brain = torch.tensor([0.1, 1e-40, 3.4e38, -2.3], dtype=torch.bfloat16)
        z = self.norm(self.second(self.first(x)))
        return z * self.turned[0, :4], self.conv(y), self.nothing, self.short + self.part[0], short, brain


def test_external_weights(program, tmp_path):
    """The program with the weights put back is the model, its tied weights are tied, and the file has each once."""
    x, y = torch.randn(3, 4), torch.randn(1, 3, 5, 5)
    model = torch.jit.script(Stored().eval())
    made, loaded = convert(program, tmp_path, model, x, y, more=["--external-weights"])
    weights = safetensors.torch.load_file(tmp_path / "model.safetensors")
    assert weights.keys() == model.state_dict().keys() - {"second.weight"}
    assert not any(tensor.any() for tensor in made.state_dict.values())
    for name, tensor in weights.items():
        assert torch.equal(tensor, model.state_dict()[name])
        made.state_dict[name].data.copy_(tensor)
    assert convert_cases.difference(loaded(x, y), made.module()(x, y)) == ""
    fresh = torch.export.load(tmp_path / "model.pt2").module()
    assert safetensors.torch.load_model(fresh, tmp_path / "model.safetensors") == (set(), [])
    run = program.run("convert", str(tmp_path / "model.pt2"), "-o", str(tmp_path / "again.pt2"), "--external-weights")
    assert run.returncode == 3 and b"it was written without weights" in run.stderr
    assert not list(tmp_path.glob("again.*"))


@pytest.mark.parametrize("weight, why", [(torch.zeros(2, dtype=torch.complex128), "safetensors cannot store complex128"), (torch.zeros(1).expand(5), "several of its elements share memory")])
def test_external_weights_that_cannot_be(program, tmp_path, weight, why):
    class Odd(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("odd", weight)

        def forward(self, x):
            return self.odd * x

    made, _ = convert(program, tmp_path, torch.jit.script(Odd()), torch.ones(1), more=["--external-weights"])
    assert why in made and not (tmp_path / "model.pt2").exists() and not (tmp_path / "model.safetensors").exists()


def test_weights_larger_than_memory(program, tmp_path):
    model = torch.jit.script(torch.nn.Embedding(100_000, 256))
    made, loaded = convert(program, tmp_path, model, torch.tensor([3]), more=["--max-memory", "64", "--external-weights"])
    assert convert_cases.difference(loaded(torch.tensor([3])), made.module()(torch.tensor([3]))) != ""
    assert program.run("convert", str(tmp_path / "model.pt"), "-o", str(tmp_path / "model.pt2"), "--input", "int64[1]", "--max-memory", "64").returncode == 0
    assert torch.equal(torch.export.load(tmp_path / "model.pt2").module()(torch.tensor([3])), loaded(torch.tensor([3])))


def test_operators_of_a_library(program, tmp_path):
    """Their arguments are named as the schema has them, which is said, and their results what an exported program says."""
    library = torch.library.Library("fxtrace_convert", "DEF")
    library.define("twice(Tensor x, float factor=2.0, *, int[]? dims=None) -> Tensor")
    library.define("count(Tensor x) -> int")
    library.impl("twice", lambda x, factor=2.0, dims=None: x * factor, "CPU")
    library.impl("count", lambda x: x.numel(), "CPU")
    torch.library.register_fake("fxtrace_convert::twice", lambda x, factor=2.0, dims=None: torch.empty_like(x), lib=library)

    class Twice(torch.nn.Module):
        def forward(self, x):
            y = torch.ops.fxtrace_convert.twice(x)
            return torch.ops.fxtrace_convert.twice(y, 3.0, dims=[1]) + 1

    class Count(torch.nn.Module):
        def forward(self, x):
            return x.new_zeros([torch.ops.fxtrace_convert.count(x)])

    x, path, out = torch.randn(3, 4), str(tmp_path / "twice.pt2"), str(tmp_path / "out.pt2")
    torch.export.save(torch.export.export(Twice(), (x,)), path)
    schema = ["--op-schema", "fxtrace_convert::twice(Tensor x, float factor=2.0, *, int[]? dims=None) -> Tensor"]
    refused = program.run("convert", path, "-o", out, "--dialect", "aten")
    assert refused.returncode == 4 and b"refused: fxtrace_convert.twice.default: its schema is not known" in refused.stderr
    assert program.run("convert", path, "-o", out, "--pass", "remove-noops", *schema).returncode == 0
    assert torch.equal(torch.export.load(out).module()(x), Twice()(x))
    made, loaded = convert(program, tmp_path, torch.jit.script(Count()), x, more=["--op-schema", "fxtrace_convert::count(Tensor x) -> int"])
    assert torch.equal(made.module()(x), loaded(x))


def test_without_example_inputs(program, tmp_path):
    """torch reads their record all the same."""
    path = os.path.join(harness.SAMPLES, "attention_scripted.pt")
    case = convert_cases.Converted(program, path, tmp_path, (torch.randn(2, 6, 8),), {}, "forward", "--sample-inputs", "none")
    assert case.load().example_inputs is None
    again = str(tmp_path / "again.pt2")
    assert program.run("convert", case.file, "-o", again, "--sample-inputs", "none").returncode == 0
    assert torch.export.load(again).example_inputs is None
    for option in ("--security", "--program"):
        assert program.run("check", case.file, option).returncode == 0


def test_dry_run_and_refusals(program, tmp_path):
    """All that cannot be said is said at once, and no file is touched."""
    path = os.path.join(harness.SAMPLES, "attributes.pt")
    there = tmp_path / "there.pt2"
    there.write_text("mine")
    run = program.run("convert", path, "-o", str(there), "--input", "float32[2,4]")
    assert run.returncode == 4 and there.read_text() == "mine"
    assert run.stderr.count(b"refused: ") > 1
    run = program.run("convert", path, "--dry-run", "--input", "float32[2,4]")
    assert run.returncode == 4 and run.stdout == b""
    run = program.run("convert", os.path.join(harness.SAMPLES, "attention_scripted.pt"), "--dry-run")
    assert run.returncode == 4 and b"--input 'x=float32[...]'" in run.stderr
    run = program.run("convert", path)
    assert run.returncode == 2 and b"-o OUT.pt2" in run.stderr


def test_frozen_state(program, tmp_path):
    """Each call is the archive's first: numbers and lists are those of the file, buffers keep what is written."""
    path = os.path.join(harness.SAMPLES, "attributes.pt")
    x = torch.randn(2, 4)
    case = convert_cases.Converted(program, path, tmp_path, (x,), {}, "forward", "--state", "freeze")
    said = case.run.stderr.decode()
    assert "counter.count has the value of the file" in said and "counter.history has" in said
    module, model = case.load().module(), torch.jit.load(path)
    for _ in range(2):
        model.counter.count, model.counter.history = 0, [0]
        assert convert_cases.difference(model(x), module(x)) == ""

    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale, self.calls, self.name = 0.5, 3, "first"

        def forward(self, x: torch.Tensor):
            x = x * self.scale
            self.scale = self.scale * 2
            self.calls += 1
            self.name = "other"
            return x + self.scale + float(self.calls // 2)

    path = str(tmp_path / "scaled.pt")
    torch.jit.save(torch.jit.script(Scaled()), path)
    assert convert_cases.Converted(program, path, tmp_path, (x,), {}).run.returncode == 4
    case = convert_cases.Converted(program, path, tmp_path, (x,), {}, "forward", "--state", "freeze")
    assert case.compare(case.load().module()) == ""
    module = case.load().module()
    assert torch.equal(module(x), torch.jit.load(path)(x)) and torch.equal(module(x), torch.jit.load(path)(x))


def test_dropped_results(program, tmp_path):
    class Tells(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            return x + 1, "kind", {"a": x, "b": x * 2}, ["text"]

    class Names(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            return {"text": "a", "x": "b"}

    path, x = str(tmp_path / "tells.pt"), torch.randn(3)
    torch.jit.save(torch.jit.script(Tells()), path)
    said = convert_cases.Converted(program, path, tmp_path, (x,), {}).run.stderr.decode()
    assert "result 1: a program cannot return text; --drop-output 1" in said and "--drop-output 3" in said
    case = convert_cases.Converted(program, path, tmp_path, (x,), {}, "forward", "--drop-output", "1", "--drop-output", "3")
    expected = case.model(x)
    assert convert_cases.difference((expected[0], expected[2]), case.load().module()(x)) == ""
    assert len(case.load().module()(x)) == 2
    for number, words in (("4", "has 4 results"), ("-1", "--drop-output")):
        run = program.run("convert", path, "--dry-run", "--input", "float32[3]", "--drop-output", number)
        assert run.returncode == 2 and words in run.stderr.decode()
    run = program.run("convert", path, "--dry-run", "--input", "float32[3]", *(f"--drop-output={i}" for i in range(4)))
    assert run.returncode == 2 and b"leaves no result" in run.stderr
    torch.jit.save(torch.jit.script(Names()), path)
    said = convert_cases.Converted(program, path, tmp_path, (x,), {}).run.stderr.decode()
    assert "--drop-output 0" in said and "--drop-output 1" in said


EXPORTED = [sample["file"] for sample in harness.samples("exported_program") if not sample.get("model")]
# Programs that torch itself cannot load here, and those with objects of classes that are no tensors.
NOT_ANEW = {"exported_containers.pt2": "--sample-inputs none", "exported_objects.pt2": "an object of a C++ class", "exported_report.pt2": ""}
FAST_EXPORTED = ["exported_old_layout.pt2", "exported_mutations_decomposed.pt2", "exported_dimensions.pt2", "exported_scan.pt2"]


@pytest.mark.parametrize("name", tiers.only(FAST_EXPORTED, EXPORTED))
@pytest.mark.parametrize("options", [(), ("--pass", "common-subexpressions")], ids=["as it is", "after a pass"])
def test_exported_programs_are_written_anew(program, tmp_path, name, options):
    path = os.path.join(harness.SAMPLES, name)
    file = str(tmp_path / name)
    run = program.run("convert", path, "-o", file, *options)
    if name in NOT_ANEW or (options and run.returncode == 4):
        assert options or run.returncode in (0, 4) and NOT_ANEW[name] in run.stderr.decode()
        return
    assert run.returncode == 0, run.stderr.decode()
    before, after = torch.export.load(path), torch.export.load(file)
    args, kwargs = before.example_inputs
    with torch.no_grad():
        torch.manual_seed(0)
        expected = before.module()(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        torch.manual_seed(0)
        assert convert_cases.difference(expected, after.module()(*args, **kwargs)) == ""
    assert program.run("check", file, "--security").returncode == 0
    again = str(tmp_path / "again.pt2")
    assert program.run("convert", file, "-o", again).returncode == 0
    if not options:
        assert open(again, "rb").read() == open(file, "rb").read()


class Clamped(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor):
        a = torch.cond(x.sum() > 0, lambda x, y: torch.clamp(x, y, x), lambda x, y: torch.clamp(x, y, x) + 1, (x, y))
        return a, torch.clamp(x, y, x), torch.clamp(y, x, y)


def test_a_body_of_several_calls(program, tmp_path):
    """A body that a cond with a fixed operand has, and calls with other operands, is written for each."""
    args, buffer, path = (torch.rand(3, 3), torch.rand(3, 3)), io.BytesIO(), tmp_path / "model.pt2"
    exported = torch.export.export(Clamped(), args)
    torch.export.save(exported, buffer)

    def edit(name: str, data: bytes) -> bytes:
        if name != "models/model.json":
            return data
        document = json.loads(data)
        nodes = document["graph_module"]["graph"]["nodes"]
        (cond,) = [node for node in nodes if node["target"].endswith(".cond")]
        body, operands = cond["inputs"][1], cond["inputs"][3]
        operands["arg"] = {"as_optional_tensors": [{"as_tensor": operands["arg"]["as_tensors"][0]}, {"as_none": True}]}
        for node in nodes:
            if ".clamp." in node["target"]:
                inputs = [body, {"arg": {"as_string": "subgraph_0"}, "kind": 1}, *node["inputs"][:2]]
                node["target"], node["inputs"] = "torch.ops.higher_order.invoke_subgraph", [{**each, "name": ""} for each in inputs]
                node["outputs"] = [{"as_tensors": [node["outputs"][0]["as_tensor"]]}]
        return json.dumps(document).encode()

    path.write_bytes(archive_edit.edited(buffer.getvalue(), edit))
    run = program.run("convert", str(path), "-o", str(tmp_path / "again.pt2"), "--pass", "remove-noops")
    assert run.returncode == 0, run.stderr.decode()
    again = torch.export.load(str(tmp_path / "again.pt2"))
    assert sum("graph" in name for name, _ in again.graph_module.named_children()) == 3  # the two calls have one
    for one, other in zip(again.module()(*args), exported.module()(*args), strict=True):
        assert torch.equal(one, other)


def test_a_part_is_a_program(program, tmp_path):
    """A module alone, of an archive and of a program, computes what the module computes."""
    x = torch.randn(2, 3, 8, 8)
    traced, exported = str(tmp_path / "model.pt"), str(tmp_path / "model.pt2")
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Conv2d(4, 2, 1))).eval()
    torch.jit.trace(model, x).save(traced)
    torch.export.save(torch.export.export(model, (x,)), exported)
    between = model[0](x)
    for path, options in ((traced, ["--input", "float32[2,3,8,8]"]), (exported, [])):
        file = str(tmp_path / "part.pt2")
        run = program.run("convert", path, "-o", file, "--module", "1", *options)
        assert run.returncode == 0, run.stderr.decode()
        part = torch.export.load(file)
        assert torch.equal(part.module()(between), model[1](between))
        assert set(part.state_dict) == {"1.1.weight", "1.1.bias"}


@pytest.mark.parametrize("file", ["m.pt2", "%s.pt2"])
def test_several_methods(program, tmp_path, file):
    """Several methods are programs of one file, with the weights once, or of a file each; each takes its own inputs."""
    path = os.path.join(harness.SAMPLES, "methods.pt")
    run = program.run(
        "convert", path, "-o", str(tmp_path / file), "--method", "forward", "--method", "encode", "--input", "x=float32[rows,4]", "--concrete", "times=3"
    )
    assert run.returncode == 0, run.stderr.decode()
    if file == "m.pt2":
        programs = load_pt2(str(tmp_path / file)).exported_programs
        with zipfile.ZipFile(tmp_path / file) as archive:
            assert sum("/weight_" in name for name in archive.namelist()) == 2
    else:
        programs = {name: torch.export.load(str(tmp_path / f"{name}.pt2")) for name in ("forward", "encode")}
    model, x = torch.jit.load(path), torch.randn(5, 4)
    with torch.no_grad():
        assert torch.equal(programs["forward"].module()(x), model(x))
        assert torch.equal(programs["encode"].module()(x, 3), model.encode(x, 3))


def test_examples_are_sizes_that_the_model_takes(program, tmp_path):
    """torch computes all sizes from them when it loads a program: none may be negative, and none 0 or 1 where it decomposes."""
    x = torch.rand(1, 3, 40, 16)
    layers = [torch.nn.Conv2d(3, 4, 3), torch.nn.MaxPool2d(3, 2), torch.nn.Conv2d(4, 4, 5), torch.nn.Flatten(0, 1)]
    path = str(tmp_path / "model.pt")
    torch.jit.script(torch.nn.Sequential(*layers).eval()).save(path)
    case = convert_cases.Converted(program, path, tmp_path, (x,), {}, "forward", "--input", "float32[1,3,height,16]")
    exported = case.load()
    for call in (exported.module(), exported.run_decompositions().module()):
        for height in (40, 23):
            assert convert_cases.close(case.compare(call, inputs=(torch.rand(1, 3, height, 16),)))
    run = program.run("convert", path, "-o", str(tmp_path / "a.pt2"), "--input", "float32[1,3,height,16]", "--hint", "height=3")
    assert run.returncode == 4 and b"negative with height=3" in run.stderr


def test_hints_name_dimensions(program, tmp_path):
    path = os.path.join(harness.SAMPLES, "attention_scripted.pt")
    run = program.run("convert", path, "-o", str(tmp_path / "a.pt2"), "--input", "float32[batch,6,8]", "--hint", "bach=3")
    assert run.returncode == 2 and b"bach" in run.stderr and b"batch" in run.stderr


class Written(torch.fx.Interpreter):
    """Runs a program and holds the strides that its file has of each tensor to those that it gets."""

    def __init__(self, file: str, exported: torch.export.ExportedProgram):
        super().__init__(exported.graph_module)
        with zipfile.ZipFile(file) as archive:
            self.values = json.loads(archive.read("model/models/model.json"))["graph_module"]["graph"]["tensor_values"]
        self.differ, self.seen = [], 0
        kept = {**exported.state_dict, **exported.constants}
        self.inputs = [kept[each.target] for each in exported.graph_signature.input_specs if each.target in kept]

    def run_node(self, n):
        result = super().run_node(n)
        if isinstance(result, torch.Tensor) and result.numel() > 0:
            strides = [stride.get("as_int") for stride in self.values[n.name]["strides"]]
            pairs = [(one, other) for one, other, size in zip(strides, result.stride(), result.shape, strict=True) if size != 1]
            self.seen += 1
            if any(one != other for one, other in pairs):
                self.differ.append((n.name, str(n.target), strides, result.stride()))
        return result


class Laid(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.bn = torch.nn.Conv2d(4, 6, 3, padding=1), torch.nn.BatchNorm2d(6)
        self.conv.weight = torch.nn.Parameter(self.conv.weight.contiguous(memory_format=torch.channels_last))
        self.lstm = torch.nn.LSTM(6, 5, batch_first=True)

    def forward(self, x: torch.Tensor):
        y = x.permute(0, 2, 3, 1)
        parts = torch.chunk(y, 2, 3)
        a = parts[0] + 1.0
        b = x.transpose(1, 2)[:, 1:, ::2].narrow(3, 1, 3)
        c = b.unsqueeze(0).expand(2, -1, -1, -1, -1).squeeze(1)
        d = torch.relu(x.movedim(1, 3)).flatten(1, 2).unfold(1, 4, 2)
        e = x.diagonal(0, 2, 3).mT.contiguous()
        f = torch.as_strided(x, [2, 3], [1, 5]) * x[0, 0, :2, :3].t().t()
        g = x.to(memory_format=torch.channels_last)
        h = torch.cat([self.bn(self.conv(g)), self.bn(self.conv(x))], 1)
        i = torch.nn.functional.max_pool2d(h, 2).reshape(2, -1)
        j = self.lstm(h.flatten(2).transpose(1, 2)[:, :, :6])[0] * 2.0
        k = (y.double() * x.permute(0, 2, 3, 1)[:, :, :1]).clone().view(2, 36, 4).transpose(1, 2).reshape(2, -1)
        q = y.contiguous().view(2, 36, 2, 2).transpose(1, 2)
        m = torch.nn.functional.scaled_dot_product_attention(q, q, q)
        n = torch.split(y, [1, 3], 3)[1].unbind(1)[0].select(0, 1) + torch.zeros_like(y)[0, 0, :, 1:]
        return a, b, c, d, e, f, h, i, j, k, m, n, x.permute(3, 1, 0, 2).sigmoid_()


@pytest.mark.parametrize("name", ["laid", *tiers.only(["vision_scripted.pt"], [name for name in SAMPLES if name.endswith("ed.pt")])])
def test_strides(program, tmp_path, name):
    """Those in the file are what torch gives, for views, formats and what keeps the order of its inputs."""
    if name == "laid":
        path, args, kwargs = str(tmp_path / "laid.pt"), (torch.randn(2, 4, 6, 6),), {}
        torch.jit.save(torch.jit.script(Laid().eval()), path)
    else:
        path = os.path.join(harness.SAMPLES, name)
        args, kwargs = harness.make_inputs(SAMPLES[name]["inputs"][0])
    case = convert_cases.Converted(program, path, tmp_path, args, kwargs)
    exported = case.load()
    run = Written(case.file, exported)
    with torch.no_grad():
        run.run(*run.inputs, *torch.utils._pytree.tree_leaves((args, kwargs)))
    assert run.seen > 3 and run.differ == []


@pytest.mark.parametrize("seed", tiers.only([0], range(12)))
@pytest.mark.parametrize("is_open", [False, True])
def test_drawn_strides(program, tmp_path, seed, is_open):
    """Those of drawn views, copies and pointwise operators, on layouts that others made."""
    inputs = {"x": torch.rand(2, 4, 6, 3), "z": torch.rand(3, 4)}
    path = str(tmp_path / "drawn.pt")
    torch.jit.save(torch.jit.CompilationUnit(random_layouts.Drawn(seed, inputs, 60).source()).f, path)
    case = convert_cases.Converted(program, path, tmp_path, tuple(inputs.values()), {})
    run = Written(case.file, case.load())
    run.run(*inputs.values())
    assert run.seen > 60 and run.differ == []


class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(6, 6)

    def forward(self, x):
        return torch.tanh(self.lin(x))


class Wide(Part):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(6)

    def forward(self, x):
        return self.norm(self.lin(x)) + x


class Alike(torch.nn.Module):
    """Paths that are one name where dots are no different from underscores."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Part(), Wide()])
        self.layers_0, self.layers_1 = Wide(), Part()

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.layers_0(self.layers[0](self.layers_1(self.layers_0(x))))


def convert(program, folder, model, *inputs, more=()):
    """The program, or what was refused, and the model as it is loaded."""
    path, file = str(folder / "model.pt"), str(folder / "model.pt2")
    torch.jit.save(model, path)
    options = [word for each in inputs for word in ("--input", convert_cases.spec(each))]
    run = program.run("convert", path, "-o", file, *options, *more)
    return (torch.export.load(file) if run.returncode == 0 else run.stderr.decode()), torch.jit.load(path)


def test_paths_that_are_alike(program, tmp_path):
    x = torch.rand(3, 6)
    for model in (torch.jit.script(Alike().eval()), torch.jit.trace(Alike().eval(), x)):
        made, loaded = convert(program, tmp_path, model, x)
        unflattened = torch.export.unflatten(made)
        with torch.no_grad():
            assert torch.equal(unflattened(x), loaded(x))
        assert isinstance(unflattened.get_submodule("layers.1.norm"), torch.nn.Module)


@pytest.mark.parametrize("name, why", [("z@1", "names of modules in a program cannot contain @"), ("a(b", "names of modules in a program cannot contain unpaired brackets")])
def test_names_of_modules_that_a_program_cannot_have(program, tmp_path, name, why):
    """torch.export itself makes a program of "z" and "z@1" that calls the wrong one."""
    model = torch.nn.Sequential()
    model.add_module(name, Part())
    model.add_module("z", Part())
    x = torch.rand(3, 6)
    made, _ = convert(program, tmp_path, torch.jit.trace(model, x), x)
    assert f"refused: {name}: {why}" in made and made.count("refused: ") == 1
    made, loaded = convert(program, tmp_path, torch.jit.trace(torch.nn.Sequential(Part(), Part()), x), x)
    assert torch.equal(made.module()(x), loaded(x))


def test_a_program_among_several(program, tmp_path):
    """torch.export.load looks for the name "model"."""
    path, file = os.path.join(harness.SAMPLES, "exported_several.pt2"), str(tmp_path / "one.pt2")
    for name in ("encoder", "decoder"):
        for more in ([], ["--pass", "functional"]):
            assert program.run("convert", path, "-o", file, "--model", name, *more).returncode == 0
            assert len(torch.export.load(file).graph.nodes) == len(load_pt2(path).exported_programs[name].graph.nodes)


class Loop(torch.nn.Module):
    def forward(self, x):
        y, left = x * 2, x.abs().sum().reshape(1)
        while bool(y.abs().max() > 0.5):
            y = y * 0.5
        while left > 1:
            left = left - 1
        more = (y < 1).sum()
        while more:
            more = more // 2
        return y, left, more


@pytest.mark.parametrize("sizes", ["3,4", "rows,4"])
def test_loops_until_a_tensor_holds(program, tmp_path, sizes):
    made, loaded = convert(program, tmp_path, torch.jit.script(Loop()), more=["--input", f"float32[{sizes}]"])
    decomposed = made.run_decompositions().module()
    for rows in (3,) if sizes == "3,4" else (1, 3, 5):
        for scale in (0.1, 1, 100):
            x = torch.randn(rows, 4) * scale
            assert convert_cases.difference(loaded(x), made.module()(x)) == ""
            assert convert_cases.difference(loaded(x), decomposed(x)) == ""


class Overlapping(torch.nn.Module):
    def __init__(self):
        super().__init__()
        storage = torch.arange(12.0)
        self.register_buffer("a", storage[:6])
        self.register_buffer("b", storage[3:9])
        self.register_buffer("c", storage[9:])

    def forward(self, x):
        self.c.add_(1)
        self.a.add_(1)
        return x + self.a * self.b + self.c.sum()


def test_buffers_that_overlap(program, tmp_path):
    """What is written to one is in the other, which no graph without writes can say."""
    x = torch.rand(4, 6)
    made, loaded = convert(program, tmp_path, torch.jit.script(Overlapping()), x)
    module = made.module()
    for _ in range(2):
        assert torch.equal(module(x), loaded(x))
    note = program.run("convert", str(tmp_path / "model.pt"), "-o", str(tmp_path / "again.pt2"), "--input", "float32[4,6]").stderr.decode()
    assert note.count("fxtrace: ") == 1 and "a and b overlap in one storage and are written" in note and "unflatten gives each memory of its own" in note
    made, _ = convert(program, tmp_path, torch.jit.script(Overlapping()), x, more=["--dialect", "aten"])
    assert isinstance(made, str) and made.count("refused: ") == 1 and "it writes to an argument, and no pass could remove the write" in made


class Counted(torch.nn.Module):
    """Numbers that follow from sizes, each in Python's arithmetic."""

    def forward(self, x: torch.Tensor):
        h, w = x.size(2), x.size(3)
        quotient, rest = divmod(h, w)
        several = [h * 0.3, w * 0.7, 2.5]
        numbers = [
            float(sum([h, w, 3])),
            sum([h / 2, w / 4]),
            sum(several),
            float(sum(x.shape)),
            float(int(h * 0.3) - int(h * 0.5 - w)),
            float(math.floor(-h * 0.4) + math.floor(h / 4) + math.floor(h * 0.5 - w * 0.3)),
            float(math.ceil(h * 0.4) - math.ceil(-h * 0.4) + math.ceil(h / 3)),
            float(round(h / 2)) + round(-h * 0.5) + round(w * 0.3),
            1 / math.sqrt(h) + float(w) ** -0.25 + h**2,
            float(abs(h - w)) + abs(h * 0.5 - w) + math.fabs(w - h),
            min(h / 2, w * 0.3) + max(h, 2.5 * w) + max(several) + min([h, w, 5]),
            h // 2.5 + (-h) % 7,
            float(h > w) + int(w > h) * 2 + float(bool(h)),
            float(quotient + rest),
            h * 0.5 if h > 14 else w * 0.3,
            math.sqrt(h * w) * (2 * h / w),
        ]
        size = int(h * 0.875)
        first = int(round((h - size) / 2.0))
        return (
            torch.tensor(numbers, dtype=torch.float64),
            torch.tensor([[h, w], [h + w, 1]]),
            torch.tensor([0.1, 0.2], dtype=torch.float64) + torch.tensor(h * 0.1, dtype=torch.float64),
            x[:, :, first : first + size],
            x.new_zeros([int(math.sqrt(h)), math.ceil(w * 0.4), max([h, w])]),
            torch.nn.functional.interpolate(x, scale_factor=[2.0, 0.7]),
            torch.nn.functional.interpolate(x, scale_factor=0.6, mode="nearest-exact"),
            torch.nn.functional.interpolate(x, scale_factor=10.0 / max(h, w), mode="bilinear", recompute_scale_factor=True),
        )


def same_padding(size, kernel: int, stride: int):
    return torch.clamp((torch.ceil(torch.as_tensor(size) / stride) - 1) * stride + kernel - size, min=0)


class Padded(torch.nn.Module):
    """timm's Conv2dSame, and F.interpolate, as torch.jit.trace keeps them: integers of float tensors."""

    def forward(self, x):
        vertical, horizontal = (same_padding(size, 3, 2) for size in x.shape[2:])
        x = torch.nn.functional.pad(x, [int(horizontal // 2), int(horizontal - horizontal // 2), int(vertical // 2), int(vertical - vertical // 2)])
        return torch.nn.functional.interpolate(x, scale_factor=1.3, recompute_scale_factor=True)


class OfData(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        a, b = float(x.mean()), bool(x.sum() > 0)
        grown = x.size(2) * 0.01
        for _ in range(30):  # what is written of it stays short
            grown = grown * grown + grown
        y = torch.add(x, x, alpha=x.max().item()).clamp(max=a * 0.5 + x.size(2))
        y = y * float((x > 0).sum()) + int(-x.abs().sum() * 0.1) + int(x.sum() > 0)
        return (y * a if x.size(2) > 14 else y + a), y * float(b), x * grown


@pytest.mark.parametrize("how", tiers.rotating(["scripted", "traced", "data"]))
def test_numbers_of_sizes(program, tmp_path, how):
    """What is computed from named sizes and from elements is computed in the program, too."""
    x = torch.randn(2, 3, 16, 12)
    model = {"scripted": Counted, "traced": Padded, "data": OfData}[how]()
    model = torch.jit.trace(model, x, check_trace=False) if how == "traced" else torch.jit.script(model)
    made, loaded = convert(program, tmp_path, model, more=["--input", "float32[b,3,h,w]"])
    module = made.module()
    for sizes in ((2, 16, 12), (1, 23, 17), (3, 9, 31), (1, 40, 20)):
        x = torch.randn(sizes[0], 3, *sizes[1:])
        assert convert_cases.difference(loaded(x), module(x)) == "", sizes
    assert convert_cases.difference(loaded(x), torch.export.unflatten(made)(x)) == ""
    if how != "data":
        assert convert_cases.difference(loaded(x), made.run_decompositions().module()(x)) == ""
    assert program.run("check", str(tmp_path / "model.pt2"), "--security").returncode == 0
    assert program.run("check", str(tmp_path / "model.pt2"), "--program").returncode == 0
    again = str(tmp_path / "again.pt2")
    assert program.run("convert", str(tmp_path / "model.pt2"), "-o", again, "--pass", "common-subexpressions").returncode == 0
    assert convert_cases.difference(loaded(x), torch.export.load(again).module()(x)) == ""


class Several(NamedTuple):
    sum: torch.Tensor
    first: torch.Tensor


class Pooled(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return torch.nn.functional.avg_pool2d(x, [int(x.size(2) / 4), x.size(3) // 4])


def test_numbers_that_torch_fixes(program, tmp_path):
    """Of operators that take no sizes but numbers: the program computes them, torch.export's decomposition does not."""
    path, file = str(tmp_path / "model.pt"), str(tmp_path / "model.pt2")
    torch.jit.script(Pooled()).save(path)
    run = program.run("convert", path, "-o", file, "--input", "float32[1,3,h,w]")
    assert run.returncode == 0 and b"kernel_size of aten.avg_pool2d.default depends on sizes or data" in run.stderr
    loaded, module = torch.jit.load(path), torch.export.load(file).module()
    for sizes in ((16, 12), (23, 40)):
        x = torch.rand(1, 3, *sizes)
        assert torch.equal(loaded(x), module(x))


class Guarded(torch.nn.Module):
    def forward(
        self,
        xs: List[torch.Tensor],
        d: Dict[str, torch.Tensor],
        t: Tuple[torch.Tensor, Tuple[torch.Tensor]],
        n: int,
        o: Optional[torch.Tensor],
    ):
        y = xs[0] + xs[1]
        assert xs[0].size(0) > 2 or xs[0].size(1) == 3
        assert d["a"].size(0) % 2 == 0 and not d["a"].size(1) == 7
        if d["a"].dtype == torch.float32:
            y = y.relu()
        if xs[0].is_contiguous():
            y = y + 2
        if o is not None:
            y = y + o
        assert t[1][0].size(0) == d["a"].size(0) * 2
        assert n != 7
        return Several(y * n, t[0])


def test_guards_that_torch_checks(program, tmp_path):
    """Of parts of inputs, of types, strides and integers; and a range that begins at 2."""
    sizes = ["xs.0=float32[b,k]", "xs.1=float32[b,k]", "d.a=float32[c,m]", "t.0=float32[b,k]", "t.1.0=float32[e,k]", "n=n"]
    path, file = str(tmp_path / "model.pt"), str(tmp_path / "model.pt2")
    torch.jit.script(Guarded()).save(path)
    options = [word for each in sizes for word in ("--input", each)]
    run = program.run("convert", path, "-o", file, *options, "--concrete", "o=null", "--dim", "b=2..20")
    assert run.returncode == 0, run.stderr
    assert b"named tuples among the results become plain tuples" in run.stderr and b"cannot check" not in run.stderr
    loaded, module = torch.jit.load(path), torch.export.load(file).module()

    def inputs(b: int = 4, k: int = 3, c: int = 2, m: int = 5, e: int = 4, n: int = 2) -> list:
        return [[torch.rand(b, k), torch.rand(b, k)], {"a": torch.rand(c, m)}, (torch.rand(b, k), (torch.rand(e, k),)), n, None]

    right = inputs()
    assert convert_cases.difference(loaded(*right), module(*right)) == ""
    wrong = [inputs(b=1), inputs(b=2, k=4), inputs(c=3, e=6), inputs(m=7), inputs(e=6), inputs(n=7), inputs(), inputs(), inputs()]
    wrong[-1][0][0] = torch.rand(3, 4).t()
    wrong[-2][1]["a"] = wrong[-2][1]["a"].double()
    wrong[-3][4] = torch.rand(4, 3)
    for each in wrong:
        with pytest.raises(AssertionError, match="Guard failed"):
            module(*each)
    assert program.run("check", file, "--security").returncode == 0
    again = str(tmp_path / "again.pt2")
    assert program.run("convert", file, "-o", again, "--pass", "common-subexpressions").returncode == 0
    module = torch.export.load(again).module()
    assert convert_cases.difference(loaded(*right), module(*right)) == ""
    for each in wrong:
        with pytest.raises(AssertionError, match="Guard failed"):
            module(*each)


IF = "def f(x: Tensor):\n  if bool(x.sum() > 0):\n    y = {}\n  else:\n    y = {}\n  return y\n"
DEEP = "def f(x: Tensor):\n" + "".join("  " * i + f"  if bool(x.sum() > {i}):\n" for i in range(101)) + "  " * 101 + "  x = x + 1\n  return x\n"


@pytest.mark.parametrize(
    "code, why",
    [
        (IF.format("x", "x.sum()"), "higher_order.cond: the branches of the `if` give results of different kinds, dtypes or ranks"),
        (IF.format("x", "x.to(torch.float64)"), "higher_order.cond: the dtype of its results depends on data"),
        (DEEP, "higher_order.cond: control flow is nested more than 100 deep"),
        ('def f(x: Tensor):\n  while bool(x.sum() > 9):\n    print("a")\n  return x + 1\n', "higher_order.while_loop: the loop gives no result"),
        ("def f(x: Tensor):\n  return {1: x}\n", "the output: a program cannot have a dict whose keys are not text"),
        ("def f(x: Tensor):\n  return x, float('nan')\n", "result 1: a program cannot return nan"),
        ("def f(x: Tensor):\n  return x + torch.zeros([3000000000, 3000000000, 3000000000]).sum()\n", "aten.zeros.default: its sizes or strides cannot be expressed"),
    ],
)
def test_what_ended_without_a_reason(program, tmp_path, code, why):
    made, _ = convert(program, tmp_path, torch.jit.CompilationUnit(code).f, torch.rand(2))
    assert isinstance(made, str) and f"refused: {why}" in made and "internal" not in made, made


@pytest.mark.parametrize(
    "kind, body, given, value",
    [
        ("List[int]", "x + l[0] + l[1]", "[1, 2]", [1, 2]),
        ("List[int]", "x + len(l)", "[]", []),
        ("Dict[str, float]", "x + l['a']", '{"a": 1.5}', {"a": 1.5}),
        ("Tuple[int, Tuple[float, int]]", "x + l[0] + l[1][0]", "[1, [2.5, 3]]", (1, (2.5, 3))),
    ],
)
def test_inputs_that_are_fixed_to_containers(program, tmp_path, kind, body, given, value):
    code = f"def f(x: Tensor, l: {kind}):\n  return {body}\n"
    made, loaded = convert(program, tmp_path, torch.jit.CompilationUnit(code).f, more=["--input", "x=float32[2]", "--concrete", f"l={given}"])
    assert not isinstance(made, str), made
    x = torch.rand(2)
    assert torch.equal(made.module()(x, value), loaded(x, value))
    assert program.run("check", "--program", tmp_path / "model.pt2").returncode == 0


class Told(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x * math.log(x.size(0)), x.size(0) > 3


def test_what_numbers_cannot_be(program, tmp_path):
    said, _ = convert(program, tmp_path, torch.jit.script(Told()), more=["--input", "float32[n,3]"])
    assert "math.log: a program cannot call this function on numbers that are not known; --input with numbers instead of names" in said
    assert "result 1: a program cannot return a bool" in said and said.count("refused: ") == 2
    made, loaded = convert(program, tmp_path, torch.jit.script(Told()), torch.rand(5, 3))
    x = torch.rand(5, 3)
    assert convert_cases.difference(loaded(x), made.module()(x)) == ""


class KeysOfInputs(torch.nn.Module):
    def forward(self, d: Dict[str, List[torch.Tensor]]):
        return d["key one"][0] + d["key one"][1]


def test_inputs_within_containers_are_named_as_the_hint_says(program, tmp_path):
    source, target = str(tmp_path / "m.pt"), str(tmp_path / "m.pt2")
    torch.jit.script(KeysOfInputs()).save(source)
    options = ["convert", source, "-o", target, "--concrete", 'd={"key one":["$PH","$PH"]}']
    refused = program.run(*options)
    assert refused.returncode == 4
    hints = re.findall(r"--input '(.*)=float32\[\.\.\.\]'", refused.stderr.decode())
    assert hints == ["d.key one.0", "d.key one.1"]
    assert program.run(*options, *(part for hint in hints for part in ("--input", f"{hint}=float32[3]"))).returncode == 0
    x = torch.ones(3)
    assert torch.equal(torch.export.load(target).module()({"key one": [x, x]}), 2 * x)
