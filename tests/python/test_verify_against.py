"""Tests fxtrace verify OUT.pt2 --against MODEL.pt: converted programs are equal, and a change in one is found at its place."""

import json
import os
import subprocess
from typing import Any, Callable

import archive_edit
import convert_cases
import fxtrace
import harness
import jsonschema_rs
import pytest
import test_verify
import tiers
import torch
import zoo

SAMPLES = {sample["file"]: sample for sample in harness.samples() if sample["inputs"]}
REFUSED = {"attributes.pt", "naming.pt", "quantized.pt"}  # of which there is no program
FAST = ["control_flow_root.pt", "inplace_scripted.pt", "nested_traced.pt", "shared_tied_scripted.pt"]


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.one(x)) * 2.5 + self.two(x)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Block(), Block()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += 1
        return self.second(self.first(x)) * self.seen

    @torch.jit.export
    def other(self, x):
        return self.first(x)


def convert(program, folder: Any, module: torch.nn.Module, *options: str) -> tuple[str, str]:
    model, converted = os.path.join(folder, "model.pt"), os.path.join(folder, "out.pt2")
    torch.jit.save(torch.jit.script(module.eval()), model)
    run = program.run("convert", model, "-o", converted, *options)
    assert run.returncode == 0, run.stderr
    return converted, model


def against(program, converted: str, model: str, *options: str) -> dict:
    run = subprocess.run([program.path, "verify", converted, "--against", model, "--json", *options], capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stderr
    answer = json.loads(run.stdout)
    with open(test_verify.SCHEMA, encoding="utf-8") as schema:
        jsonschema_rs.validator_for(json.load(schema)).validate(answer)
    assert answer["against"] == os.path.basename(model)
    assert (run.returncode == 0) == answer["equal"]
    return answer


def changed(converted: str, edit: Callable[[dict, dict], None]) -> None:
    with open(converted, "rb") as file:
        records = archive_edit.records(file.read())
    content = json.loads(records["models/model.json"])
    edit(content, records)
    records["models/model.json"] = json.dumps(content).encode()
    with open(converted, "wb") as file:
        file.write(archive_edit.archive(records))


def nodes(content: dict) -> list[dict]:
    return content["graph_module"]["graph"]["nodes"]


@pytest.mark.parametrize("name", tiers.only(FAST, [name for name in SAMPLES if name not in REFUSED]))
def test_samples(program, tmp_path, name):
    sample = SAMPLES[name]
    args, kwargs = harness.make_inputs(sample["inputs"][0])
    case = convert_cases.Converted(program, harness.sample_path(sample), tmp_path, args, kwargs, sample["method"])
    answer = against(program, case.file, harness.sample_path(sample), "--method", sample["method"])
    assert answer["verdict"] == "equal" and answer["runs"] == 2


@pytest.mark.volume
@pytest.mark.parametrize("name", zoo.names("scripted", "traced"))
def test_models(program, zoo_archive, tmp_path, name):
    path = zoo_archive(name)
    case = convert_cases.Converted(program, path, tmp_path, tuple(torch.load(path.removesuffix(".pt") + ".inputs.pt")), {})
    if case.run.returncode == 4:
        pytest.skip("no program says it")
    assert against(program, case.file, path)["verdict"] == "equal"


def test_sizes_are_drawn(program, tmp_path):
    answer = against(program, *convert(program, tmp_path, Net(), "--input", "float32[batch,4]", "--dim", "batch=1..64"), "--runs", "4")
    assert answer["equal"] and len(set(answer["sizes"])) > 1 and answer["inputs"] == ["random"] * 4


def test_a_method(program, tmp_path):
    converted, model = convert(program, tmp_path, Net(), "--input", "float32[2,4]", "--method", "other")
    assert against(program, converted, model, "--method", "other")["equal"]
    assert not against(program, converted, model)["equal"]


def swap(content: dict, records: dict) -> None:
    """The weights of second.one and second.two, which no check of the file alone can tell."""
    config = json.loads(records["data/weights/model_weights_config.json"])["config"]
    one, two = config["second.one.weight"], config["second.two.weight"]
    one["path_name"], two["path_name"] = two["path_name"], one["path_name"]
    records["data/weights/model_weights_config.json"] = json.dumps({"config": config}).encode()


def scalar(content: dict, records: dict) -> None:
    last = [node for node in nodes(content) if {"as_float": 2.5} in [item["arg"] for item in node["inputs"]]][-1]
    next(item for item in last["inputs"] if item["arg"] == {"as_float": 2.5})["arg"] = {"as_float": 2.25}


def operator(content: dict, records: dict) -> None:
    relu = [node for node in nodes(content) if node["target"] == "torch.ops.aten.relu.default"][0]
    relu["target"] = "torch.ops.aten.tanh.default"


def one_bit(content: dict, records: dict) -> None:
    config = json.loads(records["data/weights/model_weights_config.json"])["config"]
    name = "data/weights/" + config["first.two.bias"]["path_name"]
    records[name] = bytes([records[name][0] ^ 1]) + records[name][1:]


@pytest.mark.parametrize("edit, module", [(swap, "second.one"), (scalar, "second"), (operator, "first"), (one_bit, "first.two")])
def test_changes_are_found(program, tmp_path, edit, module):
    torch.manual_seed(0)
    converted, model = convert(program, tmp_path, Net(), "--input", "float32[batch,4]")
    assert against(program, converted, model)["equal"]
    changed(converted, edit)
    assert subprocess.run([program.path, "check", "--program", converted], capture_output=True).returncode == 0
    answer = against(program, converted, model)
    assert (answer["verdict"], answer["fault"]["kind"], answer["fault"]["module"]) == ("not equal", "value", module)
    if edit is one_bit:
        assert against(program, converted, model, "--atol", "1e-3")["equal"]


def test_state(program, tmp_path):
    """A second call reads what the first has left: where a buffer stays as it was, that is a difference."""

    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            result = x + self.seen
            self.seen += 1
            return result

    def forget(content: dict, records: dict) -> None:
        counts = next(node for node in nodes(content) if node["target"].split(".")[-2].endswith("_"))
        counts["target"] = counts["target"].replace("_.", ".")

    converted, model = convert(program, tmp_path, Counter(), "--input", "float32[2,4]")
    assert against(program, converted, model)["equal"]
    changed(converted, forget)
    answer = against(program, converted, model)
    assert answer["verdict"] == "not equal" and answer["fault"]["run"] == 1


def test_another_model(program, tmp_path):
    """What a program does not have and the model changes cannot be told to be the same."""

    class Counting(Net):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls += 1
            self.seen += 1
            return self.second(self.first(x)) * self.seen

    torch.manual_seed(0)
    net = Net()
    converted, _ = convert(program, tmp_path, net, "--input", "float32[2,4]")
    counting = Counting()
    counting.load_state_dict(net.state_dict(), strict=False)
    other = os.path.join(tmp_path, "counting.pt")
    torch.jit.save(torch.jit.script(counting.eval()), other)
    answer = against(program, converted, other)
    assert answer["verdict"] == "cannot tell" and "calls" in answer["why"]


def test_sizes_that_only_the_program_takes(program, tmp_path):
    class Small(torch.nn.Module):
        def forward(self, x):
            if x.size(0) > 3:
                raise ValueError("too many")
            return x + 1

    class Any_(torch.nn.Module):
        def forward(self, x):
            return x + 1

    converted, _ = convert(program, tmp_path, Any_(), "--input", "float32[batch,4]", "--dim", "batch=1..8")
    other = os.path.join(tmp_path, "small.pt")
    torch.jit.save(torch.jit.script(Small()), other)
    answer = against(program, converted, other, "--runs", "8")
    assert answer["verdict"] == "cannot tell" and answer["refused"] and "which the model refuses" in answer["why"]


def test_programs(program, tmp_path):
    """A program is held to another one likewise."""
    converted, _ = convert(program, tmp_path, Net(), "--input", "float32[batch,4]")
    with open(converted, "rb") as file, open(tmp_path / "same.pt2", "wb") as same:
        same.write(file.read())
    assert against(program, converted, str(tmp_path / "same.pt2"))["equal"]
    changed(converted, scalar)
    assert against(program, converted, str(tmp_path / "same.pt2"))["fault"]["module"] == "second"


def test_usage(program, tmp_path):
    script, exported = (os.path.join(harness.SAMPLES, name) for name in ("nested_scripted.pt", "nested_exported.pt2"))
    run = subprocess.run([program.path, "verify", script, "--against", script, "--input", "float32[2,8]"], capture_output=True, text=True)
    assert run.returncode == 3 and "expects a torch.export program" in run.stderr
    run = subprocess.run([program.path, "verify", exported, "--against", script, "--profile"], capture_output=True, text=True)
    assert run.returncode == 2


def test_in_python(program, tmp_path, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)
    converted, model = convert(program, tmp_path, Net(), "--input", "float32[batch,4]")
    assert fxtrace.check(converted, program=True) and len(fxtrace.check(converted, program=True).rules) == 6
    done = fxtrace.verify(converted, against=model)
    assert done and done.against == "model.pt" and done.runs == 2
    changed(converted, scalar)
    assert fxtrace.verify(converted, against=model).fault.module == "second"
