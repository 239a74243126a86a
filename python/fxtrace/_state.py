"""What a graph assigns to attributes: plain values that the next call reads."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from torch.fx._symbolic_trace import is_fx_tracing

from ._errors import RebuildError
from ._tree import resolve_attribute

NAME = "fxtrace_assign"  # of the module, in the graph module


class Assign(torch.nn.Module):
    """The last call of a graph module: it sets attributes of the graph module, or of modules in it."""

    def __init__(self, targets: Sequence[str], owner: torch.nn.Module):
        super().__init__()
        self.targets = tuple(targets)
        self.own(owner)

    def own(self, owner: torch.nn.Module) -> None:
        self.__dict__["_owner"] = weakref.ref(owner)

    # A copy belongs to another graph module, whose next call says to which.
    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_owner"}

    def forward(self, *values: Any) -> None:
        if proxy := next((value for value in values if isinstance(value, fx.Proxy)), None):
            proxy.tracer.create_proxy("call_module", proxy.tracer.path_of_module(self), values, {})  # type: ignore[attr-defined]
            return
        owner = self.__dict__.get("_owner", lambda: None)()
        if owner is None or is_fx_tracing():
            raise RebuildError(f"{NAME} does not know whose attributes it sets: call the graph module itself")
        for target, value in zip(self.targets, values):
            *folders, name = target.split(".")
            setattr(resolve_attribute(owner, ".".join(folders)), name, _mutable(value))


def _mutable(value: Any) -> Any:
    """torch.fx keeps its own classes of lists and dicts in the nodes."""
    if isinstance(value, list):
        return [_mutable(item) for item in value]
    if isinstance(value, dict):
        return {key: _mutable(item) for key, item in value.items()}
    return tuple(map(_mutable, value)) if type(value) is tuple else value


def set_owner(module: torch.nn.Module, args: Any) -> None:
    """A forward pre-hook of the graph module."""
    getattr(module, NAME).own(module)
