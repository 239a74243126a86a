"""fork and wait, no_grad, detach."""

from typing import List

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Branch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            y = self.linear(x)
        return y.detach() + 1


def scale(x: Tensor, by: float) -> Tensor:
    return x * by


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = Branch()
        self.b = Branch()

    def forward(self, x: Tensor) -> Tensor:
        futures: List[torch.jit.Future[Tensor]] = []
        for by in [0.5, 2.0]:
            futures.append(torch.jit.fork(scale, x, by))
        left = torch.jit.fork(self.a, x)
        right = self.b(x)
        with torch.no_grad():
            right = right * 2
        total = torch.jit.wait(left) - right
        for future in futures:
            total = total + torch.jit.wait(future)
        return total


SAMPLES = [
    Sample(
        "fork_wait",
        "scripted",
        "fork and wait of modules and functions, blocks under no_grad",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(2, 4))],
    ),
]
