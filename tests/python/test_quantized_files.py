"""Tests quantized files: packed parameters of TorchScript and tensor subclasses of exported programs are parameters with the
stored dtypes, shapes and bytes, and quantized layers have the MACs of the original layers."""

import json
import os
import warnings

import harness
import jsonschema_rs
import pytest
import torch
import torch.ao.quantization as quantization
from torch import nn
from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx
from torch.utils.flop_counter import FlopCounterMode

CLASSES = (nn.Conv1d, nn.Conv2d, nn.ConvTranspose2d, nn.Linear)


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quant = quantization.QuantStub()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.relu = nn.ReLU()
        self.inner = nn.Sequential(nn.Conv2d(8, 8, 3, stride=2, groups=2, bias=False))
        self.line = nn.Conv1d(8, 6, 3)
        self.head = nn.Linear(6, 10, bias=False)
        self.last = nn.Linear(10, 4)
        self.dequant = quantization.DeQuantStub()

    def forward(self, x):
        x = self.relu(self.conv(self.quant(x)))
        x = self.line(self.inner(x).flatten(2))
        return self.dequant(self.last(self.head(x.mean(2))))


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(16, 12, 2, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(24, 5)

    def forward(self, x):
        return self.fc(self.lstm(x)[0])


X = torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))


def eager() -> nn.Module:
    torch.backends.quantized.engine = "fbgemm"
    model = Layers().eval()
    model.qconfig = quantization.get_default_qconfig("fbgemm")
    model = quantization.prepare(quantization.fuse_modules(model, [["conv", "relu"]]))
    model(X)
    return quantization.convert(model)


def by_fx() -> nn.Module:
    torch.backends.quantized.engine = "fbgemm"
    mapping = quantization.get_default_qconfig_mapping("fbgemm")
    model = prepare_fx(Layers().eval(), mapping, (X,))
    model(X)
    return convert_fx(model)


def dynamic(dtype: torch.dtype) -> nn.Module:
    torch.backends.quantized.engine = "fbgemm"
    return quantization.quantize_dynamic(Cells().eval(), {nn.LSTM, nn.Linear}, dtype=dtype)


def weights_of(model: nn.Module) -> dict[str, list[torch.Tensor]]:
    """What each quantized layer has, by its path, as torch unpacks it."""
    return {
        path: [tensor for tensor in module._weight_bias() if tensor is not None]
        for path, module in model.named_modules()
        if hasattr(module, "_weight_bias") and not path.endswith("._packed_params")
    }


def save(model: nn.Module, how: str, path: str, *inputs: torch.Tensor) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = torch.jit.script(model) if how == "script" else torch.jit.trace(model, inputs)
        torch.jit.save(torch.jit.freeze(script.eval()) if how == "freeze" else script, path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quantized")
    made = {}
    for name, make in (("eager", eager), ("fx", by_fx)):
        for how in ("script", "trace"):
            model = make()
            path = str(folder / f"{name}_{how}.pt")
            save(model, how, path, X)
            made[name, how] = path, model
    return made


def test_weights_are_compared(program, tmp_path):
    """By their bytes and by what they are quantized with, by tensor and by channel."""
    model = eager()
    one, same, other = (str(tmp_path / f"{name}.pt") for name in ("one", "same", "other"))
    save(model, "script", one, X)
    save(model, "script", same, X)

    def compared(after: str) -> tuple[dict, set]:
        answer = json.loads(program.stdout("diff", one, after, "--only", "weights", "--json"))
        return answer["weights"], {each["subject"] for module in answer["modules"] for each in module["differences"]}

    counts, differing = compared(same)
    assert counts["compared"] >= 2 and counts["differ"] == counts["not_compared"] == 0 and not differing
    layers = [(path, layer) for path, layer in model.named_modules() if hasattr(layer, "set_weight_bias") and hasattr(layer, "scale")]
    for path, layer in layers:
        weight, bias = layer.weight(), layer.bias()
        scales, zeros = weight.q_per_channel_scales(), weight.q_per_channel_zero_points()
        by_channel = torch._make_per_channel_quantized_tensor(weight.int_repr(), scales * 2, zeros, weight.q_per_channel_axis())
        by_tensor = [torch._make_per_tensor_quantized_tensor(weight.int_repr(), scale, 0) for scale in (0.25, 0.5)]
        for before, after in ((weight, by_channel), by_tensor):
            layer.set_weight_bias(before, bias)
            save(model, "script", one, X)
            layer.set_weight_bias(after, bias)
            save(model, "script", other, X)
            counts, differing = compared(other)
            assert counts["differ"] == 1 and counts["not_compared"] == 0, (path, counts)
            assert all(name.startswith(path) for name in differing)
        layer.set_weight_bias(weight, bias)


def macs_of(model: nn.Module, *inputs: torch.Tensor) -> int:
    with FlopCounterMode(display=False) as counter:
        model(*inputs)
    return counter.get_total_flops() // 2


KINDS = [("eager", "script"), ("eager", "trace"), ("fx", "script"), ("fx", "trace")]


@pytest.mark.parametrize("kind", KINDS, ids="_".join)
def test_packed_parameters(program, files, kind):
    path, model = files[kind]
    collection = program.trace(path, "--input", "x=float32[2,3,16,16]")
    packed = [each for each in collection["parameters"] if "stored" in each]
    expected = weights_of(model)
    owners = {each["name"].split("._packed_params")[0]: each for each in packed}
    assert owners.keys() == expected.keys()
    for owner, tensors in expected.items():
        found = [(part["name"], part["shape"], part["dtype"]) for part in owners[owner]["stored"]]
        names = ["weight", "bias"]
        assert found == [
            (names[i], list(tensor.shape), str(tensor.dtype).removeprefix("torch.")) for i, tensor in enumerate(tensors)
        ]
        assert owners[owner]["kind"] == "parameter" and owners[owner]["dtype"] == "qint8"
    assert collection["summary"]["unused_parameters"] == []
    assert collection["graphs"][0]["execution"]["param_forward_order"] == [each["name"] for each in packed]
    # Leaves say what they give: what __setstate__ packed is what forward finds.
    assert collection["graphs"][0]["nodes"][-1]["meta"]["shape"] == list(model(X).shape)
    assert "unsized" not in collection["summary"]["cost"]


@pytest.mark.parametrize("kind", KINDS, ids="_".join)
def test_numbers(program, files, kind):
    path, model = files[kind]
    summary = json.loads(program.stdout("summary", path, "--input", "x=float32[2,3,16,16]", "--json"))
    tensors = [tensor for tensors in weights_of(model).values() for tensor in tensors]
    totals = summary["totals"]
    assert totals["parameters"]["elements"] == sum(tensor.numel() for tensor in tensors)
    assert totals["parameters"]["bytes"] == sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    assert totals["dtypes"]["qint8"] == sum(tensor.numel() for tensor in tensors if tensor.is_quantized)
    assert totals["macs"] == macs_of(Layers().eval(), X) and totals["unsized_calls"] == 0
    rows = {row["path"]: row for row in summary["modules"]}
    assert rows["conv"]["parameters"]["own_elements"] == 224 and rows["conv"]["parameters"]["bytes"] == 248
    inspected = json.loads(program.stdout("inspect", path, "--json"))
    with open(os.path.join(harness.ROOT, "schemas", "inspection.schema.json"), encoding="utf-8") as file:
        jsonschema_rs.validate(json.load(file), inspected)
    assert inspected["totals"]["parameters"]["bytes"] == totals["parameters"]["bytes"]
    assert "qint8" in inspected["totals"]["parameters"]["dtypes"]
    order = json.loads(program.stdout("order", path, "--json"))
    assert sum(each["bytes"] for each in order["parameters"]) == totals["parameters"]["bytes"]
    assert order["fsdp2"]["units"] == []
    check = program.run("check", path, "--max-params", str(totals["parameters"]["elements"] - 1))
    assert check.returncode == 1


def test_frozen(program, tmp_path):
    """The packed parameters are constants of the code."""
    path = str(tmp_path / "frozen.pt")
    save(eager(), "freeze", path, X)
    summary = json.loads(program.stdout("summary", path, "--input", "x=float32[2,3,16,16]", "--json"))
    assert summary["totals"]["macs"] == macs_of(Layers().eval(), X)
    assert summary["totals"]["dtypes"]["qint8"] == sum(
        weight[0].numel() for weight in weights_of(eager()).values()
    )


@pytest.mark.parametrize("dtype", [torch.qint8, torch.float16], ids=str)
@pytest.mark.parametrize("how", ["script", "trace"])
def test_cells(program, tmp_path, dtype, how):
    path, x = str(tmp_path / "cells.pt"), torch.randn(2, 7, 16)
    save(dynamic(dtype), how, path, x)
    summary = json.loads(program.stdout("summary", path, "--input", "x=float32[2,7,16]", "--json"))
    assert summary["totals"]["parameters"]["elements"] == sum(each.numel() for each in Cells().parameters())
    matrices = sum(each.numel() for each in Cells().parameters() if each.dim() > 1)
    assert summary["totals"]["macs"] == 2 * 7 * matrices
    if dtype is torch.qint8:
        assert summary["totals"]["dtypes"]["qint8"] == matrices


def test_embeddings(program, tmp_path):
    class Tables(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bag, self.table = nn.EmbeddingBag(50, 16, mode="sum"), nn.Embedding(40, 16)

        def forward(self, x, offsets):
            return self.bag(x, offsets), self.table(x)

    model = Tables().eval()
    model.bag.qconfig = quantization.float_qparams_weight_only_qconfig_4bit
    model.table.qconfig = quantization.float_qparams_weight_only_qconfig
    quantization.convert(quantization.prepare(model, inplace=True), inplace=True)
    path = str(tmp_path / "tables.pt")
    save(model, "script", path)
    parameters = json.loads(program.stdout("inspect", path, "--json"))["parameters"]
    assert [(each["dtype"], each["shape"], each["bytes"]) for each in parameters] == [
        ("quint4x2", [50, 16], 400),
        ("quint8", [40, 16], 640),
    ]


class Halves(torch.Tensor):
    """A weight of int8 and a scale, as torchao has them."""

    @staticmethod
    def __new__(cls, data, scale, note="", inner=None):
        return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=scale.dtype, device=data.device)

    def __init__(self, data, scale, note="", inner=None):
        self.data_part, self.scale, self.note = data, scale, note

    def __tensor_flatten__(self):
        return ["data_part", "scale"], {"note": self.note}

    @classmethod
    def __tensor_unflatten__(cls, tensors, context, size, stride):
        return cls(tensors["data_part"], tensors["scale"], context["note"])

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is nn.functional.linear:
            x, weight, bias = args
            return nn.functional.linear(x, weight.data_part.to(x.dtype) * weight.scale, bias)
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function in (torch.ops.aten.detach.default, torch.ops.aten.clone.default, torch.ops.aten.alias.default):
            return cls(args[0].data_part, args[0].scale, args[0].note)
        raise NotImplementedError(function)


@pytest.fixture(scope="module")
def subclass_file(tmp_path_factory):
    linear = nn.Linear(64, 128).eval()
    weight = Halves(torch.ones(128, 64, dtype=torch.int8), torch.ones(128, 1))
    linear.weight = nn.Parameter(weight, requires_grad=False)
    x = torch.randn(4, 64)
    exported = torch.export.export(nn.Sequential(linear), (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    path = str(tmp_path_factory.mktemp("subclass") / "model.pt2")
    torch.export.save(exported, path)
    return path


def test_tensor_subclasses(program, subclass_file):
    collection = program.trace(subclass_file, "--no-default-leaves")
    weight = collection["parameters"][0]
    assert (weight["name"], weight["kind"], weight["shape"], weight["dtype"]) == ("0.weight", "parameter", [128, 64], "int8")
    assert weight["stored"] == [
        {"name": "data_part", "shape": [128, 64], "dtype": "int8"},
        {"name": "scale", "shape": [128, 1], "dtype": "float32"},
    ]
    assert "unknown" not in collection["summary"]["cost"]
    assert collection["summary"]["cost"]["parameter_bytes"] == 8192 + 512 + 512
    (name, *_) = collection["graphs"][0]["nodes"][0]["meta"]["shape"]
    summary = json.loads(program.stdout("summary", subclass_file, "--json", "--at", f"{name}=4"))
    assert summary["totals"]["parameters"] == {"tensors": 2, "elements": 64 * 128 + 128, "bytes": 8192 + 512 + 512}
    assert summary["totals"]["macs"] == 4 * 64 * 128
    report = json.loads(program.run("check", subclass_file, "--security", "--json").stdout)
    assert not [each for each in report["offences"] if "library" in each["rule"]]
