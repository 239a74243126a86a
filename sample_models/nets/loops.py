"""Loops over plain values, which unroll."""

from typing import List

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.depth = 3
        self.factors = [0.5, 1.5, 2.5]
        self.linear = nn.Linear(4, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x: Tensor) -> List[Tensor]:
        for step in range(self.depth):
            x = self.linear(x) + step
        n = 1
        while n < 10:
            n = n * 2
            if n == 4:
                continue
            if n > 8:
                break
            x = x * n
        for i, factor in enumerate(self.factors):
            x = x + factor * i
        for i, factor in zip(range(2), self.factors):
            x = x - factor / (i + 1)
        for i, layer in enumerate(self.layers):
            x = layer(x) if i % 2 == 0 else torch.relu(layer(x))
        names = ["a", "bb", "ccc"]
        lengths = [len(name) for name in names]
        parts = [x * size for size in lengths]
        total = torch.zeros_like(x)
        for part in parts:
            total = total + part
        chunks = [total[:, :1].sum(), total[:, 1:].sum()]
        return [total, torch.stack(chunks)] + self.tail(parts)

    def tail(self, parts: List[Tensor]) -> List[Tensor]:
        out: List[Tensor] = []
        for part in parts[1:]:
            out.append(part.neg())
        return out[::-1]


SAMPLES = [
    Sample(
        "loops",
        "scripted",
        "range, while with break and continue, enumerate, zip, comprehensions and loops over modules",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(2, 4))],
    ),
]
