"""Draws small models whose inputs are containers, numbers and texts, with submodules that take some of their own, for the advice
that fxtrace prints of them."""

import importlib.util
import os
import random
from dataclasses import dataclass, field

import torch

SIZES = "float32[2,4]"
# By kind of an input: its type, what the code makes of it, the specs of its parts as --input names them, a value as JSON.
KINDS = {
    "tensor": ("Tensor", ["{n}", "self.fc({n})", "self.norm({n})"], {"": SIZES}, None),
    "image": ("Tensor", ["self.conv({n}).mean()"], {"": "float32[2,3,8,8]"}, None),
    "ids": ("Tensor", ["self.words({n}).sum(1)"], {"": "int64[2,3]"}, None),
    "list": (
        "List[Tensor]",
        ["{n}[0] + {n}[1]", "torch.cat({n}).sum()", "torch.stack({n})[0]", "total({n})", "self.fc({n}[-1])"],
        {".0": SIZES, ".1": SIZES},
        None,
    ),
    "dict": (
        "Dict[str, Tensor]",
        ['{n}["a"] + {n}["b"]', "total(list({n}.values()))", '({n}["a"] if "b" in {n} else {n}["a"] * 2)'],
        {".a": SIZES, ".b": SIZES},
        None,
    ),
    "tuple": ("Tuple[Tensor, Tensor]", ["{n}[0] + {n}[1]", "{n}[0]"], {".0": SIZES, ".1": SIZES}, None),
    "mixed": ("Tuple[Tensor, int]", ["{n}[0] * {n}[1]", "{n}[0].narrow(0, 0, {n}[1])[0]"], {".0": SIZES, ".1": "n"}, '["$PH", 1]'),
    "flagged": ("Tuple[Tensor, bool]", ["({n}[0] if {n}[1] else -{n}[0])"], {".0": SIZES}, '["$PH", true]'),
    "named": ("Pair", ["{n}.first + {n}.second", "{n}[0]"], {".first": SIZES, ".second": SIZES}, None),
    "pairs": (
        "List[Tuple[Tensor, Tensor]]",
        ["{n}[0][0] + {n}[1][1]", "{n}[0][1]"],
        {".0.0": SIZES, ".0.1": SIZES, ".1.0": SIZES, ".1.1": SIZES},
        None,
    ),
    "lists": ("Dict[str, List[Tensor]]", ['{n}["a"][0] + {n}["a"][1]'], {".a.0": SIZES, ".a.1": SIZES}, None),
    "dicts": ("Dict[str, Dict[str, Tensor]]", ['{n}["a"]["b"] + {n}["a"]["c"]'], {".a.b": SIZES, ".a.c": SIZES}, None),
    "numbered": ("Dict[int, Tensor]", ["{n}[0]"], {".0": SIZES}, None),
    "optional": ("Optional[Tensor]", ["maybe({n})"], {"": SIZES}, "null"),
    "optional_list": ("Optional[List[Tensor]]", ["maybe_first({n})"], {".0": SIZES}, "null"),
    "int": ("int", ["y * {n}", "y.narrow(0, 0, {n})[0]", "repeated(y, {n})", "(y if {n} > 1 else -y)"], {"": "n"}, "1"),
    "float": ("float", ["y * {n}", "(y if {n} > 1.0 else -y)"], {}, "1.5"),
    "bool": ("bool", ["(y if {n} else -y)"], {}, "true"),
    "str": ("str", ['(y if {n} == "up" else -y)'], {}, '"up"'),
    "optional_int": ("Optional[int]", ["maybe_times(y, {n})"], {"": "n"}, "1"),
    "ints": ("List[int]", ["y.reshape({n}).sum()", "y * {n}[1]"], {}, "[2, 4]"),
    "floats": ("List[float]", ["y * {n}[1]"], {}, "[2.0, 4.0]"),
    "options": ("Dict[str, float]", ['y * {n}["scale"]'], {}, '{"scale": 2.0}'),
}
USES = [
    "y = y + {e}",
    "y = y + {e}",
    "y = y + {e}",
    "if bool(({e}).sum() > 0):\n    y = y * 2",
    "if ({e}).size(0) > 1:\n    y = y * 3",
    "if ({e}).dim() == 2:\n    y = y * 3",
    "if y.size(0) == ({e}).numel():\n    y = y * 3",
    "for i in range(({e}).size(0)):\n    y = y + i",
    "y = y + torch.nonzero({e}).sum()",
    "y = y + float(({e}).sum())",
    "y = y + ({e}).reshape(-1)[: y.size(0)].sum()",
    "for part in ({e}).split(2):\n    y = y + part.sum()",
    "if self.fc.weight.size(0) > ({e}).size(0):\n    y = y - 1",
    "self.state.copy_(({e}).sum())",
    "print(({e}).shape)",
    "y = y + torch.bincount(({e}).reshape(-1).abs().long()).sum()",
]
# What the root makes of a tensor for a submodule.
MADE = {
    "tensor": "y",
    "list": "[y, y]",
    "dict": '{"a": y, "b": y}',
    "tuple": "(y, y)",
    "named": "Pair(y, y)",
    "pairs": "[(y, y), (y, y)]",
    "int": "y.size(0)",
    "bool": "bool(y.sum() > 0)",
    "float": "float(y.sum())",
    "optional": "y",
    "mixed": "(y, 1)",
}
# An example of each kind of an input that torch.jit.trace takes.
EXAMPLES = MADE | {
    "image": "torch.rand(2, 3, 8, 8)",
    "ids": "torch.ones(2, 3, dtype=torch.int64)",
    "lists": '{"a": [y, y]}',
    "dicts": '{"a": {"b": y, "c": y}}',
    "numbered": "{0: y}",
    "optional_list": "[y, y]",
}
HEAD = '''
import torch
from typing import Dict, List, NamedTuple, Optional, Tuple
from torch import Tensor, nn

class Pair(NamedTuple):
    first: Tensor
    second: Tensor

def total(xs: List[Tensor]) -> Tensor:
    y = torch.zeros(1)
    for x in xs:
        y = y + x.sum()
    return y

def maybe(x: Optional[Tensor]) -> Tensor:
    return torch.zeros(1) if x is None else x

def maybe_first(x: Optional[List[Tensor]]) -> Tensor:
    return torch.zeros(1) if x is None else x[0]

def maybe_times(y: Tensor, n: Optional[int]) -> Tensor:
    return y if n is None else y * n

def repeated(y: Tensor, n: int) -> Tensor:
    for _ in range(n):
        y = y + 1
    return y

class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.norm, self.conv, self.words = nn.Linear(4, 4), nn.LayerNorm(4), nn.Conv2d(3, 4, 3), nn.Embedding(10, 4)
        self.register_buffer("state", torch.zeros(()))
'''


@dataclass
class Drawn:
    code: str = HEAD
    kinds: list[str] = field(default_factory=list)  # of the inputs
    specs: dict[str, str] = field(default_factory=dict)  # by path, "past.0": what --input may say of each
    values: dict[str, str] = field(default_factory=dict)  # by input: what --concrete may say


def indented(text: str) -> str:
    return "".join(f"        {line}\n" for line in text.split("\n"))


def draw(seed: int) -> Drawn:
    chance = random.Random(seed)
    drawn = Drawn()

    def use(name: str, kind: str) -> str:
        return indented(chance.choice(USES).format(e=chance.choice(KINDS[kind][1]).format(n=name)))

    kinds = [chance.choice(list(KINDS)) for _ in range(chance.randint(1, 3))]
    inputs = dict(zip(chance.sample(["x", "images", "past", "mask", "flag"], len(kinds)), kinds, strict=True))
    drawn.kinds = kinds
    body = [use(name, kind) for name, kind in inputs.items()]
    members = ""
    for i in range(chance.randint(0, 2)):
        kind = chance.choice(list(MADE))
        uses = "".join(use(f"features{i}", kind) for _ in range(chance.randint(1, 2)))
        arguments = f"self, y: Tensor, features{i}: {KINDS[kind][0]}"
        drawn.code += f"\nclass Part{i}(Base):\n    def forward({arguments}) -> Tensor:\n{uses}        return y\n"
        given = [name for name, each in inputs.items() if each == kind]
        value = chance.choice(given) if given and chance.random() < 0.5 else MADE[kind]
        body.append(indented(f"y = self.part{i}(y, {value})"))
        members += f"        self.part{i} = Part{i}()\n"
    chance.shuffle(body)
    start = chance.choice(("torch.zeros(2, 4)", "torch.ones(4)"))
    arguments = ", ".join(f"{name}: {KINDS[kind][0]}" for name, kind in inputs.items())
    drawn.code += f"\nclass Net(Base):\n    def __init__(self):\n        super().__init__()\n{members}\n"
    drawn.code += f"    def forward(self, {arguments}) -> Tensor:\n        y = {start}\n{''.join(body)}        return y\n"
    for name, kind in inputs.items():
        drawn.specs |= {name + path: spec for path, spec in KINDS[kind][2].items()}
        if KINDS[kind][3] is not None:
            drawn.values[name] = KINDS[kind][3]
    return drawn


def write(drawn: Drawn, folder: str, name: str, traced: bool = False) -> str | None:
    """Script or trace the model into a file; None if torch refuses its code."""
    source = os.path.join(folder, f"{name}.py")
    with open(source, "w", encoding="utf-8") as file:
        file.write(drawn.code)
    spec = importlib.util.spec_from_file_location(name, source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.Net().eval()
    path = os.path.join(folder, f"{name}.pt")
    try:
        if traced:
            if not set(drawn.kinds) <= EXAMPLES.keys():
                return None
            examples = tuple(eval(EXAMPLES[kind], vars(module) | {"y": torch.rand(2, 4)}) for kind in drawn.kinds)
            # Named tuples become tuples.
            drawn.specs = {path.replace(".first", ".0").replace(".second", ".1"): spec for path, spec in drawn.specs.items()}
            torch.jit.trace(model, examples, strict=False, check_trace=False).save(path)
        else:
            torch.jit.script(model).save(path)
    except Exception as error:
        if traced or isinstance(error, RuntimeError):
            return None
        raise
    return path
