"""Modules inside modules, with parameters of their own beside leaves."""

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.act = nn.ReLU()
        self.scale = nn.Parameter(torch.rand(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.linear(x)) * self.scale


class Stage(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.first = Block(width)
        self.second = Block(width)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        return x + self.second(y)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(4, 8)
        self.stage = Stage(8)
        self.shift = nn.Parameter(torch.rand(8))
        self.head = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        x = self.stage(x) + self.shift
        return self.head(x)


def traced() -> torch.jit.ScriptModule:
    return torch.jit.trace(Net().eval(), torch.zeros(2, 4))


SAMPLES = [
    Sample(
        "nested_scripted",
        "scripted",
        "leaves at several depths, parameters used by their owner's operations",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(2, 4)), call(tensor(5, 4, seed=1))],
        eager=Net,
    ),
    Sample("nested_traced", "traced", "the same model from torch.jit.trace", traced, [call(tensor(2, 4))]),
]
