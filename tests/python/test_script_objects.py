"""Compares the objects that lib/torchscript reads from an archive with those that LibTorch loads: modules, attributes, tensors
with their elements."""

import json
import pathlib
import subprocess
import zipfile
from enum import Enum
from typing import Dict, List, NamedTuple, Optional, Tuple

import pytest
import script_calls
import torch
from torch import Tensor, nn

ROOT = pathlib.Path(__file__).parents[2]
SAMPLES = [path for path in sorted((ROOT / "sample_models").glob("*.pt"))]


def read(program, path) -> dict:
    tool = pathlib.Path(program.path).with_name("script_objects")
    done = subprocess.run([tool, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compare_tensor(ours: dict, theirs: Tensor, place: str) -> None:
    assert ours["dtype"] == str(theirs.dtype).removeprefix("torch."), place
    assert ours["sizes"] == list(theirs.shape), place
    assert ours["requires_grad"] == theirs.requires_grad, place
    if theirs.layout != torch.strided:
        parts = [theirs._indices(), theirs._values()] if theirs.layout == torch.sparse_coo else [theirs.crow_indices(), theirs.col_indices(), theirs.values()]
        for own, other in zip(ours["parts"], parts, strict=True):
            compare_tensor(own["tensor"], other, place)
        return
    assert ours["strides"] == list(theirs.stride()), place
    assert ours["offset"] == theirs.storage_offset(), place
    assert (ours["conj"], ours["neg"]) == (theirs.is_conj(), theirs.is_neg()), place
    if "elements" in ours:
        elements = [script_calls.from_json(element) for element in ours["elements"]]
        assert elements == [script_calls.from_torch(element) for element in theirs.flatten().tolist()], place


class Comparison:
    def __init__(self) -> None:
        self.tensors = 0
        self.seen: dict[int, object] = {}

    def compare(self, ours, theirs, place: str) -> None:
        kind, value = next(iter(ours.items())) if isinstance(ours, dict) else (None, ours)
        if kind == "tensor":
            self.tensors += 1
            compare_tensor(value, theirs, place)
        elif kind == "object":
            self.compare_object(value, theirs, place)
        elif kind == "again":
            assert self.seen[value] == theirs, place
        elif kind in ("tuple", "list"):
            items = value if kind == "tuple" else value[1]
            assert len(items) == len(theirs), place
            for i, (own, other) in enumerate(zip(items, theirs)):
                self.compare(own, other, f"{place}[{i}]")
        elif kind == "dict":
            assert [script_calls.from_json(k) for k, _ in value[1]] == [script_calls.from_torch(k) for k in theirs], place
            for (_, own), other in zip(value[1], theirs.values()):
                self.compare(own, other, place)
        elif kind == "enum":
            pass
        else:
            assert script_calls.from_json(ours) == script_calls.from_torch(theirs), place

    def compare_object(self, ours, theirs, place: str) -> None:
        number, type_name, slots, state = ours
        self.seen[number] = theirs
        assert theirs._type().qualified_name() == type_name, place
        if state is not None:
            return  # LibTorch has run __setstate__
        for name, own in slots.items():
            try:
                other = theirs.getattr(name)
            except Exception:
                continue  # an enum, or a class that Python has not
            self.compare(own, getattr(other, "_c", other), f"{place}.{name}")


def check(program, path) -> int:
    ours = read(program, path)
    comparison = Comparison()
    comparison.compare(ours["data"], torch.jit.load(str(path), map_location="cpu")._c, path.name)
    return comparison.tensors


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples(program, path):
    check(program, path)


class Color(Enum):
    RED = 1
    BLUE = 2


class Point(NamedTuple):
    x: Tensor
    y: int


class Everything(nn.Module):
    names: Dict[str, int]
    by_number: Dict[int, List[float]]
    tensors: List[Tensor]
    pairs: List[Tuple[int, str]]
    maybe: Optional[int]
    numbers: List[List[int]]

    def __init__(self) -> None:
        super().__init__()
        self.names = {"b": 2, "a": 1}
        self.by_number = {-1: [0.5, 1e300], 2**40: []}
        whole = torch.arange(24, dtype=torch.float64).view(4, 6)
        self.tensors = [whole, whole[1:3, ::2], whole.t(), torch.tensor([True, False]), torch.tensor(2**62)]
        self.pairs = [(1, "é"), (2**31, "")]
        self.maybe = None
        self.numbers = [[1], [], [2, 3]]
        self.flag = True
        self.color = Color.BLUE
        self.register_buffer("complex_numbers", torch.tensor([1 + 2j]).conj())
        self.register_buffer("half_floats", torch.ones(3).half())
        self.register_buffer("bfloat", torch.ones(3).bfloat16())
        self.register_buffer("sparse", torch.eye(3).to_sparse())
        self.register_buffer("empty", torch.empty(0, 3))
        self.register_buffer("expanded", torch.ones(1).expand(5))
        self.register_buffer("quantized", torch.quantize_per_tensor(torch.rand(4), 0.5, 3, torch.qint8))
        self.register_buffer("channels", torch.quantize_per_channel(torch.rand(4, 2), torch.rand(4), torch.zeros(4).long(), 0, torch.quint8))
        self.weight = nn.Parameter(torch.rand(2, 2))
        self.tied = self.weight
        self.inner = nn.ModuleDict({"lin": nn.Linear(2, 2), "bn": nn.BatchNorm1d(2)})

    def forward(self, x: Tensor) -> Tensor:
        if self.color == Color.RED:
            return x
        return x @ self.weight + len(self.names) + len(self.by_number) + len(self.tensors) + len(self.numbers)


def test_everything(program, tmp_path):
    path = tmp_path / "everything.pt"
    torch.jit.script(Everything()).save(str(path))
    assert check(program, path) > 20
    data = read(program, path)["data"]["object"]
    slots = data[2]
    assert slots["names"]["dict"][0] == "Dict[str, int]"
    assert slots["by_number"]["dict"][0] == "Dict[int, List[float]]"
    assert slots["pairs"]["list"][0] == "Tuple[int, str]"
    assert slots["color"]["enum"][1] == "BLUE"
    assert slots["weight"]["tensor"]["record"] == slots["tied"]["tensor"]["record"]


def test_constants(program, tmp_path):
    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x + torch.tensor([[1.5, 2.5], [-1.0, 0.0]]) * torch.tensor(3)

    path = tmp_path / "constants.pt"
    torch.jit.trace(Net(), torch.ones(2)).save(str(path))
    constants = read(program, path)["constants"]["tuple"]
    found = sorted(len(constant["tensor"]["elements"]) for constant in constants)
    assert found == [1, 4]


def test_names_of_records_in_another_folder(program, tmp_path):
    """What a file is called inside does not matter."""
    path = tmp_path / "moved.pt"
    with zipfile.ZipFile(SAMPLES[0]) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr("other/" + name.split("/", 1)[1], old.read(name))
    check(program, path)
