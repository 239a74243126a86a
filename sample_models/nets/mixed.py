"""Scripted modules and functions inside a traced model, and a traced module inside a scripted one."""

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Repeat(nn.Module):
    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        for i in range(self.times):
            x = torch.relu(self.linear(x)) + i
        return x


@torch.jit.script
def clip(x: Tensor, bound: float) -> Tensor:
    if bound > 0.0:
        return x.clamp(-bound, bound)
    return x


class TracedOutside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scripted = torch.jit.script(Repeat(2))
        self.eager = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        return clip(self.eager(self.scripted(x)), 0.5) + x.shape[0]


class ScriptedOutside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.traced = torch.jit.trace(nn.Sequential(nn.Linear(4, 4), nn.Sigmoid()), torch.zeros(2, 4))
        self.repeat = Repeat(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.repeat(self.traced(x))


def traced() -> torch.jit.ScriptModule:
    return torch.jit.trace(TracedOutside().eval(), torch.zeros(2, 4))


def scripted() -> torch.jit.ScriptModule:
    return torch.jit.script(ScriptedOutside().eval())


SAMPLES = [
    Sample(
        "mixed_traced",
        "traced, with scripted parts",
        "a scripted module and function in a traced model",
        traced,
        [call(tensor(2, 4))],
    ),
    Sample(
        "mixed_scripted",
        "scripted, with a traced part",
        "a traced module in a scripted model",
        scripted,
        [call(tensor(2, 4))],
    ),
]
