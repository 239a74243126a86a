"""Attributes that forward writes: a counter, a buffer, a list."""

from typing import List, Tuple

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.history: List[int] = [0]

    def forward(self, x: Tensor) -> Tensor:
        self.count += 1
        self.history.append(self.count)
        return x * self.count + len(self.history)


class Running(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> Tensor:
        self.steps += 1
        self.mean = self.mean * 0.9 + x.mean(0) * 0.1
        return x - self.mean


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.counter = Counter()
        self.running = Running()

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, int]:
        x = self.counter(self.counter(x))
        x = self.running(x)
        x = self.running(x)
        return x, self.running.mean + self.running.steps, self.counter.count


SAMPLES = [
    Sample(
        "attributes",
        "scripted",
        "modules whose forward writes to their attributes and buffers and reads them back",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(2, 4))],
        failed=["running"],
    ),
]
