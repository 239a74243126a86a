"""What a graph assigns to attributes: plain values that the next call reads."""

from __future__ import annotations

import sys
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

    # A copy belongs to another graph module.
    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_owner"}

    def _find_owner(self) -> torch.nn.Module:
        """torch.fx copies the modules of a graph module without a word to them: it is the one that calls."""
        owner = self.__dict__.get("_owner", lambda: None)()
        frame = sys._getframe()
        while owner is None and frame.f_back is not None:
            frame = frame.f_back
            caller = frame.f_locals.get("self")
            caller = caller.module if isinstance(caller, fx.Interpreter) else caller
            if isinstance(caller, fx.GraphModule) and caller._modules.get(NAME) is self:
                owner = caller
        if owner is None or is_fx_tracing():
            raise RebuildError(f"{NAME} does not know whose attributes it sets: it is called by no graph module")
        self.own(owner)
        return owner  # type: ignore[no-any-return]

    def forward(self, *values: Any) -> None:
        if proxy := next((value for value in values if isinstance(value, fx.Proxy)), None):
            proxy.tracer.create_proxy("call_module", proxy.tracer.path_of_module(self), values, {})  # type: ignore[attr-defined]
            return
        owner = self._find_owner()
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
