"""Makes archives that call every operator that LibTorch registers, with usual and with extreme arguments.

Each call stands in a module of its own: in forward, in a method that nobody calls, and in __setstate__.
Run as a program it writes the archives into a folder: python operator_calls.py FOLDER
"""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from hostile import EMPTY_TUPLE, NET, archive, module, name, records_of, tensor

LEAST, MOST = -(2**63), 2**63 - 1

# By type: a usual value, then extreme ones.  `x` is float32[2, 3], or what the state holds.
VALUES = {
    "Tensor": ["x", f"torch.tensor([{LEAST}, 0, -1])", "torch.to(x, 4)", "torch.slice(x, 0, 0, 0)"],
    "int": ["1", str(LEAST), "-1", str(MOST), "0"],
    "SymInt": ["1", str(LEAST), "-1", str(MOST), "0"],
    "float": ["0.5", "-1e308", "nan", "inf", "0."],
    "number": ["1", str(LEAST), "nan", "-1", "0"],
    "bool": ["False", "True"],
    "complex": ["torch.Complex(1, 2)", "torch.Complex(nan, 0.)"],
    "str": ['"made-by-a-model"', '""', '"/proc/self/mem"', '"\\000%s{}"'],
    "Device": ['torch.device("cpu")', 'torch.device("meta")', 'torch.device("cuda:127")'],
    "Layout": ["0", str(LEAST)],
    "Any": ["1", "x", '"%n"', "None"],
    "t": ["1", "x", '"%n"'],
    "List[int]": ["[1, 1]", f"[{LEAST}, -1]", "annotate(List[int], [])", f"[{MOST}, {MOST}, 2]", "[0, 0]"],
    "List[float]": ["[0.5, 1.5]", "[nan, inf]", "annotate(List[float], [])"],
    "List[bool]": ["[True, False]", "annotate(List[bool], [])"],
    "List[complex]": ["[torch.Complex(1, 2)]"],
    "List[str]": ['["a", "b"]', 'annotate(List[str], [])'],
    "List[Tensor]": ["[x, x]", "annotate(List[Tensor], [])", "[x, torch.to(x, 4), torch.slice(x, 0, 0, 0)]"],
    "List[number]": ["[1, 2]", f"[{LEAST}, {MOST}]"],
    "List[t]": ["[2, 1]", '["b", "a"]', "annotate(List[int], [])", "[[1], [2]]"],
    "List[Any]": ["annotate(List[Any], [1, x])"],
    "List[List[Tensor]]": ["[[x], [x]]", "annotate(List[List[Tensor]], [])"],
    "List[Optional[Tensor]]": ["annotate(List[Optional[Tensor]], [torch.to(x, 4)])",
                               "annotate(List[Optional[Tensor]], [])",
                               "annotate(List[Optional[Tensor]], [None, None, x])"],
    "Generator": ["torch.Generator()"],
}  # fmt: skip
KEYS = {"str": '"a"', "int": "1", "bool": "True", "float": "1.", "complex": "torch.Complex(1, 2)", "Tensor": "x"}
VARIANTS = 4  # how many calls of each operator there may be


def values(type_text: str) -> list[str]:
    if type_text in VALUES:
        return VALUES[type_text]
    if optional := re.fullmatch(r"Optional\[(.*)\]", type_text):
        found = values(optional.group(1))
        return ["None", *found[1:], found[0]]
    if table := re.fullmatch(r"Dict\[(\w+), t(?:Val)?\]", type_text):
        key = KEYS[table.group(1)]
        return [f"{{{key}: 1}}", f"annotate(Dict[{table.group(1)}, int], {{}})"]
    if pairs := re.fullmatch(r"List\[Tuple\[(\w+), tVal\]\]", type_text):
        return [f"[({KEYS[pairs.group(1)]}, 1)]"]
    return [f"uninitialized({type_text})"]


@dataclass
class Call:
    operator: str  # "aten::add.Tensor"
    text: str  # "torch.add(x, x, alpha=1)"
    has_result: bool


def call(schema, variant: int) -> Call:
    """Extreme arguments are all of the same variant, in the third and later calls one of them is a usual one."""
    arguments = []
    for i, argument in enumerate(schema.arguments):
        possible = values(str(argument.type))
        usual = variant == 0 or (variant >= 2 and i % 2 == variant % 2)
        value = possible[0] if usual else possible[1 + (variant - 1) % max(1, len(possible) - 1) if len(possible) > 1 else 0]
        arguments.append(f"{argument.name}={value}" if argument.kwarg_only else value)
    space, _, base = schema.name.partition("::")
    function = f"torch.{base}" if space == "aten" else f"ops.{space}.{base}"
    full = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
    return Call(full, f"{function}({', '.join(arguments)})", bool(schema.returns))


def calls(variants: int = VARIANTS) -> Iterator[Call]:
    schemas = sorted(torch._C._jit_get_all_schemas(), key=str)
    for variant in range(variants):
        for schema in schemas:
            if re.fullmatch(r"\w+::\w+", schema.name) and all(argument.name for argument in schema.arguments):
                yield call(schema, variant)


def body(one: Call, result: str) -> str:
    if not one.has_result:
        return f"    {one.text}\n    return {result}\n"
    return f"    y = {one.text}\n    self.kept = annotate(Any, y)\n    return {result}\n"


def module_code(i: int, one: Call) -> str:
    own = f"__torch__.M{i}"
    return (
        f"class M{i}(Module):\n  __parameters__ = []\n  __buffers__ = []\n  kept : Any\n"
        f"  def forward(self: {own},\n    x: Tensor) -> Tensor:\n{body(one, 'x')}"
        f"  def unused(self: {own},\n    x: Tensor) -> Tensor:\n{body(one, 'x')}"
        f"  def __setstate__(self: {own},\n    x: Tensor) -> NoneType:\n    self.kept = annotate(Any, 1)\n{body(one, 'None')}"
        f"  def __getstate__(self: {own}) -> Tensor:\n    return torch.zeros([2, 3])\n"
    )


def archive_of(some: list[Call]) -> bytes:
    attributes, data, forward = "", {}, ""
    state = tensor((2, 3), (3, 1), elements=6)
    for i in range(len(some)):
        attributes += f"  m{i} : __torch__.M{i}\n"
        forward += f"    _{i} = (self.m{i}).forward(x, )\n"
        data[f"m{i}"] = name("__torch__", f"M{i}") + EMPTY_TUPLE + b"\x81" + state + b"b"
    code = "".join(module_code(i, one) for i, one in enumerate(some)) + (
        f"class Net(Module):\n  __parameters__ = []\n  __buffers__ = []\n{attributes}"
        f"  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n{forward}    return x\n"
    )
    return archive(records_of(code, module(NET, data)) | {"data/0": b"\0\0\x80?" * 6})


def without(some: list[Call], line: int) -> list[Call]:
    """Those whose code in the archive has not this line."""
    first, kept = 1, []
    for i, one in enumerate(some):
        after = first + module_code(i, one).count("\n")
        if not first <= line < after:
            kept.append(one)
        first = after
    return kept


if __name__ == "__main__":
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    every = list(calls())
    for start in range(0, len(every), 50):
        with open(os.path.join(folder, f"{start}.pt"), "wb") as file:
            file.write(archive_of(every[start : start + 50]))
