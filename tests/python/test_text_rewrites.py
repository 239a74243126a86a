"""Tests the rewrites that fxtrace has as texts: both sides of each row, run in torch on drawn arguments, give the same."""

import ast
import builtins
import functools
import math
import operator
import pathlib
import random
import re

import pytest
import torch
import torch.nn.functional as F

LIB = pathlib.Path(__file__).parents[2] / "lib"
FILES = [LIB / name for name in ("convert/lower/rewrites.cpp", "convert/lower/quantized_calls.cpp", "compare/pairing/common_form.cpp")]
SPACES = {"operator": operator, "math": math, "builtins": builtins, "torch": torch}
TEXT = r'((?:"[^"]*"\s*)+)'
# What Python cannot call: marks of the profiler, tensors that torch.jit.trace makes, packed weights as their parts, integers
# without their scale, what torch does not do in place; and random numbers.
LEFT_OUT = re.compile(r"profiler|prim\.|aten\.(random|int_repr|clamp_|round\.int)|.*_prepack")


def rows() -> list[tuple[str, str, str]]:
    """Target, arguments and replacement, for each target of each row of texts."""
    found = []
    for path in FILES:
        for before, after in re.findall(r"\{" + TEXT + ",\\s*" + TEXT + r"\}", path.read_text(encoding="utf-8")):
            before, after = ("".join(re.findall('"([^"]*)"', text)) for text in (before, after))
            words, space = before[: before.index("(")].split(), ""
            for word in words:
                if word.endswith(":"):
                    space = word[:-1] + "."
                elif not LEFT_OUT.match(space + word):
                    found.append((space + word, before[before.index("(") :], after))
    return found


ROWS = rows()


# --- functions that the texts name ---


def quantized(call, numbers, scale, zero):
    if "_relu" in call and "leaky" not in call:
        numbers = numbers.relu()
    return torch.quantize_per_tensor(numbers, scale, zero, torch.quint8)


def convolution(given, w):
    x, (weight, bias) = dq(given), w.unpack()
    weight, x = weight.dequantize(), x.unsqueeze(2) if x.dim() < weight.dim() else x
    dims = weight.dim() - 2
    if w.transpose():
        transposed = getattr(F, f"conv_transpose{dims}d")
        made = transposed(x, weight, bias, w.stride(), w.padding(), w.output_padding(), w.groups(), w.dilation())
    else:
        made = getattr(F, f"conv{dims}d")(x, weight, bias, w.stride(), w.padding(), w.dilation(), w.groups())
    return made.squeeze(2) if dims == 2 and x.dim() > given.dim() else made


def clamped(x, low=None, high=None):
    return torch.quantize_per_tensor(torch.clamp(x.dequantize(), low, high), x.q_scale(), x.q_zero_point(), x.dtype)


def dq(x):
    if isinstance(x, (list, tuple)):
        return [dq(one) for one in x]
    return x.dequantize() if isinstance(x, torch.Tensor) and x.is_quantized else x


def rounded(x, reduced=False):
    integers = torch.quantize_per_tensor_dynamic(x, torch.quint8, reduced)
    numbers = integers.dequantize()
    numbers.integers = integers
    return numbers


def rounded_as(x, like):
    return torch.quantize_per_tensor(x, like.integers.q_scale(), like.integers.q_zero_point(), torch.quint8).dequantize()


FUNCTIONS = {
    "down": math.floor,
    "real": float,
    **dict.fromkeys(["exact", "fits", "divisor"], lambda x: x),
    "dtype": lambda name: getattr(torch, name),
    "dq": dq,
    "convolution": convolution,
    "clamped": clamped,
    "rounded": rounded,
    "rounded_as": rounded_as,
    "weight": lambda w: w.unpack()[0].to(torch.float32) if w.unpack()[0].dtype == torch.float16 else w.unpack()[0].dequantize(),
    "bias": lambda w: w.unpack()[1],
    "table": lambda w: torch.ops.quantized.embedding_bag_unpack(w).dequantize(),
}


def function(target: str):
    space, *names = target.split(".")
    if not names:
        return FUNCTIONS[space]
    if space in SPACES:
        return functools.reduce(getattr, names, SPACES[space])
    return functools.reduce(getattr, names if len(names) == 2 else [*names, "default"], getattr(torch.ops, space))


def value(node: ast.expr, variables: dict, call: str):
    if isinstance(node, ast.Name):
        return variables[node.id]
    if isinstance(node, (ast.List, ast.Tuple)):
        return [value(item, variables, call) for item in node.elts]
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    target = ast.unparse(node.func)
    args = [value(arg, variables, call) for arg in node.args if not (isinstance(arg, ast.Name) and arg.id not in variables)]
    named = {word.arg: value(word.value, variables, call) for word in node.keywords}
    if target == "quantized":
        return quantized(call, *args)
    if target == "relu":
        return args[0].relu() if "_relu" in call else args[0]
    return function(target)(*args, **named)


# --- arguments ---


def number(kind: str):
    draw = {
        "int": lambda: random.choice([random.randint(-9, 9), random.randint(-(2**52), 2**52)]),
        "float": lambda: random.choice([random.randint(-9, 9) / 2, random.uniform(-1e6, 1e6), 0.0]),
        "bool": lambda: random.random() < 0.5,
    }
    return draw[kind]()


def integers(*sizes: int) -> torch.Tensor:
    return torch.quantize_per_tensor(torch.randn(sizes), random.uniform(0.01, 0.05), random.randint(100, 150), torch.quint8)


def without_overflow(weight: torch.Tensor) -> torch.Tensor:
    """Weights of at most 60 steps: kernels of processors without VNNI add pairs of products in 16 bits, which 128 steps overflow."""
    return torch.quantize_per_tensor(weight.clamp(-1.2, 1.2), 0.02, 0, torch.qint8)


def packed_linear(target: str, rows: int = 5, columns: int = 6):
    weight, bias = torch.randn(rows, columns), torch.randn(rows)
    if "fp16" in target:
        return torch.ops.quantized.linear_prepack_fp16(weight, bias)
    return torch.ops.quantized.linear_prepack(without_overflow(weight), bias)


def packed_convolution(target: str):
    dims, is_transposed = int(re.search(r"(\d)d", target)[1]), "transpose" in target
    weight = without_overflow(torch.randn(4, 4, *[3] * dims))
    more = [[0] * dims] if is_transposed else []
    pack = getattr(torch.ops.quantized, f"conv{'_transpose' * is_transposed}{dims}d_prepack")
    return pack(weight, torch.randn(4), [2] * dims, [1] * dims, *more, [1] * dims, 1)


def of_quantized(target: str) -> dict:
    dims = int(found[1]) if (found := re.search(r"(\d)d", target)) else 2
    shape = (2, 4, *[6] * dims)
    own = {name: integers(*shape) for name in "xy"} | {"scale": random.uniform(0.02, 0.1), "zero": random.randint(100, 150), "dim": 1}
    own |= {"alpha": 1.3, "slope": 0.2, "inplace": False, "eps": 1e-5, "groups": 2, "reduced": True, "min_val": -0.7, "max_val": 0.9, "min": -0.3, "max": 0.4}
    own |= {"self": own["x"], "stride": [1], "padding": [0], "dilation": [1]} | dict.fromkeys(["p"], 0.5)
    channels = {"w": torch.rand(4) + 0.5, "b": torch.randn(4), "mean": torch.randn(4), "var": torch.rand(4) + 0.5}
    if "norm" in target:
        return own | channels | ({"shape": list(shape[1:]), "w": torch.rand(shape[1:]), "b": torch.randn(shape[1:])} if "layer" in target else {})
    if "quantized.elu" in target:
        return own | {"a": 1.0, "b": 1.0}
    if "quantized.cat" in target:
        return own | {"x": [own["x"], own["y"]]}
    if "prelu" in target:
        return own | {"w": integers(4)}
    if "conv" in target:
        w = packed_convolution(target)
        x = torch.randn(shape) if "dynamic" in target else own["x"]
        return own | {"w": w, "x": x, "y": integers(*convolution(x, w).shape)}
    if "embedding" in target:
        table = torch.quantize_per_channel(torch.randn(9, 8), torch.rand(9) / 50 + 0.01, torch.full((9,), 128.0), 0, torch.quint8)
        return {"w": torch.ops.quantized.embedding_bag_prepack(table), "indices": torch.randint(0, 9, (5,))}
    if "cell" in target:
        rows = 20 if "lstm" in target else 15 if "gru" in target else 5
        weights = {"w": packed_linear(target, rows), "v": packed_linear(target, rows, 5)}
        state = torch.randn(3, 5)
        biases = {"b": weights["w"].unpack()[1], "c": weights["v"].unpack()[1]}
        return weights | biases | {"x": torch.randn(3, 6), "h": [state, torch.randn(3, 5)] if "lstm" in target else state}
    if "linear" in target:
        return own | {"w": packed_linear(target), "x": torch.randn(3, 6) if "dynamic" in target else integers(3, 6)}
    return own | ({"y": integers(2, 4, 6, 6)} if "matmul" in target else {})


def of_tensors(target: str) -> dict:
    x = torch.randn(2, 3, 4, dtype=torch.complex64 if re.search("conj|imag|real", target) else None)
    own = {"a": x, "self": x, "x": x, "b": torch.randn(2, 3, 4), "y": 0.5 if "Scalar" in target else torch.randn(2, 3, 4), "n": number("float"), "dim": 1, "size": [2, 2], "stride": [3, 1]}
    own |= {"storage_offset": 1, "start": 0, "end": 1, "shape": [3, 8], "outer_length": 3, "dimensions": [1], "permutation": [2, 0, 1], "dtype": torch.int32}
    if "squeeze" in target:
        own["a"] = torch.randn(2, 1, 3)
    if "conv" in target:
        own |= {"input": torch.randn(1, 4, 5, 5), "weight": torch.randn(4, 2, 3, 3), "bias": torch.randn(4), "stride": [1, 2], "padding": [1, 0]}
        own |= {"dilation": [1, 1], "transposed": False, "output_padding": [0, 0], "groups": 2}
    return own


def close(a, b, most: float, steps: int) -> bool:
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(close(*pair, most, steps) for pair in zip(a, b, strict=True))
    if not isinstance(a, torch.Tensor):
        return a == b and type(a) is type(b)
    if a.is_quantized:
        return a.shape == b.shape and (a.int_repr().int() - b.int_repr().int()).abs().max() <= steps
    return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, most, most)


def sides(target: str, parameters: str, after: str):
    """What the call and its replacement give for drawn arguments."""
    before = ast.parse("before" + parameters, mode="eval").body
    is_plain = target.split(".")[0] in SPACES or target.startswith("aten.round")
    variables = {} if is_plain else of_quantized(target) if target.startswith("quantized.") or "clamped" in after else of_tensors(target)

    kind, named = random.choice(["int", "float"]), {}

    def given(call: ast.Call) -> list:
        args = []
        for part in [*call.args, *call.keywords]:
            if isinstance(part, ast.Call):
                args.append(function(ast.unparse(part.func))(*given(part)))
            elif isinstance(part, ast.keyword) and isinstance(part.value, ast.Constant):
                named[part.arg] = part.value.value
            elif (name := getattr(part, "arg", None) or part.id) == "_":
                args += [False] * (4 if target.endswith("_convolution") else 3)  # of the kernel
            else:
                if is_plain:
                    type_ = getattr(getattr(part, "value", None), "id", "bool" if name == "condition" or "sym_not" in after else kind)
                    variables[name] = number("int" if type_ == "number" else type_)
                args.append(variables[name])
        return args

    args = given(before)
    variables = {name: x for name, x in variables.items() if name in parameters}
    wanted = function(target)(*[x.clone() if isinstance(x, torch.Tensor) else x for x in args], **named)
    for step in after.split("; "):
        name, _, text = step.rpartition(" = ")
        result = value(ast.parse(text, mode="eval").body, variables, target)
        variables[name] = result
    return wanted, result


@pytest.mark.parametrize(("target", "parameters", "after"), ROWS, ids=[row[0] + row[1] for row in ROWS])
@pytest.mark.parametrize("count", [3, pytest.param(200, marks=pytest.mark.volume)])
def test_both_sides_give_the_same(target, parameters, after, count):
    torch.backends.quantized.engine = "onednn" if re.search("_add|_tanh$|linear_leaky", target) else "fbgemm"
    for seed in range(count):
        random.seed(seed)
        torch.manual_seed(seed)
        try:
            wanted, made = sides(target, parameters, after)
        except (ZeroDivisionError, OverflowError, ValueError):
            continue
        most, steps = 0.1 if re.search("cell|dynamic", target) else 1e-3, 2 if "prelu" in target else 1  # as far as LibTorch rounds
        assert close(wanted, made, most, steps), (seed, wanted, made)
