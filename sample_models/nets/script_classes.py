"""Script classes with attributes, made in forward and kept on a module."""

from typing import List, Optional

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


@torch.jit.script
class Accumulator:
    def __init__(self, scale: float):
        self.scale = scale
        self.items: List[Tensor] = []
        self.best = torch.jit.annotate(Optional[Tensor], None)

    def add(self, x: Tensor) -> int:
        self.items.append(x * self.scale)
        self.scale = self.scale + 1.0
        self.best = x
        return len(self.items)

    def total(self) -> Tensor:
        total = self.items[0]
        for item in self.items[1:]:
            total = total + item
        best = self.best
        if best is not None:
            total = total - best
        return total


@torch.jit.script
class Span:
    def __init__(self, start: int, stop: int):
        self.start = start
        self.stop = stop

    @property
    def width(self) -> int:
        return self.stop - self.start

    def __contains__(self, value: int) -> bool:
        return self.start <= value and value < self.stop

    def __eq__(self, other: "Span") -> bool:
        return self.start == other.start and self.stop == other.stop


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def fill(self, acc: Accumulator, x: Tensor) -> int:
        return acc.add(self.linear(x)) + acc.add(x)

    def forward(self, x: Tensor) -> Tensor:
        acc = Accumulator(0.5)
        other = acc
        count = self.fill(other, x)
        span = Span(1, count)
        if 2 in span and not span == Span(0, 0):
            x = x[:, span.start : span.stop]
        return acc.total().sum() + x * span.width * acc.scale


SAMPLES = [
    Sample(
        "script_classes",
        "scripted",
        "objects of script classes whose attributes change, passed between methods",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(2, 4))],
    ),
]
