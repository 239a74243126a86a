"""Pieces of a partitioned model, joined to one module (see _plan.py)."""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.fx._pytree import tree_flatten_spec
from torch.utils._pytree import treespec_loads

from ._errors import InputError, UsageError
from ._plan import Backend, PlanData


class _Called(torch.nn.Module):
    """A callable as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class Joined(torch.nn.Module):
    """Runs the pieces of a plan; `split` is a torch.fx.GraphModule with a call_module for each."""

    def __init__(self, plan: PlanData, modules: Mapping[str, torch.nn.Module]) -> None:
        super().__init__()
        self._plan = plan
        self._in_spec = treespec_loads(plan.in_spec) if plan.in_spec else None
        self.split = _split(plan, modules)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        given = self._flatten(args, kwargs)
        for (_, argument), value in zip(self._plan.inputs, given, strict=True):
            if argument in self._plan.fixed and value != self._plan.fixed[argument]:
                raise ValueError(f"the program was exported for {argument}={self._plan.fixed[argument]!r}, got {value!r}")
        values: Mapping[str, Any] = self.split(*given)
        return self._result(self._plan.result, values)

    def _flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        if self._in_spec is not None:
            # Older torches have no children().
            expected = self._in_spec.children() if hasattr(self._in_spec, "children") else self._in_spec.children_specs
            if len(args) != expected[0].num_children or set(kwargs) != set(expected[1].context or ()):
                keywords = "".join(f", {name}=" for name in expected[1].context or ())
                raise TypeError(f"expected {expected[0].num_children} positional arguments{keywords}")
            return list(tree_flatten_spec((args, kwargs), self._in_spec))
        names = [argument for _, argument in self._plan.inputs]
        given = dict(zip(names, args, strict=False)) | kwargs
        missing = [name for name in names if name not in given]
        if missing or len(args) > len(names) or len(given) > len(names):
            raise TypeError(f"expected the arguments {', '.join(names)}")
        return [given[name] for name in names]

    def _result(self, data: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
        if "node" in data:
            return values[data["node"]]
        if "attribute" in data:
            return _attribute(self.split.children(), data["attribute"])
        if "value" in data:
            return data["value"]
        items = [self._result(item, values) for item in data["items"]]
        if data["kind"] == "dict":
            return dict(zip(data["keys"], items, strict=True))
        if "fields" in data:
            return collections.namedtuple("Result", data["fields"], rename=True)(*items)
        return items if data["kind"] == "list" else tuple(items)


def join(plan: PlanData, backends: Mapping[str, Backend]) -> Joined:
    unknown = sorted(set(backends) - set(plan.sets))
    if unknown:
        raise UsageError(f"the plan is for {', '.join(plan.sets)}, not for {unknown[0]!r}")
    modules: dict[str, torch.nn.Module] = {}
    tensors: dict[str, torch.Tensor] = {}
    for piece in plan.pieces:
        backend = backends.get(piece.set or "")
        if backend is not None:
            made = backend(piece)
            modules[piece.name] = _share(made, tensors) if isinstance(made, torch.nn.Module) else _Called(made)
        else:
            modules[piece.name] = _share(piece.load().module(), tensors)
    return Joined(plan, modules)


def _share(module: torch.nn.Module, tensors: dict[str, torch.Tensor]) -> torch.nn.Module:
    """Let pieces use the same tensors, so that a buffer that one writes is what others read; not those that a backend has changed."""
    for owner_name, owner in module.named_modules():
        for held in (owner._parameters, owner._buffers):
            for name, tensor in held.items():
                if tensor is None:
                    continue
                first = tensors.setdefault(f"{owner_name}.{name}", tensor)
                if (first.shape, first.dtype, first.device) == (tensor.shape, tensor.dtype, tensor.device):
                    held[name] = first
    return module


def _attribute(pieces: Iterable[torch.nn.Module], name: str) -> torch.Tensor:
    for piece in pieces:
        for key, tensor in (*piece.named_parameters(), *piece.named_buffers()):
            if key == name:
                return tensor
    raise InputError(f"no piece has the tensor {name}, which others need")


def _split(plan: PlanData, modules: Mapping[str, torch.nn.Module]) -> torch.fx.GraphModule:
    graph = torch.fx.Graph()
    values = {node: graph.placeholder(node) for node, _ in plan.inputs}
    root: dict[str, Any] = dict(modules)
    for i, (node, name) in enumerate(plan.attributes):
        root[f"attribute_{i}"] = _attribute(modules.values(), name)
        values[node] = graph.get_attr(f"attribute_{i}")
    for piece in plan.pieces:
        result = graph.call_module(piece.name, tuple(values[name] for name in piece.inputs))
        if len(piece.outputs) == 1:
            values[piece.outputs[0]] = result
            continue
        for i, name in enumerate(piece.outputs):
            values[name] = graph.call_function(operator.getitem, (result, i))
    graph.output({name: values[name] for name in sorted(_returned(plan.result))})
    return torch.fx.GraphModule(root, graph)


def _returned(data: Mapping[str, Any]) -> set[str]:
    if "node" in data:
        return {data["node"]}
    return set().union(*(_returned(item) for item in data.get("items", ())))
