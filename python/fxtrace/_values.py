"""Arguments of nodes as Python values, without torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from ._named_tuples import named_tuple_class, with_items
from ._printable import printable

__all__ = ["Device", "Dtype", "FunctionRef", "GraphRef", "Layout", "MemoryFormat", "NodeRef"]


@dataclass(frozen=True)
class NodeRef:
    """A reference to the value of another node of the graph."""

    name: str

    def __repr__(self) -> str:
        return printable(f"%{self.name}")


@dataclass(frozen=True)
class GraphRef:
    """A reference to a graph of `Graph.subgraphs`."""

    name: str

    def __repr__(self) -> str:
        return printable(f"<graph {self.name}>")


@dataclass(frozen=True)
class FunctionRef:
    """An operator or function, written as the target of a call_function."""

    target: str

    def __repr__(self) -> str:
        return printable(f"<function {self.target}>")


@dataclass(frozen=True)
class _OfTorch:
    """A value of torch by its name; `to_torch()` returns that value."""

    name: str
    _kind: ClassVar[str]

    def __repr__(self) -> str:
        return printable(f"torch.{self.name}")

    def to_torch(self) -> Any:
        import torch

        value = getattr(torch, self.name, None)
        if not isinstance(value, getattr(torch, self._kind)):
            raise ValueError(f"{self.name!r} is not a {self._kind} of torch")
        return value


class Dtype(_OfTorch):
    _kind = "dtype"


class Layout(_OfTorch):
    _kind = "layout"


class MemoryFormat(_OfTorch):
    _kind = "memory_format"


class Device(_OfTorch):
    _kind = "device"

    def __repr__(self) -> str:
        return f"device({self.name!r})"

    def to_torch(self) -> Any:
        import torch

        return torch.device(self.name)


def decode_float(value: Any) -> Any:
    """Return a number of the JSON, in which infinity is {"float": "inf"}."""
    if isinstance(value, dict):
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[value["float"]]
    return value


def decode_complex(parts: list[Any]) -> complex:
    real, imaginary = parts
    return complex(decode_float(real), decode_float(imaginary))


def decode_named_tuple(value: dict[str, Any]) -> Any:
    items = [decode(item) for item in value["values"]]
    return named_tuple_class(value["type"], tuple(value["fields"]))(*items)


_DECODERS: dict[str, Callable[[Any], Any]] = {
    "node": NodeRef,
    "graph": GraphRef,
    "function": FunctionRef,
    "dtype": Dtype,
    "device": Device,
    "layout": Layout,
    "memory_format": MemoryFormat,
    "float": lambda name: decode_float({"float": name}),
    "complex": decode_complex,
    "tuple": lambda items: tuple(decode(item) for item in items),
    "namedtuple": decode_named_tuple,
    "dict": lambda pairs: {decode(key): decode(value) for key, value in pairs},
    "slice": lambda parts: slice(*(decode(part) for part in parts)),
}


def decode(value: Any) -> Any:
    """Return an argument of the JSON as a Python value."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ValueError(f"an argument has {len(value)} keys: {str(value)[:80]}")
    ((kind, inner),) = value.items()
    if kind not in _DECODERS:
        raise ValueError(f"unknown argument {kind!r}")
    return _DECODERS[kind](inner)


def map_values(argument: Any, change: Callable[[Any], Any]) -> Any:
    """Return the argument with `change` applied to every value that contains no others."""
    if isinstance(argument, list):
        return [map_values(item, change) for item in argument]
    if isinstance(argument, tuple):
        return with_items(argument, (map_values(item, change) for item in argument))
    if isinstance(argument, dict):
        return {map_values(key, change): map_values(item, change) for key, item in argument.items()}
    if isinstance(argument, slice):
        return slice(*(map_values(part, change) for part in (argument.start, argument.stop, argument.step)))
    return change(argument)


def values_in(argument: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every value in an argument that contains no others, with its place: "0", "1.2", "sizes.0"."""

    def inside(key: Any, item: Any) -> Iterator[tuple[str, Any]]:
        return values_in(item, f"{place}.{key}" if place else str(key))

    if isinstance(argument, (list, tuple)):
        for i, item in enumerate(argument):
            yield from inside(i, item)
    elif isinstance(argument, dict):
        for key, item in argument.items():
            yield from inside(key, item)
    elif isinstance(argument, slice):
        for key in ("start", "stop", "step"):
            yield from inside(key, getattr(argument, key))
    else:
        yield place, argument
