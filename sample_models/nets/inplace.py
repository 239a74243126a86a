"""In-place operations and writes through views."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.act = nn.ReLU(inplace=True)
        self.register_buffer("offset", torch.arange(4.0))

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        y = self.act(self.linear(x)).clone()
        y.add_(self.offset).mul_(0.5)
        y[:, 0] = 1.0
        y[0, 1:3] += x[0, :2]
        row = y[-1]
        row.zero_()
        y[index] = y[index] * 2
        F.relu_(y)
        y -= x
        return y.clamp_(-3, 3)


def traced() -> torch.jit.ScriptModule:
    return torch.jit.trace(Net().eval(), (torch.zeros(3, 4), torch.tensor([0, 1])))


SAMPLES = [
    Sample(
        "inplace_scripted",
        "scripted",
        "in-place operators, index assignment, a view that writes to its base",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(3, 4), tensor(2, dtype="int64", high=3))],
    ),
    Sample(
        "inplace_traced",
        "traced",
        "the same from torch.jit.trace",
        traced,
        [call(tensor(3, 4), tensor(2, dtype="int64", high=3))],
    ),
]
