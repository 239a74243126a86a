"""Checks that raise, early returns, optional inputs, warnings."""

import warnings
from typing import List, Optional

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Checked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.limit = 3

    def forward(self, x: Tensor, scale: float) -> Tensor:
        if x.dim() != 2:
            raise ValueError(f"expected 2 dimensions, got {x.dim()}")
        assert x.size(1) == 4, "four features"
        torch._assert(scale > 0.0, "positive")
        if self.limit > 10:
            return x
        for i in range(5):
            if i == self.limit:
                return self.linear(x) * scale * i
        return x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.checked = Checked()
        self.verbose = False

    def forward(self, x: Tensor, bias: Optional[Tensor] = None, names: Optional[List[str]] = None) -> Tensor:
        y = self.checked(x, 0.5)
        if self.verbose:
            print("never printed", y.shape)
        warnings.warn("about to finish")
        other: Optional[Tensor] = None
        if other is not None:
            y = y + other
        kind = torch.jit.annotate(Optional[int], None)
        if kind is None:
            return y
        return y * kind


SAMPLES = [
    Sample(
        "guards",
        "scripted",
        "checks that only guard a raise, early returns, unused optional inputs",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(2, 4)), call(tensor(3, 4), bias=tensor(4))],
    ),
]
