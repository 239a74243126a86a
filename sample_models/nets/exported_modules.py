"""Modules in exported programs: leaves at several depths, several results, repeated calls of one module."""

import torch
from torch import Tensor, nn

from nets.exporting import decomposed, export, exported
from nets.sample import Sample, call, tensor


class Halves(nn.Module):
    """Several results, one of them used twice and one not at all."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden = torch.relu(self.linear(x))
        left, right = hidden.chunk(2, dim=-1)
        return left, self.norm(hidden), right


class Combine(nn.Module):
    """Arguments by position and by name."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(width))
        self.register_buffer("offset", torch.rand(width))

    def forward(self, x: Tensor, *, other: Tensor, factor: float = 1.0) -> Tensor:
        return x * self.scale + factor * other + self.offset


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.halves = Halves(6)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(6, 6), nn.GELU()) for _ in range(2)])
        self.shared = nn.Sequential(nn.Linear(6, 6), nn.Tanh())
        self.again = self.shared
        self.combine = Combine(6)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        left, normed, _ = self.halves(x)
        for block in self.blocks:
            normed = block(normed)
        y = self.shared(normed)
        y = self.shared(y) + self.again(normed)
        _, _, right = self.halves(y)
        y = self.combine(y, other=normed, factor=0.5)
        return self.combine(y, other=x, factor=2.0), left * right


class Callback(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, module: nn.Module) -> Tensor:
        return self.linear(torch.relu(module(x)))


class Callbacks(nn.Module):
    """A module that calls another one that is not inside it, and a part of a module called from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.outer = Callback()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.outer(x, self.inner)
        return self.outer.linear(y) + self.inner(x)


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.neg(self.first(x)))


class Interleaved(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = Pair()
        self.b = Pair()

    def forward(self, x: Tensor) -> Tensor:
        return self.a(x) + self.b(x)


def interleaved() -> torch.export.ExportedProgram:
    """The nodes of two calls take turns, as after a pass that sorts a graph; then an operation inside `a`
    loses its module, so that one call of `a` would have to run before and after it."""
    program = export(Interleaved().eval(), INTERLEAVED)
    nodes = {node.name: node for node in program.graph.nodes}
    nodes["linear_1"].append(nodes["linear_2"])
    nodes["linear"].append(nodes["linear_2"])
    nodes["neg"].meta["nn_module_stack"] = dict(list(nodes["neg"].meta["nn_module_stack"].items())[:1])
    program.graph.lint()
    return program


NORMAL = call(tensor(3, 6))
CALLBACKS = call(tensor(2, 4))
INTERLEAVED = call(tensor(2, 4))

SAMPLES = [
    Sample(
        "exported_modules",
        "exported",
        "nested modules, several results, a shared module called again and under two names",
        exported(Net, NORMAL),
        [NORMAL],
        kind="exported_program",
    ),
    Sample(
        "exported_modules_strict",
        "exported, strict",
        "the same by torch.export's strict mode, which names modules by numbers",
        exported(Net, NORMAL, strict=True),
        [NORMAL],
        kind="exported_program",
    ),
    Sample(
        "exported_modules_decomposed",
        "exported, decomposed",
        "the same in core operators",
        decomposed(Net, NORMAL),
        [NORMAL],
        kind="exported_program",
    ),
    Sample(
        "exported_signatures",
        "exported, call signatures preserved",
        "the same with recorded call signatures of modules with several results and with keyword arguments",
        exported(Net, NORMAL, preserve_module_call_signature=("halves", "combine", "shared")),
        [NORMAL],
        kind="exported_program",
    ),
    Sample(
        "exported_callbacks",
        "exported",
        "a module that calls one beside it, and a part of a module called from outside",
        exported(Callbacks, CALLBACKS),
        [CALLBACKS],
        kind="exported_program",
    ),
    Sample(
        "exported_interleaved",
        "exported, then reordered",
        "two calls whose operations take turns, and a leaf that must be split",
        interleaved,
        [INTERLEAVED],
        kind="exported_program",
    ),
]
