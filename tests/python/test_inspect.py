"""Compares fxtrace inspect with torch: signatures, defaults, sizes in bytes, constants, and files without a model."""

import io
import json
import zipfile

import pytest
import torch
from torch import Tensor, nn
from typing import Dict, List, Optional, Tuple


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(100, 16)
        self.proj = nn.Linear(16, 8).to(torch.bfloat16)
        self.out = nn.Linear(16, 100, bias=False)
        self.out.weight = self.embed.weight  # tied: counted once
        self.register_buffer("steps", torch.zeros(3, dtype=torch.int64))

    def forward(
        self,
        ids: Tensor,
        mask: Optional[Tensor] = None,
        scale: float = 0.5,
        mode: str = "mean",
        sizes: Optional[List[int]] = None,
        causal: bool = False,
    ) -> Tuple[Tensor, Dict[str, Tensor]]:
        x = self.embed(ids)
        if mask is not None:
            x = x * mask
        return self.out(x * scale), {"x": x}

    @torch.jit.export
    def encode(self, ids: Tensor, times: int = 2) -> Tensor:
        return self.embed(ids) * times


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    path = tmp_path_factory.mktemp("inspect") / "encoder.pt"
    model = Encoder().eval()
    torch.jit.save(torch.jit.script(model), path)
    return str(path), model


def inspect(program, path, *options) -> dict:
    return json.loads(program.stdout("inspect", "--json", path, *options))


def test_signature(program, encoder):
    shown = inspect(program, encoder[0])
    assert shown["method"] == "forward"
    assert [(item["name"], item["type"], item["default"]) for item in shown["inputs"]] == [
        ("ids", "Tensor", None),
        ("mask", "Optional[Tensor]", "None"),
        ("scale", "float", "0.5"),
        ("mode", "str", '"mean"'),
        ("sizes", "Optional[List[int]]", "None"),
        ("causal", "bool", "False"),
    ]
    assert [(item["name"], item["type"]) for item in shown["outputs"]] == [("0", "Tensor"), ("1", "Dict[str, Tensor]")]
    assert [method["name"] for method in shown["methods"]] == ["forward", "encode"]
    assert shown["methods"][1]["inputs"][1]["default"] == "2"
    assert [item["name"] for item in inspect(program, encoder[0], "--method", "encode")["inputs"]] == ["ids", "times"]
    text = program.stdout("inspect", encoder[0]).decode()
    assert 'mode    str                  "mean"\n' in text
    assert "other methods:\n  encode(ids: Tensor, times: int = 2) -> Tensor\n" in text


def test_sizes(program, encoder):
    path, model = encoder
    shown = inspect(program, path)
    parameters = list(model.parameters())  # each tied tensor once
    total = shown["totals"]["parameters"]
    assert total["tensors"] == len(parameters)
    assert total["elements"] == sum(parameter.numel() for parameter in parameters)
    assert total["bytes"] == sum(parameter.numel() * parameter.itemsize for parameter in parameters)
    assert total["dtypes"] == ["bfloat16", "float32"]
    assert total["devices"] == ["cpu"]
    assert shown["totals"]["buffers"]["bytes"] == 24
    by_path = {module["path"]: module for module in shown["modules"]}
    assert by_path["proj"]["parameters"] == {"own": 136, "total": 136, "own_bytes": 272, "bytes": 272}
    assert by_path["proj"]["public_type"] == "torch.nn.Linear"
    listed = {parameter["name"]: parameter for parameter in shown["parameters"]}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        assert listed[name]["bytes"] == parameter.numel() * parameter.itemsize
    assert listed["out.weight"]["alias_of"] == "embed.weight"
    text = program.stdout("inspect", path).decode()
    assert f"parameters: {total['elements']:,} elements in 3 tensors, {total['bytes']:,} bytes (bfloat16, float32 on cpu)\n" in text


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "bool", "complex64", "complex128", "float8_e4m3fn", "uint16"])
def test_itemsizes(program, tmp_path, dtype):
    model = nn.Module()
    tensor = torch.zeros(5, dtype=getattr(torch, dtype))
    model.register_buffer("b", tensor)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", tensor)

        def forward(self, x: Tensor) -> Tensor:
            return x

    path = str(tmp_path / "net.pt")
    torch.jit.save(torch.jit.script(Net()), path)
    assert inspect(program, path)["totals"]["buffers"]["bytes"] == 5 * tensor.itemsize


def test_shapes_of_outputs(program, encoder):
    shown = inspect(program, encoder[0], "--method", "encode", "--input", "ids=int64[batch,7]")
    assert shown["outputs"][0]["shape"] == ["batch", 7, 16]
    assert shown["outputs"][0]["value"] == "float32[batch, 7, 16]"


class Pair(nn.Module):
    def forward(self, x, y, flip=False):
        return {"sum": x + y, "parts": (x, y * 2)}


def test_exported(program, tmp_path):
    path = str(tmp_path / "pair.pt2")
    batch = torch.export.Dim("batch", min=2, max=8)
    inputs = (torch.rand(4, 3), torch.rand(4, 3))
    exported = torch.export.export(Pair(), inputs, {"flip": True}, dynamic_shapes={"x": {0: batch}, "y": {0: batch}, "flip": None})
    torch.export.save(exported, path)
    shown = inspect(program, path)
    assert shown["producer"] == f"PyTorch {torch.__version__}"
    (symbol,) = {item["shape"][0] for item in shown["inputs"] if item["shape"]}
    assert [item["value"] for item in shown["inputs"]] == [f"float32[{symbol}, 3]"] * 2 + ["True"]
    assert [item["fixed"] for item in shown["inputs"]] == [False, False, True]
    assert [item["name"] for item in shown["outputs"]] == ["sum", "parts.0", "parts.1"]
    assert {item["dtype"] for item in shown["outputs"]} == {"float32"}
    narrow = inspect(program, path, "--dim", f"{symbol}=4")
    assert [item["shape"] for item in narrow["outputs"]] == [[4, 3]] * 3
    assert f"written by PyTorch {torch.__version__}\n" in program.stdout("inspect", path).decode()


def test_frozen_archives_show_their_constants(program, tmp_path):
    path = str(tmp_path / "frozen.pt")
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 5, 1)).eval()
    torch.jit.save(torch.jit.freeze(torch.jit.script(model)), path)
    shown = inspect(program, path)
    assert shown["totals"]["parameters"]["tensors"] == 0
    expected = sorted(tuple(parameter.shape) for parameter in model.parameters())
    assert sorted(tuple(item["shape"]) for item in shown["constants"]) == expected
    total = shown["totals"]["constants"]
    assert total["elements"] == sum(parameter.numel() for parameter in model.parameters())
    assert total["bytes"] == 4 * total["elements"]
    text = program.stdout("inspect", path).decode()
    assert f"constants: {total['elements']} elements in 4 tensors, {total['bytes']} bytes (float32)\n" in text
    assert "float32[4, 3, 3, 3]" in text


class Codec(nn.Module):
    """Without forward, as codecs and tokenizers come."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    @torch.jit.export
    def encode(self, x: Tensor) -> Tensor:
        return self.layer(x)

    @torch.jit.export
    def decode(self, z: Tensor, scale: float = 1.0) -> Tensor:
        return z * scale


def test_models_without_forward(program, tmp_path):
    path = str(tmp_path / "codec.pt")
    torch.jit.save(torch.jit.script(Codec()), path)
    text = program.stdout("inspect", path).decode()
    assert "methods:\n  decode(z: Tensor, scale: float = 1.0) -> Tensor\n  encode(x: Tensor) -> Tensor\n" in text
    shown = inspect(program, path)
    assert shown["method"] is None and shown["inputs"] == []
    assert shown["modules"][0]["methods"] == ["decode", "encode"]
    assert shown["modules"][1]["methods"] == ["forward"]
    assert inspect(program, path, "--method", "encode")["modules"][1]["status"] == "leaf"


def test_max_depth_cuts_the_table(program, tmp_path):
    path = str(tmp_path / "deep.pt")
    inner = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 2)))
    torch.jit.save(torch.jit.script(nn.Sequential(inner, nn.ReLU())), path)
    table = program.stdout("inspect", path, "--max-depth", "1").decode().split("\n\n")[-1].splitlines()
    assert [line.split()[0] for line in table] == ["module", "(root)", "0", "1", "..."]
    assert table[-1] == "... and 4 modules below --max-depth 1"
    assert len(inspect(program, path, "--max-depth", "1")["modules"]) == 7


def files_without_a_model():
    def state_dict(file):
        torch.save(nn.Linear(2, 2).state_dict(), file)

    def legacy(file):
        torch.save({"a": 1}, file, _use_new_zipfile_serialization=False)

    def safetensors(file):
        header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        file.write(len(header).to_bytes(8, "little") + header + bytes(4))

    def some_zip(file):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("readme.txt", "nothing")

    def empty(file):
        pass

    def onnx(file):
        file.write(b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:\x04\n\x02\n\x00")

    return [state_dict, legacy, safetensors, some_zip, empty, onnx]


@pytest.mark.parametrize("write", files_without_a_model(), ids=lambda write: write.__name__)
def test_files_without_a_model(program, tmp_path, write):
    content = io.BytesIO()
    write(content)
    path = tmp_path / "file.pt"
    path.write_bytes(content.getvalue())
    done = program.run("inspect", str(path))
    assert done.returncode == 3 and done.stdout == b""
    error = done.stderr.decode()
    assert error.startswith(f"fxtrace: error: {path}: this is ")
    assert error == program.run("trace", str(path)).stderr.decode()
    done = program.run("inspect", "--json", str(path))
    assert done.returncode == 3 and done.stderr.decode() == error
    shown = json.loads(done.stdout)
    assert shown["format"] == "fxtrace.inspection" and "modules" not in shown
