"""Runs calls of operators on TorchScript values, with all combinations of usual and extreme arguments.

`Tool` answers them with lib/torchscript (tests/tools/script_calls.cpp), `Reference` with LibTorch.
"""

import itertools
import json
import math
import pathlib
import random
import re
import subprocess
from dataclasses import dataclass
from typing import Any

import torch

LEAST, MOST = -(2**63), 2**63 - 1
INF, NAN = math.inf, math.nan

INTS = [0, 1, -1, 2, 3, -3, 4, 7, -7, 20, 63, 64, 65, 255, 1000, 2**31 - 1, -(2**31), 2**31, 2**53 + 1, MOST, MOST - 1, LEAST, LEAST + 1]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 0.1, 1e-8, 1e10, 123456.789, 1e19, -1e19, 2.0**63, 2.0**62, 1e308, -1e308, 5e-324, INF, -INF, NAN]
TEXTS = ["", "a", "b", "abc", "ABC", "aB c", " x ", "a,b,,c", ",", "\t a\tb\r\n\x0bc", "é\u2028x", "%d", "%s and %5", "{} {}", "-5", "+5", "12", " 12", "12x", "1e5", "0x10", "nan", "aaaa", "aa", "a\0b", "Title Case", "%d %s", "%f|%e|%d", "%F%E%f%s", "%c%c", "%%%i", "%x", "{}{}{}", "a{}b{}c", "%5d %d", "cpu", "cuda:1", "cuda:x", "meta:0:1"]  # fmt: skip
VALUES: dict[str, list] = {
    "int": INTS,
    "float": FLOATS,
    "bool": [False, True],
    "complex": [0j, complex(-0.0, -0.0), 1 + 2j, -1.5 + 0.25j, complex(2, -0.0), complex(-3, 0), complex(INF, 1), complex(NAN, 0), complex(1e308, 1e308), complex(5e-324, 0)],
    "str": TEXTS,
    "Scalar": [0, 1, -1, 7, LEAST, MOST, 2**31, 0.0, -0.0, 1.5, -2.5, 1e19, INF, NAN, 1 + 2j, -3 - 0.5j, True],
    "ScalarType": list(range(-1, 29)),
    "Device": ["cpu", "cuda:1", "cuda", "meta"],
    "int[]": [[], [0], [1, 2, 3], [3, 1, 2, 1], [LEAST, MOST, -1], [2, 3], [4], [1, 1], [5, 4, 3, 2, 1, 0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 16, 3]],
    "float[]": [[], [0.5], [1.5, -2.0, 1.5], [0.0, -0.0], [INF, -INF], [NAN, 1.0], [3.0, 2.0, 1.0]],
    "bool[]": [[], [True], [False], [True, False, True]],
    "str[]": [[], ["a"], ["b", "a", "", "a"], ["abc", "ab", "b"]],
    "complex[]": [[], [1 + 2j], [0j, -1j, 1 + 1j]],
    "int[][]": [[], [[1], [2, 3]], [[], []]],
    "(int, str)": [(1, "a"), (LEAST, "")],
    "(int, str)[]": [[], [(1, "a")], [(2, "b"), (1, "c"), (1, "a"), (2, "a")]],
    "(int, float)[]": [[], [(1, 0.5), (0, 2.0)], [(1, 0.5), (1, 0.5), (1, -0.5)]],
    "(float, int)[]": [[], [(1.0, 5), (0.0, 2), (1.0, 7)]],
    "(bool, int)[]": [[], [(True, 5), (False, 2), (True, 7)]],
    "(str, int)[]": [[], [("a", 5), ("b", 2), ("a", 7)]],
    "(complex, int)[]": [[], [(1j, 5), (0j, 2), (1j, 7)]],
    "Dict(str, int)": [{}, {"a": 1}, {"b": 2, "a": 1, "": 3}],
    "Dict(int, str)": [{}, {1: "a"}, {2: "b", LEAST: "c", 0: ""}],
    "Dict(bool, int)": [{}, {True: 1, False: 0}],
    "Dict(float, int)": [{}, {0.0: 1}, {1.5: 2, INF: 3, NAN: 4}],
    "Dict(complex, int)": [{}, {1j: 1}, {0j: 2, 1 + 2j: 3}],
}  # fmt: skip
# What a schema's variables stand for, one after another.
ELEMENTS = ["int", "str", "float", "int[]"]
TENSOR = re.compile(r"Tensor|Generator|Storage|Any\b|AnyEnum|\.\.\.")


@dataclass(frozen=True)
class Signature:
    """An overload with types in the place of its schema's variables."""

    name: str  # "aten::add.int"
    types: tuple[str, ...]
    results: tuple[str, ...]
    is_written: tuple[bool, ...] = ()


def read_schema(text: str) -> tuple[list[tuple[str, bool]], list[str]]:
    """Types of the arguments, and whether they are written; types of the results."""
    signature, _, result = text.rpartition(" -> ")

    def pieces(inner: str) -> list[str]:
        found, depth, start = [], 0, 0
        for i, character in enumerate(inner + ","):
            depth += (character in "([") - (character in ")]")
            if character == "," and depth == 0:
                found.append(inner[start:i].strip())
                start = i + 1
        return [piece for piece in found if piece]

    def plain(piece: str) -> str:
        return re.sub(r"\([a-z!* >|-]*\)", "", piece.replace("(a!)", "").replace("(*)", ""))

    arguments = []
    for piece in pieces(signature[1:-1]):
        if piece == "*":
            continue
        written = "!" in piece
        name = re.match(r"(.+?) \w+(=.*)?$", plain(piece))
        arguments.append((name[1] if name else piece, written))
    results = pieces(result[1:-1]) if result.startswith("(") and result.endswith(")") and not result.startswith("((") else [result]
    return arguments, [plain(r) for r in results if r]


def bind(type_text: str, element: str) -> str:
    text = re.sub(r"\bt(Val)?\b|\bt[12]\b", lambda _: element, type_text)
    return re.sub(r"\[\d+\]", "[]", text)


def signatures(rows: dict[str, str], names: set[str]) -> list[Signature]:
    """Of the overloads of the names that take no tensor."""
    found = []
    for name, schema in sorted(rows.items()):
        if name.split(".")[0] not in names:
            continue
        arguments, results = read_schema(schema)
        if any(TENSOR.search(part) for part, _ in arguments):
            continue
        has_variable = any(re.search(r"\bt(Val)?\b|\bt[12]\b", part) for part, _ in arguments)
        for element in ELEMENTS if has_variable else ELEMENTS[:1]:
            types = tuple(bind(part, element) for part, _ in arguments)
            if all(is_known(part) for part in types):
                found.append(Signature(name, types, tuple(bind(r, element) for r in results), tuple(w for _, w in arguments)))
    return found


# Of operators that take any number of arguments, or arguments of any type.
def variadic() -> list[Signature]:
    parts = ["int", "float", "bool", "complex", "str", "Device", "int[]", "float[]", "str[]", "int[][]", "(int, str)", "(int, str)[]", "Dict(str, int)", "Dict(float, int)"]
    found = [Signature("aten::format", ("str", part, "int"), ("str",)) for part in parts]
    found += [Signature("aten::percentFormat", ("str", part), ("str",)) for part in parts]
    found += [Signature("aten::percentFormat", ("str", f"({a}, {b})"), ("str",)) for a in parts[:5] for b in parts[:5]]
    return found


def is_known(type_text: str) -> bool:
    return type_text.rstrip("?") in VALUES or (type_text.startswith("Dict(") and values(type_text) != [])


def values(type_text: str) -> list:
    if type_text.endswith("?"):
        return [None, *VALUES[type_text[:-1]]]
    if type_text in VALUES:
        return VALUES[type_text]
    if table := re.fullmatch(r"Dict\((\w+), (.*)\)", type_text):
        if table[1] in VALUES and table[2] in VALUES:
            inner = VALUES[table[2]]
            keys = VALUES[table[1]]
            return [{}, {keys[0]: inner[0]}, dict(zip(keys[1:5], inner * 5))]
    if pair := re.fullmatch(r"\((\w+), (\w+)\)", type_text):
        return list(itertools.product(VALUES[pair[1]][:6], VALUES[pair[2]][:6]))
    return []


def calls(signature: Signature, limit: int) -> list[tuple]:
    """All combinations of arguments, or as many as that of them, the same in every run."""
    possible = [values(part) for part in signature.types]
    count = math.prod(map(len, possible))
    if count <= limit:
        return list(itertools.product(*possible))
    draw = random.Random(str(signature))
    return [tuple(draw.choice(some) for some in possible) for _ in range(limit)]


def samples() -> list[torch.Tensor]:
    """Small tensors of every dtype that has elements there, of several shapes and layouts."""
    i64, f32, f64 = torch.int64, torch.float32, torch.float64
    found = [torch.tensor(value, dtype=dtype) for dtype in (i64, f32, torch.bool) for value in (0, 1)]
    found += [torch.tensor(-3), torch.tensor(2.5), torch.tensor(-0.5, dtype=f64), torch.tensor(7, dtype=torch.uint8)]
    for dtype in (i64, torch.int32, torch.int16, torch.int8, f32, f64):
        found += [torch.tensor([1, -2, 3], dtype=dtype), torch.tensor([[1, -2, 3], [4, 0, -6]], dtype=dtype)]
    found += [torch.tensor([LEAST, MOST, -1]), torch.tensor([-(2**31), 2**31 - 1], dtype=torch.int32), torch.tensor([2**53 + 1, 5])]
    found += [torch.tensor([0.1, -2.5, 1e30], dtype=dtype) for dtype in (f32, f64)]
    found += [torch.tensor([NAN, 1.0, INF]), torch.tensor([0.0, -0.0, -INF]), torch.tensor([0.5, 1.5, 2.5, -0.5]), torch.tensor([3.0, 1.0, 3.0, 2.0])]
    found += [torch.tensor([True, False, True]), torch.tensor([[True], [False]]), torch.tensor([200, 100, 0], dtype=torch.uint8)]
    found += [torch.arange(6).view(2, 3).t(), torch.arange(8)[1::3], torch.arange(24.0).view(2, 3, 4), torch.arange(24.0).view(2, 3, 4).permute(2, 0, 1), torch.arange(12).view(3, 4)[1:, ::2]]
    found += [torch.empty(0), torch.empty(0, dtype=i64), torch.empty(2, 0), torch.ones(1, 1, 1), torch.tensor([5]).expand(3), torch.arange(4).view(2, 2), torch.tensor([2, 0, 1]), torch.tensor([[0, 1], [1, 0]])]
    return found  # fmt: skip


TENSOR_VALUES: dict[str, list] = {
    "Tensor": samples(),
    "Scalar": [0, 1, -1, 2, 3, 0.5, -1.5, 2.0, True, 1e10, 1e300, 2**40, LEAST, NAN, INF, -0.0],
    "int": [0, 1, -1, 0, 1, 2, -1, 0, 1, 2, -2, 3, 4, 64, 65, MOST, LEAST],
    "float": [0.0, 1e-5, 1.0],
    "bool": [False, True],
    "ScalarType": [4, 3, 6, 7, 11, 0, 1, 5],
    "int[]": [[], [0], [1], [0, 1], [1, 0], [-1], [2, 3], [3, 2], [6], [2, -1], [0, 1, 2], [2, 0, 1], [2], [3], [1, 2], [2, 1, 1], [-1, -2], [65], [2**40, 2**40], [0, 0], [1, 1], [2, 2]],
    "str": ["floor", "trunc", "ij", "xy", ""],
    "Layout": [0],
    "MemoryFormat": [0, 1],
    "Device": [],
    "float[]": [[], [0.5, -1.5], [1e300]],
    "bool[]": [[], [True, False]],
    "int[][]": [[[1, 2], [3, 4]], [[1], [2, 3]], [[], []]],
    "float[][]": [[[0.5, 1.0]], []],
}  # fmt: skip
TENSOR_VALUES["Tensor[]"] = [[], [TENSOR_VALUES["Tensor"][0]], *([a, b] for a in samples()[6:40:3] for b in samples()[6:40:4])]
# What `t` stands for.
TENSOR_ELEMENTS = ["int", "float", "bool", "int[]", "float[]"]


def tensor_signatures(rows: dict[str, str], names: set[str]) -> list[Signature]:
    """Of the overloads that take or make tensors, and change none."""
    found = []
    for name, schema in sorted(rows.items()):
        if name.split(".")[0] not in names or "!" in schema or "Tensor" not in schema or "..." in schema:
            continue
        arguments, results = read_schema(schema)
        for element in TENSOR_ELEMENTS if any(re.search(r"\bt\b", part) for part, _ in arguments) else TENSOR_ELEMENTS[:1]:
            types = tuple(bind(part, element).replace("SymInt", "int") for part, _ in arguments)
            if all(part.rstrip("?") in TENSOR_VALUES for part in types):
                found.append(Signature(name, types, tuple(re.sub(r" \w+$", "", bind(r, element)) for r in results)))
    return found


def tensor_calls(signature: Signature, limit: int) -> list[tuple]:
    # Pinned memory is something else.
    possible = []
    for part in signature.types:
        some = TENSOR_VALUES[part.rstrip("?")]
        possible.append([None, False] if part == "bool?" else [None] * (len(some) // 2 + 1) + some if part.endswith("?") else some)
    draw = random.Random(str(signature))
    if math.prod(map(len, possible)) <= limit:
        return list(itertools.product(*possible))
    return [tuple(draw.choice(some) for some in possible) for _ in range(limit)]


def tensor_to_json(value: torch.Tensor) -> dict:
    elements = [to_json(item, "") for item in value.reshape(-1).tolist()]
    return {"tensor": {"dtype": str(value.dtype).removeprefix("torch."), "sizes": list(value.shape), "elements": elements}}


def to_json(value: Any, type_text: str) -> Any:
    type_text = type_text.rstrip("?")
    if isinstance(value, torch.Tensor):
        return tensor_to_json(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, complex):
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if type_text == "Device":
        return {"device": str(value)}
    if isinstance(value, str):
        return value.encode().decode("latin-1")
    if isinstance(value, list):
        element = type_text.removesuffix("[]")
        return {"list": [element, [to_json(item, element) for item in value]]}
    if isinstance(value, dict):
        return {"dict": [type_text, [[to_json(k, ""), to_json(v, dict_value(type_text))] for k, v in value.items()]]}
    parts = type_text[1:-1].split(", ")
    return {"tuple": [to_json(item, part) for item, part in zip(value, parts)]}


def dict_value(type_text: str) -> str:
    return type_text.split(", ", 1)[1][:-1]


def from_json(value: Any) -> Any:
    """As Python has it; for comparisons, so that nan is nan: floats as their hexadecimal text."""
    if isinstance(value, dict):
        ((key, part),) = value.items()
        if key == "tensor":
            return ("tensor", part["dtype"], part["sizes"], [from_json(item) for item in part["elements"]])
        if key == "float":
            return ("float", comparable(float.fromhex(part)))
        if key == "complex":
            return ("complex", *(comparable(float.fromhex(p)) for p in part))
        if key == "device":
            return ("device", part)
        if key == "tuple":
            return ("tuple", *map(from_json, part))
        if key == "list":
            return ("list", *map(from_json, part[1]))
        return ("dict", *((from_json(k), from_json(v)) for k, v in part[1]))
    return value if value is None or isinstance(value, str) else (type(value).__name__, value)


def comparable(number: float) -> str:
    return "nan" if math.isnan(number) else number.hex()


def from_torch(value: Any) -> Any:
    if value is None:
        return value
    if isinstance(value, str):
        return value.encode().decode("latin-1")
    if isinstance(value, (bool, int)):
        return (type(value).__name__, value)
    if isinstance(value, float):
        return ("float", comparable(value))
    if isinstance(value, complex):
        return ("complex", comparable(value.real), comparable(value.imag))
    if isinstance(value, torch.device):
        return ("device", str(value))
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return ("tensor", dtype, list(value.shape), [from_torch(item) for item in value.flatten().tolist()])
    if isinstance(value, tuple):
        return ("tuple", *map(from_torch, value))
    if isinstance(value, dict):
        return ("dict", *((from_torch(k), from_torch(v)) for k, v in value.items()))
    return ("list", *map(from_torch, value))


class Tool:
    def __init__(self, program_path: str) -> None:
        self.path = pathlib.Path(program_path).with_name("script_calls")

    def answers(self, some: list[tuple[Signature, tuple]], **options: bool) -> list[dict]:
        lines = []
        for signature, arguments in some:
            given = [to_json(value, part) for value, part in zip(arguments, signature.types)]
            lines.append(json.dumps({"op": signature.name, "arguments": given, **options}))
        done = subprocess.run([self.path], input="\n".join(lines) + "\n", capture_output=True, text=True)
        assert done.returncode == 0, f"{done.stderr} after {lines[done.stdout.count(chr(10))]}"
        return [json.loads(line) for line in done.stdout.splitlines()]


class Reference:
    """LibTorch's operator in a graph of its own: gives the arguments as they are afterwards, and the results."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature
        base = signature.name.split(".")[0]
        names = [f"%a{i}" for i in range(len(signature.types))]
        types = [re.sub("ScalarType|Layout|MemoryFormat", "int", part) for part in signature.types]
        results = [part.replace("ScalarType", "int") for part in signature.results]
        text = "graph({}):\n  {}{}({})\n  %all : ({}) = prim::TupleConstruct({})\n  return (%all)".format(
            ", ".join(f"{name} : {part}" for name, part in zip(names, types)),
            ", ".join(f"%r{i} : {part}" for i, part in enumerate(results)) + (" = " if results else ""),
            base,
            ", ".join(names),
            ", ".join([*types, *results]),
            ", ".join([*names, *(f"%r{i}" for i in range(len(results)))]),
        )
        graph = torch._C.parse_ir(text)
        schema = next(iter(graph.nodes())).schema()
        self.is_right = schema.startswith(signature.name + "(")
        self.function = torch._C._create_function_from_graph("f", graph)

    def __call__(self, arguments: tuple) -> tuple[list, list]:
        given = [torch.device(v) if part == "Device" and v is not None else v for v, part in zip(arguments, self.signature.types)]
        outputs = [from_torch(value) for value in self.function(*given)]
        return outputs[: len(given)], outputs[len(given) :]


def message(error: Exception) -> str:
    """What LibTorch says behind the place in the code, as far as Python shows it."""
    text = str(error)
    found = re.search(r"\n(?:RuntimeError|[\w.:]+Error): (.*)$", text, re.DOTALL)
    return shown(found[1] if found else text)


def shown(text: str) -> str:
    return text.split("\0")[0].rstrip()
