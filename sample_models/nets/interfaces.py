"""Module interfaces: a slot that is typed by its methods."""

from typing import List

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


@torch.jit.interface
class Step(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass

    def weight_of(self, index: int) -> float:
        pass


class Double(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        return torch.mm(x, self.weight) * 2

    @torch.jit.export
    def weight_of(self, index: int) -> float:
        return 1.0 + index


class Halve(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x / 2

    @torch.jit.export
    def weight_of(self, index: int) -> float:
        return 0.5


class Slot(nn.Module):
    step: Step

    def __init__(self, step: nn.Module) -> None:
        super().__init__()
        self.step = step

    def forward(self, x: Tensor) -> Tensor:
        return self.step(x) * self.step.weight_of(1)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Slot(Double())
        self.second = Slot(Halve())
        self.steps = nn.ModuleList([Double(), Halve()])

    def forward(self, x: Tensor) -> List[Tensor]:
        x = self.second(self.first(x))
        out: List[Tensor] = []
        for i in range(2):
            step: Step = self.steps[i]
            out.append(step.forward(x) + step.weight_of(i))
        return out


SAMPLES = [
    Sample(
        "interfaces",
        "scripted",
        "modules behind an interface, as attributes and picked from a list by index",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(2, 4))],
    ),
]
