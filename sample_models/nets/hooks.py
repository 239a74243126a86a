"""Scripted forward hooks and forward pre-hooks."""

from typing import Tuple

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Sub(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.gain = nn.Parameter(torch.rand(4))

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sub = Sub()
        self.out = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.sub(x))


def shift(self, inputs: Tuple[Tensor]) -> Tuple[Tensor]:
    return (inputs[0] + 1.0,)


def amplify(self, inputs: Tuple[Tensor], output: Tensor) -> Tensor:
    return output * self.gain


def keep(self, inputs: Tuple[Tensor], output: Tensor):
    assert output.dim() == inputs[0].dim()


def round_off(self, inputs: Tuple[Tensor], output: Tensor) -> Tensor:
    return torch.round(output, decimals=2)


def with_hooks() -> torch.jit.ScriptModule:
    net = Net().eval()
    net.sub.register_forward_pre_hook(shift)
    net.sub.register_forward_hook(amplify)
    net.sub.register_forward_hook(keep)
    return torch.jit.script(net)


def on_root() -> torch.jit.ScriptModule:
    net = Net().eval()
    net.sub.register_forward_hook(amplify)
    net.register_forward_pre_hook(shift)
    net.register_forward_hook(round_off)
    return torch.jit.script(net)


SAMPLES = [
    Sample(
        "hooks",
        "scripted",
        "forward pre-hook and hooks of a submodule that change its input and output",
        with_hooks,
        [call(tensor(2, 4))],
    ),
    Sample("hooks_root", "scripted", "hooks of the root itself", on_root, [call(tensor(2, 4))]),
]
