"""Dynamic shapes: named dimensions with ranges, dimensions derived from them, and sizes that data decides."""

import torch
from torch import Tensor, nn
from torch.export import Dim

from nets.exporting import export, exported
from nets.sample import Sample, call, tensor


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.scale = nn.Parameter(torch.rand(4))

    def forward(self, x: Tensor, pairs: Tensor, words: dict[str, list[Tensor]]) -> tuple[Tensor, Tensor, int]:
        x = self.linear(x) * self.scale
        both = pairs.reshape(x.shape[0], 2, -1).sum(1) + x
        flat = words["ids"][0].reshape(-1)[: x.shape[0] * 2 + 1]
        return both.view(-1), flat, both.shape[0] * 3


class Automatic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 3, 3, stride=2)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x = self.conv(x)
        return torch.cat([x, y], dim=-1)[..., : (x.shape[-1] + 1) // 2]


class Unbacked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(8, 4)

    def forward(self, x: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
        n = count.item()
        torch._check(n >= 1)
        torch._check(n <= x.shape[0])
        kept = torch.nonzero(x > 3).squeeze(-1)
        return self.embedding(x[:n]), kept


def named():
    batch, length = Dim("batch", min=2, max=64), Dim("length", min=4)
    return export(Named().eval(), NAMED, ({0: batch}, {0: 2 * batch}, {"ids": [{0: batch, 1: length}]}))


NAMED = call(tensor(3, 4), tensor(6, 4), {"dict": {"ids": [tensor(3, 5, dtype="int64")]}})
OTHER = call(tensor(7, 4), tensor(14, 4), {"dict": {"ids": [tensor(7, 9, dtype="int64")]}})
AUTOMATIC = call(tensor(2, 2, 9), tensor(2, 3, 5))
UNBACKED = call(tensor(6, dtype="int64"), tensor(1, dtype="int64", low=3, high=4))

SAMPLES = [
    Sample(
        "exported_dimensions",
        "exported",
        "named dimensions with ranges, one derived from another, a size among the results",
        named,
        [NAMED, OTHER],
        kind="exported_program",
    ),
    Sample(
        "exported_dimensions_auto",
        "exported",
        "dimensions that torch.export finds dynamic by itself",
        exported(
            Automatic,
            AUTOMATIC,
            ({0: Dim.AUTO, 2: Dim.AUTO}, {0: Dim.AUTO, 2: Dim.AUTO}),
        ),
        [AUTOMATIC, call(tensor(4, 2, 15), tensor(4, 3, 2))],
        kind="exported_program",
    ),
    Sample(
        "exported_dimensions_unbacked",
        "exported",
        "sizes that data decides: item() with checks, nonzero",
        exported(Unbacked, UNBACKED, ({0: Dim.AUTO}, None)),
        [UNBACKED, call(tensor(7, dtype="int64"), tensor(1, dtype="int64", low=5, high=6))],
        kind="exported_program",
    ),
]
