"""Compares the attributes of torch.nn modules that fxtrace infers for exported programs with the modules themselves: each
inferred one is right, and at least those listed here are inferred."""

import functools
import json
import os
from dataclasses import dataclass
from typing import Any

import pytest
import tiers
import torch
import tvcompat
import zoo
from torch import nn
from torch.utils import _pytree as pytree

MODES = ("nonstrict", "strict", "decomposed", "dynamic")


@dataclass
class Layer:
    module: nn.Module
    inputs: list[tuple[int, ...] | torch.Tensor]
    told: str  # names of what must be told
    decomposed: str | None = None  # what is left of it then; None: all
    training: bool = False
    kwargs: dict[str, Any] | None = None

    def floor(self, mode: str) -> set[str]:
        names = self.told if mode != "decomposed" or self.decomposed is None else self.decomposed
        return set(names.split())

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return tuple(x if isinstance(x, torch.Tensor) else torch.randn(x) for x in self.inputs)


CONV = "in_channels out_channels kernel_size stride padding dilation transposed groups"
POOL = "kernel_size stride padding ceil_mode"
RECURRENT = "input_size hidden_size num_layers bias bidirectional"
TOKENS = torch.tensor([[1, 2, 4]])
LABELS = torch.tensor([0, 1])


def layers() -> list[Layer]:
    torch.manual_seed(0)
    image, line, block = (2, 4, 9, 10), (2, 4, 9), (2, 4, 6, 7, 8)
    computed = torch.nn.utils.weight_norm(nn.Conv1d(4, 6, 3, stride=2, groups=2))
    return [
        Layer(nn.Linear(9, 5), [line], "in_features out_features"),
        Layer(nn.Linear(9, 5, bias=False), [line], "in_features out_features"),
        Layer(nn.Bilinear(3, 4, 5), [(2, 3), (2, 4)], "in1_features in2_features out_features"),
        Layer(nn.Conv1d(4, 6, 3), [line], CONV),
        Layer(nn.Conv1d(4, 8, 3, stride=2, padding=1, dilation=2, groups=4), [line], CONV),
        Layer(nn.Conv2d(4, 6, (2, 3), stride=(2, 1), padding=(0, 2)), [image], CONV),
        Layer(nn.Conv2d(4, 6, 3, padding="same"), [image], CONV),
        Layer(nn.Conv2d(4, 6, (2, 4), padding="same"), [image], CONV, CONV.replace("padding ", "")),
        Layer(nn.Conv2d(4, 6, 3, padding="valid"), [image], CONV),
        Layer(
            nn.Conv2d(4, 6, 3, padding=(1, 2), padding_mode="reflect"),
            [image], CONV + " padding_mode", CONV.replace("padding ", ""),
        ),
        Layer(
            nn.Conv1d(4, 6, 3, padding=2, padding_mode="circular"),
            [line], CONV + " padding_mode", CONV.replace("padding ", ""),
        ),
        Layer(nn.Conv3d(4, 4, (1, 2, 3), padding=1, bias=False), [block], CONV),
        Layer(nn.Conv2d(4, 6, 3), [(4, 9, 10)], CONV),
        Layer(computed, [line], CONV),
        Layer(nn.ConvTranspose1d(4, 6, 3, groups=2), [line], CONV + " output_padding"),
        Layer(
            nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=(0, 1), dilation=2),
            [image], CONV + " output_padding",
        ),
        Layer(nn.ConvTranspose3d(4, 2, 2, stride=3), [block], CONV + " output_padding"),
        Layer(
            nn.Embedding(9, 4, padding_idx=-2), [TOKENS],
            "num_embeddings embedding_dim padding_idx scale_grad_by_freq sparse",
        ),
        Layer(nn.Embedding(9, 4), [TOKENS], "num_embeddings embedding_dim padding_idx"),
        Layer(
            nn.EmbeddingBag(9, 4, mode="sum", padding_idx=1), [TOKENS],
            "num_embeddings embedding_dim padding_idx mode include_last_offset",
        ),
        Layer(nn.EmbeddingBag(9, 4), [TOKENS], "num_embeddings embedding_dim padding_idx mode"),
        Layer(nn.BatchNorm1d(4, eps=1e-3, momentum=0.2), [line], "num_features eps momentum affine"),
        Layer(nn.BatchNorm2d(4, affine=False), [image], "num_features eps momentum affine"),
        Layer(nn.BatchNorm2d(4, momentum=None), [image], "num_features eps affine"),
        Layer(nn.BatchNorm2d(4, momentum=0.3), [image], "num_features eps momentum affine", training=True),
        Layer(nn.BatchNorm3d(4, affine=False, track_running_stats=False), [block], "eps affine"),
        Layer(nn.InstanceNorm1d(4, affine=True, eps=1e-4), [line], "num_features eps affine"),
        Layer(
            nn.InstanceNorm2d(4, track_running_stats=True, momentum=0.3), [image],
            "num_features eps momentum affine",
        ),
        Layer(nn.InstanceNorm2d(4), [image], "eps affine"),
        Layer(nn.GroupNorm(2, 4, eps=1e-3), [line], "num_groups num_channels eps affine"),
        Layer(nn.GroupNorm(2, 4, affine=False), [line], "num_groups eps affine"),
        Layer(nn.LayerNorm((4, 9), eps=1e-3), [line], "normalized_shape eps elementwise_affine"),
        Layer(nn.LayerNorm(9, bias=False), [line], "normalized_shape eps elementwise_affine"),
        Layer(nn.LayerNorm(9, elementwise_affine=False), [line], "normalized_shape eps elementwise_affine"),
        Layer(nn.RMSNorm(9), [line], "normalized_shape eps elementwise_affine", "normalized_shape"),
        Layer(nn.RMSNorm(9, eps=1e-3, elementwise_affine=False), [line], "normalized_shape eps", ""),
        Layer(nn.LocalResponseNorm(3, 1e-3, 0.5, 2.0), [image], "size alpha beta k"),
        Layer(nn.LocalResponseNorm(2), [line], "size alpha beta k"),
        Layer(nn.MaxPool1d(3, 2, 1), [line], POOL + " dilation"),
        Layer(nn.MaxPool2d(3, stride=2, padding=1), [image], POOL + " dilation"),
        Layer(nn.MaxPool2d((3, 2), dilation=(2, 1), ceil_mode=True), [image], POOL + " dilation"),
        Layer(nn.MaxPool2d(2, return_indices=True), [image], POOL),
        Layer(nn.MaxPool3d(2), [block], POOL + " dilation"),
        Layer(nn.AvgPool1d(3, 2, 1), [line], POOL + " count_include_pad"),
        Layer(
            nn.AvgPool2d(3, (2, 1), 1, count_include_pad=False, divisor_override=2), [image],
            POOL + " count_include_pad divisor_override",
        ),
        Layer(nn.AvgPool3d((1, 2, 3)), [block], POOL + " count_include_pad divisor_override"),
        Layer(nn.LPPool1d(3.0, 2), [line], "norm_type kernel_size ceil_mode"),
        Layer(nn.LPPool2d(2, (3, 2), stride=1), [image], "norm_type kernel_size stride ceil_mode"),
        Layer(nn.FractionalMaxPool2d(2, output_size=3), [image], "kernel_size"),
        Layer(nn.AdaptiveAvgPool1d(3), [line], "output_size"),
        Layer(nn.AdaptiveAvgPool1d(1), [line], "output_size"),
        Layer(nn.AdaptiveAvgPool2d(1), [image], "output_size"),
        Layer(nn.AdaptiveAvgPool2d((3, 5)), [image], "output_size"),
        Layer(nn.AdaptiveAvgPool2d((3, None)), [image], ""),
        Layer(nn.AdaptiveAvgPool3d(1), [block], "output_size"),
        Layer(nn.AdaptiveMaxPool1d(3), [line], "output_size"),
        Layer(nn.AdaptiveMaxPool2d((None, 2)), [image], ""),
        Layer(nn.AdaptiveMaxPool3d(2), [block], "output_size"),
        Layer(nn.Softmax(dim=-1), [line], "dim"),
        Layer(nn.Softmax(), [line], ""),
        Layer(nn.LogSoftmax(2), [line], "dim"),
        Layer(nn.Softmin(-1), [line], "dim"),
        Layer(nn.LeakyReLU(0.2), [line], "negative_slope"),
        Layer(nn.LeakyReLU(), [line], "negative_slope"),
        Layer(nn.LeakyReLU(0.3, inplace=True), [line], "negative_slope"),
        Layer(nn.PReLU(4), [line], "num_parameters"),
        Layer(nn.ELU(2), [line], "alpha"),
        Layer(nn.CELU(0.5), [line], "alpha", ""),
        Layer(nn.GELU("tanh"), [line], "approximate"),
        Layer(nn.GELU(), [line], "approximate"),
        Layer(nn.GLU(1), [line], "dim", ""),
        Layer(nn.Hardtanh(-2, 3.0), [line], "min_val max_val"),
        Layer(nn.ReLU6(), [line], "min_val max_val"),
        Layer(nn.Hardshrink(0.3), [line], "lambd", ""),
        Layer(nn.Softshrink(0.3), [line], "lambd", ""),
        Layer(nn.Softplus(2, 10), [line], "beta threshold", ""),
        Layer(nn.Threshold(0.1, 20), [line], "threshold value", ""),
        Layer(nn.RReLU(0.1, 0.3), [line], "lower upper"),
        Layer(nn.ReLU(), [line], ""),
        Layer(nn.SELU(), [line], ""),
        Layer(nn.Dropout(0.3), [line], "p training", "training"),
        Layer(nn.Dropout(0.2), [line], "p training", training=True),
        Layer(nn.Dropout2d(0.3), [image], "p training", ""),
        Layer(nn.AlphaDropout(0.1), [line], "p training", ""),
        Layer(nn.FeatureAlphaDropout(0.1), [line], "p training", ""),
        Layer(nn.Flatten(), [line], "start_dim end_dim", ""),
        Layer(nn.Flatten(0, 1), [line], "start_dim end_dim", ""),
        Layer(nn.Unflatten(1, (2, -1)), [line], "dim unflattened_size", ""),
        Layer(nn.PixelShuffle(2), [image], "upscale_factor", ""),
        Layer(nn.PixelUnshuffle(3), [(1, 2, 6, 9)], "downscale_factor", ""),
        Layer(nn.ChannelShuffle(2), [image], "groups", ""),
        Layer(nn.Fold((4, 5), (2, 2), padding=1), [(1, 12, 30)],
              "output_size kernel_size dilation padding stride", ""),
        Layer(nn.Unfold((2, 3), dilation=1, stride=2), [image], "kernel_size dilation padding stride", ""),
        Layer(nn.Upsample(scale_factor=2), [image], "scale_factor mode"),
        Layer(nn.Upsample(scale_factor=(2, 1.5), mode="bilinear"), [image], "scale_factor mode"),
        Layer(nn.Upsample(scale_factor=3, mode="linear", align_corners=True), [line],
              "scale_factor mode align_corners", ""),
        Layer(nn.Upsample(scale_factor=1.5, recompute_scale_factor=True), [image], "mode"),
        Layer(nn.Upsample(size=7, mode="nearest-exact"), [image], "mode", ""),
        Layer(nn.UpsamplingBilinear2d(scale_factor=2), [image], "scale_factor mode align_corners"),
        Layer(nn.UpsamplingNearest2d(size=(11, 6)), [image], "size mode"),
        Layer(nn.ZeroPad2d((1, 2, 3, 4)), [image], "padding value"),
        Layer(nn.ConstantPad1d(1, 2.5), [line], "padding value"),
        Layer(nn.ReflectionPad2d((1, 2, 0, 1)), [image], "padding", ""),
        Layer(nn.ReplicationPad3d(1), [block], "padding", ""),
        Layer(nn.CircularPad1d(2), [line], "padding", ""),
        Layer(
            nn.LSTM(9, 5, 2, bidirectional=True, batch_first=True, dropout=0.3), [line],
            RECURRENT + " proj_size batch_first dropout", RECURRENT + " proj_size",
        ),
        Layer(
            nn.LSTM(9, 5, proj_size=2), [line],
            RECURRENT + " proj_size batch_first", RECURRENT + " proj_size",
        ),
        Layer(nn.GRU(9, 5, bias=False), [line], RECURRENT + " batch_first dropout", RECURRENT),
        Layer(
            nn.RNN(9, 5, nonlinearity="relu"), [line],
            RECURRENT + " nonlinearity batch_first", RECURRENT + " nonlinearity",
        ),
        Layer(nn.LSTMCell(3, 5), [(2, 3)], "input_size hidden_size bias"),
        Layer(nn.GRUCell(3, 5, bias=False), [(2, 3)], "input_size hidden_size bias"),
        Layer(nn.RNNCell(3, 5), [(2, 3)], "input_size hidden_size bias nonlinearity"),
        Layer(
            nn.MultiheadAttention(12, 3, batch_first=True), [(2, 5, 12)] * 3,
            "embed_dim num_heads head_dim kdim vdim",
        ),
        Layer(
            nn.MultiheadAttention(12, 2, kdim=6, vdim=5), [(3, 2, 12), (4, 2, 6), (4, 2, 5)],
            "embed_dim num_heads head_dim kdim vdim", kwargs={"need_weights": False},
        ),
        Layer(nn.MultiheadAttention(12, 4), [(5, 1, 12)] * 3, "embed_dim num_heads head_dim kdim vdim"),
        Layer(nn.CosineSimilarity(0, eps=1e-4), [(2, 3), (2, 3)], "dim eps", ""),
        Layer(nn.PairwiseDistance(3, keepdim=True), [(2, 3), (2, 3)], "norm eps keepdim", ""),
        Layer(nn.MSELoss(reduction="sum"), [(2, 3), (2, 3)], "reduction", ""),
        Layer(nn.HuberLoss(delta=0.5), [(2, 3), (2, 3)], "reduction delta", ""),
        Layer(
            nn.CrossEntropyLoss(ignore_index=1, label_smoothing=0.1), [(2, 3), LABELS],
            "reduction ignore_index label_smoothing", "",
        ),
    ]  # fmt: skip


class Everything(nn.Module):
    def __init__(self, parts: list[Layer]):
        super().__init__()
        for i, layer in enumerate(parts):
            self.add_module(f"m{i}", layer.module)
        self.kwargs = [layer.kwargs or {} for layer in parts]

    def forward(self, inputs: list[tuple[torch.Tensor, ...]]):
        # A clone: some of them write in place.
        return [
            self.get_submodule(f"m{i}")(*[x.clone() for x in args], **self.kwargs[i])
            for i, args in enumerate(inputs)
        ]


def plain(value: Any) -> Any:
    return [plain(item) for item in value] if isinstance(value, (tuple, list)) else value


def is_same(module: nn.Module, name: str, told: Any, decomposed: bool) -> bool:
    actual = plain(getattr(module, name))
    if isinstance(told, list) and type(actual) in (int, float):
        return all(item == actual for item in told)  # one number for all dimensions
    if name == "padding" and isinstance(actual, str) and decomposed:
        pads = getattr(module, "_reversed_padding_repeated_twice", None)
        return told == ([0] * len(told) if actual == "valid" else plain(pads)[::-2])
    return told == actual and isinstance(told, bool) == isinstance(actual, bool)


def check(collection: dict, model: nn.Module, decomposed: bool) -> dict[str, dict]:
    """What is told, by path."""
    told = {record["path"]: record.get("attributes", {}) for record in collection["modules"]}
    wrong = []
    for path, attributes in told.items():
        module = model.get_submodule(path)
        for name, value in attributes.items():
            if not hasattr(module, name) or not is_same(module, name, value, decomposed):
                wrong.append(f"{path} {module}: {name} is {getattr(module, name, None)}, told {value}")
    assert not wrong, "\n".join(wrong)
    return told


def export(model: nn.Module, args: tuple, mode: str) -> torch.export.ExportedProgram:
    dynamic = None
    if mode == "dynamic":
        dynamic = pytree.tree_map(lambda x: dict.fromkeys(range(x.dim()), torch.export.Dim.AUTO), args)
    program = torch.export.export(model, args, dynamic_shapes=dynamic, strict=mode == "strict")
    return program.run_decompositions() if mode == "decomposed" else program


@functools.cache
def everything() -> tuple[list[Layer], nn.Module]:
    parts = layers()
    for layer in parts:
        layer.module.train(layer.training)
    return parts, Everything(parts)


@pytest.mark.parametrize("mode", tiers.one_in(9, MODES))
def test_layers(program, tmp_path, mode):
    parts, model = everything()
    path = os.fspath(tmp_path / "model.pt2")
    inputs = [layer.arguments() for layer in parts]
    torch.export.save(export(model, (inputs,), mode), path)
    collection = program.trace(path)
    program.validate(collection)
    told = check(collection, model, mode == "decomposed")
    missing = []
    for i, layer in enumerate(parts):
        lost = layer.floor(mode) - told[f"m{i}"].keys()
        # Sizes that vary may be the input's.
        if lost and not (mode == "dynamic" and lost <= {"output_size", "dim"}):
            missing.append(f"{layer.module}: {sorted(lost)}")
    assert not missing, "\n".join(missing)
    # How a module is kept makes no difference.
    inlined = program.trace(path, "--no-default-leaves")
    assert {m["path"]: m.get("attributes", {}) for m in inlined["modules"]} == told


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool2d(2)
        self.shrinking = nn.AdaptiveAvgPool2d((3, 3))
        self.norm = nn.BatchNorm2d(2)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        x = self.pool(self.norm(x))
        self.drop.p = 0.4
        x = self.drop(x)
        self.drop.p = 0.1
        return self.shrinking(self.pool(self.shrinking(x))), self.drop(x)


def test_calls_that_disagree_tell_nothing(program, tmp_path):
    path = os.fspath(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(Twice().eval(), (torch.randn(1, 2, 20, 20),)), path)
    records = {record["path"]: record for record in program.trace(path)["modules"]}
    assert records["pool"]["attributes"]["kernel_size"] == [2, 2] and records["pool"]["calls"] == 2
    assert records["shrinking"]["attributes"] == {"output_size": [3, 3]}  # the second one: of 1 by 1
    assert records["drop"]["attributes"] == {"training": False}


def test_rules_see_them(program, tmp_path):
    path = os.fspath(tmp_path / "model.pt2")
    model = nn.Sequential(nn.Conv1d(4, 4, 2), nn.Conv1d(4, 4, 2, groups=2))
    torch.export.save(torch.export.export(model, (torch.randn(1, 4, 5),)), path)
    rules = tmp_path / "rules.json"
    rules.write_text('{"rules": [{"type": "**.Conv1d", "where": {"groups": {">": 1}}, "leaf": false}]}')
    collection = program.trace(path, "--config", os.fspath(rules))
    assert [record["status"] for record in collection["modules"]] == ["traced", "leaf", "traced"]
    assert [node["target"] for node in collection["graphs"][0]["nodes"] if node["op"] != "get_attr"] == [
        "input",
        "0",
        "aten.conv1d.default",
        "output",
    ]


def test_a_model_that_is_a_layer(program, tmp_path):
    path = os.fspath(tmp_path / "model.pt2")
    torch.export.save(torch.export.export(nn.Linear(4, 3), (torch.randn(2, 4),)), path)
    assert program.trace(path)["modules"][0]["attributes"] == {"in_features": 4, "out_features": 3}


# Paths with something that must be told.
ZOO = {
    "resnet18": {"conv1": {"kernel_size": [7, 7], "stride": [2, 2], "padding": [3, 3], "groups": 1},
                 "maxpool": {"kernel_size": [3, 3], "stride": [2, 2], "padding": [1, 1]},
                 "avgpool": {"output_size": [1, 1]}, "fc": {"out_features": 1000}},
    "vit_b_16": {"encoder.layers.encoder_layer_0.self_attention": {"num_heads": 12, "embed_dim": 768}},
    "swin_t": {"features.0.0": {"kernel_size": [4, 4], "stride": [4, 4]}},
    "bert": {"model.pooler.dense": {"in_features": 32}},
    "segformer": {"model.segformer.stages.0.patch_embeddings.proj": {"kernel_size": [7, 7]}},
    "wav2vec2": {},
}  # fmt: skip


@pytest.mark.volume
@pytest.mark.parametrize("name", ZOO)
@pytest.mark.parametrize("mode", ("nonstrict", "decomposed"))
def test_well_known_models(program, tmp_path, name, mode):
    tvcompat.prepare()
    if name in ("bert", "segformer", "wav2vec2"):
        pytest.importorskip("transformers")
        model, args = zoo.MAKERS[f"{name}_traced"]()
        model = model(False) if not isinstance(model, nn.Module) else model
    else:
        torchvision = pytest.importorskip("torchvision")
        size = 64 if name == "resnet18" else 224
        model, args = getattr(torchvision.models, name)(), (torch.randn(1, 3, size, size),)
    model.eval()
    path = os.fspath(tmp_path / "model.pt2")
    torch.export.save(export(model, args, mode), path)
    told = check(program.trace(path), model, mode == "decomposed")
    for module, attributes in ZOO[name].items():
        assert {key: told[module].get(key) for key in attributes} == attributes
    for module in model.modules():
        assert not isinstance(module, nn.Conv2d) or "kernel_size" in told[name_of(model, module)]


def name_of(model: nn.Module, wanted: nn.Module) -> str:
    return next(path for path, module in model.named_modules() if module is wanted)


class Holder(nn.Module):
    def __init__(self, layer: Layer):
        super().__init__()
        self.m, self.kwargs = layer.module, layer.kwargs or {}

    def forward(self, *args):
        result = self.m(*args, **self.kwargs)
        return result[0] if isinstance(result, tuple) else result


# What takes the shape of an input or of another value, or is a tensor in the code: an archive of torch.jit.trace does
# not tell these.
UNTOLD = {
    nn.Conv1d: {"in_channels", "out_channels", "kernel_size"},  # of weight_norm
    nn.LocalResponseNorm: {"alpha", "k"},
    nn.MultiheadAttention: {"num_heads", "head_dim"},
    nn.AdaptiveAvgPool1d: {"output_size"},
    nn.AdaptiveAvgPool2d: {"output_size"},
    nn.AdaptiveAvgPool3d: {"output_size"},
    nn.AdaptiveMaxPool1d: {"output_size"},
    nn.AdaptiveMaxPool3d: {"output_size"},
    nn.Softmax: {"dim"},
    nn.LogSoftmax: {"dim"},
    nn.Softmin: {"dim"},
}


def test_layers_of_traced_archives(program, tmp_path):
    """Attributes that torch.jit.trace leaves out are told by the same operations."""
    path = os.fspath(tmp_path / "model.pt")
    parts, _ = everything()
    missing = []
    for layer in parts:
        holder = Holder(layer)
        holder.train(layer.training)
        with torch.no_grad():
            torch.jit.trace(holder, tuple(x.clone() for x in layer.arguments()), check_trace=False).save(path)
        told = check(program.trace(path), holder, False)
        if lost := layer.floor("") - told["m"].keys() - UNTOLD.get(type(layer.module), set()):
            missing.append(f"{layer.module}: {sorted(lost)}")
    assert not missing, "\n".join(missing)


def test_rules_see_those_of_traced_archives(program, tmp_path):
    path = os.fspath(tmp_path / "model.pt")
    model = nn.Sequential(nn.Conv1d(4, 4, 2), nn.Conv1d(4, 4, 2, groups=2), nn.Softmax(2), nn.Dropout(0.3)).eval()
    torch.jit.trace(model, torch.randn(1, 4, 5)).save(path)
    rules = tmp_path / "rules.json"
    wanted = [{"type": "**.Conv1d", "where": {"groups": {">": 1}}}, {"type": "**.Dropout", "where": {"p": {"==": 0.3}}}]
    rules.write_text(json.dumps({"rules": [{**rule, "leaf": False} for rule in wanted]}))
    collection = program.trace(path, "--config", os.fspath(rules))
    assert [record["status"] for record in collection["modules"]] == ["traced", "leaf", "traced", "leaf", "traced"]
    rules.write_text(json.dumps({"rules": [{"type": "**.Softmax", "where": {"dim": {"==": 2}}, "leaf": False}]}))
    message = program.run("trace", path, "--config", os.fspath(rules)).stderr.decode()
    assert "matched nothing; the file does not have dim of the module that its globs match" in message
