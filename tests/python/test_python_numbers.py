"""Tests what Python's operators give for numbers: drawn expressions that fold-constants computes are those that Python computes, to the bit
and with their type, and it computes all that Python does, up to integers of 64 bits."""

import builtins
import itertools
import json
import math
import operator
import os
import random

import pytest
import torch
from harness import SAMPLES

TWO = [f"operator.{name}" for name in "add sub mul truediv floordiv mod pow lshift rshift and_ or_ xor eq ne lt le gt ge".split()]
TWO += ["torch.sym_max", "torch.sym_min", "builtins.max", "builtins.min"]
ONE = ["operator.neg", "operator.not_", "math.floor", "math.ceil", "math.trunc", "torch.sym_int", "torch.sym_float", "torch.sym_not"]
ONE += ["builtins.abs", "builtins.round"]
MODULES = {"operator": operator, "math": math, "builtins": builtins, "torch": torch}

LEAST, MOST = -(2**63), 2**63 - 1
INTEGERS = [0, 1, 2, 3, 7, 31, 62, 63, 64, 65, 2**31, 2**32 + 1, 2**53 - 1, 2**53, 2**53 + 1, 2**62 - 1, 2**62, 2**62 + 1, MOST - 1, MOST]
INTEGERS += [-number for number in INTEGERS if number] + [LEAST]
FLOATS = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 1e-300, 5e-324, 1e16, 2.0**53, 2.0**62, 2.0**63, math.nextafter(2.0**63, 0), 2.0**64, 1e300, math.inf, math.nan]
FLOATS += [math.nextafter(1, 2), math.nextafter(0.5, 0), 1.7976931348623157e308]
FLOATS += [-number for number in FLOATS if not math.isnan(number)]
CORNERS = [True, False, *INTEGERS, *FLOATS]
DRAWN, FIRST = 100_000, 600
NOTHING = object()


def computed(target: str, *args):
    """What Python computes; NOTHING when it raises, or for what is no number of 64 bits."""
    module, name = target.split(".")
    large_shift = target == "operator.lshift" and args[0] and isinstance(args[1], int) and args[1] > 64
    large_power = target == "operator.pow" and all(isinstance(arg, int) for arg in args) and abs(args[0]) > 1 and args[1] > 64
    if large_shift or large_power:
        return NOTHING
    try:
        result = getattr(MODULES[module], name)(*args)
    except (ArithmeticError, TypeError, ValueError):
        return NOTHING
    is_large = isinstance(result, int) and not LEAST <= result <= MOST
    return NOTHING if is_large or isinstance(result, complex) else result


def literal(value):
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def drawn_number(draw: random.Random):
    kind = draw.randrange(6)
    if kind == 0:
        return draw.choice(CORNERS)
    if kind == 1:
        return draw.randint(-20, 20)
    if kind == 2:
        return draw.choice([1, -1]) * draw.getrandbits(draw.randint(1, 63))
    if kind == 3:
        return draw.randint(-40, 40) / 4
    if kind == 4:
        return float(draw.choice([1, -1]) * draw.getrandbits(draw.randint(40, 66)))
    return draw.choice([1, -1]) * draw.random() * 2.0 ** draw.randint(-1074, 1023)


class Expressions:
    """A graph of calls whose arguments are numbers or earlier calls, each beside what Python gives for it."""

    def __init__(self):
        self.nodes, self.expected = [], []

    def add(self, target: str, *args: tuple) -> int:
        """Adds a call on (text of the argument in JSON, value) and returns its place."""
        name = f"n{len(self.nodes)}"
        for argument, _ in args:
            if isinstance(argument, dict) and "node" in argument:
                self.nodes[int(argument["node"][1:])]["users"].append(name)
        self.nodes.append(node(name, "call_function", target, [argument for argument, _ in args]))
        self.expected.append(computed(target, *(value for _, value in args)))
        return len(self.nodes) - 1

    def known(self, place: int) -> tuple:
        return {"node": f"n{place}"}, self.expected[place]


def node(name: str, op: str, target: str, args: list) -> dict:
    scope = {"module_path": "", "module_type": None, "call": 1}
    return {"name": name, "op": op, "target": target, "args": args, "kwargs": {}, "users": [], "scope": scope, "meta": {"type": "int", "shape": None, "dtype": None}, "source": None}


def folded(program, expressions: Expressions, folder) -> list:
    """What fold-constants gives for each call; NOTHING where it leaves the call."""
    collection = json.loads(program.stdout("trace", os.path.join(SAMPLES, "exported_cond.pt2")))
    graph = collection["graphs"][0]
    results = [{"node": each["name"]} for each in expressions.nodes]
    for each in expressions.nodes:
        each["users"] = [*dict.fromkeys(each["users"]), "output"]
    output = node("output", "output", "output", [results])
    emptied = {key: type(graph[key])() for key in ("constants", "subgraphs", "guards", "assignments")}
    parts = {key: {name: type(part)() for name, part in graph[key].items()} for key in ("graph_signature", "execution")}
    graph.update({**emptied, **parts, "nodes": [*expressions.nodes, output]})
    collection["summary"]["nodes"] = len(graph["nodes"])
    path = folder / "expressions.json"
    path.write_text(json.dumps(collection))
    after = json.loads(program.stdout("render", path, "--format", "json", "--pass", "fold-constants"))
    output = after["graphs"][0]["nodes"][-1]
    return [value if not isinstance(value, dict) else NOTHING if "node" in value else float(value["float"]) for value in output["args"][0]]


def check(program, expressions: Expressions, folder) -> None:
    for call, wanted, actual in zip(expressions.nodes, expressions.expected, folded(program, expressions, folder), strict=True):
        same = wanted is actual or (NOTHING not in (wanted, actual) and repr(wanted) == repr(actual))
        text = "nothing" if wanted is NOTHING else repr(wanted), "nothing" if actual is NOTHING else repr(actual)
        assert same, f"{call['target']}{call['args']}: Python gives {text[0]}, fold-constants {text[1]}"


@pytest.mark.volume
def test_corners(program, tmp_path):
    expressions = Expressions()
    for target in ONE:
        for value in CORNERS:
            expressions.add(target, (literal(value), value))
    for target, left, right in itertools.product(TWO, CORNERS, CORNERS):
        expressions.add(target, (literal(left), left), (literal(right), right))
    check(program, expressions, tmp_path)


@pytest.mark.parametrize("count", [FIRST, pytest.param(DRAWN, marks=pytest.mark.volume)])
def test_drawn_expressions(program, tmp_path, count):
    draw = random.Random(count)
    expressions = Expressions()
    known = []
    for _ in range(count):
        target = draw.choice(TWO if draw.random() < 0.8 else ONE)
        args = []
        for _ in range(2 if target in TWO else 1):
            number = drawn_number(draw)
            is_nested = known and draw.random() < 0.4
            args.append(expressions.known(draw.choice(known[-200:])) if is_nested else (literal(number), number))
        place = expressions.add(target, *args)
        if expressions.expected[place] is not NOTHING:
            known.append(place)
    check(program, expressions, tmp_path)
