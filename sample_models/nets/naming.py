"""Names that need quoting in every output format.

LibTorch itself cannot load module names with quotes or letters beyond ASCII.
"""

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleDict(
            {"say 'hi' {x|y} <b>&": nn.Linear(4, 4), "100%": nn.ReLU(), "a b": nn.Tanh(), "0": nn.Identity()}
        )
        self.add = nn.Linear(4, 4)
        self.input = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        for part in self.parts.values():
            x = part(x)
        return torch.add(self.input(self.add(x)), x)  # größer, für alle "x"


def traced() -> torch.jit.ScriptModule:
    return torch.jit.trace(Net().eval(), torch.zeros(2, 4))


SAMPLES = [
    Sample(
        "naming",
        "traced",
        "module names with braces, blanks and angles, source text with quotes and beyond ASCII",
        traced,
        [call(tensor(2, 4))],
    ),
]
