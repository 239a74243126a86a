"""Generates random modules with branches and loops that depend on data, as Python source for torch.jit.script."""

import importlib.util
import random
import sys
import types

HEADER = """from typing import List, Tuple

import torch
from torch import Tensor, nn
"""

# Variables of each kind that a program has from the start: what the statements are made of.
TENSORS = ["x", "y", "z"]
NUMBERS = ["i", "j"]
FLOATS = ["f"]
FLAGS = ["p"]


class Writer:
    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0

    def pick(self, items):
        return self.random.choice(items)

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 2) + text)

    # --- expressions ---

    def tensor(self) -> str:
        a, b = self.pick(TENSORS), self.pick(TENSORS)
        return self.pick(
            [
                f"{a} + {b}",
                f"{a} - {b} * 0.5",
                f"torch.tanh({a})",
                f"{a} * {self.pick(['2', '-1', '0.5', *NUMBERS, *FLOATS])}",
                f"{a}.roll(1, 0)",
                f"{a}.flip(0)",
                f"{a}.view(4)",
                f"self.linear({a})",
                f"self.inner({a})",
                f"{a} + self.scale",
                f"torch.where({a} > {b}, {a}, {b})",
                f"{a}.clone()",
                f"{a}",
                "state[0] + state[1]",
                f"parts[{self.pick(['0', '1'])}] - {b}",
            ]
        )

    def number(self) -> str:
        a, b = self.pick(NUMBERS), self.pick(NUMBERS)
        return self.pick([f"{a} + 1", f"{a} - {b}", f"{a} * 2 % 7", "3", f"int({self.pick(TENSORS)}.sum()) % 5", a])

    def condition(self) -> str:
        a = self.pick(TENSORS)
        return self.pick(
            [
                f"bool({a}.sum() > {self.pick(['0', '1', '-1', *NUMBERS, *FLOATS])})",
                f"bool({a}.max() > {self.pick(TENSORS)}.min())",
                f"{self.pick(NUMBERS)} > {self.pick(NUMBERS)}",
                f"{self.pick(NUMBERS)} % 2 == 0",
                f"{self.pick(FLOATS)} > 0.5",
                f"{self.pick(FLAGS)}",
                f"not {self.pick(FLAGS)}",
                f"{self.pick(NUMBERS)} < 3 and bool({a}.mean() > 0)",
                f"bool({a}.mean() > 0) or {self.pick(FLAGS)}",
            ]
        )

    # --- statements ---

    def statement(self, depth: int, in_loop: bool) -> None:
        kind = self.random.random()
        if depth < 3 and kind < 0.18:
            self.put(depth, f"if {self.condition()}:")
            self.block(depth + 1, in_loop)
            if self.random.random() < 0.5:
                self.put(depth, "else:")
                self.block(depth + 1, in_loop)
        elif depth < 3 and self.loops < 3 and kind < 0.28:
            self.loop(depth)
        elif in_loop and kind < 0.32:
            self.put(depth, f"if {self.condition()}:")
            self.put(depth + 1, self.pick(["break", "continue"]))
        elif kind < 0.35:
            self.put(depth, f"if {self.condition()}:")
            self.put(depth + 1, f"return {self.pick(TENSORS)}, {self.pick(NUMBERS)}, f")
        elif kind < 0.65:
            self.put(depth, f"{self.pick(TENSORS)} = {self.tensor()}")
        elif kind < 0.75:
            self.put(depth, f"{self.pick(NUMBERS)} = {self.number()}")
        elif kind < 0.80:
            self.put(depth, f"f = {self.pick(['f * 0.5', 'f + 1.0', '0.25', f'float({self.pick(TENSORS)}.mean())'])}")
        elif kind < 0.85:
            self.put(depth, f"p = {self.condition()}")
        elif kind < 0.90:
            self.put(depth, f"state = ({self.tensor()}, {self.pick(TENSORS)})")
        elif kind < 0.94:
            self.put(depth, f"parts[{self.pick(['0', '1'])}] = {self.tensor()}")
        else:
            name = self.pick(TENSORS)
            self.put(depth, f"{name} = {self.tensor()} + 0.0")
            self.put(depth, self.pick([f"{name}.add_(1)", f"{name}[0] = 0.5", f"{name}.mul_({self.pick(TENSORS)})"]))

    def loop(self, depth: int) -> None:
        self.loops += 1
        count = f"k{self.loops}"
        if self.random.random() < 0.5:
            limit = self.pick(["3", f"int({self.pick(TENSORS)}.abs().sum()) % 4", f"{self.pick(NUMBERS)} % 4"])
            self.put(depth, f"for {count} in range({limit}):")
            if self.random.random() < 0.5:
                self.put(depth + 1, f"{self.pick(NUMBERS)} = {count} + 1")
            self.block(depth + 1, True)
        else:
            self.put(depth, f"{count} = 0")
            self.put(depth, f"while {count} < 4 and ({self.condition()}):")
            self.put(depth + 1, f"{count} += 1")
            self.block(depth + 1, True)

    def block(self, depth: int, in_loop: bool) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.statement(depth, in_loop)

    def source(self) -> str:
        for _ in range(self.random.randint(3, 8)):
            self.statement(0, False)
        body = "\n".join(self.lines)
        return f"""{HEADER}

class Inner(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 1):
            return x * 0.5
        return x + 1


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.inner = Inner()
        self.scale = nn.Parameter(torch.rand(4))

    def forward(self, x: Tensor, y: Tensor, n: Tensor):
        i, j, f, p = int(n), 1, 0.75, True
        z = x + y
        state = (x, y)
        parts = [x, y]
{body}
        return x + y * z + state[0] - parts[1], i + j, f
"""


def make(seed: int, folder: str) -> tuple[str, types.ModuleType]:
    """The source, and the module of Python that has it."""
    source = Writer(seed).source()
    path = f"{folder}/random_control_flow_{seed}.py"
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location(f"random_control_flow_{seed}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return source, module
