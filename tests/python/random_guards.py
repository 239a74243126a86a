"""Generates small random programs that branch on properties of their inputs, with options that fix these properties, and with
inputs that fit the options and others that do not."""

import random
from dataclasses import dataclass, field

import torch

DTYPES = ("float32", "float64", "int64")
NAMES = ("a", "b", "c")


@dataclass
class Program:
    code: str
    options: dict
    inputs: list[tuple]
    what: list[str] = field(default_factory=list)  # of each tuple of inputs


def size(chance: random.Random) -> str:
    return chance.choice(("1", "2", "3", "4", "a", "a", "b", "b", "c", "a+1", "2*b", "b+2", "a*2"))


class Maker:
    def __init__(self, seed: int):
        self.chance = random.Random(seed)
        self.lines: list[str] = []
        self.tensors: list[str] = []  # variables
        self.specs: dict[str, tuple[str, list[str]]] = {}  # by tensor input
        self.integers: dict[str, str] = {}  # their sizes
        self.flags: dict[str, object] = {}
        self.lists: dict[str, int] = {}
        self.dicts: dict[str, list[str]] = {}

    def make(self) -> Program:
        chance = self.chance
        for i in range(chance.randint(1, 3)):
            rank = chance.choice((1, 1, 2, 2, 3, 0))
            dtype = chance.choice(("float32", "float32", "float32", *DTYPES))
            self.specs["xyz"[i]] = (dtype, [size(chance) for _ in range(rank)])
        self.tensors = list(self.specs)
        if chance.random() < 0.3:
            self.integers["n"] = chance.choice(("a", "b", "s"))
        if chance.random() < 0.3:
            self.flags["flag"] = chance.choice((True, False))
        if chance.random() < 0.2:
            self.lists["past"] = chance.randint(1, 3)
        if chance.random() < 0.2:
            self.dicts["extra"] = chance.sample(["p", "q", "r"], chance.randint(1, 2))
        for _ in range(chance.randint(0, 3)):
            self.operation()
        for _ in range(chance.randint(1, 4)):
            self.decision()
        return Program(self.code(), self.options(), *self.drawn())

    # --- the program ---

    def code(self) -> str:
        parameters = [f"{name}: Tensor" for name in self.specs]
        parameters += [f"{name}: int" for name in self.integers] + [f"{name}: bool" for name in self.flags]
        parameters += [f"{name}: List[Tensor]" for name in self.lists] + [f"{name}: Dict[str, Tensor]" for name in self.dicts]
        body = "\n".join("    " + line for line in ("r = torch.tensor(0.0)", *self.lines, "return r"))
        return f"def forward(self, {', '.join(parameters)}) -> Tensor:\n{body}\n"

    def operation(self) -> None:
        chance = self.chance
        one, other = chance.choice(self.tensors), chance.choice(self.tensors)
        made = f"t{len(self.lines)}"
        self.lines.append(
            made
            + " = "
            + chance.choice(
                (
                    f"{one} + {other}",
                    f"{one} * 2",
                    f"{one}.squeeze()",
                    f"{one}.squeeze(0)",
                    f"{one}.unsqueeze(0)",
                    f"{one}.sum(-1)" if chance.random() < 0.5 else f"{one}.flatten()",
                    f"torch.cat([{one}, {other}])",
                    f"{one}.reshape(-1)",
                    f"{one}.transpose(0, -1)",
                    f"torch.stack([{one}, {other}])",
                    f"{one}.expand([2] + list({one}.shape))",
                    f"{one}[1:]",
                    f"{one}[0]",
                    f"{one}.to(torch.float64)",
                )
            )
        )
        self.tensors.append(made)

    def condition(self) -> str:
        chance = self.chance
        one, other = chance.choice(self.tensors), chance.choice(self.tensors)
        k = chance.randint(0, 5)
        relation = chance.choice(("==", "!=", "<", ">", "<=", ">="))
        forms = [
            f"{one}.dim() {relation} {chance.randint(0, 3)}",
            f"{one}.size(0) {relation} {k}",
            f"{one}.size(-1) {relation} {other}.size(-1)",
            f"{one}.size(0) {relation} {other}.size(0)",
            f"{one}.shape == {other}.shape",
            f"{one}.numel() {relation} {chance.randint(0, 12)}",
            f"len({one}) {relation} {k}",
            f"{one}.dtype == {other}.dtype",
            f"{one}.dtype == torch.{chance.choice(DTYPES)}",
            f"{one}.is_floating_point()",
            f"{one}.device == {other}.device",
            f"{one}.size(0) % 2 == 0",
            f"{one}.size(0) * 2 {relation} {other}.numel()",
            f"max({one}.size(0), 3) {relation} {k}",
        ]
        for name in self.integers:
            forms += [f"{name} {relation} {k}", f"{name} {relation} {one}.size(0)", f"{name} % 2 == 1"]
        forms += [name for name in self.flags] * 3
        forms += [f"len({name}) {relation} {k}" for name in self.lists] * 3
        forms += [f"'p' in {name}" for name in self.dicts] * 2 + [f"len({name}) {relation} 1" for name in self.dicts]
        return chance.choice(forms)

    def decision(self) -> None:
        chance, condition = self.chance, self.condition()
        kind = chance.random()
        k = chance.randint(2, 9)
        if kind < 0.65:
            self.lines += [f"if {condition}:", f"    r = r + {k}", "else:", f"    r = r * {k} - 1"]
        elif kind < 0.8:
            self.lines += [f"assert {condition}", f"r = r + {k}"]
        elif kind < 0.9:
            of = chance.choice(self.tensors)
            self.lines += [f"for i in range({of}.dim()):", f"    r = r * 2 + {k}"]
        elif self.lists:
            name = chance.choice(list(self.lists))
            self.lines += [f"for p in {name}:", "    r = r * 2 + p.sum()"]
        elif self.dicts:
            name = chance.choice(list(self.dicts))
            self.lines += [f"for p in {name}.values():", "    r = r * 2 + p.sum()"]
        else:
            self.lines.append(f"r = r + {chance.choice(self.tensors)}.double().sum()")

    # --- what is said of the inputs ---

    def options(self) -> dict:
        chance = self.chance
        said = {name: f"{dtype}[{','.join(sizes)}]" for name, (dtype, sizes) in self.specs.items() if chance.random() < 0.9}
        said |= self.integers
        if not said:
            said = {"x": "float32[a]"}
            self.specs["x"] = ("float32", ["a"])
        concrete: dict = dict(self.flags)
        concrete |= {name: ["$PH"] * length for name, length in self.lists.items()}
        concrete |= {name: dict.fromkeys(keys, "$PH") for name, keys in self.dicts.items()}
        named = {name for text in said.values() for name in (*NAMES, "s") if name in text.replace("float", "").replace("int", "")}
        ranges = {
            name: chance.choice(((2, None), (1, None), (2, 8), (0, 4), (3, 3))) for name in sorted(named) if chance.random() < 0.4
        }
        self.ranges = ranges
        return {"input": said, "concrete": concrete, "dim": ranges}

    # --- inputs ---

    def drawn(self) -> tuple[list[tuple], list[str]]:
        inputs, what = [], []
        for i in range(8):
            values = self.fitting()
            text = "fits"
            if i >= 2:
                text = self.spoil(values)
            inputs.append(tuple(values.values()))
            what.append(text)
        return inputs, what

    def fitting(self) -> dict:
        chance = self.chance
        names = {name: chance.randint(0, 5) for name in (*NAMES, "s")}
        for name, (low, high) in self.ranges.items():
            names[name] = chance.randint(low, high if high is not None else low + 4)
        values: dict = {}
        for name, (dtype, sizes) in self.specs.items():
            values[name] = tensor([eval(size, {}, names) for size in sizes], dtype)  # noqa: S307
        values |= {name: names[size] for name, size in self.integers.items()}
        values |= self.flags
        values |= {name: [torch.rand(2) for _ in range(length)] for name, length in self.lists.items()}
        values |= {name: {key: torch.rand(2) for key in keys} for name, keys in self.dicts.items()}
        return values

    def spoil(self, values: dict) -> str:
        chance = self.chance
        name = chance.choice(list(values))
        value = values[name]
        if isinstance(value, bool):
            values[name] = not value
        elif isinstance(value, int):
            values[name] = chance.randint(-2, 6)
        elif isinstance(value, list):
            values[name] = [*value, torch.rand(2)] if chance.random() < 0.5 else value[:-1]
        elif isinstance(value, dict):
            values[name] = {**value, "z": torch.rand(2)} if chance.random() < 0.5 else dict(list(value.items())[:-1])
        else:
            shape, dtype = list(value.shape), str(value.dtype).removeprefix("torch.")
            kind = chance.random()
            if kind < 0.6 and shape:
                shape[chance.randrange(len(shape))] = chance.randint(0, 6)
            elif kind < 0.75:
                shape = shape[1:] if shape and chance.random() < 0.5 else [2, *shape]
            elif kind < 0.9:
                dtype = chance.choice(DTYPES)
            else:
                values[name] = value.to("meta")
                return f"{name} on another device"
            values[name] = tensor(shape, dtype)
        return f"another {name}"


def tensor(shape: list[int], dtype: str) -> torch.Tensor:
    kind = getattr(torch, dtype)
    return torch.rand(shape).to(kind) if kind.is_floating_point else torch.randint(0, 5, shape, dtype=kind)


def make(seed: int) -> Program:
    return Maker(seed).make()


def script(code: str) -> torch.jit.ScriptModule:
    module = torch.jit.script(type("Drawn", (torch.nn.Module,), {})())  # a class of its own: scripted types are shared
    module.define(code)
    return module
