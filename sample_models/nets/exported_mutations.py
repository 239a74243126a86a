"""Buffers and inputs that a program changes: by in-place operators, and decomposed as outputs."""

import torch
from torch import Tensor, nn

from nets.exporting import export
from nets.sample import Sample, call, tensor


class Counter(nn.Module):
    """A buffer that is changed before and after it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4))
        self.register_buffer("last", torch.zeros(2, 4), persistent=False)
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        y = self.linear(x) * self.count
        self.count.mul_(2)
        self.last.copy_(y)
        return y


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.counter = Counter()
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        state.add_(x.sum(0))
        y = self.norm(self.counter(x))
        y = self.counter(y) + self.counter.last
        self.seen += 1
        return y + self.seen, state * 2


class Training(nn.Module):
    """Normalizations that keep statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3)
        self.norm1 = nn.BatchNorm2d(4)
        self.norm2 = nn.BatchNorm2d(4)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm1(self.conv(x)))
        x = self.norm2(self.norm2(x))
        return self.dropout(x)


INPUTS = call(tensor(2, 4), tensor(4, seed=1))
TRAINING = call(tensor(2, 2, 6, 6))

SAMPLES = [
    Sample(
        "exported_mutations",
        "exported",
        "buffers and an input changed by in-place operators, inside and outside of leaves",
        lambda: export(Net(), INPUTS),
        [INPUTS],
        kind="exported_program",
    ),
    Sample(
        "exported_mutations_decomposed",
        "exported, decomposed",
        "the same, functional: what was changed in place is an output",
        lambda: export(Net(), INPUTS).run_decompositions(),
        [INPUTS],
        kind="exported_program",
    ),
    Sample(
        "exported_training",
        "exported",
        "batch norm and dropout in training mode",
        lambda: export(Training(), TRAINING),
        [TRAINING],
        kind="exported_program",
    ),
    Sample(
        "exported_training_decomposed",
        "exported, decomposed",
        "the same in core operators",
        lambda: export(Training(), TRAINING).run_decompositions(),
        [TRAINING],
        kind="exported_program",
    ),
]
