"""Control flow as operators with bodies: cond, while_loop, scan, map, associative_scan, one in another."""

import torch
from torch import Tensor, nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_over
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from nets.exporting import exported
from nets.sample import Sample, call, tensor


class Cond(nn.Module):
    """Modules inside the branches, one of them called outside too, and a buffer as an operand."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        self.register_buffer("offset", torch.rand(4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.first(x)

        def positive(x: Tensor) -> tuple[Tensor, Tensor]:
            return self.second(x), x + self.offset

        def negative(x: Tensor) -> tuple[Tensor, Tensor]:
            return self.first(x) * 2, torch.cos(x)

        y, z = torch.cond(x.sum() > 0, positive, negative, (x,))
        return y + x, z


class While(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        def more(i: Tensor, x: Tensor) -> Tensor:
            return i < 3

        def step(i: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            return i + 1, torch.tanh(self.linear(x))

        return while_loop(more, step, (steps, x))


class Scan(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, start: Tensor, xs: Tensor) -> tuple[Tensor, Tensor]:
        def step(carry: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            carry = torch.tanh(self.linear(carry) + x)
            return carry, carry * 2

        return scan(step, start, xs, dim=0)


class Map(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, xs: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        mapped = map_over(lambda x, y: torch.sin(self.linear(x)) + y, xs, y)
        summed = associative_scan(lambda a, b: a + b, mapped, dim=0, combine_mode="generic")
        return mapped, summed


class Nested(nn.Module):
    """A while loop with a cond in its body, inside a branch of a cond."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        def grow(x: Tensor) -> Tensor:
            return torch.cond(x.sum() > 2, lambda x: x * 0.5, lambda x: self.linear(x).abs() + 1, (x,))

        def loop(x: Tensor) -> Tensor:
            _, x = while_loop(
                lambda i, x: i < 4, lambda i, x: (i + 1, grow(x)), (torch.zeros((), dtype=torch.int64), x)
            )
            return x

        return torch.cond(x.shape[0] + x.sum() > 0, loop, torch.neg, (x,)) + 1


COND = [call(tensor(2, 4, seed=seed)) for seed in (0, 1, 2)]
WHILE = call(tensor(2, 4), tensor(dtype="int64", low=0, high=1))
SCAN = call(tensor(4), tensor(3, 4))
MAP = call(tensor(3, 4), tensor(4))
NESTED = [call(tensor(3, 3, seed=seed)) for seed in (0, 1, 2)]

SAMPLES = [
    Sample(
        "exported_cond",
        "exported",
        "cond with modules in its branches and several results",
        exported(Cond, COND[0]),
        COND,
        kind="exported_program",
    ),
    Sample(
        "exported_cond_strict",
        "exported, strict",
        "the same by strict mode, which keeps modules of the branches",
        exported(Cond, COND[0], strict=True),
        COND,
        kind="exported_program",
    ),
    Sample(
        "exported_while_loop",
        "exported",
        "while_loop with a module in its body",
        exported(While, WHILE),
        [WHILE],
        kind="exported_program",
    ),
    Sample(
        "exported_scan",
        "exported",
        "scan with a module in its body",
        exported(Scan, SCAN),
        [SCAN],
        kind="exported_program",
    ),
    Sample(
        "exported_map",
        "exported",
        "map with a module in its body, associative_scan",
        exported(Map, MAP),
        [MAP],
        kind="exported_program",
    ),
    Sample(
        "exported_control_flow_nested",
        "exported",
        "a cond in the body of a loop in a branch of a cond",
        exported(Nested, NESTED[0]),
        NESTED,
        kind="exported_program",
    ),
]
