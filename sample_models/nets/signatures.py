"""Inputs and outputs of many kinds: keyword arguments, defaults, tuples, dicts."""

from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Part(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, gain: float = 2.0, bias: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        y = self.linear(x) * gain
        if bias is not None:
            y = y + bias
        return y, y.mean()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.part = Part()
        self.pool = nn.MaxPool1d(2, return_indices=True)

    def forward(
        self, x: Tensor, y: Tensor, alpha: float = 1.5, shift: int = 3, flag: bool = False
    ) -> Tuple[Tensor, List[Tensor], Dict[str, Tensor], Tuple[float, Tensor]]:
        first, mean = self.part(x, bias=y)
        second, _ = self.part(x=first, gain=0.25)
        pooled, indices = self.pool(second)
        values, order = torch.sort(first, dim=1, descending=True)
        shifted = torch.add(second, y, alpha=shift) * alpha
        return shifted, [values, order], {"pooled": pooled, "indices": indices}, (alpha, mean)


class Masked(nn.Module):
    """`bias is not None` on an input: a question that only the caller can answer."""

    def __init__(self) -> None:
        super().__init__()
        self.part = Part()

    def forward(self, x: Tensor, bias: Optional[Tensor] = None) -> Dict[str, Tensor]:
        y, mean = self.part(x, gain=1.0)
        if bias is not None:
            y = y + bias
        return {"y": y, "mean": mean}


SAMPLES = [
    Sample(
        "signatures",
        "scripted",
        "keyword arguments, numbers as inputs, tuples, lists and dicts as outputs",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(2, 4), tensor(4, seed=1)), call(tensor(2, 4), y=tensor(4, seed=1), alpha=0.5, shift=-1)],
    ),
    Sample(
        "optional_input",
        "scripted",
        "an optional input that decides what is done and has a default",
        lambda: torch.jit.script(Masked().eval()),
        [call(tensor(2, 4))],
    ),
]
