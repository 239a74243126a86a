"""Makes files without an offence, with torch's own savers: FUNCTIONS has for each kind of file what yields (name, bytes).

All that torch.load reads by default, what torch.jit, torch.export, torch.package and torch.distributed.checkpoint write, safetensors where
that package is installed, and JSON.  Names end as the savers' users name such files; nothing is drawn without a seed.
"""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import random
import tempfile
import unittest.mock
import uuid
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

SAMPLES = pathlib.Path(__file__).resolve().parents[2] / "sample_models"
File = tuple[str, bytes]
NAMES = """bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex32 complex64 complex128
    float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2"""
DTYPES = [getattr(torch, name) for name in NAMES.split() if hasattr(torch, name)]  # that this torch has


def saved(value: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer, **options)
    return buffer.getvalue()


def of_type(dtype: torch.dtype, *sizes: int) -> Tensor:
    """Whose bytes count up, in which every pattern of bits is a number that is no NaN."""
    count = torch.Size(sizes).numel() * torch.empty(0, dtype=dtype).element_size()
    return (torch.arange(count) % 2).to(torch.uint8).view(dtype).reshape(sizes)


# --- torch.save ---


def dtypes() -> Iterator[File]:
    for dtype in DTYPES:
        name = str(dtype).removeprefix("torch.")
        tensor = of_type(dtype, 4, 6)
        yield f"{name}.pt", saved(tensor)
        yield f"{name}_views.pt", saved([tensor, tensor[1:3], tensor.t(), tensor[::2, 1:], tensor[0, 0], tensor[:0]])
        if dtype in torch.storage._dtype_to_storage_type_map():  # else torch cannot read what it writes
            yield f"{name}_legacy.pt", saved({"a": tensor, "b": tensor[1:]}, _use_new_zipfile_serialization=False)
        if dtype.is_floating_point or dtype.is_complex:
            yield f"{name}_parameter.pt", saved(nn.Parameter(tensor))
    for name in ("quint8", "qint8", "qint32", "quint4x2"):
        dtype = getattr(torch, name)
        if name != "quint4x2":
            tensor = torch.quantize_per_tensor(torch.ones(3, 4), 0.5, 1, dtype)
            yield f"{name}.pt", saved(tensor)
            yield f"{name}_legacy.pt", saved(tensor, _use_new_zipfile_serialization=False)
        for axis in (0, 1) if name != "quint4x2" else (0,):
            points = torch.zeros(3 + axis, dtype=torch.float32 if name == "quint4x2" else torch.int64)
            kind = torch.quint4x2 if name == "quint4x2" else dtype
            yield f"{name}_channels_{axis}.pt", saved(torch.quantize_per_channel(torch.ones(3, 4), torch.ones(3 + axis), points, axis, kind))


def sparse() -> Iterator[File]:
    dense = torch.tensor([[0.0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 0], [0, 5, 0, 6]])
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64):
        name, matrix = str(dtype).removeprefix("torch."), dense.to(dtype)
        yield f"coo_{name}.pt", saved(matrix.to_sparse())
        yield f"csr_{name}.pt", saved(matrix.to_sparse_csr())
        yield f"csc_{name}.pt", saved(matrix.to_sparse_csc())
        yield f"bsr_{name}.pt", saved(matrix.to_sparse_bsr((2, 2)))
        yield f"bsc_{name}.pt", saved(matrix.to_sparse_bsc((2, 2)))
    uncoalesced = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4, 5], (2, 3))
    hybrid = torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3), (4, 3))
    batches = torch.stack([dense, dense])
    narrow = torch.sparse_csr_tensor(torch.tensor([0, 1, 2], dtype=torch.int32), torch.tensor([0, 1], dtype=torch.int32), torch.ones(2), (2, 2))
    for name, tensor in {
        "coo_uncoalesced": uncoalesced,
        "coo_coalesced": uncoalesced.coalesce().clone(),
        "coo_hybrid": hybrid,
        "coo_empty": torch.sparse_coo_tensor(size=(3, 4)),
        "coo_without_dimensions": torch.tensor(3.0).to_sparse(),
        "coo_parameter": nn.Parameter(hybrid),
        "csr_batches": batches.to_sparse_csr(),
        "csc_batches": batches.to_sparse_csc(),
        "csr_empty": torch.zeros(3, 4).to_sparse_csr(),
        "csr_int32": narrow,
        "csr_no_columns": torch.zeros(3, 0).to_sparse_csr(),
        "several": [hybrid, narrow, uncoalesced, dense.to_sparse_bsr((1, 2))],
    }.items():
        yield f"{name}.pt", saved(tensor)
        yield f"{name}_legacy.pt", saved({"t": tensor}, _use_new_zipfile_serialization=False)
    yield "embedding_gradient.pt", saved(embedding_gradient())


def embedding_gradient() -> Tensor:
    embedding = nn.Embedding(10, 3, sparse=True)
    nn.init.ones_(embedding.weight)
    embedding(torch.tensor([1, 2, 2])).sum().backward()
    assert embedding.weight.grad is not None
    return embedding.weight.grad


def nested() -> Iterator[File]:
    parts = [torch.ones(2, 3), torch.zeros(4, 3), torch.ones(1, 3)]
    jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
    yield "jagged.pt", saved(jagged)
    yield "strided.pt", saved(torch.nested.nested_tensor(parts))
    yield "strided_list.pt", saved({"x": torch.nested.nested_tensor([part.half() for part in parts]), "n": 1})
    yield "jagged_dict.pt", saved({"x": jagged, "y": torch.ones(2)})
    values, offsets = torch.arange(14.0).reshape(7, 2), torch.tensor([0, 2, 6, 7])
    yield "jagged_offsets.pt", saved(torch.nested.nested_tensor_from_jagged(values, offsets))
    yield "jagged_lengths.pt", saved(torch.nested.nested_tensor_from_jagged(values, offsets, lengths=torch.tensor([1, 4, 1])))
    yield "jagged_bounds.pt", saved(torch.nested.nested_tensor_from_jagged(values, offsets, min_seqlen=1, max_seqlen=4))


def layouts() -> Iterator[File]:
    image = torch.ones(2, 3, 4, 5)
    for name, tensor in {
        "channels_last": image.to(memory_format=torch.channels_last),
        "channels_last_3d": image[None].to(memory_format=torch.channels_last_3d),
        "permuted": image.permute(3, 1, 0, 2),
        "expanded": torch.ones(3, 1).expand(3, 1000),
        "overlapping": torch.arange(6).as_strided((3, 3), (1, 1)),
        "conjugate": torch.tensor([1 + 2j]).conj(),
        "negative": torch.tensor([1 + 2j]).conj().imag,
        "real": torch.tensor([1 + 2j, 3j]).real,
        "meta": torch.ones(1000, 1000, device="meta"),
        "gradient": torch.ones(3, requires_grad=True),
        "shared": [image, image, image[0], image.view(-1)],
        "wide": torch.zeros(1 << 16),
        "many_dimensions": torch.ones([1] * 20),
    }.items():
        yield f"{name}.pt", saved(tensor)
    with_attributes = torch.ones(3)
    with_attributes.note, with_attributes.level = "kept", 3  # type: ignore[attr-defined]
    yield "attributes.pt", saved(with_attributes)
    parameter = nn.Parameter(torch.ones(3))
    parameter.tags = {"group": "a"}  # type: ignore[attr-defined]
    yield "parameter_attributes.pt", saved({"p": parameter})
    yield "parameters.pt", saved([nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2), requires_grad=False), nn.Buffer(torch.ones(1))])
    yield "storages.pt", saved({"typed": torch.ones(3).storage(), "untyped": torch.ones(3).untyped_storage(), "t": torch.ones(3)})
    yield "storages_legacy.pt", saved(torch.ones(3).storage(), _use_new_zipfile_serialization=False)


def containers() -> Iterator[File]:
    tensor = torch.ones(2)
    deep: Any = tensor
    for level in range(60):
        deep = {f"level_{level}": deep} if level % 2 else [deep]
    values: dict[str, Any] = {
        "empty_dict": {}, "empty_list": [], "empty_tuple": (), "nothing": None, "true": True, "text": "hello", "bytes": b"\0\1\2" * 100,
        "numbers": [0, -1, 255, 65536, 1 << 40, -(1 << 63), 1 << 100, 0.5, float("inf"), float("nan"), 1 + 2j],
        "unicode": "Gr\u00fc\u00dfe \u4f60\u597d \U0001f600",
        "names_of_python": ["os.system", "__import__('os')", "eval", "cos\nsystem\n(S'true'\ntR.", "builtins.exec"],
        "paths": {"../checkpoint/best": "/home/user/data", "C:\\models": "..\\x"}, "nested": deep,
        "mixed": [{"a": [(tensor, 1)]}, ("b", None), {1: 2, (3, 4): "x"}],
        "ordered": OrderedDict(a=tensor, b=OrderedDict(c=1)), "set": {1, 2, "a"},
        "kinds": [torch.float32, torch.int8, torch.strided, torch.sparse_coo, torch.quint8],
        "devices": [torch.device("cpu"), torch.device("cuda", 1), torch.device("meta")], "size": torch.Size([1, 2, 3]),
        "itself_twice": [[tensor] * 3] * 3,
        "bytearray": bytearray(b"abc" * 50), "complex_numbers": {"z": 1.5 - 2j}, "many": {f"key_{i}": i for i in range(3000)},
        "large_list": list(range(5000)),
    }  # fmt: skip
    for name, value in values.items():
        yield f"{name}.pt", saved(value)
    for protocol in (2, 3, 4, 5):
        yield f"protocol_{protocol}.pt", saved({"w": tensor, "epoch": protocol, "name": "model"}, pickle_protocol=protocol)
        yield f"protocol_{protocol}_legacy.pt", saved({"w": tensor, "n": [1, 2]}, pickle_protocol=protocol, _use_new_zipfile_serialization=False)
    for suffix in ("pth", "bin", "ckpt"):
        yield f"model.{suffix}", saved({"state_dict": {"w": tensor}, "epoch": 3})


# Modules and inputs that they take; some are scripted, traced and exported too.
MODULES: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple]]] = {
    "linear": (lambda: nn.Linear(4, 3), lambda: (torch.ones(2, 4),)),
    "bilinear": (lambda: nn.Bilinear(4, 4, 3), lambda: (torch.ones(2, 4), torch.ones(2, 4))),
    "conv1d": (lambda: nn.Conv1d(2, 3, 3), lambda: (torch.ones(1, 2, 8),)),
    "conv2d": (lambda: nn.Conv2d(2, 4, 3, padding=1, groups=2), lambda: (torch.ones(1, 2, 8, 8),)),
    "conv3d": (lambda: nn.Conv3d(1, 2, 2), lambda: (torch.ones(1, 1, 4, 4, 4),)),
    "conv_transpose": (lambda: nn.ConvTranspose2d(2, 3, 3, stride=2), lambda: (torch.ones(1, 2, 4, 4),)),
    "batch_norm": (lambda: nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.ReLU()), lambda: (torch.ones(1, 1, 4, 4),)),
    "layer_norm": (lambda: nn.Sequential(nn.LayerNorm(4), nn.GELU()), lambda: (torch.ones(2, 4),)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), lambda: (torch.ones(1, 4, 3),)),
    "instance_norm": (lambda: nn.InstanceNorm1d(3, affine=True), lambda: (torch.ones(2, 3, 4),)),
    "embedding": (lambda: nn.Embedding(10, 3, padding_idx=0), lambda: (torch.tensor([1, 2]),)),
    "embedding_bag": (lambda: nn.EmbeddingBag(10, 3), lambda: (torch.tensor([[1, 2]]),)),
    "lstm": (lambda: nn.LSTM(4, 3, 2, bidirectional=True), lambda: (torch.ones(5, 1, 4),)),
    "gru": (lambda: nn.GRU(4, 3, batch_first=True), lambda: (torch.ones(1, 5, 4),)),
    "rnn_cell": (lambda: nn.RNNCell(4, 3), lambda: (torch.ones(2, 4),)),
    "attention": (lambda: nn.MultiheadAttention(4, 2), lambda: (torch.ones(3, 1, 4),) * 3),
    "encoder": (lambda: nn.TransformerEncoderLayer(4, 2, 8), lambda: (torch.ones(3, 1, 4),)),
    "pooling": (lambda: nn.Sequential(nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten()), lambda: (torch.ones(1, 2, 8, 8),)),
    "dropout": (lambda: nn.Sequential(nn.Dropout(0.3), nn.Softmax(-1)), lambda: (torch.ones(2, 4),)),
    "upsample": (lambda: nn.Upsample(scale_factor=2), lambda: (torch.ones(1, 1, 3, 3),)),
    "parameters": (lambda: nn.PReLU(3), lambda: (torch.ones(2, 3),)),
    "weight_norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)), lambda: (torch.ones(2, 4),)),
    "classifier": (lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10), nn.LogSoftmax(1)), lambda: (torch.ones(1,
    1, 8, 8),)),
}  # fmt: skip


def made(name: str) -> tuple[nn.Module, tuple]:
    torch.manual_seed(0)
    module, inputs = MODULES[name]
    return module().eval(), inputs()


def state_dicts() -> Iterator[File]:
    for name in MODULES:
        module, _ = made(name)
        yield f"{name}.pt", saved(module.state_dict())
    module, _ = made("classifier")
    yield "legacy.pth", saved(module.state_dict(), _use_new_zipfile_serialization=False)
    yield "half.pt", saved(module.half().state_dict())
    yield "parameters_kept.pt", saved(module.state_dict(keep_vars=True))
    yield (
        "lightning.ckpt",
        saved(
            {
                "epoch": 1,
                "global_step": 10,
                "pytorch-lightning_version": "2.4.0",
                "state_dict": module.state_dict(),
                "loops": {"fit": {"n": 1}},
                "hparams": {"lr": 0.1},
            }
        ),
    )


OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": {"lr": 0.1, "momentum": 0.9}, "Adam": {"amsgrad": True}, "AdamW": {"fused": True}, "Adamax": {}, "Adagrad": {}, "Adadelta": {},
    "NAdam": {}, "RAdam": {},
    "RMSprop": {"momentum": 0.9, "centered": True}, "Rprop": {}, "ASGD": {}, "LBFGS": {}, "Adafactor": {}, "Muon": {},
}  # fmt: skip


def trained(name: str, **options: Any) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = nn.Linear(4, 3, bias=name != "Muon")  # which takes matrices only
    optimizer = getattr(torch.optim, name)(model.parameters(), **options)

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = model(torch.ones(2, 4)).square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    return model, optimizer


def optimizers() -> Iterator[File]:
    for name, options in OPTIMIZERS.items():
        if not hasattr(torch.optim, name):
            continue
        model, optimizer = trained(name, **options)
        yield f"{name}.pt", saved(optimizer.state_dict())
        yield f"{name}_checkpoint.pt", saved({"epoch": 3, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "loss": 0.5})
    module = nn.Linear(4, 3, bias=False)
    optimizer = torch.optim.SparseAdam(module.parameters())
    yield "SparseAdam.pt", saved(optimizer.state_dict())
    scaler = torch.amp.GradScaler("cpu")
    yield "scaler.pt", saved(scaler.state_dict())
    averaged = torch.optim.swa_utils.AveragedModel(nn.Linear(2, 2))
    yield "averaged.pt", saved(averaged.state_dict())


def schedulers() -> Iterator[File]:
    rates = torch.optim.lr_scheduler
    makers: dict[str, Callable[[torch.optim.Optimizer], Any]] = {
        "StepLR": lambda o: rates.StepLR(o, 3), "MultiStepLR": lambda o: rates.MultiStepLR(o, [2, 4]), "ConstantLR": rates.ConstantLR,
        "LinearLR": rates.LinearLR,
        "ExponentialLR": lambda o: rates.ExponentialLR(o, 0.9), "PolynomialLR": rates.PolynomialLR,
        "CosineAnnealingLR": lambda o: rates.CosineAnnealingLR(o, 5),
        "CosineAnnealingWarmRestarts": lambda o: rates.CosineAnnealingWarmRestarts(o, 5), "CyclicLR": lambda o: rates.CyclicLR(o, 0.01, 0.1),
        "OneCycleLR": lambda o: rates.OneCycleLR(o, 0.1, total_steps=10), "LambdaLR": lambda o: rates.LambdaLR(o, lambda epoch: 0.5),
        "MultiplicativeLR": lambda o: rates.MultiplicativeLR(o, lambda epoch: 0.5), "ReduceLROnPlateau": rates.ReduceLROnPlateau,
        "SequentialLR": lambda o: rates.SequentialLR(o, [rates.ConstantLR(o), rates.ExponentialLR(o, 0.9)], [2]),
        "ChainedScheduler": lambda o: rates.ChainedScheduler([rates.ConstantLR(o), rates.ExponentialLR(o, 0.9)]),
    }  # fmt: skip
    for name, maker in makers.items():
        _, optimizer = trained("SGD", lr=0.1, momentum=0.9)
        scheduler = maker(optimizer)
        yield f"{name}.pt", saved({"scheduler": scheduler.state_dict(), "optimizer": optimizer.state_dict()})


def loaders() -> Iterator[File]:
    """What training keeps of a DataLoader: the states of generators, the order, and where it was."""
    generator = torch.Generator().manual_seed(1)
    data = torch.utils.data
    values = data.TensorDataset(torch.arange(20.0).reshape(10, 2), torch.arange(10))
    order = list(data.RandomSampler(values, generator=generator))
    first, rest = data.random_split(values, [3, 7], generator)
    yield "generator.pt", saved({"generator": generator.get_state()})
    yield "random_states.pt", saved({"torch": torch.get_rng_state(), "python": random.Random(0).getstate(), "epoch": 2})
    yield "order.pt", saved({"epoch": 1, "index": 4, "order": order, "generator": generator.get_state()})
    yield "batches.pt", saved(list(data.BatchSampler(order, 3, drop_last=False)))
    yield "split.pt", saved({"first": list(first.indices), "rest": list(rest.indices)})
    yield "tensors.pt", saved(values.tensors)
    yield "weights.pt", saved({"sampler": data.WeightedRandomSampler([0.1, 0.9], 4, generator=generator).weights})
    yield "one_batch.pt", saved(next(iter(data.DataLoader(values, batch_size=4))))
    yield "legacy.pt", saved({"rng": torch.get_rng_state(), "order": order}, _use_new_zipfile_serialization=False)


# --- torch.jit ---


class Labelled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        with torch.profiler.record_function("a label"):
            return x + 1


class Steps(nn.Module):
    """With state, a loop, a branch, a dict and methods of its own."""

    sizes: list[int]

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.sizes = nn.Linear(4, 4), [1, 2, 3]
        self.register_buffer("count", torch.zeros(1))
        self.names = {"a": 1, "b": 2}

    def forward(self, x: Tensor, scale: float = 1.0, name: str = "a") -> Tensor:
        for size in self.sizes:
            x = self.linear(x) * size
        if x.sum() > 0:
            x = x + self.names[name]
        else:
            assert scale > 0, "the scale is not positive"
        return x * scale

    @torch.jit.export
    def text(self, words: list[str]) -> str:
        return ", ".join(words)


class Conditional(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))


class State(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.linear.weight
        self.register_buffer("count", torch.zeros(1))
        self.register_buffer("table", torch.arange(4.0), persistent=False)
        self.constant = torch.ones(4)

    def forward(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        return self.tied(self.linear(x)) * self.count + self.table * self.constant


class Options(nn.Module):
    def forward(self, x: Tensor, more: dict[str, Tensor], *rest: Tensor, mode: str = "none", count: int = 1, flag: bool = True) -> dict[str, Any]:
        total = x.sum(0) + more["a"].sum() + more["a b"].sum()
        for each in rest:
            total = total + each.sum()
        return {"total": total * count if mode == "none" and flag else total, "parts": (x, [count, None])}


def scripted(module: nn.Module) -> torch.jit.ScriptModule:
    return torch.jit.script(module.eval())


def jit_saved(module: torch.jit.ScriptModule, **options: Any) -> bytes:
    buffer = io.BytesIO()
    torch.jit.save(module, buffer, **options)
    return buffer.getvalue()


def quantized(kind: str) -> tuple[nn.Module, tuple]:
    """Of the old interface of torch.ao.quantization."""
    torch.manual_seed(0)
    ao = torch.ao.quantization
    if kind == "dynamic":
        return ao.quantize_dynamic(nn.Sequential(nn.Linear(4, 4), nn.LSTM(4, 4)), {nn.Linear, nn.LSTM}), (torch.ones(2, 1, 4),)
    model = nn.Sequential(ao.QuantStub(), nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 3), ao.DeQuantStub()).eval()
    model.qconfig = ao.get_default_qconfig("fbgemm")  # type: ignore[assignment]
    prepared = ao.prepare(model)
    prepared(torch.ones(1, 1, 8, 8))
    return ao.convert(prepared), (torch.ones(1, 1, 8, 8),)


def torchscript() -> Iterator[File]:
    yield "steps.pt", jit_saved(scripted(Steps()))
    yield "steps_extra_files.pt", jit_saved(scripted(Steps()), _extra_files={"labels.txt": "cat\ndog\n", "config.json": '{"a": [1]}'})
    yield "labelled.pt", jit_saved(scripted(Labelled()))
    yield "steps_frozen.pt", jit_saved(torch.jit.freeze(scripted(Steps()), preserved_attrs=["text"]))
    for name in MODULES:
        module, inputs = made(name)
        if name != "weight_norm":  # cannot be scripted
            yield f"{name}_scripted.pt", jit_saved(scripted(module))
        yield f"{name}_traced.pt", jit_saved(torch.jit.trace(module, inputs, check_trace=False))
    for kind in ("dynamic", "static"):
        module, inputs = quantized(kind)
        yield f"{kind}_quantized.pt", jit_saved(scripted(module))
        yield f"{kind}_quantized_traced.pt", jit_saved(torch.jit.trace(module, inputs, check_trace=False))
        if kind == "static":  # the other one's has script objects, which torch.load refuses
            yield f"{kind}_quantized_state.pt", saved(module.state_dict())


def mobile() -> Iterator[File]:
    modules = {
        name: made(name)[0] for name in ("linear", "conv2d", "batch_norm", "embedding", "lstm", "attention", "pooling", "classifier", "dropout")
    }
    for name, module in {"steps": Steps(), **modules, "quantized": quantized("static")[0]}.items():
        yield f"{name}.ptl", scripted(module)._save_to_buffer_for_lite_interpreter()
    yield "debug_info.ptl", scripted(Steps())._save_to_buffer_for_lite_interpreter(_save_mobile_debug_info=True)
    yield "extra_files.ptl", scripted(Steps())._save_to_buffer_for_lite_interpreter(_extra_files={"info.txt": "hello"})


# --- torch.export ---


def export_saved(program: torch.export.ExportedProgram, **options: Any) -> bytes:
    buffer = io.BytesIO()
    torch.export.save(program, buffer, **options)
    return buffer.getvalue()


def exported() -> Iterator[File]:
    export, batch = torch.export.export, torch.export.Dim("batch", min=2, max=64)
    row = (torch.ones(3, 4),)
    yield "state.pt2", export_saved(export(State(), row))
    yield "dynamic.pt2", export_saved(export(State(), row, dynamic_shapes=({0: batch},)))
    yield "derived.pt2", export_saved(export(nn.Flatten(), (torch.ones(4, 3),), dynamic_shapes=({0: 2 * batch},)))
    yield "automatic.pt2", export_saved(export(State(), row, dynamic_shapes=({0: torch.export.Dim.AUTO},)))
    yield "decomposed.pt2", export_saved(export(State(), row).run_decompositions())
    yield "strict.pt2", export_saved(export(nn.Linear(4, 3), row, strict=True))
    yield "conditional.pt2", export_saved(export(Conditional(), row))
    yield (
        "options.pt2",
        export_saved(export(Options(), (torch.ones(2), {"a": torch.ones(3), "a b": torch.ones(1)}, torch.ones(2)), {"mode": "none", "count": 3})),
    )
    yield "extra_files.pt2", export_saved(export(nn.ReLU(), row), extra_files={"labels.txt": "cat\ndog\n", "config.json": '{"a": 1}'})
    yield "training.pt2", export_saved(torch.export.export(nn.BatchNorm1d(4).train(), row))
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.complex64):
        yield f"{str(dtype).removeprefix('torch.')}.pt2", export_saved(export(nn.Linear(4, 2, dtype=dtype), (torch.ones(1, 4, dtype=dtype),)))
    for name in MODULES:
        module, inputs = made(name)
        yield f"{name}.pt2", export_saved(export(module, inputs))
    from torch.export.pt2_archive._package import package_pt2

    buffer = io.BytesIO()
    package_pt2(buffer, exported_programs={"first": export(nn.ReLU(), row), "second": export(nn.Linear(4, 2), row)}, extra_files={"notes": "two"})
    yield "two_programs.pt2", buffer.getvalue()


def samples() -> Iterator[File]:
    for path in sorted(SAMPLES.glob("*.pt*")):
        if path.name != "exported_containers.pt2":  # its sample inputs are objects of a class of the sample's own, which torch.load refuses
            yield path.name, path.read_bytes()


# --- other savers ---


def packages() -> Iterator[File]:
    from torch.package import PackageExporter

    def packaged(fill: Callable[[PackageExporter], None]) -> bytes:
        buffer = io.BytesIO()
        with PackageExporter(buffer) as exporter:
            exporter.extern(["torch.**", "collections"])
            fill(exporter)
        return buffer.getvalue()

    tensor = torch.ones(3)
    yield "tensor.pt", packaged(lambda package: package.save_pickle("m", "m.pkl", tensor))
    yield (
        "tensors.pt",
        packaged(lambda package: package.save_pickle("m", "m.pkl", {"a": tensor, "b": tensor[1:], "c": torch.ones(2, dtype=torch.int64)})),
    )
    yield "plain.pt", packaged(lambda package: package.save_pickle("m", "m.pkl", {"a": [1, 2.5, None, "x"]}))
    yield "text.pt", packaged(lambda package: package.save_text("m", "words.txt", "cat\ndog\n"))
    yield "bytes.pt", packaged(lambda package: package.save_binary("m", "data.bin", bytes(range(200))))
    yield "parameter.pt", packaged(lambda package: package.save_pickle("m", "m.pkl", nn.Parameter(tensor)))
    for name in ("linear", "batch_norm", "lstm", "classifier"):
        module, _ = made(name)
        yield f"{name}_state.pt", packaged(lambda package, module=module: package.save_pickle("m", "m.pkl", module.state_dict()))

    def several(package: PackageExporter) -> None:
        package.save_pickle("model", "weights.pkl", {"w": tensor})
        package.save_pickle("model.more", "weights.pkl", {"w": tensor, "v": torch.zeros(4, dtype=torch.float16)})
        package.save_text("model", "config.json", '{"layers": 2}')

    yield "several.pt", packaged(several)


def checkpoints() -> Iterator[File]:
    """The files of torch.distributed.checkpoint, written by one process: those of a checkpoint in one folder, its shards first."""
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed._shard import sharded_tensor
    from torch.distributed._shard.sharding_spec import ChunkShardingSpec
    from torch.distributed.checkpoint.format_utils import dcp_to_torch_save
    from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

    model, optimizer = trained("Adam")
    training = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    states: dict[str, dict[str, Any]] = {
        "model": {"model": model.state_dict()}, "training": training, "threads": training, "single": training,
        "plain": {"epoch": 1, "names": ["a", "b"], "lr": 0.1, "x": torch.ones(3)}, "types": {str(dtype): of_type(dtype,
        2, 2) for dtype in DTYPES[:16]}, "one": {"x": torch.ones(3)}, "equal": {str(i): torch.ones(3) for i in range(5)},
    }  # fmt: skip
    options: dict[str, dict[str, Any]] = {"threads": {"thread_count": 40}, "single": {"single_file_per_rank": False}}
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        mesh = init_device_mesh("cpu", (1,))
        states["sharded"] = {
            "dtensor": distribute_tensor(torch.ones(8, 4), mesh, [Shard(0)]),
            "sharded": sharded_tensor.ones(ChunkShardingSpec(dim=0, placements=["rank:0/cpu"]), 4, 4),
        }
        for name, state in states.items():
            with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with unittest.mock.patch("uuid.uuid4", return_value=uuid.UUID(int=1)):
                    dcp.save(state, storage_writer=dcp.FileSystemWriter("checkpoint", **options.get(name, {})), no_dist=name != "sharded")
                for each in sorted(os.listdir("checkpoint"), reverse=True):
                    yield f"{name}/{each}", pathlib.Path("checkpoint", each).read_bytes()
                if name in ("model", "training", "plain"):
                    dcp_to_torch_save("checkpoint", "whole.pt")
                    yield f"{name}_whole.pt", pathlib.Path("whole.pt").read_bytes()
    finally:
        dist.destroy_process_group()


def safetensors() -> Iterator[File]:
    if importlib.util.find_spec("safetensors") is None:
        return
    from safetensors.torch import save

    for name in ("conv2d", "linear", "lstm", "encoder"):
        module, _ = made(name)
        yield f"{name}.safetensors", save(dict(module.state_dict()))
    yield "one.safetensors", save({"w": torch.ones(3)})
    yield "none.safetensors", save({})
    yield "metadata.safetensors", save({"w": torch.ones(3)}, {"note": "__import__('os').system('true')"})
    yield (
        "types.safetensors",
        save({str(dtype): of_type(dtype, 2, 2) for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool)}),
    )


def documents() -> Iterator[File]:
    """JSON that lies beside models and is no collection of graphs, and files without content."""
    index = {"metadata": {"total_size": 24}, "weight_map": {"linear.weight": "model-00001-of-00002.safetensors"}}
    for name, value in {
        "config": {"model_type": "llama", "hidden_size": 64, "architectures": ["LlamaForCausalLM"]}, "list": [1, 2], "text": "text", "number": 5,
        "null": None,
        "object": {"a": 1}, "empty_object": {}, "model.safetensors.index": index, "tokenizer": {"model": {"type": "BPE", "vocab": {"a": 0},
        "merges": []}},
        "generation_config": {"temperature": 0.7, "eos_token_id": [1, 2]}, "graphs_of_another": {"graphs": 3},
    }.items():  # fmt: skip
        yield f"{name}.json", json.dumps(value).encode()
    yield "indented.json", json.dumps(index, indent=2).encode() + b"\n"
    yield "empty.pt", b""
    yield "named.pt", b'{"a": 1}'
    yield "pointer.pt", b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"


FUNCTIONS: list[Callable[[], Iterator[File]]] = [
    dtypes, sparse, nested, layouts, containers, state_dicts, optimizers, schedulers, loaders, torchscript, mobile, exported, packages,
    checkpoints, safetensors,
    documents, samples,
]  # fmt: skip


def files(function: Callable[[], Iterator[File]]) -> Iterator[File]:
    """Those of one kind, each named by it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what torch will no longer write some day
        torch.manual_seed(0)
        for name, data in function():
            yield f"{function.__name__}_{name}", data
