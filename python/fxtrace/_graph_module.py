"""Construction of a torch.fx.GraphModule from a graph and the model's file or the loaded model."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

import torch
from torch import fx
from torch.utils import _pytree as pytree

from . import _exported, _torchscript
from ._builder import Builder, ModelBuilder
from ._data import CollectionData, GraphData, parse
from ._errors import InputError, RebuildError
from ._function_check import FunctionCheck
from ._functions import Functions, ModelFunctions
from ._guards import GuardCheck
from ._memory import saved
from ._program import run
from ._skeleton import check_is_whole


def graph_module(
    graph: GraphData,
    model: str | os.PathLike[str] | torch.nn.Module | torch.export.ExportedProgram | None,
    archive: str | os.PathLike[str] | None,
    check: bool,
    functions: Functions | None,
    arguments: Mapping[str, Sequence[str]],
    libraries: Sequence[str],
) -> fx.GraphModule:
    """Build the graph module; see Collection.graph_module."""
    module, in_spec = _rebuilt(graph, model, archive, ModelFunctions(functions, libraries), arguments, check)
    if check and (guards := GuardCheck(graph, in_spec)):
        module.register_forward_pre_hook(guards, with_kwargs=True)
    if check and any(node.recorded for node in graph):
        plain = functools.partial(_operations_of, graph, model, archive, arguments, libraries)
        module.register_forward_pre_hook(FunctionCheck(plain), with_kwargs=True)
    return module


def _operations_of(
    graph: GraphData,
    model: str | os.PathLike[str] | torch.nn.Module | torch.export.ExportedProgram | None,
    archive: str | os.PathLike[str] | None,
    arguments: Mapping[str, Sequence[str]],
    libraries: Sequence[str],
) -> fx.GraphModule:
    """Build the graph again with the file's operations in the place of recorded calls of functions."""
    collection = graph.collection
    source: Any = archive if archive is not None else model if isinstance(model, (str, os.PathLike)) else None
    if source is None and collection is not None:
        source = collection.path or (collection._kept.model if collection._kept is not None else None)
    if source is None:
        raise RebuildError("functions= is compared with the operations in the model's file: give that as archive=PATH")
    options: dict[str, Any] = {} if collection is None else dict(collection.options)
    options["rules"] = [rule for rule in options.get("rules", ()) if not rule.get("wrap")]
    options.pop("op_library", None)  # the options of an untrusted collection load nothing
    content = None if isinstance(source, (str, os.PathLike)) else saved(source)
    name = "-" if content is not None else os.path.abspath(source)
    with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder:
        config = os.path.join(folder, "config.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump(options, file)
        output = run("trace", "--format=json", f"--config={config}", name, stdin=content)
    kept = collection._kept if collection is not None else None
    plain: CollectionData[Any] = CollectionData.from_json(parse(output.stdout), None if content is not None else name, (), kept)
    return _rebuilt(plain.graph(graph.module or ""), model, archive, ModelFunctions(None, libraries), arguments, True)[0]


def _rebuilt(
    graph: GraphData,
    model: str | os.PathLike[str] | torch.nn.Module | torch.export.ExportedProgram | None,
    archive: str | os.PathLike[str] | None,
    functions: ModelFunctions,
    arguments: Mapping[str, Sequence[str]],
    check: bool,
) -> tuple[fx.GraphModule, pytree.TreeSpec | None]:
    """Build the graph module; return it with the structure of its arguments, if that is known."""
    collection = graph.collection
    if isinstance(model, (str, os.PathLike)):
        model, archive = None, model
    elif archive is None and collection is not None:
        archive = collection.path
    path = None if archive is None else os.fspath(archive)
    kept = collection._kept if collection is not None and path is None else None
    if model is None and kept is not None:
        model = kept.model
    if model is None and path is None:
        raise RebuildError("the modules and parameters are missing: call graph_module(MODEL) with the model or its file")
    if path is not None:
        check_is_whole(path)
    if model is None and not os.path.isfile(str(path)):
        raise InputError(f"{path}: no such file")
    kind = collection.model.kind if collection is not None else None
    if model is None and kind == "exported_program":
        model = _exported.load(str(path), _model_name(collection))
    file: str | IO[bytes] | None = kept.file() if kept is not None and _has_records(graph) else path
    if arguments and (kind != "exported_program" or not isinstance(model, torch.nn.Module)):
        raise RebuildError("arguments= needs your own modules and the graph of an exported program: graph_module(MODEL, arguments=...)")
    if isinstance(model, torch.export.ExportedProgram):
        if kind == "torchscript":
            raise RebuildError("this graph is of a TorchScript archive, but the model is an exported program")
        program_archive = _exported.Archive(file) if file else None
        module = _checking(_exported.ProgramBuilder(model, program_archive, functions=functions), check).build(graph)
        return module, model.call_spec.in_spec if graph.signature is not None else None
    if model is None:
        model = _torchscript.load(str(path))
    if not isinstance(model, torch.nn.Module):
        raise RebuildError(f"expected a module or an exported program as the model, got {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):
        model = _torchscript.with_callable_parts(model)
    if kind == "exported_program":
        load: Callable[[], torch.export.ExportedProgram] | None = None
        if path is not None:
            load = functools.cache(lambda: _exported.load(path, _model_name(collection)))
        elif kept is not None and isinstance(program := kept.model, torch.export.ExportedProgram):
            load = lambda: program  # noqa: E731
        constants = None if file is None else _exported.Archive(file)
        return _checking(_exported.OwnModulesBuilder(model, constants, functions, load, arguments), check).build(graph), None
    return _checking(ModelBuilder(model, _torchscript.Archive(file) if file else None, functions), check).build(graph), None


def _has_records(graph: GraphData) -> bool:
    """Return true if the collection leaves values of constants to the model's file."""
    constants = graph.constants.values()
    return any(each.record is not None for each in constants) or any(map(_has_records, graph.subgraphs.values()))


def _model_name(collection: CollectionData[Any] | None) -> str:
    return "" if collection is None else str(collection.options.get("model", ""))


def _checking(builder: Builder, check: bool) -> Builder:
    builder.check = check
    return builder
