"""Generates random models whose modules have several names: in lists and dicts, inside of shared modules, and with children that
have no parameters."""

import random

import torch
from torch import Tensor, nn

WIDTH = 4


class Shift(nn.Module):
    """Without parameters, and no module of torch.nn."""

    def __init__(self, by: float):
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x * 0.5 + self.by


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(WIDTH, WIDTH)
        self.r = nn.ReLU()
        self.s = Shift(0.25)
        self.d = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        return self.d(self.s(self.r(self.l(x))))


class Chain(nn.Module):
    """Has a parameter of its own: no two chains over the same modules look alike in a file."""

    def __init__(self, modules: list[nn.Module]):
        super().__init__()
        self.parts = nn.ModuleList(modules)
        self.gain = nn.Parameter(torch.rand(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return torch.tanh(x * self.gain)


class Named(nn.Module):
    def __init__(self, modules: list[nn.Module]):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(WIDTH))
        self.parts = nn.ModuleDict({f"p{i}": module for i, module in enumerate(modules)})

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.gain
        for part in self.parts.values():
            x = part(x)
        return x


class Twice(nn.Module):
    def __init__(self, inner: nn.Module):
        super().__init__()
        self.inner = inner
        self.again = inner
        self.own = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return self.again(self.own(self.inner(x))) - self.inner(x)


def has_parameters(module: nn.Module) -> bool:
    return next(module.parameters(), None) is not None


class Maker:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.made: list[nn.Module] = []  # what may stand somewhere else too

    def model(self) -> nn.Module:
        return Chain([self.any_module(3) for _ in range(self.random.randint(2, 4))])

    def any_module(self, depth: int) -> nn.Module:
        if self.made and self.random.random() < 0.35:
            return self.random.choice(self.made)
        module = self.new(depth)
        # The file cannot tell a ReLU under two names from two of them.
        self.made += [part for part in module.modules() if has_parameters(part) and not isinstance(part, (nn.ModuleList, nn.ModuleDict))]
        return module

    def new(self, depth: int) -> nn.Module:
        kind = self.random.choice(["linear", "norm", "cell", "chain", "named", "sequential", "twice"] if depth else ["linear", "norm", "cell"])
        if kind == "linear":
            return nn.Linear(WIDTH, WIDTH)
        if kind == "norm":
            return nn.LayerNorm(WIDTH)
        if kind == "cell":
            return Cell()
        if kind == "twice":
            return Twice(self.any_module(depth - 1))
        parts = [self.any_module(depth - 1) for _ in range(self.random.randint(1, 3))]
        if kind == "named":
            return Named(parts)
        stateless = self.random.choice([nn.ReLU(), nn.Tanh(), nn.Dropout(0.2), Shift(self.random.random())])
        parts.insert(self.random.randint(0, len(parts)), stateless)
        return Chain(parts) if kind == "chain" else nn.Sequential(nn.Linear(WIDTH, WIDTH), *parts)


def random_model(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return Maker(seed).model().eval()
