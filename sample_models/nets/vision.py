"""A small convolutional network and a recurrent one: leaves that matter when rules say otherwise."""

from typing import Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nets.sample import Sample, call, tensor


class Residual(nn.Module):
    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, groups=groups, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 1)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.conv2(out)
        out += x
        return self.relu(out)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4), nn.ReLU())
        self.layer1 = nn.Sequential(Residual(4, 1), Residual(4, 2))
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer1(self.stem(x))
        x = F.max_pool2d(x, 2)
        x = F.adaptive_avg_pool2d(x, (1, 1))
        return self.fc(self.dropout(torch.flatten(x, 1)))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.lstm = nn.LSTM(4, 3, batch_first=True)
        self.out = nn.Linear(3, 2)

    def forward(self, tokens: Tensor) -> Tuple[Tensor, Tensor]:
        y, (hidden, _) = self.lstm(self.embedding(tokens))
        return self.out(y), hidden


def traced() -> torch.jit.ScriptModule:
    return torch.jit.trace(Net().eval(), torch.zeros(1, 3, 12, 12))


SAMPLES = [
    Sample(
        "vision_scripted",
        "scripted",
        "convolutions, batch norm, residual sums, pooling",
        lambda: torch.jit.script(Net().eval()),
        [call(tensor(1, 3, 12, 12)), call(tensor(2, 3, 16, 16))],
        eager=Net,
    ),
    Sample(
        "vision_traced",
        "traced",
        "the same from torch.jit.trace",
        traced,
        [call(tensor(1, 3, 12, 12)), call(tensor(2, 3, 12, 12))],
    ),
    Sample(
        "recurrent",
        "scripted",
        "an embedding and an LSTM, which is a leaf by the default rule",
        lambda: torch.jit.script(Recurrent().eval()),
        [call(tensor(2, 5, dtype="int64", high=10))],
        failed_under={"no-default-leaves": ["lstm"]},
    ),
]
