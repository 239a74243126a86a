"""Assignments of a graph to attributes: plain values that the next call reads."""

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

NAME = "fxtrace_assign"  # name of the module in the graph module


class Assign(torch.nn.Module):
    """The last call of a graph module, which sets attributes of the graph module or of modules in it."""

    def __init__(self, targets: Sequence[str], owner: torch.nn.Module):
        super().__init__()
        self.targets = tuple(targets)
        self.own(owner)

    def own(self, owner: torch.nn.Module) -> None:
        self.__dict__["_owner"] = weakref.ref(owner)

    def __deepcopy__(self, memo: Any) -> Assign:
        copied = Assign(self.targets, self)
        del copied.__dict__["_owner"]  # the copy belongs to the graph module that calls it
        return copied

    # torch.fx traces a module when it unpickles it, and takes attributes for constants.
    def __reduce__(self) -> Any:
        raise RebuildError(f"a graph module that assigns {', '.join(self.targets)} cannot be pickled: save the collection")

    def _find_owner(self) -> torch.nn.Module:
        """Return the graph module, found as the caller: torch.fx copies the modules of a graph module without notice."""
        if owner := self.__dict__.get("_owner", lambda: None)():
            return owner  # type: ignore[no-any-return]
        frame = sys._getframe().f_back
        while frame is not None:
            caller = frame.f_locals.get("self")
            caller = caller.module if isinstance(caller, fx.Interpreter) else caller
            if isinstance(caller, fx.GraphModule) and caller._modules.get(NAME) is self:
                self.own(caller)
                return caller
            frame = frame.f_back
        raise RebuildError(f"{NAME} cannot find the module whose attributes it sets: its caller is not a graph module")

    def forward(self, *values: Any) -> None:
        if is_fx_tracing():
            raise RebuildError(f"torch.fx cannot trace a graph module that assigns {', '.join(self.targets)}")
        owner = self._find_owner()
        for target, value in zip(self.targets, values):
            *folders, name = target.split(".")
            setattr(resolve_attribute(owner, ".".join(folders)), name, _mutable(value))


def _mutable(value: Any) -> Any:
    """Return plain lists and dicts for torch.fx's own classes of these in nodes, and for TorchScript's lists of sizes."""
    if isinstance(value, (list, torch.Size)):
        return [_mutable(item) for item in value]
    if isinstance(value, dict):
        return {key: _mutable(item) for key, item in value.items()}
    return tuple(map(_mutable, value)) if type(value) is tuple else value
