"""Generates small random models with plain and tensor attributes that forward reads, assigns and writes in place."""

import random

PLAIN = ("n", "k", "f")
TENSORS = ("h", "g")


class Writer:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def source(self) -> str:
        pick = self.chance
        lines = ["import torch", "from torch import Tensor, nn", "", ""]
        names = ["Inner"] if pick.random() < 0.5 else []
        for name in [*names, "Net"]:
            inner = "inner" if name == "Net" and names else None
            lines += [f"class {name}(nn.Module):", "    def __init__(self):", "        super().__init__()"]
            lines += ["        self.n = 0", "        self.k = 2", "        self.f = 0.5"]
            lines += ['        self.register_buffer("h", torch.ones(3))', "        self.g = torch.zeros(3)"]
            if inner:
                lines += ["        self.inner = Inner()"]
            lines += ["", "    def forward(self, x: Tensor):", "        y = x * 2", "        row = x[0]", "        i = 1"]
            lines += self.body(inner)
            lines += ["        return y + row", "", ""]
        return "\n".join(lines)

    def body(self, inner: str | None) -> list[str]:
        pick = self.chance
        lines = []
        for _ in range(pick.randint(2, 7)):
            statement = self.statement(inner)
            if pick.random() < 0.1:
                lines.append(f"        if {pick.choice(('i > 1', f'self.{pick.choice(PLAIN)} > 1', 'self.training'))}:")
                lines.append("            " + statement)
            elif pick.random() < 0.1:
                lines.append("        for _ in range(2):")
                lines.append("            " + statement)
            else:
                lines.append("        " + statement)
        return lines

    def holder(self, inner: str | None) -> str:
        return f"self.{inner}" if inner and self.chance.random() < 0.35 else "self"

    def number(self, inner: str | None) -> str:
        return self.chance.choice((f"{self.holder(inner)}.n", f"{self.holder(inner)}.k", "i", "3", "x.size(0)", "x.size(1)"))

    def tensor(self, inner: str | None) -> str:
        return self.chance.choice((f"{self.holder(inner)}.h", f"{self.holder(inner)}.g", "row", "row", "x[1]"))

    def statement(self, inner: str | None) -> str:
        pick = self.chance
        kinds = ["plain", "plain", "tensor", "tensor", "in_place", "read", "read", "keep", "alias"] + ["call"] * (inner is not None) * 3
        kind = pick.choice(kinds)
        if kind == "plain":
            target = f"{self.holder(inner)}.{pick.choice(PLAIN)}"
            if target.endswith(".f"):
                return f"{target} = {target} * 0.5 + {self.number(inner)}"
            return f"{target} = {self.number(inner)} {pick.choice('+-')} {self.number(inner)}"
        if kind == "tensor":
            value = f"{self.tensor(inner)} * 0.5 + {self.tensor(inner)}"
            return f"{self.holder(inner)}.{pick.choice(TENSORS)} = {value}"
        if kind == "alias":
            return f"{self.holder(inner)}.{pick.choice(TENSORS)} = {self.tensor(inner)}"
        if kind == "in_place":
            target = pick.choice((f"{self.holder(inner)}.{pick.choice(TENSORS)}", "row", "y"))
            return pick.choice((f"{target} += {self.number(inner)}", f"{target}.mul_(0.5)"))
        if kind == "keep":
            return pick.choice((f"row = {self.tensor(inner)}", f"i = {self.number(inner)}", f"row = row + {self.tensor(inner)}"))
        if kind == "call":
            return f"y = self.{inner}(y)"
        return f"y = y + {self.tensor(inner)} * {self.number(inner)} + {self.holder(inner)}.f"
