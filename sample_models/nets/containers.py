"""ModuleList, ModuleDict, Sequential and ParameterList."""

from typing import Dict

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Stack(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)])
        self.weights = nn.ParameterList([nn.Parameter(torch.rand(4)) for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        for layer, weight in zip(self.layers, self.weights):
            x = layer(x) * weight
        return x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stack = Stack()
        self.heads = nn.ModuleDict(
            {"left": nn.Linear(4, 2), "right": nn.Sequential(nn.Linear(4, 2), nn.Tanh())}
        )
        self.body = nn.Sequential(nn.Sequential(nn.Linear(4, 4), nn.GELU()), nn.Identity())

    def forward(self, x: Tensor) -> Dict[str, Tensor]:
        x = self.body(self.stack(x))
        out: Dict[str, Tensor] = {}
        for name, head in self.heads.items():
            out[name] = head(x)
        out["first"] = self.stack.layers[0](x)
        return out


SAMPLES = [
    Sample(
        "containers",
        "scripted",
        "ModuleList, ModuleDict, nested Sequential, ParameterList, a dict as output",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(2, 4))],
    ),
]
