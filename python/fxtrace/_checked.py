"""Checked versions of torch functions that access memory as their arguments say.

The checks keep views with their own sizes, strides and offset inside of their tensor's memory, and the indices of sparse tensors
inside of their sizes; torch itself does not check all of that. What is printed is printed by a format that looks nothing up.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from ._errors import RebuildError, ViewError

_VIEWS = frozenset(
    "as_strided as_strided_ as_strided_copy as_strided_scatter _alloc_from_pool _reinterpret_tensor _reshape_alias "
    "_reshape_alias_copy set_".split()
)
_SPARSE = frozenset(
    "sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor sparse_csc_tensor "
    "sparse_csr_tensor".split()
)
_PRINT = "higher_order.print"
_PLAIN_FORMAT = re.compile(r"(?:[^{}]|\{\{|\}\}|\{\w*(?:![rsa])?(?::(?!.{0,20}\d{5})[^{}]{0,19})?\})*", re.ASCII | re.DOTALL)
_DOT = "_dot_"  # stands for the dots of a target in Python names


def checked(target: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, whose target is `target`, with a check if it needs one."""
    return _checked(target) if _is_checked(target) else function


def __getattr__(name: str) -> Callable[..., Any]:
    """Return the checked function that the code of a pickled module imports by this name."""
    target = name.replace(_DOT, ".")
    if _DOT in name and _is_checked(target):
        return _checked(target)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _is_checked(target: str) -> bool:
    return target == _PRINT or _name(target) in _VIEWS | _SPARSE


def _name(target: str) -> str:
    """Return the bare name of an operator (aten.as_strided.default) or function (torch.sparse_coo_tensor)."""
    parts = target.split(".")
    return parts[-1] if parts[0] == "torch" or len(parts) < 3 else parts[1]


@functools.cache
def _checked(target: str) -> Callable[..., Any]:
    head, *rest = target.split(".")
    function: Any = functools.reduce(getattr, rest, torch if head == "torch" else getattr(torch.ops, head))
    is_view = _name(target) in _VIEWS and hasattr(function, "_schema")

    def call(*args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return function(*args, **kwargs)
        # torch.fx traces a pickled module again: the call with its check is recorded.
        for value in pytree.tree_leaves((args, kwargs)):
            if isinstance(value, fx.Proxy):
                return value.tracer.create_proxy("call_function", call, args, kwargs)
        if target == _PRINT:
            if not args or not isinstance(args[0], str) or not _PLAIN_FORMAT.fullmatch(args[0]):
                raise RebuildError(f"{target}: its format is not a text whose fields are its arguments alone")
            return function(*args, **kwargs)
        if is_view:
            _check_view(target, _bound(function, args, kwargs))
        if _name(target) in _VIEWS:
            return function(*args, **kwargs)
        invariants: Any = torch.sparse.check_sparse_tensor_invariants
        with invariants():
            return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = target.replace(".", _DOT)
    call.__doc__ = f"{target}, with a check of its arguments."
    return call


def _bound(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = [argument.name for argument in function._schema.arguments]
    return {**dict(zip(names, args)), **kwargs}


def _check_view(target: str, given: dict[str, Any]) -> None:
    memory: Any = given.get("source", given.get("self", given.get("a")))
    size = given.get("size")
    # Other tensors, such as fake ones, have no memory.
    if type(memory) not in (torch.Tensor, torch.nn.Parameter) or memory.layout != torch.strided or size is None:
        return
    functorch: Any = torch._C._functorch
    if functorch.is_batchedtensor(memory):  # in vmap, which checks views of one element of the batch itself
        if _name(target) not in ("as_strided", "as_strided_copy"):
            raise ViewError(f"{target}: a view of a tensor in vmap cannot be checked")
        return
    itemsize = memory.element_size()
    offset = given.get("storage_offset")
    if (more := given.get("offset_increment")) is not None:
        offset = memory.storage_offset() + int(more)
    elif "offset_bytes" in given:
        dtype = given.get("dtype")
        itemsize = dtype.itemsize if isinstance(dtype, torch.dtype) else itemsize
        offset = -(-int(given["offset_bytes"]) // itemsize)
    elif offset is None:
        offset = memory.storage_offset()
    sizes, offset = [int(length) for length in size], int(offset)
    strides = [int(step) for step in given.get("stride") or ()] or _contiguous(sizes)
    if len(sizes) != len(strides) or min([offset, *sizes, *strides], default=0) < 0:
        raise ViewError(f"{target}: sizes {sizes}, strides {strides} and offset {offset} are not those of a view")
    last = offset + sum((length - 1) * step for length, step in zip(sizes, strides))
    held = memory.untyped_storage().nbytes()
    if 0 not in sizes and (last + 1) * itemsize > held:
        raise ViewError(
            f"{target}: a view of sizes {sizes}, strides {strides} and offset {offset} reaches element {last}, but the "
            f"tensor's memory has {held // itemsize}"
        )


def _contiguous(sizes: Sequence[int]) -> list[int]:
    strides = [1]
    for length in reversed(sizes[1:]):
        strides.insert(0, strides[0] * max(length, 1))
    return strides[: len(sizes)]
