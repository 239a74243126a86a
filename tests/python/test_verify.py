"""Tests fxtrace verify: every sample's graph computes the same as its file, and planted faults are found at their place."""

import contextlib
import copy
import dataclasses
import glob
import hashlib
import json
import os
import re
import subprocess
import time
import zipfile

import harness
import jsonschema_rs
import pytest
import tiers

SCHEMA = os.path.join(harness.ROOT, "schemas", "verification.schema.json")
# A class of C++ that no library has registered, and a model that always raises.
REFUSED = {
    "exported_objects.pt2": "_TorchScriptTesting",
    "raising.pt": "NotImplementedError",
}
NOT_GIVEN = {"structures.pt"}  # takes what no --input can say: test_nested_inputs_of_a_script
PASSES = ([], ["--no-default-leaves"], ["--pass", "functional"])

with open(os.path.join(harness.ROOT, "sample_models", "manifest.json"), encoding="utf-8") as _file:
    SAMPLES = [sample for sample in json.load(_file)["samples"] if sample["file"] not in NOT_GIVEN]


def options_for(sample: dict) -> list[str]:
    options = []
    if sample["method"] != "forward":
        options += ["--method", sample["method"]]
    if "model" in sample:
        options += ["--model", sample["model"]]
    if sample["file"].endswith(".pt") and sample["inputs"]:
        for value in sample["inputs"][0]["args"]:
            if isinstance(value, dict) and "tensor" in value:
                options += ["--input", f"{value['tensor']}{value['shape']}".replace(" ", "")]
    if not sample["inputs"]:
        options += ["--input", "float32[2,4]"]
    return options


def verify(program, *arguments: str):
    result = subprocess.run([program.path, "verify", *arguments], capture_output=True, text=True, timeout=120)
    assert result.returncode in (0, 1, 2, 3), result.stderr
    return result


@pytest.mark.parametrize("sample", tiers.in_turn(SAMPLES[::6], SAMPLES), ids=lambda sample: sample["file"])
def test_samples(program, sample):
    path = harness.sample_path(sample)
    for options in PASSES:
        result = verify(program, path, *options_for(sample), *options)
        if sample["file"] in REFUSED:
            assert result.returncode == 3
            assert REFUSED[sample["file"]] in result.stderr
            continue
        if "" in sample["failed"]:
            assert (result.returncode, result.stdout.partition(": ")[0]) == (1, "not verified")
            continue
        assert result.returncode == 0, (options, result.stdout, result.stderr)
        assert result.stdout.startswith("equal, bit for bit: ")
        if sample["failed"] and sample["file"] != "attributes.pt":  # which needs no more than its inputs
            assert "failed to trace, so nothing inside was compared" in result.stdout


# --- planted faults ---


def node(graph: dict, name: str) -> dict:
    return next(item for item in graph["nodes"] if item["name"] == name)


def other_argument(graph: dict) -> str:
    node(graph, "add")["args"][1] = 2.5
    return "add"


def wrong_shape(graph: dict) -> str:
    node(graph, "add")["meta"]["shape"] = [2, 5]
    return "add"


def wrong_dtype(graph: dict) -> str:
    node(graph, "linear")["meta"]["dtype"] = "float64"
    return "linear"


def dropped(graph: dict) -> str:
    users = node(graph, "relu")["users"]
    graph["nodes"] = [item for item in graph["nodes"] if item["name"] != "relu"]
    for item in graph["nodes"]:
        item["args"] = json.loads(json.dumps(item["args"]).replace('{"node": "relu"}', '{"node": "linear"}'))
    node(graph, "linear")["users"] = users
    return "mul"


FAULTS = {
    "argument": (other_argument, "value"),
    "shape": (wrong_shape, "meta"),
    "dtype": (wrong_dtype, "meta"),
    "dropped": (dropped, "value"),
}


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The same model both ways."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x):
            y = torch.relu(self.linear(torch.add(x, 1.5)))
            return y * y, y.sum(0)

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("verify")
    model = Net().eval()
    torch.jit.script(model).save(str(folder / "net.pt"))
    torch.export.save(torch.export.export(model, (torch.rand(2, 4),)), str(folder / "net.pt2"))
    return folder


@pytest.mark.parametrize("suffix", ["pt", "pt2"])
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found_at_their_node(program, archives, tmp_path, fault, suffix):
    plant, kind = FAULTS[fault]
    model = str(archives / f"net.{suffix}")
    options = ["--input", "float32[2,4]", "--no-default-leaves", "--no-wrap", "**"] if suffix == "pt" else ["--no-default-leaves"]
    right = json.loads(program.stdout("trace", model, *options))
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(right))
    assert verify(program, model, "--collection", str(path)).returncode == 0

    wrong = copy.deepcopy(right)
    where = plant(wrong["graphs"][0])
    wrong["summary"]["nodes"] = len(wrong["graphs"][0]["nodes"])
    path.write_text(json.dumps(wrong))
    result = verify(program, model, "--collection", str(path), "--json")
    answer = json.loads(result.stdout)
    with open(SCHEMA, encoding="utf-8") as file:
        jsonschema_rs.validate(json.load(file), answer)
    assert (result.returncode, answer["equal"], answer["fault"]["kind"]) == (1, False, kind)
    assert answer["fault"]["node"] == where
    text = verify(program, model, "--collection", str(path)).stdout
    assert text.startswith(f"not equal at %{where} = ")


def test_a_guard_that_is_false(program, archives, tmp_path):
    path = tmp_path / "graph.json"
    graph = json.loads(program.stdout("trace", str(archives / "net.pt"), "--input", "float32[2,4]"))
    graph["graphs"][0]["guards"] = [{"expr": "x.dim() == 3", "source": {"file": "net.py", "line": 1, "function": "f", "text": "y"}}]
    path.write_text(json.dumps(graph))
    result = verify(program, str(archives / "net.pt"), "--collection", str(path))
    assert (result.returncode, result.stdout.splitlines()[1]) == (1, "  the guard x.dim() == 3 does not hold")


def test_runs_draw_sizes_from_their_ranges(program):
    path = os.path.join(harness.ROOT, "sample_models", "nested_scripted.pt")
    result = verify(program, path, "--input", "x=float32[batch,4]", "--dim", "batch=3..5", "--runs", "6", "--json")
    answer = json.loads(result.stdout)
    assert answer["equal"] and len(answer["sizes"]) == 6
    assert {*answer["sizes"]} <= {"batch=3", "batch=4", "batch=5"} and len({*answer["sizes"]}) > 1
    assert result.stdout == verify(program, path, "--input", "x=float32[batch,4]", "--dim", "batch=3..5", "--runs", "6", "--json").stdout


def test_runs_that_the_model_refuses(program, tmp_path):
    """Are named with their sizes and left out; with none left it is an error."""
    import torch

    path = str(tmp_path / "model.pt")
    torch.jit.script(torch.nn.Sequential(torch.nn.Conv2d(3, 4, 7), torch.nn.MaxPool2d(2)).eval()).save(path)
    options = ["--input", "input=float32[1,3,h,w]", "--dim", "h=8..20", "--runs", "8"]
    some = verify(program, path, *options, "--dim", "w=5..12")
    assert some.returncode == 0 and some.stdout.startswith("equal, bit for bit")
    assert re.search(r"the model refused [1-7] more runs? \(h=\d+, w=[5-7]\).*: RuntimeError: .*; --dim NAME=LO..HI draws others", some.stdout)
    answer = json.loads(verify(program, path, *options, "--dim", "w=5..12", "--json").stdout)
    assert answer["runs"] == len(answer["sizes"]) == 8 - len(answer["refused"]) > 0
    assert all(refusal["sizes"][-1] in "567" and "RuntimeError" in refusal["message"] for refusal in answer["refused"])
    none = verify(program, path, *options, "--dim", "w=1..6")
    assert none.returncode == 3 and re.search(r"the model cannot be run with h=\d+, w=[1-6]: ", none.stderr)
    assert "hint: --dim NAME=LO..HI draws other sizes" in none.stderr


def test_an_input_that_nothing_tells(program):
    result = verify(program, os.path.join(harness.ROOT, "sample_models", "nested_scripted.pt"))
    assert result.returncode == 3
    assert "the input x has no value" in result.stderr
    assert "hint: for example --input 'x=float32[1,4]'" in result.stderr


def test_it_says_that_the_model_runs(program):
    result = verify(program, os.path.join(harness.ROOT, "sample_models", "nested_exported.pt2"))
    assert result.stderr == "fxtrace: running the code of the model\n"


# --- what is not verified ---


@pytest.fixture(scope="module")
def partly(tmp_path_factory):
    """Models of which something, or everything, is not followed."""
    import torch
    from torch import nn

    class Decides(nn.Module):
        def forward(self, x):
            if bool(x.sum() > 1):
                return x + 5
            return -x

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)
            self.decides = Decides()

        def forward(self, x):
            return self.decides(self.linear(x)) + self.linear(x)

    class Device(nn.Module):
        def forward(self, x):
            return x + 1, x.device

    folder = tmp_path_factory.mktemp("partly")
    for model in (Decides(), Net(), Device()):
        torch.jit.script(model.eval()).save(str(folder / f"{type(model).__name__.lower()}.pt"))
    linear = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    torch.export.save(torch.export.export(linear, (torch.rand(2, 3),)), str(folder / "linear.pt2"))
    return folder


def answer_of(result) -> dict:
    answer = json.loads(result.stdout)
    with open(SCHEMA, encoding="utf-8") as file:
        jsonschema_rs.validate(json.load(file), answer)
    return answer


@pytest.mark.parametrize(
    "model, options, why",
    [
        ("decides.pt", [], "the root failed to trace: an `if` depends on an input: "),
        ("decides.pt", ["--input", "x=float32[2,3]"], "the root failed to trace: an `if` depends on an input: "),
        ("net.pt", ["--leaf", "**"], "the root is a leaf"),
        ("linear.pt2", ["--leaf", "**"], "the root is a leaf"),
        ("net.pt", ["--max-depth", "0"], "the root is a leaf"),
    ],
)
def test_a_graph_that_calls_the_whole_model_verifies_nothing(program, partly, tmp_path, model, options, why):
    path = str(partly / model)
    result = verify(program, path, *options)
    if options == ["--max-depth", "0"] and result.returncode == 0:
        return  # the root is no leaf of such a rule
    assert (result.returncode, result.stdout.startswith(f"not verified: {why}")) == (1, True), result.stdout
    answer = answer_of(verify(program, path, *options, "--json"))
    assert (answer["verdict"], answer["equal"], answer["fault"], answer["own_modules"]) == ("not verified", False, None, [""])
    assert answer["failed_modules"] == ([""] if "failed" in why else [])
    saved = tmp_path / "graph.json"
    saved.write_bytes(program.stdout("trace", path, *options))
    result = verify(program, path, "--collection", str(saved))
    assert (result.returncode, result.stdout.startswith(f"not verified: {why}")) == (1, True), result.stdout


def test_modules_that_run_as_themselves_are_told(program, partly):
    path, x = str(partly / "net.pt"), ["--input", "x=float32[2,3]"]
    result = verify(program, path, *x)
    equal, failed = result.stdout.splitlines()
    assert result.returncode == 0 and "; 2 modules ran as themselves; 2 runs" in equal
    assert failed == "  failed to trace, so nothing inside was compared: decides"
    answer = answer_of(verify(program, path, *x, "--json"))
    assert (answer["verdict"], answer["own_modules"], answer["failed_modules"]) == ("equal", ["linear", "decides"], ["decides"])
    answer = answer_of(verify(program, path, *x, "--control-flow", "subgraph", "--no-default-leaves", "--json"))
    assert (answer["equal"], answer["own_modules"], answer["failed_modules"]) == (True, [], [])


def test_strict_holds(program, partly):
    for model in ("net.pt", "decides.pt"):
        done = program.run("verify", str(partly / model), "--input", "x=float32[2,3]", "--strict")
        assert done.returncode == 4 and done.stdout, done.stderr
    done = program.run("verify", str(partly / "net.pt"), "--input", "x=float32[2,3]", "--strict", "--control-flow", "subgraph")
    assert done.returncode == 0, done.stderr


SCRIPT_CLASS = """import torch


@torch.jit.script
class Box:
    def __init__(self, x: torch.Tensor):
        self.x = x


class Boxes(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return Box(x * 2)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.boxes = Boxes()

    def forward(self, x: torch.Tensor):
        return x + 1, self.boxes(x)
"""


def test_results_that_are_not_compared(program, partly, tmp_path, monkeypatch):
    """An object of a class has no text and no elements: nobody knows whether it is the same."""
    import importlib

    import torch

    (tmp_path / "script_class_of_test.py").write_text(SCRIPT_CLASS)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = str(tmp_path / "box.pt")
    torch.jit.script(importlib.import_module("script_class_of_test").Net()).save(path)
    class Packs(torch.nn.Module):
        def forward(self, x):
            return x + 1, torch.ops.quantized.linear_prepack(torch.quantize_per_tensor(x, 0.1, 0, torch.qint8), None)

    packs = str(tmp_path / "packs.pt")
    torch.jit.script(Packs()).save(packs)
    for path, options in ((path, ["--input", "x=float32[2]", "--leaf", "**.Boxes"]), (packs, ["--input", "x=float32[2,2]"])):
        result = verify(program, path, *options)
        first, why, compared = result.stdout.splitlines()
        assert (result.returncode, first) == (1, "cannot tell whether they are equal:")
        assert why.startswith("  result[1] is of a kind that is not compared: __torch__.") and compared.startswith("  all compared values are equal, ")
        answer = answer_of(verify(program, path, *options, "--json"))
        assert (answer["verdict"], answer["equal"]) == ("cannot tell", False)
    result = verify(program, str(partly / "device.pt"), "--input", "x=float32[2]")
    assert result.returncode == 0 and result.stdout.startswith("equal"), result.stdout


def test_a_file_that_changes_between_the_trace_and_the_run(program, tmp_path):
    """The graph would be of other bytes than the model that runs."""
    import torch

    class Long(torch.nn.Module):
        def forward(self, x):
            while bool(x.sum() < 20_000):
                x = x + 1
            return x

    path = tmp_path / "model.pt"
    torch.jit.script(Long()).save(str(path))
    command = [program.path, "verify", str(path), "--input", "x=float32[1]", "--control-flow", "subgraph"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert "running the code of the model" in process.stderr.readline()
        with open(path, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)
            file.seek(-1, os.SEEK_END)
            file.write(last)
        out, messages = process.communicate(timeout=120)
    assert (process.returncode, out) == (3, "")
    assert f"{path}: the file changed meanwhile, so the graph and the model that ran may be of different files" in messages


# --- operators that do more than compute ---


@pytest.mark.parametrize("how", ["collection", "archive", "program", "called in a leaf", "__setstate__"])
def test_only_operators_that_compute_run(program, archives, tmp_path, how):
    """As graph_module() has them: what reads and writes memory where it is told to could write the answer."""
    import torch

    class Reads(torch.nn.Module):
        def forward(self, x):
            return torch.ops.inductor._reinterpret_tensor(x, [2], [1], 0) + 1

    class Around(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.reads = Reads()

        def forward(self, x):
            return self.reads(x) * 2

    class Restores(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.x = torch.ones(4)

        def forward(self, x):
            return x + 1

        @torch.jit.export
        def __getstate__(self):
            return self.x, self.training

        @torch.jit.export
        def __setstate__(self, state: tuple[torch.Tensor, bool]):
            self.x = torch.ops.inductor._reinterpret_tensor(state[0], [2], [1], 0)
            self.training = state[1]

    options = ["--input", "x=float32[4]"]
    if how == "collection":
        path = archives / "net.pt2"
        graph = json.loads(program.stdout("trace", str(path), "--no-default-leaves"))
        node(graph["graphs"][0], "add").update(target="inductor._reinterpret_tensor.default", args=[{"node": "x"}, [2048], [1], -1024])
        saved = tmp_path / "graph.json"
        saved.write_text(json.dumps(graph))
        options = ["--collection", str(saved)]
    elif how == "program":
        path, options = tmp_path / "model.pt2", []
        torch.export.save(torch.export.export(Reads(), (torch.ones(4),)), str(path))
    else:
        path = tmp_path / "model.pt"
        torch.jit.script(Restores() if how == "__setstate__" else Around()).save(str(path))
        if how == "called in a leaf":
            options += ["--leaf", "reads"]
    result = verify(program, str(path), *options)
    assert (result.returncode, result.stdout) == (3, ""), result.stdout
    assert "inductor" in result.stderr and ("refused" in result.stderr or "Unknown" in result.stderr), result.stderr


# --- inputs that somebody has ---


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A model of two inputs both ways, one of them nested in the exported program."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def forward(self, x, rows):
            return x * 2, x[rows]

    class Nested(nn.Module):
        def forward(self, x, *, batch):
            return x + batch["b"][0] * batch["a"]

    folder = tmp_path_factory.mktemp("pair")
    torch.jit.script(Net()).save(str(folder / "net.pt"))
    a, b = torch.rand(3), torch.rand(3)
    batch = torch.export.Dim("batch", min=2, max=6)
    keywords = {"batch": {"b": [torch.rand(4, 3)], "a": b}}
    shapes = {"x": None, "batch": {"b": [{0: batch}], "a": None}}
    torch.export.save(
        torch.export.export(Nested(), (a,), keywords, dynamic_shapes=shapes), str(folder / "nested.pt2")
    )
    return folder


def written(folder, inputs, how: str) -> list[str]:
    import numpy
    import torch

    if how == "npy":
        names = [str(folder / f"{i}.npy") for i in range(len(inputs))]
        for name, value in zip(names, inputs.values(), strict=True):
            numpy.save(name, numpy.asfortranarray(value.numpy()))
        return [word for name in names for word in ("--inputs", name)]
    name = str(folder / f"inputs.{how}")
    if how == "npz":
        numpy.savez(name, **{key: value.numpy() for key, value in inputs.items()})
    elif how == "dict":
        torch.save(inputs, name)
    elif how == "call":
        torch.save(((inputs["x"],), {"rows": inputs["rows"]}), name)
    else:
        torch.save(list(inputs.values()), name)
    return ["--inputs", name]


@pytest.mark.parametrize("how", ["npy", "npz", "dict", "call", "list"])
def test_inputs_of_files(program, pair, tmp_path, how):
    import torch

    inputs = {"x": torch.rand(5, 3), "rows": torch.tensor([4, 0, 4])}  # 4: no number that would be drawn
    options = written(tmp_path, inputs, how)
    result = verify(program, str(pair / "net.pt"), *options)
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("; 2 runs on the given inputs\n")


def test_inputs_of_an_exported_program(program, pair, tmp_path):
    import torch

    model = str(pair / "nested.pt2")
    answer = json.loads(verify(program, model, "--json", "--runs", "3").stdout)
    assert (answer["equal"], answer["inputs"]) == (True, ["sample", "random", "random"])
    assert answer["sizes"][0].endswith("=4")
    path = str(tmp_path / "inputs.pt")
    for rows in (3, 5):
        batch = {"a": torch.rand(3), "b": [torch.rand(rows, 3)]}
        torch.save({"x": torch.rand(3), "batch": batch}, path)
        answer = json.loads(verify(program, model, "--inputs", path, "--json").stdout)
        assert (answer["equal"], answer["inputs"]) == (True, ["file"])
        assert answer["sizes"][0].endswith(f"={rows}")
    for inputs, message in [
        ({"x": torch.rand(3), "batch": {"a": torch.rand(3), "b": [torch.rand(7, 3)]}}, "is 7, which is out of its range"),
        ({"x": torch.rand(4), "batch": {"a": torch.rand(3), "b": [torch.rand(3, 3)]}}, "the input x: a size is 4, but the graph takes 3"),
        ({"x": torch.rand(3).double(), "batch": {"a": torch.rand(3), "b": [torch.rand(3, 3)]}}, "it is float64, but the graph takes float32"),
        ({"x": torch.rand(3), "batch": {"a": torch.rand(3)}}, "it is not nested as the input of the model"),
        ({"y": torch.rand(3)}, "the program has no input 'y'"),
    ]:
        torch.save(inputs, path)
        result = verify(program, model, "--inputs", path)
        assert (result.returncode, message in result.stderr) == (3, True), result.stderr


@dataclasses.dataclass
class Point:
    a: object
    n: int = 3


def test_nested_inputs_of_a_script(program, tmp_path):
    """Tuples and lists inside of tuples, which no --input can say."""
    import torch

    path = str(tmp_path / "inputs.pt")
    torch.save([torch.rand(2, 4), (torch.rand(2, 3), [torch.rand(1, 3), torch.rand(2, 3)])], path)
    for options in PASSES:
        result = verify(program, os.path.join(harness.SAMPLES, "structures.pt"), "--inputs", path, *options)
        assert result.returncode == 0, result.stderr


def test_values_that_nobody_has_to_give(program, tmp_path):
    """A device's type, and a number that a program fixed, of which its samples cannot be read."""
    import torch

    class Device(torch.nn.Module):
        def forward(self, x):
            if x.device.type != "cpu":
                raise ValueError("cpu only")
            return x * 2

    class Fixed(torch.nn.Module):
        def forward(self, d, *, k):
            return d.a * d.n + k

    torch.jit.script(Device()).save(str(tmp_path / "device.pt"))
    torch.save({"x": torch.rand(2)}, str(tmp_path / "x.pt"))
    torch.export.register_dataclass(Point, serialized_type_name="test_verify.Point")
    exported = torch.export.export(Fixed(), (Point(torch.rand(2)),), {"k": torch.rand(2)})
    torch.export.save(exported, str(tmp_path / "fixed.pt2"))
    for words in (["device.pt", "--inputs", str(tmp_path / "x.pt")], ["fixed.pt2"]):
        result = verify(program, str(tmp_path / words[0]), *words[1:])
        assert result.returncode == 0, result.stdout + result.stderr


def numpy_file(header: str, data: bytes = b"\0" * 64) -> bytes:
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() + data


@pytest.mark.parametrize(
    "content, message",
    [
        (b"text", "it is neither an array of numpy (.npy, .npz) nor what torch.save writes"),
        (numpy_file("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }"), "its numbers are big-endian"),
        (numpy_file("{'descr': '<U4', 'fortran_order': False, 'shape': (2,), }"), "torch has no dtype 'U4' of numpy"),
        (numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (20,), }"), "the tensor reaches beyond its storage"),
        (numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 3), }"), "the array is too large"),
        (numpy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"), "a size is too large"),
        (numpy_file("{'descr': [('a', '<f4')], 'shape': (2,)}"), "it is not an array of plain numbers"),
        (b"\x93NUMPY\1\0\xff\xff{}", "the header of the array is cut off"),
        (b"\x93NUMPY", "it is not an array of numpy"),
    ],
)
def test_inputs_that_cannot_be_read(program, pair, tmp_path, content, message):
    path = tmp_path / "inputs.npy"
    path.write_bytes(content)
    result = verify(program, str(pair / "net.pt"), "--inputs", str(path))
    assert result.returncode == 3
    assert f"{path}: {message}" in result.stderr


# --- what running takes ---


def test_profile(program, archives):
    model = str(archives / "net.pt2")
    answer = json.loads(verify(program, model, "--profile", "--json").stdout)
    with open(SCHEMA, encoding="utf-8") as file:
        jsonschema_rs.validate(json.load(file), answer)
    root, linear = answer["profile"]["modules"]
    assert (root["path"], linear["path"], linear["type"]) == ("", "linear", "torch.nn.modules.linear.Linear")
    assert 0 < linear["seconds"] < root["seconds"]
    assert linear["share"] == pytest.approx(linear["seconds"] / root["seconds"])
    assert root["macs"] == linear["macs"] == 2 * 4 * 4
    assert linear["flops_per_second"] == pytest.approx(2 * 32 / linear["seconds"])
    floats = 4 * 2 * 4  # bytes of one of the tensors
    assert floats <= linear["allocated_bytes"] < root["allocated_bytes"]
    assert floats <= root["peak_bytes"] <= root["allocated_bytes"]
    lines = verify(program, model, "--profile").stdout.splitlines()
    assert lines[2].split() == ["Module", "Type", "Params", "MACs", "Time", "Share", "Memory", "FLOP/s"]
    assert lines[3].split()[:4] == ["(root)", "Net", "20", "32"]
    assert "100.0 %" in lines[3]
    # The median of as many runs as are asked for, behind some that are not measured.
    for runs in (2, 5):
        measured = json.loads(verify(program, model, "--profile", "--runs", str(runs), "--json").stdout)["profile"]
        assert measured["runs"] == runs and 0 < measured["modules"][0]["seconds"]


def test_profile_folds_equal_blocks(program, tmp_path):
    import torch
    from torch import nn

    model = nn.Sequential(*[nn.Sequential(nn.Linear(8, 8), nn.ReLU()) for _ in range(5)])
    path = str(tmp_path / "blocks.pt")
    torch.jit.script(model).save(path)
    options = ("--input", "float32[n,8]", "--dim", "n=4", "--profile")
    rows = [line.split() for line in verify(program, path, *options).stdout.splitlines()[3:]]
    assert [row[:1] for row in rows] == [["(root)"], ["└"], ["├"], ["└"]]
    assert rows[1][1:6] == ["0", "-", "4", "5", "x"]
    modules = json.loads(verify(program, path, *options, "--json").stdout)["profile"]["modules"]
    assert len(modules) == 16
    assert modules[0]["macs"] == 5 * 4 * 8 * 8


# --- in Python ---


def test_in_python(program, pair, archives, monkeypatch):
    import fxtrace
    import torch

    monkeypatch.setenv("FXTRACE", program.path)
    inputs = (torch.rand(5, 3), torch.tensor([4, 0, 4]))
    done = fxtrace.verify(pair / "net.pt", inputs=inputs, runs=2, no_default_leaves=True)
    assert done and done.equal and done.inputs == ("file", "file") and done.fault is None and done.profile is None
    done = fxtrace.verify(pair / "net.pt", inputs=dict(zip(("x", "rows"), inputs, strict=True)), profile=True)
    assert done.profile is not None and done.profile.modules[0].path == ""

    collection = fxtrace.trace(archives / "net.pt2", no_default_leaves=True)
    assert fxtrace.verify(archives / "net.pt2", collection=collection)
    graph = collection.to_json()
    other_argument(graph["graphs"][0])
    wrong = fxtrace.verify((archives / "net.pt2").read_bytes(), collection=fxtrace.Collection.from_json(graph))
    assert not wrong
    assert wrong.fault is not None and (wrong.fault.kind, wrong.fault.node) == ("value", "add")
    assert wrong.fault.graph_statistics is not None and wrong.fault.graph_statistics.elements == 8
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_deep'"):
        fxtrace.verify(archives / "net.pt2", max_deep=2)
    with pytest.raises(fxtrace.InputError, match="has no input 'y'"):
        fxtrace.verify(archives / "net.pt2", inputs={"y": torch.rand(2)})


# --- weights ---


def most_of_its_own(command: list[str]) -> int:
    """The most memory that processes of the command had of their own at one time, in MB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    most = 0
    while process.poll() is None:
        for status in [f"/proc/{process.pid}/status", *children_of(process.pid)]:
            with contextlib.suppress(OSError, IndexError), open(status, encoding="utf-8") as file:
                most = max(most, int(file.read().split("RssAnon:")[1].split()[0]) >> 10)
        time.sleep(0.01)
    assert process.wait() == 0, process.communicate()
    return most


def children_of(pid: int) -> list[str]:
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with contextlib.suppress(OSError), open(path, encoding="utf-8") as file:
            found += [f"/proc/{child}/status" for child in file.read().split()]
    return found


def rewritten(path: str, to: str, **options) -> str:
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(to, "w", **options) as other:
        for name in archive.namelist():
            other.writestr(name, archive.read(name))
    return to


def test_weights_are_mapped(program, tmp_path):
    import torch

    class Large(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.large = torch.nn.Parameter(torch.zeros(1 << 26))
            self.register_buffer("table", torch.zeros(1 << 15))
            self.linear = torch.nn.Linear(300, 300)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.table[:4].add_(x[0, :4])
            return self.linear(x) + self.table[0] + self.large[5]

    path = str(tmp_path / "large.pt")
    torch.jit.script(Large()).save(path)
    with open(path, "rb") as file:
        before = hashlib.sha256(file.read()).hexdigest()
    options = ["--input", "float32[2,300]", "--runs", "2"]
    assert most_of_its_own([program.path, "verify", path, *options]) < 200  # one weight alone has 256
    with open(path, "rb") as file:
        assert hashlib.sha256(file.read()).hexdigest() == before
    # What cannot be mapped is read: records that are compressed, or begin anywhere.
    for name, how in (("deflated.pt", {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 1}), ("moved.pt", {})):
        result = verify(program, rewritten(path, str(tmp_path / name), **how), *options)
        assert result.stdout.startswith("equal, bit for bit: "), (name, result.stdout, result.stderr)
