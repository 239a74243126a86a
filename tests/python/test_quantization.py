"""Quantized programs: what fxtrace summary --columns quant tells of them, and the rules of check --rules quantization."""

import json

import pytest
import torch
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (registers torch.ops.quantized_decomposed)

OPS = torch.ops.quantized_decomposed
INT8 = (-128, 127, torch.int8)


def again(x: torch.Tensor, scale: float) -> torch.Tensor:
    """The value after a quantize and a dequantize."""
    return OPS.dequantize_per_tensor(OPS.quantize_per_tensor(x, scale, 0, *INT8), scale, 0, *INT8)


class Layer(nn.Module):
    def __init__(self, least: int):
        super().__init__()
        self.register_buffer("weight", torch.randint(least, -least, (4, 4), dtype=torch.int8))
        self.register_buffer("scales", torch.full((4,), 0.1))
        self.register_buffer("zeros", torch.zeros(4, dtype=torch.int64))
        self.bias = nn.Parameter(torch.zeros(4))
        self.least = least

    def forward(self, x):
        weight = OPS.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, self.least, -self.least - 1, torch.int8)
        return torch.relu(nn.functional.linear(x, weight, self.bias))


class Net(nn.Module):
    """As pt2e quantization makes it: two layers between dequantize and quantize, and one that was left."""

    def __init__(self):
        super().__init__()
        self.eight, self.four, self.left = Layer(-128), Layer(-8), nn.Linear(4, 4)

    def forward(self, x):
        x = again(self.eight(again(x, 0.1)), 0.2)
        x = again(self.four(x).reshape(-1, 4), 0.3)
        return self.left(x)


class Bad(nn.Module):
    def forward(self, x):
        scale = x.abs().max() / 127
        q = OPS.quantize_per_tensor.tensor(again(x, 0.5), scale, torch.zeros((), dtype=torch.int64), *INT8)
        return q + 1, x @ x


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quantized")
    for name, model in {"net": Net(), "bad": Bad()}.items():
        torch.export.save(torch.export.export(model.eval(), (torch.randn(4, 4),)), folder / f"{name}.pt2")
    return {name: str(folder / f"{name}.pt2") for name in ("net", "bad")}


def test_columns(program, models):
    rows = json.loads(program.stdout("summary", models["net"], "--columns", "quant", "--json"))["modules"]
    found = {row["path"]: tuple(row["quantization"].values()) for row in rows}
    assert found == {
        "": (["float32", "int8", "int8 (4 bits)"], 3, 2),
        "eight": (["int8"], 1, 1),
        "four": (["int8 (4 bits)"], 1, 1),
        "left": (["float32"], 1, 0),
    }
    text = program.stdout("summary", models["net"], "--columns", "quant")
    assert "int8 (4 bits) 1/1" in (text if isinstance(text, str) else text.decode())


def test_rules(program, models):
    def offences(name: str) -> set[str]:
        report = json.loads(program.run("check", models[name], "--rules", "quantization", "--json").stdout)
        return {offence["id"] for offence in report["offences"]}

    assert offences("net") == set()
    assert offences("bad") == {"quantized-twice", "quantized-values", "quantized-scale", "unquantized-compute"}
