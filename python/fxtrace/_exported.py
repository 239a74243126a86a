"""Graph modules of exported programs: their leaves run the nodes of the program that the collection lists for them."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import io
import logging
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.utils import _pytree as pytree

from . import _builder
from ._builder import Builder, ModelBuilder
from ._control_flow import Body
from ._data import Constant, GraphData
from ._errors import RebuildError, not_loaded
from ._functions import ModelFunctions, check_callable, operator_name
from ._leaf import RESULTS_KEY, Leaf, ProgramNodes, RootLeaf, State
from ._records import Node
from ._tree import add_state, resolve_attribute, tensor_of_constant
from ._values import NodeRef


def load(path: str | os.PathLike[str], model: str = "") -> ExportedProgram:
    """Load the program in the archive at `path`; `model` is its name if there are several."""
    with _quiet("torch.export", "torch._export"):  # torch warns about old layouts, and about classes in sample inputs
        try:
            return torch.export.load(path) if not model else _load_pt2(path).exported_programs[model]
        except Exception as error:
            try:  # torch.export.load does not pass the cause on
                _load_pt2(path)
            except Exception as cause:
                error = cause
            raise not_loaded("torch.export.load", os.fspath(path), error) from error


def _load_pt2(path: str | os.PathLike[str]) -> Any:
    from torch.export.pt2_archive._package import load_pt2

    return load_pt2(os.fspath(path))


@contextlib.contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Let these loggers report only errors."""
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before):
            logger.setLevel(level)


class Archive:
    """The constants in an archive, which is given by its path or as an open file."""

    def __init__(self, file: str | IO[bytes]):
        self._file = file

    def constant(self, constant: Constant, name: str) -> Any:
        return tensor_of_constant(constant, name, lambda record: self._record(record, name))

    @staticmethod
    def _find(archive: zipfile.ZipFile, record: str) -> list[zipfile.ZipInfo]:
        return [item for item in archive.infolist() if f"/{item.filename}".endswith(f"/{record}")]

    def is_empty(self, record: str) -> bool:
        """Return true for a record of a tensor without a storage, such as one inside of a vmap."""
        with zipfile.ZipFile(self._file) as archive:
            return [item.file_size for item in self._find(archive, record)] == [0]

    def _record(self, record: str, name: str) -> bytes:
        """Return the bytes of a record such as data/constants/tensor_0; for a record of torch.save, those of the tensor."""
        with zipfile.ZipFile(self._file) as archive:
            found = self._find(archive, record)
            if len(found) != 1:
                raise RebuildError(f"the archive has {[item.filename for item in found]} for record {record}")
            content = archive.read(found[0])
        if record.endswith(".pt"):
            return bytes(torch.load(io.BytesIO(content))[name].untyped_storage())
        return content


def without_tokens(source: fx.GraphModule) -> fx.GraphModule:
    """Return the graph without effect tokens, as in graphs of fxtrace: there the order of nodes is the order of effects.

    with_effects(token, operator, ...) becomes a call of the operator.
    """
    bodies = {name: body for name, body in source.named_children() if isinstance(body, fx.GraphModule)}
    changed = {name: new for name, body in bodies.items() if (new := without_tokens(body)) is not body}
    if not changed and not source.graph.find_nodes(op="call_function", target=torch.ops.higher_order.with_effects):
        return source
    result = fx.GraphModule(source, copy.deepcopy(source.graph))
    for name, new in changed.items():
        setattr(result, name, new)
    nodes: Any = list(result.graph.nodes)
    tokens: set[fx.Node] = set()
    for node in nodes:
        if node.target is torch.ops.higher_order.with_effects:
            token, node.target, *args = node.args
            is_single = len(node.meta["val"]) == 2
        elif node.target is torch.ops.higher_order.invoke_subgraph and node.args[0].target in changed:
            body, called, token, *operands = node.args
            args, is_single = [body, called, *operands], False
        else:
            continue
        node.args = tuple(args)
        node.meta["val"] = node.meta["val"][1] if is_single else node.meta["val"][1:]
        tokens.add(token)
        results = sorted(node.users, key=lambda item: item.args[1])
        node.meta[RESULTS_KEY] = [item.name for item in results]
        for item in results:
            index = item.args[1]
            if index == 0:
                tokens.add(item)
            elif is_single:
                item.replace_all_uses_with(node)
                result.graph.erase_node(item)
            else:
                item.args = (node, index - 1)
    output = nodes[-1]
    output.args = (type(output.args[0])(value for value in output.args[0] if value not in tokens),)
    for node in reversed(nodes):
        if node in tokens:
            result.graph.erase_node(node)
    return result


def _with_bodies(source: fx.GraphModule, nodes: Iterable[fx.Node]) -> Iterator[fx.Node]:
    """Yield the nodes of `source`, and those of the graphs that they run."""
    for node in nodes:
        yield node
        for used in node.all_input_nodes:
            body = getattr(source, str(used.target), None) if used.op == "get_attr" else None
            if isinstance(body, fx.GraphModule):
                yield from _with_bodies(body, body.graph.nodes)


class ProgramBuilder(Builder):
    """Builds graph modules with the program's own parameters and buffers; the inputs are the leaves of the program's inputs, in order."""

    def __init__(
        self,
        program: ExportedProgram,
        archive: Archive | None,
        body: fx.GraphModule | None = None,
        state: State | None = None,
        functions: ModelFunctions | None = None,
    ):
        """Prepare to build a body of control flow, with the state of its inputs, or the program's own graph without `body`."""
        self._program = program
        self._archive = archive
        self._source = body or without_tokens(program.graph_module)
        self._is_body = body is not None
        self._state = state or State.of_program(program)
        self.functions = functions or ModelFunctions(None)

    def is_state(self, name: str) -> bool:
        return name in self._state.persistent

    def out_spec(self) -> pytree.TreeSpec | None:
        spec = self._program.call_spec.out_spec
        return None if self._is_body or self.graph.signature is None else spec

    def find_attribute(self, node: Node) -> tuple[str, str, Any]:
        target, values = node.target, self._state.values
        if node.op == "call_module":
            return self._leaf_name(node), node.name, self._leaf(node)
        if target not in values:
            raise RebuildError(f"the program has no {target!r}")
        if target in self.graph.constants:
            self._check_constant(target)
        return target, target, values[target]

    def complete(self, module: fx.GraphModule) -> None:
        """Add the state of the program that no operation uses to the state_dict."""
        if self._is_body:
            return
        collection = None if self.graph.signature is not None else self.graph.collection
        names = None if collection is None else {parameter.name for parameter in collection.parameters}
        for name, value in self._program.state_dict.items():
            if self.is_state(name) and (names is None or name in names):
                add_state(module, name, value)

    @staticmethod
    def _leaf_name(node: Node) -> str:
        """Return the name that torch.export.unflatten gives to a call of a module: fc, fc@1, ..."""
        name = node.target or "root_module"
        return name if node.scope.call == 1 else f"{name}@{node.scope.call - 1}"

    def _check_constant(self, target: str) -> None:
        """Compare the collection's values with the program's tensor, which is used because leaves share it."""
        constant, theirs = self.graph.constants[target], self._state.values[target].detach().contiguous()
        if constant.data is not None:
            ours = tensor_of_constant(constant, target, lambda record: b"")
        elif self._archive is not None and not self._archive.is_empty(str(constant.record)):
            ours = self._archive.constant(constant, target).contiguous()
        else:
            return
        if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape) or not torch.equal(
            ours.reshape(-1).view(torch.uint8), theirs.reshape(-1).view(torch.uint8)
        ):
            raise RebuildError(f"the values of {target} in the collection differ from the program's")

    def _leaf(self, node: Node) -> torch.nn.Module:
        if node.target == "" and not node.program_nodes and not self._is_body:
            self._check_operators(self._source.graph.nodes)
            return RootLeaf(self._program)
        if not node.program_inputs and not node.program_results and node.args:
            raise RebuildError("the collection was written by an earlier fxtrace: trace the model again")
        leaf = Leaf(node, self._nodes_of_source, self._state, self._unwritten_mutations)
        self._check_operators(leaf.nodes)
        return leaf.build()

    def _check_operators(self, nodes: Iterable[fx.Node]) -> None:
        """Check the operators inside of a leaf, which come from the file and are as untrusted as the nodes of the graph."""
        for node in _with_bodies(self._source, nodes):
            if isinstance(node.target, (torch._ops.OpOverload, torch._ops.HigherOrderOperator)):
                check_callable(operator_name(node.target), self.functions.libraries)

    @functools.cached_property
    def _nodes_of_source(self) -> ProgramNodes:
        return ProgramNodes(self._source)

    @functools.cached_property
    def _unwritten_mutations(self) -> dict[str, list[str]]:
        """Map the node of a new value to the state it updates, for updates of functional programs that no copy_ node carries out."""
        if self._is_body:
            return {}
        written = {self.graph[node.args[0].name].target for node in self.graph if node.target == "aten.copy_.default"}
        found: dict[str, list[str]] = {}
        for spec in self._program.graph_signature.output_specs:
            kinds = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)
            if spec.kind in kinds and spec.target not in written:
                found.setdefault(spec.arg.name, []).append(str(spec.target))
        return found

    def build_body(self, name: str, body: GraphData) -> fx.GraphModule:
        source = getattr(self._source, name, None)
        if not isinstance(source, fx.GraphModule):
            raise RebuildError(f"the program has no graph {name!r}")
        (reader,) = self._source.graph.find_nodes(op="get_attr", target=name)
        (caller,) = reader.users
        state = self._state.of_body(caller, reader, source)
        kind = Body if _calls_modules(body) else fx.GraphModule
        return ProgramBuilder(self._program, self._archive, source, state, self.functions).build(body, kind)


class OwnModulesBuilder(ModelBuilder):
    """Takes the leaves of an exported program from the caller's model; the file does not tell everything about these."""

    def __init__(
        self,
        model: torch.nn.Module,
        archive: _builder.Archive | None,
        functions: ModelFunctions,
        load: Callable[[], ExportedProgram] | None,
        arguments: Mapping[str, Sequence[str]],
        body: str = "",
    ):
        super().__init__(model, archive, functions)
        self._load = load
        self._arguments = arguments
        self._body = body

    def build(self, graph: GraphData, kind: type[fx.GraphModule] = fx.GraphModule) -> fx.GraphModule:
        graphs: list[GraphData] = [graph, *graph.subgraphs.values()]
        unordered = {node.target for each in graphs for node in each if node.arguments is not None}
        unused = [path for path in self._arguments if path not in unordered] if not self._body else []
        if unused:
            raise RebuildError(f"arguments={{{unused[0]!r}: ...}}: no call of this module has arguments in the order of use")
        return super().build(graph, kind)

    def call_as(self, node: Node, args: Any, kwargs: Any) -> tuple[Any, Any]:
        names = self._arguments.get(node.target)
        is_known = node.target == "" or (node.scope.module_type or "").startswith("torch.nn.")
        if node.arguments is None and is_known:
            return args, kwargs
        own = resolve_attribute(self._model, node.target)
        if node.arguments is not None:
            if names is None:
                shown = ", ".join(value.name if isinstance(value, NodeRef) else repr(value) for value in node.args)
                raise RebuildError(
                    f"the file does not tell which parameters of {node.target}'s forward its {len(args)} arguments ({shown}) "
                    f"are for; name them in this order: arguments={{{node.target!r}: [...]}}"
                )
            if len(names) != len(args) or len(set(names)) != len(names):
                raise RebuildError(f"arguments={{{node.target!r}: {list(names)}}}: expected {len(args)} different names")
        elif len(args) == 1 and (only := _keyword_only(own)) is not None:
            names = [only]
        if names is not None:
            args, kwargs = (), {**dict(zip(names, args)), **kwargs}
        self._compare(node, own, names)
        return args, kwargs

    @functools.cached_property
    def _program_and_state(self) -> tuple[ProgramNodes, State]:
        """Return the nodes of the file's program, and its state with the values of the caller's model."""
        assert self._load is not None
        program = self._load()
        state = State.of_program(program)
        for name, value in self._model.state_dict(keep_vars=True).items():
            if name in state.values:
                state.values[name] = value
        source: Any = without_tokens(program.graph_module)
        return ProgramNodes(getattr(source, self._body) if self._body else source), state

    def _compare(self, node: Node, own: torch.nn.Module, names: Sequence[str] | None) -> None:
        """Compare the module with the file's operations for this call, on random values.

        The file has lost plain arguments of the call, and which of forward's results it used.
        """
        if self._load is None:
            raise RebuildError(f"the inputs and results of {node.target} are known only from the file: give that as archive=PATH")
        leaf = Leaf(node, *self._program_and_state, {})
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(0)
            args, kwargs = leaf.random_arguments()
            want = _results(copy.deepcopy(leaf.build()), args, kwargs)
            if names is not None:
                args, kwargs = (), {**dict(zip(names, args)), **kwargs}
            for mode in ({}, {"training": False}, {"training": True}):  # the program was exported in one of these modes
                module = copy.deepcopy(own)
                for each in module.modules():
                    each.__dict__.update(mode)
                try:
                    got = _results(module, args, kwargs)
                    if all(is_close(_part(got, place.path), _part(want, place.path)) for place in node.program_results):
                        return
                except Exception as error:
                    failure = f": {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
                else:
                    failure = ""
        how = "" if names is None else f" with arguments={{{node.target!r}: {list(names)}}}"
        raise RebuildError(f"on random values, the results of {node.target} differ from those of the file's operations{how}{failure}")

    def build_body(self, name: str, body: GraphData) -> fx.GraphModule:
        return OwnModulesBuilder(self._model, self._archive, self.functions, self._load, self._arguments, name).build(body, Body)


def _calls_modules(body: GraphData) -> bool:
    return any(node.op == "call_module" for node in body) or any(map(_calls_modules, body.subgraphs.values()))


def _keyword_only(module: torch.nn.Module) -> str | None:
    """Return the parameter that takes a single argument, if forward takes it by keyword only."""
    parameters = inspect.signature(module.forward).parameters.values()
    if any(each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD, each.VAR_POSITIONAL) for each in parameters):
        return None
    needed = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY and each.default is each.empty]
    return needed[0] if len(needed) == 1 else None


def _results(module: torch.nn.Module, args: Any, kwargs: Any) -> Any:
    torch.manual_seed(1)
    args, kwargs = pytree.tree_map_only(torch.Tensor, torch.Tensor.clone, (args, kwargs))
    return module(*args, **kwargs)


def _part(value: Any, path: tuple[int | str, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def is_close(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return type(a) is type(b) and bool(a == b)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return False
    return torch.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True) if a.is_floating_point() else torch.equal(a, b)
