"""A graph as a torch.fx.GraphModule, with what the model's file or the loaded model has."""

from __future__ import annotations

import os
from collections.abc import Callable

import torch
from torch import fx

from . import _exported, _torchscript
from ._builder import Archive, Builder, ModelBuilder
from ._data import GraphData
from ._errors import InputError, RebuildError
from ._functions import Functions, ModelFunctions
from ._guards import GuardCheck


def graph_module(
    graph: GraphData,
    model: str | os.PathLike[str] | torch.nn.Module | torch.export.ExportedProgram | None,
    archive: str | os.PathLike[str] | None,
    check: bool,
    functions: Functions | None,
) -> fx.GraphModule:
    """See Collection.graph_module."""
    module = _rebuilt(graph, model, archive, ModelFunctions(functions), check)
    if check and (guards := GuardCheck(graph)):
        module.register_forward_pre_hook(guards, with_kwargs=True)
    return module


def _rebuilt(
    graph: GraphData,
    model: str | os.PathLike[str] | torch.nn.Module | torch.export.ExportedProgram | None,
    archive: str | os.PathLike[str] | None,
    functions: ModelFunctions,
    check: bool,
) -> fx.GraphModule:
    collection = graph.collection
    if isinstance(model, (str, os.PathLike)):
        model, archive = None, model
    elif archive is None and collection is not None:
        archive = collection.path
    path = None if archive is None else os.fspath(archive)
    if model is None and path is None:
        raise RebuildError("say what the modules and parameters come from: graph_module(MODEL), the model or its file")
    if model is None and not os.path.isfile(str(path)):
        raise InputError(f"{path}: no such file")
    kind = collection.model.kind if collection is not None else None
    if model is None and kind == "exported_program":
        name = collection.options.get("model", "") if collection is not None else ""
        model = _exported.load(str(path), str(name))
    if isinstance(model, torch.export.ExportedProgram):
        if kind == "torchscript":
            raise RebuildError("this graph is of a TorchScript archive, and the model an exported program")
        program_archive = _exported.Archive(path) if path else None
        return _checking(_exported.ProgramBuilder(model, program_archive, functions=functions), check).build(graph)
    if model is None:
        model = _torchscript.load(str(path))
    if not isinstance(model, torch.nn.Module):
        raise RebuildError(f"the model is no module and no exported program, but of {type(model).__name__}")
    archives: Callable[[str], Archive] = _exported.Archive if kind == "exported_program" else _torchscript.Archive
    return _checking(ModelBuilder(model, archives(path) if path else None, functions), check).build(graph)


def _checking(builder: Builder, check: bool) -> Builder:
    builder.check = check
    return builder
