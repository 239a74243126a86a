"""Methods other than forward, functions, and recursion of plain values."""

from typing import Any, List, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


def power(base: int, exponent: int) -> int:
    result = 1
    for _ in range(exponent):
        result = result * base
    return result


def activate(x: Tensor, kind: str) -> Tensor:
    if kind == "relu":
        return F.relu(x)
    elif kind == "softmax":
        return F.softmax(x, dim=-1)
    return x


def describe(value: Any) -> str:
    if torch.jit.isinstance(value, List[int]):
        return "ints"
    elif torch.jit.isinstance(value, str):
        return "text"
    return "other"


class Part(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    @torch.jit.export
    def project(self, x: Tensor) -> Tensor:
        return self.linear(x)

    def forward(self, x: Tensor) -> Tensor:
        return self.project(x) + self.linear.weight.sum()


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.part = Part()

    @torch.jit.export
    def encode(self, x: Tensor, times: int) -> Tensor:
        return activate(self.part.project(x), "relu") * times

    def forward(self, x: Tensor, mode: Union[int, str] = "text") -> Tensor:
        y = self.encode(x, times=2)
        y = self.part(y)
        if describe([1, 2]) == "ints" and describe("") == "text":
            y = y * power(2, 3)
        y = F.dropout(y, p=0.5, training=self.training)
        return activate(y, "softmax") + F.gelu(x)


SAMPLES = [
    Sample(
        "methods",
        "scripted",
        "calls of a submodule's other methods, script functions, kept functional ones",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(2, 4))],
    ),
    Sample(
        "methods_encode",
        "scripted",
        "traced with --method encode: not forward",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(2, 4), 3)],
        method="encode",
    ),
]
