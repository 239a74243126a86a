"""The check of functions that stand for recorded operations, in the first call of a graph module."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from ._errors import RebuildError
from ._exported import is_close


class FunctionCheck:
    """A forward pre-hook that raises RebuildError if the caller's functions do something else than the file's operations.

    A recorded call has neither the constants of the code nor the order of its arguments. So the first call also runs `operations`,
    the graph without these functions, on copies of everything.
    """

    def __init__(self, operations: Callable[[], fx.GraphModule] | None):
        self._operations = operations

    def __reduce__(self) -> Any:  # a pickled module has been checked, or is checked where it comes from
        return FunctionCheck, (None,)

    def __call__(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        is_traced = torch.compiler.is_compiling() or any(isinstance(value, fx.Proxy) for value in pytree.tree_leaves((args, kwargs)))
        if self._operations is None or is_traced:
            return
        want = _results(self._operations(), args, kwargs)
        try:
            got = _results(module, args, kwargs)
            same = len(got) == len(want) and all(map(is_close, got, want))
            why = ""
        except Exception as error:
            same, why = False, f": {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        if not same:
            raise RebuildError(
                f"with functions=, the graph computes something else than the operations in the file{why}: a recorded call has neither "
                "the constants of the code nor the order of the arguments, so give functions that have them"
            )
        self._operations = None


def _results(module: torch.nn.Module, args: Any, kwargs: Any) -> list[Any]:
    module = copy.deepcopy(module)
    args, kwargs = pytree.tree_map_only(torch.Tensor, lambda value: value.detach().clone(), (args, kwargs))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return pytree.tree_leaves(module.forward(*args, **kwargs))
