"""Tests fxtrace convert on quantized models: integers between quantize and dequantize, and results within one step of their
scale."""

import ctypes
import json
import os
import pathlib
import subprocess
import sys
import warnings
import zipfile

import convert_cases
import harness
import pytest
import test_quantized_files as files
import tiers
import torch
import torch.ao.quantization as quantization
from torch import Tensor, nn

X = files.X


class Functions(nn.Module):
    """One of each operator on quantized tensors that models have."""

    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.conv, self.up = nn.Conv2d(3, 8, 3), nn.ConvTranspose2d(8, 4, 3, stride=2, output_padding=1)
        self.functions = nn.ModuleList([torch.ao.nn.quantized.FloatFunctional() for _ in range(4)])
        self.norms = nn.Sequential(nn.GroupNorm(2, 8), nn.InstanceNorm2d(8), nn.MaxPool2d(2), nn.LeakyReLU(), nn.ELU(), nn.ReLU6())
        self.ends = nn.Sequential(nn.Tanh(), nn.Sigmoid(), nn.AvgPool2d(2), nn.Hardtanh(-0.5, 0.5), nn.AdaptiveAvgPool2d(2), nn.Hardswish())
        self.fc = nn.Linear(16, 5)

    def forward(self, x: Tensor):
        x = torch.relu(self.conv(self.quant(x)))
        y = self.functions[0].add(x, x)
        x = self.functions[1].mul(x, y)
        x, y = self.functions[2].cat([x, y], 1).chunk(2, 1)
        x = self.ends(self.up(self.norms(self.functions[3].add_relu(x, y))))
        return self.dequant(self.fc(x.reshape(x.shape[0], -1)))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.first = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(True))
        self.block = nn.Sequential(nn.Conv2d(16, 16, 3, 1, 1), nn.BatchNorm2d(16), nn.ReLU(True), nn.Conv2d(16, 16, 3, 1, 1), nn.BatchNorm2d(16))
        self.add, self.relu = torch.ao.nn.quantized.FloatFunctional(), nn.ReLU(True)
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(16, 10)

    def forward(self, x: Tensor):
        x = self.first(self.quant(x))
        x = self.relu(self.add.add(x, self.block(x)))
        return self.dequant(self.fc(torch.flatten(self.pool(x), 1)))


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = quantization.QuantStub(), quantization.DeQuantStub()
        self.one = nn.Conv1d(4, 8, 3, stride=2, padding=1, groups=2)
        self.two, self.three = nn.Conv2d(2, 6, (1, 3), dilation=2), nn.Conv3d(1, 2, (1, 2, 3), stride=(1, 2, 1))

    def forward(self, x: Tensor):
        x = self.one(self.quant(x)).unflatten(1, (2, 4))
        return self.dequant(self.three(self.two(x).unsqueeze(1)))


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.relu, self.second = nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)

    def forward(self, x: Tensor):
        return self.second(self.relu(self.first(x)))


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(6, 4), nn.GRUCell(4, 4), nn.RNNCell(4, 4)

    def forward(self, x: Tensor):
        hidden, cell = self.lstm(x)
        return self.rnn(self.gru(hidden)), cell


class Tables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag, self.table = nn.EmbeddingBag(50, 16, mode="sum"), nn.Embedding(40, 16)

    def forward(self, x: Tensor, offsets: Tensor):
        return self.bag(x, offsets), self.table(x), self.bag(x.view(2, -1))


class Bags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(50, 16, mode="sum", include_last_offset=True)

    def forward(self, x: Tensor, offsets: Tensor):
        return self.bag(x, offsets, per_sample_weights=torch.arange(8.0))


def static(model: nn.Module, x: Tensor, config: str = "fbgemm", fused: tuple = ()) -> nn.Module:
    model = model.eval()
    if fused:
        model = quantization.fuse_modules(model, [list(names) for names in fused])
    by_tensor = quantization.QConfig(quantization.MinMaxObserver.with_args(reduce_range=True), quantization.default_weight_observer)
    model.qconfig = by_tensor if config == "by_tensor" else quantization.get_default_qconfig(config)
    model = quantization.prepare(model)
    model(x)
    return quantization.convert(model)


def dynamic(model: nn.Module, *layers: type, dtype: torch.dtype = torch.qint8) -> nn.Module:
    return quantization.quantize_dynamic(model.eval(), set(layers), dtype=dtype)


def tables(model: nn.Module) -> nn.Module:
    for layer in model.eval().children():
        layer.qconfig = quantization.float_qparams_weight_only_qconfig
    return quantization.convert(quantization.prepare(model))


FUSED = (("first.0", "first.1", "first.2"), ("block.0", "block.1", "block.2"), ("block.3", "block.4"))
LINE, WORDS = torch.rand(2, 4, 17), torch.randn(2, 7, 16)
BAGS = (torch.randint(0, 40, (8,)), torch.tensor([0, 3, 8]))
# How it is made, its inputs, and how far results may be: in steps of the last scale, or relative to the greatest.
MODELS = {
    "eager": (files.eager, (X,), 1),
    "fx": (files.by_fx, (X,), 1),
    "functions": (lambda: static(Functions(), X, "by_tensor"), (X,), 1),
    "residual": (lambda: static(Residual(), X, fused=FUSED), (X,), 1),
    "convolutions": (lambda: static(Convolutions(), LINE), (LINE,), 1),
    "dynamic": (lambda: dynamic(Perceptron(), nn.Linear), (WORDS[0],), 1e-5),
    "dynamic convolution": (lambda: torch.ao.nn.quantized.dynamic.Conv2d(3, 8, 3).eval(), (X,), 0.05),
    "halves": (lambda: dynamic(Perceptron(), nn.Linear, dtype=torch.float16), (WORDS[0],), 1e-5),
    "lstm": (lambda: files.dynamic(torch.qint8), (WORDS,), 0.05),
    "lstm_halves": (lambda: files.dynamic(torch.float16), (WORDS,), 1e-5),
    "cells": (lambda: dynamic(Steps(), nn.LSTMCell, nn.GRUCell, nn.RNNCell), (WORDS[0, :, :6],), 0.05),
    "tables": (lambda: tables(Tables()), BAGS, 1e-5),
    "bags": (lambda: tables(Bags()), BAGS, 1e-5),
}


def archive(tmp_path, name: str, way: str) -> tuple[str, tuple]:
    torch.manual_seed(0)
    torch.backends.quantized.engine = "fbgemm"
    make, inputs, _ = MODELS[name]
    path = str(tmp_path / f"{name}.pt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files.save(make(), way, path, *inputs)
    return path, inputs


def last_scale(program: torch.export.ExportedProgram) -> float:
    return [node for node in program.graph.nodes if "dequantize_per_tensor" in str(node.target)][-1].args[1]


OFTEN = ["eager", "functions", "convolutions", "dynamic", "lstm", "tables"]


@pytest.mark.parametrize("way", ["script", pytest.param("trace", marks=pytest.mark.volume), pytest.param("freeze", marks=pytest.mark.volume)])
@pytest.mark.parametrize("name", tiers.only(OFTEN, list(MODELS)))
def test_results_are_within_a_step(program, tmp_path, name, way):
    path, inputs = archive(tmp_path, name, way)
    case = convert_cases.Converted(program, path, tmp_path, inputs, {})
    assert "import torch.ao.quantization.fx._decomposed" in case.run.stderr.decode() or "halves" in name
    exported = case.load()
    most = MODELS[name][2]
    module, nested = exported.module(), torch.export.unflatten(exported)
    for turn in range(3):
        given = inputs if turn == 0 else tuple(torch.rand_like(x) if x.is_floating_point() else x for x in inputs)
        with torch.no_grad():
            expected, result = case.model(*given), module(*given)
            assert convert_cases.difference(result, nested(*given)) == ""
        for one, other in zip(*map(torch.utils._pytree.tree_leaves, (expected, result)), strict=True):
            assert one.shape == other.shape and one.dtype == other.dtype
            allowed = last_scale(exported) * 1.01 if most == 1 else most * one.abs().max().item()
            assert (one - other).abs().max().item() <= allowed


def test_bags_of_four_bits(program, tmp_path):
    """torch.jit.load cannot read their archives, whose storages are half as long as it asks for: the model itself tells."""
    torch.manual_seed(0)
    model, path = Bags().eval(), str(tmp_path / "four.pt")
    model.bag.qconfig = quantization.float_qparams_weight_only_qconfig_4bit
    model = quantization.convert(quantization.prepare(model))
    files.save(model, "script", path)
    run = program.run("convert", path, "-o", path + "2", "--input", "x=int64[8]", "--input", "offsets=int64[3]")
    assert run.returncode == 0, run.stderr.decode()
    result, expected = torch.export.load(path + "2").module()(*BAGS), model(*BAGS)
    # Packed, scales and offsets are halves; rows of up to 5 are taken up to 25 times, and a step of theirs is 0.3.
    assert result.shape == expected.shape and torch.allclose(result, expected, rtol=0, atol=0.1)


def test_weights_are_integers(program, tmp_path):
    """The archive's own bytes, as buffers of the layers; nothing else is stored."""
    path, inputs = archive(tmp_path, "eager", "script")
    exported = convert_cases.Converted(program, path, tmp_path, inputs, {}).load()
    model = files.eager()
    for owner, (weight, *_) in files.weights_of(model).items():
        stored = exported.state_dict[f"{owner}.weight"]
        assert stored.dtype == torch.int8 and stored.shape[0] == weight.shape[0]
        assert f"{owner}.weight_scales" in exported.state_dict
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(path + "2") as after:
        bytes_of = {before.read(name) for name in before.namelist()}
        assert all(after.read(name) in bytes_of for name in after.namelist() if "/weight_" in name)
    assert program.run("check", path + "2", "--security").returncode == 0


def test_decompositions(program, tmp_path):
    path, inputs = archive(tmp_path, "eager", "script")
    case = convert_cases.Converted(program, path, tmp_path, inputs, {}, "forward", "--dialect", "aten")
    exported = case.load()
    allowed = last_scale(exported) * 1.01
    with torch.no_grad():
        expected = case.model(*inputs)
        assert (exported.module()(*inputs) - expected).abs().max().item() <= allowed
        assert (exported.run_decompositions().module()(*inputs) - expected).abs().max().item() <= allowed


def refusals(program, path: str, *options: str) -> str:
    run = program.run("convert", path, "--dry-run", *options)
    assert run.returncode == 4
    return run.stderr.decode()


def test_refusals(program, tmp_path):
    path, inputs = archive(tmp_path, "eager", "script")
    spec = ("--input", convert_cases.spec(inputs[0]))
    said = refusals(program, path, *spec, "--quantized", "refuse")
    assert "a program cannot have objects of torch.classes.quantized.Conv2dPackedParamsBase" in said

    class Gives(nn.Module):
        def forward(self, x: Tensor):
            return torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)

    class Wide(nn.Module):
        def forward(self, x: Tensor):
            return torch.quantize_per_tensor(x, 0.1, 0, torch.qint32).dequantize()

    class Sorts(nn.Module):
        def forward(self, x: Tensor):
            return torch.sort(torch.quantize_per_tensor(x, 0.1, 0, torch.quint8))[0].dequantize()

    for model, why in ((Gives(), "a program cannot return a quantized tensor"), (Wide(), "a program cannot have quantized elements of qint32"), (Sorts(), "aten.sort")):
        torch.jit.save(torch.jit.script(model), path)
        assert why in refusals(program, path, "--input", "float32[2,3]")


def test_numbers_of_quantized_tensors(program, tmp_path):
    """Questions of them have answers, and numbers move zero points."""

    class Asks(nn.Module):
        def forward(self, x: Tensor):
            q = torch.quantize_per_tensor(x, 0.05, 100, torch.quint8)
            if not q.is_quantized or q.dtype != torch.quint8:
                return x, x, x.int(), x
            more = torch.ops.quantized.add_scalar(q, 3.0)
            far = torch.ops.quantized.add_scalar(q, 30.0)
            times = torch.ops.quantized.mul_scalar_relu(q, 2.0)
            return more.dequantize() * q.q_scale(), far.dequantize() - q.q_zero_point(), q.int_repr().int(), times.dequantize()

    path = str(tmp_path / "asks.pt")
    torch.jit.save(torch.jit.script(Asks()), path)
    case = convert_cases.Converted(program, path, tmp_path, (torch.randn(3, 4),), {})
    module = case.load().module()
    for x in (torch.randn(3, 4), torch.randn(3, 4) * 5):
        for one, other in zip(case.model(x), module(x), strict=True):
            assert one.dtype == other.dtype and torch.allclose(one, other, atol=1e-5)


def test_sample(program, tmp_path):
    sample = next(each for each in harness.samples() if each["file"] == "quantized.pt")
    args, kwargs = harness.make_inputs(sample["inputs"][0])
    case = convert_cases.Converted(program, harness.sample_path(sample), tmp_path, args, kwargs)
    exported = case.load()
    assert (case.model(*args) - exported.module()(*args)).abs().max().item() <= last_scale(exported) * 1.01
    summary = json.loads(program.stdout("summary", case.file, "--json"))
    assert summary["totals"]["unsized_calls"] == 0 and os.path.getsize(case.file) < 64 << 10


def calls() -> list[tuple[str, tuple]]:
    """Calls of the operators that torch has in Python only, on drawn numbers and at the ends of ranges."""
    drawn = torch.Generator().manual_seed(3)
    cases: list[tuple[str, tuple]] = []
    for dtype, low, high in ((torch.uint8, 0, 255), (torch.int8, -128, 127), (torch.int16, -32768, 32767), (torch.uint8, 0, 127)):
        for x in (torch.randn(4, 6, generator=drawn) * 10, torch.zeros(4, 6), torch.full((4, 6), 1e30), -torch.rand(4, 6, generator=drawn)):
            integers = torch.randint(low, high + 1, (4, 6), generator=drawn).to(dtype)
            scale, zero = 0.037, torch.randint(low, high + 1, (), generator=drawn).item()
            one, many = (torch.tensor(scale), torch.tensor(zero)), (torch.rand(6, generator=drawn) + 0.01, torch.arange(6))
            tokens = torch.rand(4, 1, generator=drawn) + 0.01, torch.zeros(4, 1, dtype=torch.int64)
            groups = torch.rand(4, 2, generator=drawn) + 0.01, torch.zeros(4, 2, dtype=torch.int32)
            ends = (torch.tensor(low), torch.tensor(high))
            cases += [
                ("quantize_per_tensor.default", (x, scale, zero, low, high, dtype)),
                ("quantize_per_tensor.default", (x.to(torch.bfloat16), scale, zero, low, high, dtype)),
                ("quantize_per_tensor.tensor", (x, *one, low, high, dtype)),
                ("quantize_per_tensor.tensor2", (x, *one, *ends, dtype)),
                ("dequantize_per_tensor.default", (integers, scale, zero, low, high, dtype)),
                ("dequantize_per_tensor.tensor", (integers, *one, low, high, dtype)),
                ("dequantize_per_tensor.tensor2", (integers, *one, *ends, dtype)),
                ("quantize_per_channel.default", (x, *many, 1, low, high, dtype)),
                ("dequantize_per_channel.default", (integers, *many, 1, low, high, dtype)),
                ("dequantize_per_channel.default", (integers, many[0], None, 1, low, high, dtype)),
                ("fake_quant_per_channel.default", (x, *many, 1, low, high)),
                ("choose_qparams.tensor", (x, low, high, 1e-7, dtype)),
                ("choose_qparams_symmetric.tensor", (x, low, high, 1e-7, dtype)),
                ("choose_qparams_per_token.default", (x, torch.int8)),
                ("choose_qparams_per_token_asymmetric.default", (x, torch.int8)),
                ("quantize_per_token.default", (x, *tokens, low, high, dtype)),
                ("dequantize_per_token.default", (integers, *tokens, low, high, dtype, torch.float32)),
                ("quantize_per_channel_group.default", (x, *groups, low, high, dtype, 3)),
                ("dequantize_per_channel_group.default", (integers, *groups, low, high, dtype, 3, torch.float32)),
                ("convert_element_type.no_fuse", (x, torch.float16)),
                ("quantize_per_tensor.default", (x.double(), scale, zero, low, high, dtype)),  # these are refused
                ("quantize_per_tensor.default", (x, scale, zero, low - 1, high, dtype)),
                ("dequantize_per_tensor.default", (x, scale, zero, low, high, dtype)),
                ("quantize_per_token.default", (x, *many, low, high, dtype)),
                ("quantize_per_channel_group.default", (x, *groups, low, high, dtype, 4)),
            ]
    return cases


def results() -> list:
    """What torch.ops.quantized_decomposed of this process gives for each call."""

    def result(name: str, arguments: tuple):
        packet, overload = name.split(".")
        try:
            return getattr(getattr(torch.ops.quantized_decomposed, packet), overload)(*arguments)
        except Exception:
            return "refused"

    return [result(*each) for each in calls()]


@pytest.mark.volume
def test_operators_that_torch_has_in_python_only(program, tmp_path):
    """The plugin's own, with which verify runs quantized programs, in a process that has not imported torch's."""
    (plugin,) = pathlib.Path(program.path).parent.glob("libfxtrace_execute-*.so")
    file = tmp_path / "results"
    code = f"import test_convert_quantized as test; test.native({str(plugin)!r}, {str(file)!r})"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, cwd=pathlib.Path(__file__).parent)
    import torch.ao.quantization.fx._decomposed

    refused = 0
    for (name, arguments), ours, theirs in zip(calls(), torch.load(file), results(), strict=True):
        assert convert_cases.difference(theirs, ours) == "", (name, arguments)
        refused += theirs == "refused"
    assert 5 * 16 <= refused < len(calls()) / 3


def native(plugin: str, file: str) -> None:
    engine = ctypes.CDLL(plugin).fxtrace_engine
    engine.restype = ctypes.POINTER(ctypes.CFUNCTYPE(ctypes.c_bool) * 2)
    for size in range(0, 4096, ctypes.sizeof(ctypes.c_void_p)):  # it gives its table to who knows the size
        table = engine(ctypes.c_size_t(size))
        if table:
            assert table.contents[1](), "prepare() failed"
            break
    torch.save(results(), file)


@pytest.mark.parametrize("name", ["eager", "dynamic"])
def test_verify_runs_quantized_programs(program, tmp_path, name):
    path, inputs = archive(tmp_path, name, "script")
    made = str(tmp_path / "made.pt2")
    words = [word for each in inputs for word in ("--input", convert_cases.spec(each))]
    assert program.run("convert", path, "-o", made, *words).returncode == 0
    for more in ([], ["--against", path, "--atol", "0.01"]):
        done = program.run("verify", made, *more)
        assert done.returncode == 0, (done.stdout + done.stderr).decode()
