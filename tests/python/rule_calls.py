"""Records calls of operators from torch's own samples, makes some of them slightly wrong, and writes them as texts for tests of
the shape rules.

The texts are those of tests/fuzz/call_text.h; the program shape_calls answers them.
"""

import dataclasses
import functools
import random
import re
import subprocess
import warnings
from collections.abc import Iterable
from typing import Any

import op_samples
import torch


class NoText(Exception):
    """A value that a text cannot hold."""


@dataclasses.dataclass(frozen=True)
class Call:
    operator: str  # "add.Tensor"
    function: Any
    arguments: tuple  # in the order of the schema
    names: tuple[str, ...]  # of the arguments

    def text(self) -> str:
        return f"{self.operator}({', '.join(map(text_of, self.arguments))})"

    def run(self) -> tuple:
        """The results; raises what torch raises.  Arguments stay as they are."""
        given = map_tensors(lambda tensor: tensor.clone(), self.arguments)
        torch.manual_seed(0)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = self.function(*given)
        return result if isinstance(result, tuple) else (result,)


def map_tensors(function: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map_tensors(function, item) for item in value)
    return value


def dtype_text(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def text_of(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_quantized or value.device.type != "cpu":
            raise NoText
        return f"{dtype_text(value.dtype)}[{','.join(map(str, value.shape))}]"
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        text = f"{value:.17g}"
        return text if re.search("[.en]", text) else text + ".0"
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return str(value)
    if isinstance(value, str) and "'" not in value:
        return f"'{value}'"
    if isinstance(value, torch.device):
        return f"@{value}"
    if isinstance(value, torch.dtype):
        return dtype_text(value)
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(text_of, value))}]"
    raise NoText


@functools.cache
def _overload(schema_text: str) -> tuple[str, Any, tuple[str, ...]] | None:
    schema = torch._C.parse_schema(schema_text)
    space, _, name = schema.name.partition("::")
    if space != "aten":
        return None
    found = torch._C._get_operation_overload(schema.name, schema.overload_name)
    if found is None:
        return None
    full = name + (f".{schema.overload_name}" if schema.overload_name else "")
    keywords = [argument.name for argument in schema.arguments if argument.kwarg_only]
    positional = len(schema.arguments) - len(keywords)

    def function(*values: Any) -> Any:
        return found[0](*values[:positional], **dict(zip(keywords, values[positional:])))

    return full, function, tuple(argument.name for argument in schema.arguments)


def recorded(sample: op_samples.Sample) -> list[Call]:
    """The calls that torch.jit.trace sees in one."""
    module = op_samples.archive([sample])
    values: dict[str, Any] = {}
    inputs = [value for value in module.graph.inputs()][1:]
    for value, tensor in zip(inputs, sample.tensors):
        values[value.debugName()] = tensor.clone()
    calls = []
    for node in module.graph.nodes():
        kind = node.kind()
        if kind == "prim::GetAttr":
            values[node.output().debugName()] = getattr(module, node.s("name"), None)
            continue
        if kind == "prim::Constant":
            values[node.output().debugName()] = node.output().toIValue() if node.hasAttribute("value") else None
            continue
        given = [values[value.debugName()] for value in node.inputs()]
        if kind == "prim::ListConstruct":
            values[node.output().debugName()] = list(given)
            continue
        if kind == "prim::TupleConstruct":
            values[node.output().debugName()] = tuple(given)
            continue
        if kind in ("prim::TupleUnpack", "prim::ListUnpack"):
            results = tuple(given[0])
        else:
            overload = _overload(node.schema()) if node.schema() != "(no schema)" else None
            if overload is None:
                if kind == "prim::NumToTensor":
                    values[node.output().debugName()] = torch.tensor(given[0])
                    continue
                raise NoText
            full, function, names = overload
            call = Call(full, function, tuple(map_tensors(lambda t: t.detach().clone(), given)), names)
            if any(_has_tensor(value) for value in given):
                calls.append(call)
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = function(*given)
            results = found if isinstance(found, tuple) and node.outputsSize() > 1 else (found,)
        for value, result in zip(node.outputs(), results):
            values[value.debugName()] = result
    return calls


# What arguments without a default are given, by name or else by type; None: no call is drawn.
_NUMBERS = {"bins": 4, "compute_mode": None}
_BY_TYPE = {"int": 1, "float": 0.5, "number": 2, "Scalar": 2, "bool": False, "int[]": [2, 3], "Optional[int]": None}
_DTYPES = {"floating": (torch.float32, torch.float64), "inexact": (torch.float32, torch.complex64), "index": (torch.int64,),
           "real": (torch.float32, torch.int64), "number": (torch.float32, torch.int64, torch.complex64)}  # fmt: skip


def drawn(name: str, signature: str, rng: random.Random) -> Call | None:
    """A call that a signature describes (lib/opinfo/operator_row.h); None where other arguments are more than numbers."""
    space, base, overload = re.match(r"(\w+)::(\w+)\.?(\w*)", name).groups()
    found = _overload(str(torch._C._get_schema(f"{space}::{base}", overload))) if space == "aten" else None
    if found is None:
        return None
    full, function, names = found
    words = [word for word in rng.choice(signature.split(" | ")).split(" -> ")[0].split() if word not in "*+|->"]
    letters = {letter: rng.randint(1, 4) for letter in "abcdefghijklmnopqrstuvwxyz"}
    batch = [rng.randint(1, 3) for _ in range(rng.choice((0, 1, 1, 2)))]
    common = rng.choice((torch.float32, torch.float32, torch.float64, torch.int64))
    values: list[Any] = []
    for place, argument in enumerate(torch._C._get_schema(f"{space}::{base}", overload).arguments):
        kind = argument.type.annotation_str.removeprefix("Optional[").removesuffix("]")
        if place < len(words) and kind == "Tensor":
            dims, _, word = words[place].partition(":")
            sizes = [letters[letter] for letter in dims.removeprefix("...")]
            if dims.startswith("..."):
                kept = batch[rng.randint(0, len(batch)) :] if place and not sizes else batch
                sizes = [size if rng.random() < 0.8 else 1 for size in kept] + sizes if place else kept + sizes
            allowed = _DTYPES.get(word, (common,))
            values.append(_filled(sizes, common if common in allowed or rng.random() < 0.1 else allowed[0]))
        elif argument.has_default_value():
            values.append(argument.default_value)
        elif argument.type.kind() == "OptionalType":
            values.append(None)
        elif kind in _BY_TYPE:
            values.append(_NUMBERS.get(argument.name, _BY_TYPE[kind]))
        else:
            return None
    return Call(full, function, tuple(values), names) if any(map(_has_tensor, values)) else None


def _has_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or isinstance(value, (list, tuple)) and any(map(_has_tensor, value))


def tensors_in(value: Any) -> Iterable[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)


def _filled(shape: list[int], dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point or dtype.is_complex:
        return torch.rand(shape, dtype=dtype)
    return torch.zeros(shape, dtype=dtype)


# Numbers that stand for something else, or of which torch checks nothing.
NO_NUMBERS = {"dtype", "layout", "memory_format", "reduction"}
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8, torch.bool,
          torch.complex64)  # fmt: skip


def perturbed(call: Call, rng: random.Random) -> Call:
    """The same call where a tensor has another size, rank or type, all tensors have another type, or a number is another."""

    def with_arguments(arguments: tuple) -> Call:
        return dataclasses.replace(call, arguments=arguments)

    tensors = list(tensors_in(call.arguments))
    kind = rng.choice(["size", "size", "rank", "dtype", "dtypes", "number"])
    if kind == "number":
        places = [i for i, value in enumerate(call.arguments) if call.names[i] not in NO_NUMBERS and (type(value) is int or
                  (isinstance(value, list) and value and all(type(item) is int for item in value)))]  # fmt: skip
        if places:
            place = rng.choice(places)
            value = call.arguments[place]
            if isinstance(value, list):
                value = list(value)
                at = rng.randrange(len(value))
                value[at] = rng.choice([value[at] + 1, value[at] - 1, 0, -1, 2])
                if rng.random() < 0.2:
                    value = value[:-1]
            else:
                value = rng.choice([value + 1, value - 1, 0, -1, 2])
            return with_arguments((*call.arguments[:place], value, *call.arguments[place + 1 :]))
        kind = "size"
    if kind == "dtypes":
        dtype = rng.choice(DTYPES)
        seen = rng.random() < 0.5

        def replaced(tensor: torch.Tensor) -> torch.Tensor:
            is_index = not tensor.dtype.is_floating_point and not tensor.dtype.is_complex
            return tensor if seen and is_index else _filled(list(tensor.shape), dtype)

        return with_arguments(map_tensors(replaced, call.arguments))
    chosen = rng.randrange(len(tensors))
    shape, dtype = list(tensors[chosen].shape), tensors[chosen].dtype
    if kind == "dtype":
        dtype = rng.choice([other for other in DTYPES if other != dtype])
    elif kind == "size" and shape:
        dim = rng.randrange(len(shape))
        shape[dim] = rng.choice([shape[dim] + 1, max(shape[dim] - 1, 1), shape[dim] * 2 + 1, 0, 1])
    elif shape and rng.random() < 0.5:
        shape.pop(rng.randrange(len(shape)))
    else:
        shape.insert(rng.choice([0, len(shape)]), rng.choice([1, 2]))
    count = iter(range(len(tensors)))
    return with_arguments(map_tensors(lambda tensor: _filled(shape, dtype) if next(count) == chosen else tensor, call.arguments))


def answers(tool: str, calls: list[str]) -> list[str]:
    done = subprocess.run([tool], input="\n".join(calls) + "\n", capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == len(calls)
    return lines


# --- what an answer says, against what torch gives ---

_BY_DATA = re.compile(r"u\d+")  # a size that data decides


def matches(said: str, real: Any) -> bool | None:
    """Whether the text of a result is right; None where it does not say everything."""
    if said == "?":
        return None
    if isinstance(real, torch.Tensor):
        found = re.fullmatch(r"([\w?]+)\[([^\]]*)\](?:@\w+)?", said)
        if not found:
            return False
        sizes = found.group(2).split(",") if found.group(2) else []
        if len(sizes) != real.dim():
            return False
        for size, actual in zip(sizes, real.shape):
            if not any(_BY_DATA.fullmatch(name) for name in re.findall(r"[a-z]\w*", size)) and size != str(actual):
                return False
        if found.group(1) == "?":
            return None
        return found.group(1) == dtype_text(real.dtype)
    if isinstance(real, (list, tuple)):
        if not said.startswith("["):
            return False
        parts = parts_of(said[1:-1], ",")
        if len(parts) != len(real):
            return False
        results = [matches(part, item) for part, item in zip(parts, real)]
        return False if False in results else None if None in results else True
    return None if said == "?" else said == text_of(real)


def text_or_question(value: Any) -> str:
    try:
        return text_of(value)
    except NoText:
        return "?"


def parts_of(text: str, separator: str) -> list[str]:
    parts, depth, current = [], 0, ""
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == separator and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += letter
    return [*parts, current] if current else parts
