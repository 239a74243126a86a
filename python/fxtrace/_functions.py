"""Targets of call_function nodes as what Python calls."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable
from typing import Any

import torch

from ._errors import RebuildError


def resolve_function(target: str) -> Callable[..., Any]:
    """What `target` of a call_function names: an operator under torch.ops, else a Python name."""
    head, *rest = target.split(".")
    if head in ("operator", "builtins", "math", "torch"):
        value: Any = importlib.import_module(head)
    else:
        value, rest = torch.ops, [head, *rest]
    for part in rest:
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
            except (ImportError, AttributeError):
                raise RebuildError(f"no such function: {target}") from None
    if not callable(value):
        raise RebuildError(f"not a function: {target}")
    if isinstance(value, types.MethodDescriptorType) and not hasattr(value, "__module__"):
        return _named_function(value)
    function: Callable[..., Any] = value
    return function


def _named_function(method: types.MethodDescriptorType) -> Callable[..., Any]:
    """A function that torch.fx's code generator has a name for; methods of builtins have no __module__."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    function.__name__ = function.__qualname__ = f"{method.__objclass__.__name__}_{method.__name__}"
    return function
