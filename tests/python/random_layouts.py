"""Draws functions of views, copies and pointwise operators on tensors of many layouts, as texts that Python and TorchScript take."""

import random

import torch

# Forms of expressions, with "|" between them.
UNARY = (
    "torch.relu({x})|{x} * 2.0|{x}.clone()|torch.zeros_like({x})|{x}.double()|{x}.to(torch.float32, copy=True)|{x}.contiguous()"
    "|torch.dropout({x}, 0.5, False)|{x}.abs_()|{x} > 0.5"
)
VIEWS = (
    "{x}.reshape({sizes})|{x}.reshape({sizes})|{x}.view({sizes})|{x}.flatten()|{x}.ravel()|{x}.flatten({low}, {high})"
    "|{x}.unflatten({i}, [{part}, -1])|{x}.transpose({i}, {j})|{x}.swapaxes(axis1={i}, axis0={j})|{x}.swapdims({j}, {i})|{x}.permute({order})"
    "|{x}.movedim({i}, {j})|{x}.movedim([{i}, {j}], [{j}, {k}])|{x}.mT|{x}.t()"
    "|{x}.select({i}, 0)|{x}.narrow({i}, 0, {most})|{x}[::2]|{x}[::3]|{x}[..., 1:]|{x}[:, ::2]|{x}.unsqueeze({i})|{x}.unsqueeze(-1)"
    "|{x}.squeeze()|{x}.squeeze({i})|{x}.squeeze([{i}, {j}])|{x}.expand({wide})|{x}.expand({wider})|{x}.broadcast_to({wide})|{x}.expand_as({x})"
    "|{x}.diagonal(0, {i}, {j})|{x}.unfold({i}, {part}, {step})|{x}.chunk(2, {i})[0]|{x}.split({part}, {i})[-1]|{x}.unbind({i})[0]|{x}.tensor_split(2, {i})[1]"
    "|{x}.detach()|{x}.view_as({x})|{x}.reshape_as({y})|{x}.contiguous(memory_format=torch.channels_last)"
    "|{x}.clone(memory_format=torch.contiguous_format)|{x}.clone(memory_format=torch.channels_last)"
    "|torch.empty_like({x}, memory_format=torch.preserve_format).fill_(1.0)"
)
COMPLEX = (
    "torch.view_as_real(torch.complex({x}, {x}).transpose({i}, {j}))|torch.imag(torch.complex({x}, {x}))"
    "|torch.real(torch.view_as_complex(torch.stack([{x}, {x}], -1).transpose({i}, {j})))"
)
WRITES = "{x}.add_(2.0)|{x}.mul_(3.0)|{x}.copy_({y}.clone())|{x}.fill_(4.0)"
BINARY = "{x} + {y}|{x} * {y}|torch.where({x} > 0.5, {x}, {y})|{x} + {x}.sum()|torch.maximum({x}, {y})|torch.cat([{x}, {y}], {i})"


class Drawn:
    """Statements for a function of `inputs`; each is carried out while it is drawn.  `values` has what they make."""

    def __init__(self, seed: int, inputs: dict[str, torch.Tensor], count: int, kinds: tuple[str, ...] = (UNARY, VIEWS, VIEWS, VIEWS, BINARY, COMPLEX)):
        self.random, self.values, self.lines = random.Random(seed), dict(inputs), []
        while len(self.lines) < count:
            self.draw(self.random.choice(self.random.choice(kinds).split("|")))

    def draw(self, form: str) -> None:
        draw = self.random
        name = draw.choice(list(self.values)[-8:] if draw.random() < 0.8 else list(self.values))
        x = self.values[name]
        alike = [other for other, value in self.values.items() if value.dtype == x.dtype and (value.shape == x.shape or draw.random() < 0.1)]
        rank = max(x.dim(), 1)
        i, j, k = (draw.randrange(rank) - draw.choice([0, 0, rank]) for _ in range(3))
        size = x.shape[i] if x.dim() else 1
        sizes, left = [], x.numel()
        while left > 1 and len(sizes) < 4:
            divisors = [d for d in (1, 2, 3, 4, 6, 12) if left % d == 0]
            sizes.append(draw.choice(divisors))
            left //= sizes[-1]
        wide = [draw.choice([2, 3]) if each == 1 else each for each in x.shape]
        texts = {
            "x": name, "y": draw.choice(alike), "i": i, "j": j, "k": k, "most": max(size - 1, 1),
            "low": min(i % rank, j % rank), "high": max(i % rank, j % rank),
            "sizes": [*sizes, left], "part": draw.choice([1, 2, 3]), "step": draw.choice([1, 2]), "order": draw.sample(range(x.dim()), x.dim()),
            "wide": wide, "wider": [2, *wide],
        }  # fmt: skip
        line = form.format(**texts)
        try:
            with torch.no_grad():
                value = eval(line, {"torch": torch}, dict(self.values))  # noqa: S307  (made here)
        except (RuntimeError, IndexError, ValueError):
            return
        if 0 < value.numel() <= 5000 and value.dim() <= 6:
            made = f"v{len(self.lines)}"
            self.values[made] = value
            self.lines.append(f"{made} = {line}")

    def source(self) -> str:
        """A function f, which gives all values that were made."""
        names = [name for name in self.values if not name.startswith("v")]
        body = "".join(f"  {line}\n" for line in self.lines)
        made = ", ".join(name for name in self.values if name.startswith("v"))
        return f"def f({', '.join(f'{name}: Tensor' for name in names)}):\n{body}  return [{made}]\n"
