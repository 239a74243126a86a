"""Calls of a model's modules once more, for guards: only where nothing is left behind."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import fx, nn
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

_OWN = ("torch.nn.", "torch.ao.nn.")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
_assigns: weakref.WeakKeyDictionary[torch.jit.ScriptModule, bool] = weakref.WeakKeyDictionary()


class NotRepeatable(Exception):
    """The call would leave something behind, or may give something else the next time."""


def member(module: nn.Module, name: str) -> Any:
    """A submodule, parameter or buffer."""
    for members in (module._modules, module._parameters, module._buffers):
        if name in members:
            return members[name]
    raise NotRepeatable


def repeatable(module: nn.Module, inputs: list[Any]) -> Callable[..., Any]:
    """The module as a function that raises NotRepeatable instead of writing into the model or the inputs."""
    if not all(map(_is_simple, module.modules())):
        raise NotRepeatable

    def call(*args: Any, **kwargs: Any) -> Any:
        own = [*module.parameters(), *module.buffers(), *pytree.tree_leaves((inputs, args, kwargs))]
        with _Watch({_storage(value) for value in own if isinstance(value, torch.Tensor)}):
            try:
                return module(*args, **kwargs)
            except Exception:  # the watch's own comes out of a script as another one; what raises here raises in the graph
                raise NotRepeatable from None

    return call


def _is_simple(module: nn.Module) -> bool:
    """Whether Python sees no change; what operators change is seen when they run."""
    if any(getattr(module, name, None) for name in _HOOKS):
        return False
    if module.training and next(module.buffers(recurse=False), None) is not None:
        return False  # statistics of batches
    if isinstance(module, torch.jit.ScriptModule):
        if module not in _assigns:
            graph: Any = module.inlined_graph
            _assigns[module] = bool(graph.findAllNodes("prim::SetAttr"))
        return not _assigns[module]
    return isinstance(module, fx.GraphModule) or type(module).__module__.startswith(_OWN)


def _storage(tensor: torch.Tensor) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):  # a sparse one has none
        return 0


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Lets operators run that compute, and write into nothing but what was made in here."""

    def __init__(self, own: set[int]):
        super().__init__()  # type: ignore[no-untyped-call]
        self._own = own

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded in func.tags or ("batch_norm" in str(func) and any(arg is True for arg in args)):
            raise NotRepeatable
        for place, argument in enumerate(func._schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            written = kwargs.get(argument.name, args[place] if place < len(args) else None)
            if any(isinstance(value, torch.Tensor) and _storage(value) in self._own for value in pytree.tree_leaves(written)):
                raise NotRepeatable
        return func(*args, **kwargs)
