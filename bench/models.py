#!/usr/bin/env python3
"""Makes the archives that run.py measures, in processes of its own: models.py KIND PATH [NUMBER]."""

import io
import os
import sys
import warnings

import torch
from torch import Tensor, nn

sys.path.insert(
    0,
    os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "python"),
)


class Layers(nn.Module):
    """The same graph for every width: 30 Linears."""

    def __init__(self, width: int):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(30)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Failing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x: Tensor, careful: bool) -> Tensor:
        x = self.linear(x)
        if careful:
            if bool(x.sum() > 0):
                x = x + 1
        return x


class Flat(nn.Module):
    """Each module fails at its first call."""

    def __init__(self, count: int):
        super().__init__()
        self.parts = nn.ModuleList([Failing() for _ in range(count)])

    def forward(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x, True)
        return x


class Late(nn.Module):
    """Each module is followed once before it fails, and the failures come one by one."""

    def __init__(self, count: int):
        super().__init__()
        self.parts = nn.ModuleList([Failing() for _ in range(count)])

    def forward(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x, False)
        for part in self.parts:
            x = part(x, True)
        return x


class Link(nn.Module):
    def __init__(self, rest: nn.Module):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.rest = rest

    def forward(self, x: Tensor) -> Tensor:
        x = self.rest(self.linear(x))
        if bool(x.sum() > 0):
            x = x + 1
        return x


class Nested(nn.Module):
    """Chains of ten: each failing module holds the next one."""

    def __init__(self, count: int):
        super().__init__()
        self.chains = nn.ModuleList()
        for _ in range(count // 10):
            chain: nn.Module = nn.Linear(2, 2)
            for _ in range(10):
                chain = Link(chain)
            self.chains.append(chain)

    def forward(self, x: Tensor) -> Tensor:
        for chain in self.chains:
            x = chain(x)
        return x


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        weights = (q @ k.transpose(-2, -1)).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, 2)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class SparseFile(io.FileIO):
    """Zeros that are written to it take no room on the disk."""

    def write(self, data) -> int:
        data = bytes(data)
        if len(data) < 4096 or data.count(0) < len(data):
            return super().write(data)
        self.truncate(self.seek(len(data), os.SEEK_CUR))
        return len(data)


def layers(width: int) -> nn.Module:
    # Zeros that nobody touches take no memory while the archive is written.
    with torch.device("meta"):
        model = Layers(width)
    return (
        model.to_empty(device="cpu")
        .requires_grad_(False)
        .apply(
            lambda module: module.weight.zero_() if width < 1000 and isinstance(module, nn.Linear) else None
        )
    )


def resnet50(_: int) -> nn.Module:
    import tvcompat

    tvcompat.prepare()
    import torchvision

    return torchvision.models.resnet50(weights=None)


def trace_bert(path: str, _: int) -> None:
    import tvcompat

    tvcompat.prepare()  # transformers imports torchvision where it finds it
    from transformers import BertConfig, BertModel

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = BertModel(BertConfig())

        def forward(self, tokens: Tensor):
            return self.model(tokens).to_tuple()

    with torch.no_grad():
        tokens = torch.ones(2, 128, dtype=torch.int64)
        torch.jit.trace(Bert().eval(), (tokens,), strict=False, check_trace=False).save(path)


def export_layers(path: str, width: int) -> None:
    program = torch.export.export(layers(width).eval(), (torch.zeros(2, width),))
    with SparseFile(path, "wb") as file:
        torch.export.save(program, file)


def export_blocks(path: str, count: int) -> None:
    model = nn.Sequential(*[Block(8) for _ in range(count)]).eval()
    shapes = ({0: torch.export.Dim("batch")},)
    torch.export.save(torch.export.export(model, (torch.zeros(2, 3, 8),), dynamic_shapes=shapes), path)


def main() -> int:
    warnings.simplefilter("ignore")
    kind, path = sys.argv[1:3]
    number = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    savers = {"exported_layers": export_layers, "exported_blocks": export_blocks, "bert": trace_bert}
    if kind in savers:
        savers[kind](path, number)
        return 0
    makers = {
        "layers": layers,
        "flat": Flat,
        "late": Late,
        "nested": Nested,
        "resnet50": resnet50,
    }
    torch.jit.script(makers[kind](number).eval()).save(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
