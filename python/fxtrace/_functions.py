"""Targets of call_function nodes as what Python calls."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from typing import Any

import torch

from ._errors import RebuildError

# What Python itself does in graphs; what could run other code than the graph's is not among it.
_BUILTINS = frozenset(
    "abs all any bin bool bytes chr complex dict divmod enumerate float getattr hash hex int isinstance len list max "
    "min oct ord pow range reversed round set slice sorted str sum tuple type zip".split()
)
_NOT_OF_OPERATOR = frozenset(("attrgetter", "call", "itemgetter", "methodcaller"))
_NOT_OF_TORCH = frozenset("classes compile hub jit load multiprocessing ops package serialization utils".split())
_OPERATORS = (torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch._ops.HigherOrderOperator)


def resolve_function(target: str) -> Callable[..., Any]:
    """What `target` of a call_function names: an operator under torch.ops, else a Python name."""
    head, *rest = target.split(".")
    if head in ("operator", "builtins", "math"):
        value = _of_python(head, rest)
    elif head == "torch":
        value = _of_torch(rest)
    else:
        value = torch.ops
        for part in (head, *rest):
            value = getattr(value, part, None)
        if not isinstance(value, _OPERATORS):
            value = None
    if value is None:
        raise RebuildError(f"no such function: {target}")
    if not callable(value):
        raise RebuildError(f"not a function: {target}")
    if isinstance(value, types.MethodDescriptorType) and not hasattr(value, "__module__"):
        return _named_function(value)
    function: Callable[..., Any] = value
    return function


def _of_python(module: str, names: list[str]) -> Any:
    """A function, or a method of a builtin type such as str.upper."""
    first = names[0] if names else ""
    if (module == "builtins" and first not in _BUILTINS) or (module == "operator" and first in _NOT_OF_OPERATOR):
        return None
    if any(name.startswith("_") for name in names) or len(names) > (2 if module == "builtins" else 1):
        return None
    value: Any = importlib.import_module(module)
    for name in names:
        value = getattr(value, name, None)
    return value


def _of_torch(names: list[str]) -> Any:
    """Nothing that stands in torch's modules by an import of theirs, as os does, nor what loads code; torch.save is what
    TorchScript's operator of that name does."""
    if not names or names[0] in _NOT_OF_TORCH:
        return None
    value: Any = torch
    for name in names:
        inside = getattr(value, name, None)
        if inside is None and isinstance(value, types.ModuleType):
            try:
                inside = importlib.import_module(f"{value.__name__}.{name}")
            except ImportError:
                return None
        value = inside
        origin = (
            value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None) or "torch"
        )
        if name.startswith("__") or origin.partition(".")[0] != "torch":
            return None
    return value


def _named_function(method: types.MethodDescriptorType) -> Callable[..., Any]:
    """A function that torch.fx's code generator has a name for; methods of builtins have no __module__."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    function.__name__ = function.__qualname__ = f"{method.__objclass__.__name__}_{method.__name__}"
    return function
