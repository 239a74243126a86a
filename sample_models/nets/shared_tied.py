"""One module under two names and called twice, and a weight that two modules share."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Projection(nn.Module):
    def __init__(self, weight: nn.Parameter):
        super().__init__()
        self.weight = weight
        self.bias = nn.Parameter(torch.rand(weight.shape[0]))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.linear(x))


class Net(nn.Module):
    def __init__(self, shared: nn.Module) -> None:
        super().__init__()
        self.a = shared
        self.b = shared
        self.encoder = nn.Linear(6, 6)
        self.decoder = Projection(self.encoder.weight)
        self.unused = nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.encoder(self.a(x))
        x = self.decoder(self.b(x))
        return self.a(x)


def scripted() -> torch.jit.ScriptModule:
    # The archive has one module for both names only where that was compiled before.
    return torch.jit.script(Net(torch.jit.script(Shared().eval())).eval())


def traced() -> torch.jit.ScriptModule:
    return torch.jit.trace(Net(Shared()).eval(), torch.zeros(2, 6))


SAMPLES = [
    Sample(
        "shared_tied_scripted",
        "scripted",
        "a shared module called three times, tied and unused parameters",
        scripted,
        [call(tensor(2, 6))],
        eager=lambda: Net(Shared()),
    ),
    Sample(
        "shared_tied_traced",
        "traced",
        "the same from torch.jit.trace, which makes two modules of the shared one",
        traced,
        [call(tensor(2, 6))],
    ),
]
