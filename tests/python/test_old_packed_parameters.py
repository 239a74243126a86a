"""Tests quantized layers as PyTorch 1.3 to 1.5 saved them: `_packed_params` has the type Tensor, and `__setstate__` packs the
weight. lib/torchscript makes objects in the same classes as torch.jit.load."""

import pickletools
from typing import List, Optional, Tuple

import archive_edit
import harness
import pytest
import tiers
import torch
from torch import nn

CODE = '''op_version_set = 1
class {name}(Module):
  __parameters__ = []
  __buffers__ = []
  _packed_params : Tensor
  scale : float
  zero_point : int
  training : bool
  def forward(self: {full},
    input: Tensor) -> Tensor:
    _0 = self._packed_params
    _1 = self.scale
    _2 = self.zero_point
    return ops.quantized.{run}
  def __getstate__(self: {full}) -> Tuple[Tensor, Optional[Tensor], bool, float, int]:
    _0, _1 = ops.quantized.{unpack}(self._packed_params)
    return (_0, _1, self.training, self.scale, self.zero_point)
  def __setstate__(self: {full},
    state: Tuple[Tensor, Optional[Tensor], bool, float, int]) -> NoneType:
    _0, _1, _2, _3, _4, = state
    _5 = ops.quantized.{pack}
    self._packed_params = _5
    self.scale = _3
    self.zero_point = _4
    self.training = _2
    return None
'''
ROOT = '''op_version_set = 1
class Root(Module):
  __parameters__ = []
  __buffers__ = []
  layer : {full}
  def forward(self: __torch__.Root,
    x: Tensor) -> Tensor:
    _0 = torch.quantize_per_tensor(x, 0.10000000000000001, 3, 13)
    _1 = (self.layer).forward(_0, )
    return torch.dequantize(_1)
'''


def pickled_state(state: tuple) -> tuple[bytes, archive_edit.Records]:
    """What makes the value in a pickle, and the records of its tensors."""

    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.state = state

        def forward(self, x):
            return x

    records = archive_edit.records(archive_edit.save(torch.jit.script(Holder())))
    pickle = records["data.pkl"]
    codes = list(pickletools.genops(pickle))
    (key,) = [i for i, (code, value, _) in enumerate(codes) if code.name == "BINUNICODE" and value == "state"]
    end = [at for code, _, at in codes if code.name == "SETITEMS"][-1]
    kept = {name: data for name, data in records.items() if name.startswith(("data/", "constants", ".data/"))}
    return pickle[codes[key + 2][2] : end], kept  # behind the key and its place in the memo


def layer(dims: int, relu: str = "") -> tuple[str, str, str, list[int]]:
    """Its operators, and the sizes of its weight."""
    if dims == 0:
        return "linear(input, _0, _1, _2)", "linear_prepack(_0, _1)", "linear_unpack", [4, 4]
    one, zero = (f"[{', '.join([number] * dims)}]" for number in "10")
    where = f"{one}, {zero}, {one}, 1"
    name = f"conv{dims}d"
    run = f"{name}{relu}(input, _0, {where}, _1, _2)"
    return run, f"{name}_prepack(_0, _1, {where})", f"{name}_unpack", [4, 4] + [3] * dims


def old_archive(class_name: str, dims: int, relu: str = "") -> bytes:
    torch.manual_seed(0)
    run, pack, unpack, sizes = layer(dims, relu)
    weight = torch.quantize_per_tensor(torch.randn(sizes), 0.1, 0, torch.qint8)
    state, records = pickled_state((weight, torch.randn(4), True, 0.5, 3))
    module, name = class_name.rsplit(".", 1)
    full = "__torch__." + class_name
    records["data.pkl"] = (
        b"\x80\x02c__torch__\nRoot\n)\x81}("
        + archive_edit.pickled("layer") + f"c__torch__.{module}\n{name}\n".encode() + b")\x81" + state + b"bub."
    )  # fmt: skip
    records["version"] = b"1\n"
    records["code/__torch__.py"] = ROOT.format(full=full).encode()
    code = CODE.format(name=name, full=full, run=run, pack=pack, unpack=unpack)
    records[f"code/__torch__/{module.replace('.', '/')}.py"] = code.encode()
    return archive_edit.archive(records)


CLASSES = [
    ("torch.nn.quantized.modules.linear.LinearPackedParams", 0, ""),
    ("torch.nn.quantized.modules.linear.Linear", 0, ""),
    ("torch.nn.quantized.dynamic.modules.linear.Linear", 0, ""),
    ("torch.nn.quantized.modules.conv.Conv2d", 2, ""),
    ("torch.nn.quantized.modules.conv.Conv3d", 3, ""),
    ("torch.nn.quantized.modules.conv.___torch_mangle_3.Conv2d", 2, ""),
    ("torch.nn.intrinsic.quantized.modules.conv_relu.ConvReLU2d", 2, "_relu"),
    ("torch.nn.intrinsic.quantized.modules.conv_relu.ConvReLU3d", 3, "_relu"),
    ("torch.ao.nn.quantized.modules.linear.LinearPackedParams", 0, ""),
    ("torch.ao.nn.quantized.modules.linear.Linear", 0, ""),
    ("torch.ao.nn.quantized.dynamic.modules.linear.Linear", 0, ""),
    ("torch.ao.nn.quantized.modules.conv.Conv2d", 2, ""),
    ("torch.ao.nn.quantized.modules.conv.Conv3d", 3, ""),
]


@pytest.mark.parametrize("case", tiers.only(CLASSES[:8], CLASSES), ids=lambda case: case[0])
def test_tensors_that_are_objects(program, tmp_path, case):
    torch.backends.quantized.engine = "fbgemm"
    path = str(tmp_path / "model.pt")
    with open(path, "wb") as file:
        file.write(old_archive(*case))
    x = torch.rand([2] + [8] * case[1] + [4]).movedim(-1, 1).contiguous()
    shape = ",".join(map(str, x.shape))
    collection = program.trace(path, "--no-default-leaves", "--input", f"x=float32[{shape}]")
    assert collection["summary"]["modules"]["failed"] == 0, collection["modules"]
    expected = torch.jit.load(path)(x)
    graph = collection["graphs"][0]
    assert harness.difference(expected, harness.rebuild(path, graph)(x)) is None
    (packed,) = [node for node in graph["nodes"] if node["target"] == "layer._packed_params"]
    assert packed["meta"]["type"].startswith("torch.classes.quantized.")
    assert graph["nodes"][-2]["meta"]["shape"] == list(expected.shape)


STATE = '''class Root(Module):
  __parameters__ = []
  __buffers__ = []
  packed : __torch__.torch.classes.quantized.Conv2dPackedParamsBase
  def forward(self: __torch__.Root,
    x: Tensor) -> Tensor:
    _0 = torch.quantize_per_tensor(x, 0.10000000000000001, 3, 13)
    return torch.dequantize(ops.quantized.conv2d(_0, self.packed, 0.5, 3))
'''


def states() -> dict[str, tuple]:
    """Of a convolution: as PyTorch 1.6 wrote it, as it does today, and as it reads it too."""
    torch.manual_seed(0)
    weight, bias = torch.quantize_per_tensor(torch.randn(4, 4, 3, 3), 0.1, 0, torch.qint8), torch.randn(4)
    numbers = [2, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0]
    one, none = [torch.tensor([1]), torch.tensor([1])], [torch.tensor([0]), torch.tensor([0])]
    third: Tuple[int, List[int], List[Optional[torch.Tensor]]] = (3, numbers, [None, weight, bias])
    return {
        "1": (weight, bias, one, none, one, torch.tensor([1])),
        "2": ("2", [torch.tensor(numbers, dtype=torch.int16), weight], [bias]),
        "3": third,
    }


@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_states_of_convolutions(program, tmp_path, version):
    torch.backends.quantized.engine = "fbgemm"
    state, records = pickled_state(states()[version])
    packed = b"c__torch__.torch.classes.quantized\nConv2dPackedParamsBase\n)\x81" + state + b"b"
    records["data.pkl"] = b"\x80\x02c__torch__\nRoot\n)\x81}(" + archive_edit.pickled("packed") + packed + b"ub."
    records["version"] = b"3\n"
    records["code/__torch__.py"] = STATE.encode()
    path = str(tmp_path / "model.pt")
    with open(path, "wb") as file:
        file.write(archive_edit.archive(records))
    collection = program.trace(path, "--input", "x=float32[2,4,8,8]")
    assert collection["summary"]["modules"]["failed"] == 0, collection["modules"]
    x = torch.rand(2, 4, 8, 8)
    expected = torch.jit.load(path)(x)
    assert harness.difference(expected, harness.rebuild(path, collection["graphs"][0])(x)) is None
