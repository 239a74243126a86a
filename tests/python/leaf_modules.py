"""Models with modules that are to be leaves; test_exported_leaves.py exports them and calls the modules."""

from dataclasses import dataclass, field
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass
class Case:
    module: Callable[[], nn.Module]
    shapes: list[tuple[int, ...]]
    leaves: list[str]  # paths that the graph calls
    options: list[str] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    dynamic: Any = None
    not_for: dict[str, str] = field(default_factory=dict)  # mode: why

    @property
    def name(self) -> str:
        return self.module.__name__

    def args(self) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(1)
        return tuple(torch.randn(shape, generator=generator) for shape in self.shapes)


CASES: list[Case] = []


def case(*shapes: tuple[int, ...], **others: Any) -> Callable[[type], type]:
    def add(module: type) -> type:
        CASES.append(Case(module, list(shapes), **others))
        return module

    return add


# --- leaves that hand an input on: torch.export has later readers of x read what the leaf made of it ---


class LlamaNorm(nn.Module):
    def __init__(self, size: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))

    def forward(self, hidden):
        dtype = hidden.dtype
        hidden = hidden.to(torch.float32)
        variance = hidden.pow(2).mean(-1, keepdim=True)
        return self.weight * (hidden * torch.rsqrt(variance + 1e-6)).to(dtype)


class T5Norm(LlamaNorm):
    def forward(self, hidden):
        variance = hidden.to(torch.float32).pow(2).mean(-1, keepdim=True)
        hidden = hidden * torch.rsqrt(variance + 1e-6)
        if self.weight.dtype in (torch.float16, torch.bfloat16):
            hidden = hidden.to(self.weight.dtype)
        return self.weight * hidden


class Residual(nn.Module):
    def __init__(self, norm: type, size: int = 8):
        super().__init__()
        self.norm = norm(size)
        self.linear = nn.Linear(size, size)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return x + self.dropout(self.linear(self.norm(x)))


NORMS = ["--leaf", "**.*Norm"]


@case((2, 5, 8), options=NORMS, leaves=["blocks.0.norm", "blocks.1.norm", "last"])
class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Residual(LlamaNorm), Residual(T5Norm)])
        self.last = LlamaNorm(8)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x, x + self.last(x)


@case((2, 5, 8), options=["--leaf", "**.Residual"], leaves=["blocks.0", "blocks.1"])
class NormsInLeaves(Norms):
    pass


@case((2, 5, 8), options=NORMS, leaves=["blocks.0.norm"])
class HalfPrecision(Norms):
    def __init__(self):
        super().__init__()
        self.blocks.to(torch.bfloat16)

    def forward(self, x):
        for block in self.blocks:
            x = block(x.to(torch.bfloat16))
        return x.float() + self.last(x.float())


class Step(nn.Module):
    """A leaf with two weights; what it does with x is said by the model around it."""

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8))
        self.function = function

    def forward(self, x):
        return self.function(self.weight, x)


def no_grad_inside(weight, x):
    with torch.no_grad():
        y = x.to(torch.float32)
        z = y * 2
    return z * weight + y


def autocast_inside(weight, x):
    with torch.autocast("cpu", enabled=False):
        y = x.float()
        z = y * 2
    return z * weight


def in_place(weight, x):
    x.mul_(2)
    return x + weight


FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Contiguous": lambda weight, x: x.contiguous() * weight,
    "Chain": lambda weight, x: x.to(x.dtype).contiguous().to(x.device).float() * weight,
    "Copy": lambda weight, x: x.to(x.dtype, copy=True) * weight,
    "TypeAs": lambda weight, x: x.type_as(weight) * weight,
    "Views": lambda weight, x: x.view(x.shape).expand(x.shape).reshape(x.shape) * weight,
    "Detach": lambda weight, x: torch.ops.aten.alias(x.detach()) * weight,
    "Flatten": lambda weight, x: torch.atleast_2d(x.flatten(1, 1)) * weight,
    "DropoutInEval": lambda weight, x: F.dropout(x, 0.5, False) * weight,
    "WeightCast": lambda weight, x: x * weight.to(x.dtype).float(),
    "BFloat": lambda weight, x: (x.to(torch.bfloat16) * weight.to(torch.bfloat16)).to(x.dtype),
    "CastOnly": lambda weight, x: x.to(torch.float32),
    "TwoResults": lambda weight, x: (x.to(torch.float32) * weight, x.float() + weight),
    "NoGrad": no_grad_inside,
    "Autocast": autocast_inside,
    "InPlace": in_place,
}
FUNCTIONAL = "a functional program has the changed input as a result of its own"


def step_model(function: Callable[[Tensor, Tensor], Tensor]) -> type:
    class Steps(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = nn.Linear(8, 8), nn.Linear(8, 8)
            self.first, self.second = Step(function), Step(function)

        def forward(self, x):
            x = self.before(x)
            for step in (self.first, self.second):
                y = step(x)
                if isinstance(y, tuple):
                    y = y[0] - y[1]
                x = x + self.between(y)
            return x, self.first.weight + 1

    return Steps


for _name, _function in FUNCTIONS.items():
    CASES.append(
        Case(
            type(_name, (step_model(_function),), {}),
            [(2, 5, 8)],
            ["first", "second"],
            ["--leaf", "**.Step"],
            not_for={"decomposed": FUNCTIONAL} if _function is in_place else {},
        )
    )


# --- parameters that a leaf is given ---


class Cross(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x, latents):
        return self.linear(x) @ latents.transpose(-1, -2)


@case((2, 5, 8), options=["--leaf", "**.Cross"], leaves=["cross"])
class GivenParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(3, 8))
        self.cross = Cross()

    def forward(self, x):
        return self.cross(x, self.latents)
