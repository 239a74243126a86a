"""Bodies of control flow that run as plain Python.

Under autograd, torch's own operators trace their bodies first.  That fails if a body has modules or parameters of its own, as
bodies with leaves and bodies of a TorchScript graph have, and if an integer is carried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import _get_current_dispatch_mode


class Body(fx.GraphModule):
    """A body that carries out its operator itself when autograd is on and nothing traces it."""

    @classmethod
    def __torch_function__(
        cls, function: Callable[..., Any], types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        run = _RUN.get(function)
        if run is None or kwargs or not torch.is_grad_enabled() or _is_traced(args):
            with torch._C.DisableTorchFunctionSubclass():
                return function(*args, **(kwargs or {}))
        return run(*args)


def _is_traced(args: Sequence[Any]) -> bool:
    return (
        torch.compiler.is_compiling()
        or _get_current_dispatch_mode() is not None
        or torch._C._functorch.peek_interpreter_stack() is not None
        or any(isinstance(value, FakeTensor) for value in pytree.tree_leaves(args))
    )


def _cond(predicate: Any, true_body: Callable[..., Any], false_body: Callable[..., Any], operands: Sequence[Any]) -> Any:
    return (true_body if predicate else false_body)(*operands)


def _while_loop(goes_on: Callable[..., Any], body: Callable[..., Any], carried: Sequence[Any], operands: Sequence[Any]) -> Any:
    while goes_on(*carried, *operands):
        carried = body(*carried, *operands)
    return tuple(carried)


def _stacked(rows: Sequence[Sequence[Any]]) -> list[Any]:
    return [None if column[0] is None else torch.stack(column) for column in zip(*rows, strict=True)]


def _map(body: Callable[..., Any], xs: Sequence[Any], operands: Sequence[Any]) -> Any:
    return _stacked([body(*row, *operands) for row in zip(*(x.unbind() for x in xs), strict=True)])


def _scan(body: Callable[..., Any], carried: Sequence[Any], xs: Sequence[Any], operands: Sequence[Any]) -> Any:
    rows = []
    for row in zip(*(x.unbind() for x in xs), strict=True):
        results = body(*carried, *row, *operands)
        carried, rest = results[: len(carried)], results[len(carried) :]
        rows.append(rest)
    return [*carried, *_stacked(rows)]


_RUN: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.ops.higher_order.cond: _cond,
    torch.ops.higher_order.while_loop: _while_loop,
    torch.ops.higher_order.map_impl: _map,
    torch.ops.higher_order.scan: _scan,
}
