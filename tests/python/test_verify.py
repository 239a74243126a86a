"""fxtrace verify: every sample's graph computes what its file computes, and planted faults are found where they are."""

import copy
import json
import os
import subprocess

import harness
import jsonschema_rs
import pytest

SCHEMA = os.path.join(harness.ROOT, "schemas", "verification.schema.json")
# A class of C++ that no library has registered, a model that always raises, and one that takes what no --input can say.
REFUSED = {
    "exported_objects.pt2": "_TorchScriptTesting",
    "raising.pt": "NotImplementedError",
}
NOT_GIVEN = {"structures.pt"}
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


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["file"])
def test_samples(program, sample):
    path = harness.sample_path(sample)
    for options in PASSES:
        result = verify(program, path, *options_for(sample), *options)
        if sample["file"] in REFUSED:
            assert result.returncode == 3
            assert REFUSED[sample["file"]] in result.stderr
        else:
            assert result.returncode == 0, (options, result.stdout, result.stderr)
            assert result.stdout.startswith("equal, bit for bit: ")


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


def test_an_input_that_nothing_tells(program):
    result = verify(program, os.path.join(harness.ROOT, "sample_models", "nested_scripted.pt"))
    assert result.returncode == 3
    assert "nothing says what the input x is" in result.stderr
    assert "hint: for example --input 'x=float32[1,4]'" in result.stderr


def test_it_says_that_the_model_runs(program):
    result = verify(program, os.path.join(harness.ROOT, "sample_models", "nested_exported.pt2"))
    assert result.stderr == "fxtrace: the model runs now, as its file says it\n"
