"""Regions of a program: gradients off, autocast, vmap.

flex_attention is missing: torch 2.13 exports it but cannot save it."""

import torch
from torch import Tensor, nn

from nets.exporting import decomposed, exported
from nets.sample import Sample, call, tensor


class Inner(nn.Module):
    """A module of which a part only runs without gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            x = torch.relu(self.first(x))
        return self.second(x)


class Regions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.frozen = nn.Linear(4, 4)
        self.inner = Inner()
        self.low = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            y = self.frozen(x) + 1
        y = self.inner(y)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = torch.tanh(self.low(y))
        return y.float() + x


class Vmapped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 2)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        rows = torch.vmap(lambda row, other: (self.linear(row) * other).sum(), in_dims=(0, None))(x, y)
        return rows + 1


REGIONS = call(tensor(2, 4))
VMAPPED = call(tensor(3, 4), tensor(2))

SAMPLES = [
    Sample(
        "exported_regions",
        "exported",
        "modules without gradients and with autocast, a region inside a module",
        exported(Regions, REGIONS),
        [REGIONS],
        kind="exported_program",
    ),
    Sample(
        "exported_regions_decomposed",
        "exported, decomposed",
        "the same in core operators",
        decomposed(Regions, REGIONS),
        [REGIONS],
        kind="exported_program",
    ),
    Sample(
        "exported_vmap",
        "exported",
        "vmap, which leaves calls that are no operators",
        exported(Vmapped, VMAPPED),
        [VMAPPED],
        kind="exported_program",
    ),
]
