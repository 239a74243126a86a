"""Classes of the named tuples in graphs. No class is imported: one is made for each type with its fields."""

from __future__ import annotations

import collections
import functools
import json
from collections.abc import Iterable
from typing import Any


@functools.lru_cache(maxsize=None)
def named_tuple_class(type_name: str, fields: tuple[str, ...]) -> Any:
    """Return a class of this name with these fields; its `_type` is the qualified name."""
    make: Any = collections.namedtuple
    made = make(type_name.rpartition(".")[2], fields, module=__name__)
    made._type = type_name
    made.__qualname__ = "T" + json.dumps([type_name, fields]).encode().hex()  # the name by which pickle finds it in this module
    return made


def __getattr__(name: str) -> Any:
    try:
        type_name, fields = json.loads(bytes.fromhex(name[1:]))
        return named_tuple_class(type_name, tuple(fields))
    except (ValueError, TypeError):
        raise AttributeError(name) from None


def with_items(value: tuple[Any, ...], items: Iterable[Any]) -> tuple[Any, ...]:
    """Return a tuple of the same class with these items."""
    made: tuple[Any, ...] = type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return made


def classes_by_name(value: Any) -> dict[str, Any]:
    """Return the classes of the named tuples in a value by their bare names, which torch.fx writes for named tuples inside of a
    named tuple or a dict."""
    found: dict[str, Any] = {}
    parts: Iterable[Any] = ()
    if isinstance(value, (list, tuple)):
        parts = value
    elif isinstance(value, dict):
        parts = value.values()
    if hasattr(value, "_fields"):
        found[type(value).__name__] = type(value)
    for part in parts:
        for name, each in classes_by_name(part).items():
            if found.setdefault(name, each) is not each:
                raise ValueError(f"two classes of named tuples are called {name}")
    return found
