"""Arithmetic on sizes of inputs, dtypes and devices."""

import math

import torch
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.size(0), x.size(1), x.size(2)
        qkv = self.qkv(x).reshape(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        weights = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(width // self.heads), dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.attention(x)
        half = x.size(1) // 2
        left, right = x[:, :half], x[:, half:]
        x = torch.cat([right, left], dim=1)
        n = x.shape[0] * x.shape[-1]
        mask = torch.arange(x.size(1), device=x.device).to(x.dtype) / max(n, 1)
        x = x + mask.unsqueeze(0).unsqueeze(-1)
        return x.view(x.size(0), -1)[:, : int(n * 0.5)] + float(x.dim()) * math.ceil(n / 3) - x.numel() % 7


class Traceable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention(8, 2)
        self.scale = nn.Parameter(torch.rand(8))

    def forward(self, x: Tensor) -> Tensor:
        x = self.attention(x) * self.scale
        left, right = x.chunk(2, dim=1)
        return torch.cat([right, left], dim=1).reshape(x.size(0), x.size(1) * 8)


def traced() -> torch.jit.ScriptModule:
    return torch.jit.trace(Traceable().eval(), torch.zeros(2, 6, 8))


SAMPLES = [
    Sample(
        "sizes_scripted",
        "scripted",
        "sizes, dtypes and devices of inputs in integer and float arithmetic",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(2, 6, 8)), call(tensor(3, 7, 8))],
    ),
    Sample(
        "attention_scripted",
        "scripted",
        "attention with sizes taken from its input",
        lambda: torch.jit.script(Traceable().eval()),
        [call(tensor(2, 6, 8)), call(tensor(1, 4, 8))],
        eager=Traceable,
    ),
    Sample(
        "attention_traced",
        "traced",
        "the same from torch.jit.trace",
        traced,
        [call(tensor(2, 6, 8)), call(tensor(1, 4, 8))],
    ),
]
