"""Generates random modules that take views, write in place and use the same memory under many names.

Every statement is carried out while it is made, so that all programs run.  Nothing is summed up: how a sum is
rounded depends on the order in memory, and a new value may have another one than a part of an old one.
"""

import random

import torch

HEADER = """\
import torch
from torch import nn, Tensor
from typing import Tuple

"""


class Program:
    """A module whose forward gets x, float32[4, 4], and has a buffer of the same size."""

    def __init__(self, seed: int, statements: int = 8):
        self.random = random.Random(seed)
        self.values: dict[str, torch.Tensor] = {"x": torch.rand(4, 4), "buf": torch.rand(4, 4)}
        self.lines: list[str] = []
        self.count = 0
        if self.random.random() < 0.7:  # most programs leave x alone
            self.try_line("b", "x.clone()")
        while len(self.lines) < statements:
            self.statement()
        names = [name for name in self.values if name != "buf"]
        self.results = [self.random.choice(names) for _ in range(3)]

    def pick(self, *, like: str | None = None) -> str:
        names = [name for name in self.values if like is None or self.values[name].shape == self.values[like].shape]
        return self.random.choice(names[-6:] if self.random.random() < 0.8 else names)

    def try_line(self, name: str | None, expression: str) -> bool:
        scope = {**self.values, "torch": torch}
        try:
            result = eval(expression, scope)  # noqa: S307  (made here)
        except (RuntimeError, IndexError, ValueError):
            return False
        if name is not None:
            if not isinstance(result, torch.Tensor) or result.numel() == 0 or result.dtype != torch.float32:
                return False
            self.values[name] = result
        self.lines.append((f"{name} = " if name else "") + expression)
        return True

    def try_store(self, place: str, value: str) -> bool:
        scope = {**self.values, "torch": torch}
        try:
            exec(f"{place} = {value}", scope)  # noqa: S102
        except (RuntimeError, IndexError, ValueError):
            return False
        self.lines.append(f"{place} = {value}")
        return True

    def statement(self) -> None:
        rng = self.random
        self.count += 1
        new = f"v{self.count}"
        u = self.pick()
        i, j = rng.randrange(0, 3), rng.randrange(1, 5)
        if rng.random() < 0.45:
            view = rng.choice(
                [f"{u}[{i}]", f"{u}[{i}:{i + j}]", f"{u}[:, {i}:{i + j}]", f"{u}[:]", f"{u}[::2]", f"{u}.t()",
                 f"{u}.transpose(0, -1)", f"{u}.view(-1)", f"{u}.reshape(-1)", f"{u}.flatten()", f"{u}.unsqueeze({i})",
                 f"{u}.squeeze(0)", f"{u}.narrow(0, {i}, {j})", f"{u}.diagonal()", f"{u}.contiguous()", f"{u}.detach()",
                 f"{u}.permute(1, 0)", f"{u}.view(2, -1)", f"{u}.expand(2, -1, -1)", f"{u}.chunk(2)[{i % 2}]",
                 f"{u}.split(2, -1)[{i % 2}]", f"{u}.unbind(0)[{i % 2}]", f"{u}.to(torch.float32)", f"{u}.swapaxes(0, 1)",
                 f"{u}.select(-1, {i})", f"{u}.unflatten(0, [2, -1])", f"{u}.clone()", f"{u}.view_as({u})"]
            )  # fmt: skip
            self.try_line(new, view)
        elif rng.random() < 0.25:
            w = self.pick(like=u)
            self.try_line(new, rng.choice([f"{u} + {w}", f"torch.relu({u})", f"{u} * 2", f"torch.cat([{u}, {w}])", f"{u}.amax(0)"]))
        else:
            w = self.pick(like=u)
            write = rng.choice(
                [f"{u}.add_({j})", f"{u}.mul_({w}.clone())", f"{u}.zero_()", f"{u}.fill_({i}.5)", f"{u}.relu_()",
                 f"{u}.copy_({w}.clone())", f"{u}.masked_fill_({u} > 0.5, {i}.0)", f"{u}.clamp_(0.1, 0.9)", f"torch.neg_({u})",
                 f"{u}.sub_({w}.clone(), alpha={j})", f"torch.add({u}.clone(), 1, out={u})", f"{u}.gt_(0.5)",
                 f"{u}.cumsum_(0)", f"torch.nn.functional.relu({u}, inplace=True)", f"{u}.transpose_(0, 1)",
                 f"{u}.unsqueeze_(0)", f"{u}.squeeze_(0)", f"{u}.add_({w}.max())", "STORE", "STORE", "RESULT"]
            )  # fmt: skip
            if write == "STORE":
                place = rng.choice([f"{u}[{i}]", f"{u}[{i}:{i + j}]", f"{u}[:, {i}]", f"{u}[..., {i}:]", f"{u}[{u} > 0.5]"])
                values = [f"{j}.0", f"{w}.max()", f"{w}[{i}].clone()"]
                self.try_store(place, rng.choice(values[:2] if ">" in place else values))  # x may hold others
            elif write == "RESULT":
                self.try_line(new, f"{u}.mul_({j})")
            else:
                self.try_line(None, write)

    def changes_sizes(self) -> bool:
        """In place, of what it is given: torch.export has no programs for these, or none that runs twice."""
        return any(self.values[name].stride() != (4, 1) for name in ("x", "buf"))

    def source(self, name: str) -> str:
        body = "".join(f"        {line}\n" for line in self.lines).replace("buf", "self.buf")
        results = ", ".join(self.results)
        return (
            f"class {name}(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            f"        self.register_buffer('buf', torch.rand(4, 4))\n\n"
            f"    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:\n{body}        return {results}\n\n\n"
        )


def module_source(first_seed: int, count: int, *, same_sizes: bool = False) -> str:
    """A module `All` that runs `count` programs, each on its own input; or those that leave sizes alone."""
    programs = {f"P{seed}": Program(seed) for seed in range(first_seed, first_seed + count)}
    names = [name for name, program in programs.items() if not (same_sizes and program.changes_sizes())]
    source = HEADER + "".join(programs[name].source(name) for name in names)
    members = "".join(f"        self.{name.lower()} = {name}()\n" for name in names)
    calls = "".join(f"        r{i} = self.{name.lower()}(x{i})\n" for i, name in enumerate(names))
    results = ", ".join(f"r{i}[0], r{i}[1], r{i}[2]" for i in range(len(names)))
    inputs = ", ".join(f"x{i}: Tensor" for i in range(len(names)))
    return (
        source + f"class All(nn.Module):\n    def __init__(self):\n        super().__init__()\n{members}\n"
        f"    def forward(self, {inputs}):\n{calls}        return [{results}]\n"
    )
