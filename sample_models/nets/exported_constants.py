"""Tensors that are no parameters: attributes, literals in forward, large ones; and objects of a C++ class."""

import os

import torch
from torch import Tensor, nn
from torch.testing._internal import torchbind_impls

from nets.exporting import exported
from nets.sample import Sample, call, tensor

# PyTorch brings this library for its own tests: the class is in it, and operators that take one.
torch.ops.load_library(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorchbind_test.so"))
torchbind_impls.register_fake_operators()
torchbind_impls.register_fake_classes()


class Shifted(nn.Module):
    def __init__(self, large: Tensor) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.shift = torch.tensor([1.0, float("inf"), float("-inf"), float("nan")])
        self.large = large

    def forward(self, x: Tensor) -> Tensor:
        return torch.nan_to_num(self.linear(x) + self.shift) + self.large[:4]


class Constants(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.large = torch.rand(1100)
        self.same = self.large
        self.shifted = Shifted(self.large)
        self.register_buffer("mask", torch.tensor([True, False, True, True]), persistent=False)
        self.complex = torch.tensor([1 + 2j])

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        y = self.shifted(x) * torch.tensor([1, 2, 3, 4]) + self.same.sum()
        y = y.masked_fill(self.mask, 0.5) + torch.tensor(2.5)
        return y, torch.tensor(True), self.complex * 2


class Objects(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.foo = torch.classes._TorchScriptTesting._Foo(3, 4)
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x) + self.foo.add_tensor(x)
        return y * torch.ops._TorchScriptTesting.takes_foo(self.foo, x)


INPUTS = call(tensor(2, 4))

SAMPLES = [
    Sample(
        "exported_constants",
        "exported",
        "attributes that are no buffers, tensors written in forward, one with over 1,024 elements",
        exported(Constants, INPUTS),
        [INPUTS],
        kind="exported_program",
    ),
    Sample(
        "exported_objects",
        "exported",
        "an object of a C++ class: a method of it, and an operator that takes it",
        exported(Objects, INPUTS),
        [INPUTS],
        kind="exported_program",
    ),
]
