"""Tensors that are constants: of a trace, of a frozen module, and made in forward."""

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Traced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.hidden = [
            torch.rand(4),
            torch.rand(1100),
            torch.tensor([float("inf"), float("-inf"), float("nan"), 0.0]),
        ]

    def forward(self, x: Tensor) -> Tensor:
        x = self.linear(x) + self.hidden[0]
        x = x * self.hidden[1].sum() + torch.tensor([1, 2, 3, 4])
        return torch.maximum(x, torch.nan_to_num(self.hidden[2])), torch.tensor(True), torch.tensor(2.5)


class Scripted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("mask", torch.tensor([True, False, True, True]))
        self.plain = torch.full((4,), 0.25)
        self.eps = 1e-5

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x).masked_fill(self.mask, float("-inf"))
        y = torch.where(torch.isinf(y), torch.zeros_like(y), y) + self.plain
        grid = torch.arange(4, dtype=torch.float64).to(x.dtype)
        return y / (grid + torch.tensor([1.0, 2.0, 3.0, 4.0]) + self.eps) + torch.tensor([[1], [2]]).sum()


def traced() -> torch.jit.ScriptModule:
    return torch.jit.trace(Traced().eval(), torch.zeros(2, 4))


def frozen() -> torch.jit.ScriptModule:
    return torch.jit.freeze(torch.jit.script(Scripted().eval()), optimize_numerics=False)


SAMPLES = [
    Sample(
        "constants_traced",
        "traced",
        "tensors of no module, one of them large, infinities and scalars among them",
        traced,
        [call(tensor(2, 4))],
    ),
    Sample(
        "constants_scripted",
        "scripted",
        "tensors written in forward, a tensor attribute that is no buffer",
        lambda: torch.jit.script(Scripted().eval()),
        [call(tensor(2, 4))],
    ),
    Sample(
        "constants_frozen",
        "scripted and frozen",
        "parameters that freezing made constants",
        frozen,
        [call(tensor(2, 4))],
    ),
]
