"""Nested containers as inputs and results, and inputs that the program fixed."""

import dataclasses
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from nets.exporting import exported
from nets.sample import Sample, call, tensor


class Box(NamedTuple):
    corner: Tensor
    size: Tensor


@dataclasses.dataclass
class Report:
    total: Tensor
    parts: list[Tensor]


# A program that holds these can only be loaded where they are known.
pytree._register_namedtuple(Box, serialized_type_name="nets.exported_containers.Box")
torch.export.register_dataclass(Report, serialized_type_name="nets.exported_containers.Report")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(
        self,
        x: Tensor,
        nested: dict[str, Any],
        box: Box,
        *rest: Tensor,
        mode: str = "sum",
        mask: Optional[Tensor] = None,
        flag: bool = False,
        scale: float = 1.0,
    ) -> dict[str, Any]:
        first, (second, third) = nested["pair"]
        y = self.linear(x) * scale + first
        if mode == "sum":
            y = y + second - third
        if mask is not None:
            y = y * mask
        if flag:
            y = -y
        for other in rest:
            y = y + other
        return {
            "y": y,
            "list": [y.sum(), (x, nested["deep"][0]["z"]), []],
            "constants": (3, None, True, 0.5),
            "box": Box(box.size, box.corner + 1),
        }


class Reporting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Report:
        x = self.linear(x)
        return Report(x.sum(), [x, -x])


INPUTS = call(
    tensor(2, 4),
    {
        "dict": {
            "pair": [tensor(4, seed=1), {"tuple": [tensor(4, seed=2), tensor(4, seed=3)]}],
            "deep": [{"dict": {"z": tensor(2, seed=4)}}],
        }
    },
    {"namedtuple": "nets.exported_containers.Box", "fields": [tensor(2, seed=5), tensor(2, seed=6)]},
    tensor(4, seed=7),
    tensor(4, seed=8),
    scale=0.5,
    mode="sum",
    mask=None,
    flag=False,
)
REPORTING = call(tensor(2, 4))

SAMPLES = [
    Sample(
        "exported_containers",
        "exported",
        "dicts, lists, tuples and named tuples in and out; a flag, a string and None that the program fixed",
        exported(Net, INPUTS),
        [INPUTS],
        kind="exported_program",
    ),
    Sample(
        "exported_report",
        "exported",
        "a result of a class that torch.export was told of",
        exported(Reporting, REPORTING),
        [REPORTING],
        kind="exported_program",
    ),
]
