"""Graphs of exported programs: their leaves run the nodes of the program that the collection says they stand for."""

from __future__ import annotations

import contextlib
import copy
import io
import itertools
import logging
import operator
import os
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.utils import _pytree as pytree

from ._builder import Builder
from ._data import Constant, GraphData, Node
from ._errors import RebuildError, not_loaded
from ._functions import ModelFunctions
from ._leaf import ARGUMENTS, RESULTS_KEY, Leaf, State, identity, nodes_by_name
from ._tree import add_state, tensor_of_constant
from ._values import NodeRef


def load(path: str | os.PathLike[str], model: str = "") -> ExportedProgram:
    """The program in the archive at `path`; `model` is its name where there are several."""
    with _quiet("torch.export", "torch._export"):  # they warn of old layouts, and of classes in sample inputs
        try:
            return torch.export.load(path) if not model else _load_pt2(path).exported_programs[model]
        except Exception as error:
            try:  # torch.export.load keeps the cause to itself
                _load_pt2(path)
            except Exception as cause:
                error = cause
            raise not_loaded("torch.export.load", os.fspath(path), error) from error


def _load_pt2(path: str | os.PathLike[str]) -> Any:
    from torch.export.pt2_archive._package import load_pt2

    return load_pt2(os.fspath(path))


@contextlib.contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """Loggers say errors only."""
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before):
            logger.setLevel(level)


def _fits(node: Node, value: fx.Node) -> bool:
    """Whether a value of the program may be that of a node, by its dtype and sizes."""
    tensor = value.meta["val"]
    sizes = [str(size) for size in tensor.shape]
    return node.dtype == str(tensor.dtype).removeprefix("torch.") and [str(size) for size in node.shape or ()] == sizes


class Archive:
    """The constants in the archive at `path`."""

    def __init__(self, path: str):
        self._path = path

    def constant(self, constant: Constant, name: str) -> Any:
        return tensor_of_constant(constant, name, lambda record: self._record(record, name))

    @staticmethod
    def _find(archive: zipfile.ZipFile, record: str) -> list[zipfile.ZipInfo]:
        return [item for item in archive.infolist() if f"/{item.filename}".endswith(f"/{record}")]

    def is_empty(self, record: str) -> bool:
        """What torch.export writes of a tensor that had no storage, such as one inside of a vmap."""
        with zipfile.ZipFile(self._path) as archive:
            return [item.file_size for item in self._find(archive, record)] == [0]

    def _record(self, record: str, name: str) -> bytes:
        """The bytes of a record such as data/constants/tensor_0; of one that torch.save wrote, those of a tensor."""
        with zipfile.ZipFile(self._path) as archive:
            found = self._find(archive, record)
            if len(found) != 1:
                raise RebuildError(f"the archive has {[item.filename for item in found]} for record {record}")
            content = archive.read(found[0])
        if record.endswith(".pt"):
            return bytes(torch.load(io.BytesIO(content))[name].untyped_storage())
        return content


def without_tokens(source: fx.GraphModule) -> fx.GraphModule:
    """The graph without tokens of effects, which graphs of fxtrace do not have: nodes stand in the order of effects.
    with_effects(token, operator, ...) is a call of the operator."""
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


class Pairs:
    """Which node of a program each node of a graph stands for, told in the graph's order: of those that call the same
    with the same values, the first that no other node stands for."""

    def __init__(self, source: fx.GraphModule):
        self.by_name = nodes_by_name(source)
        self.program_nodes: dict[fx.Node, fx.Node | None] = {}  # of each node of the graph
        self._calls: dict[Any, list[fx.Node]] = {}  # last one first
        self._identities: dict[fx.Node, fx.Node] = {}
        for node in reversed(source.graph.nodes):
            if node.op == "call_function":
                inputs = [self._identity(other) for other in node.all_input_nodes if other.op != "get_attr"]
                self._calls.setdefault(self._call(node, inputs), []).append(node)

    @property
    def count(self) -> int:
        return len(self.program_nodes)

    def _identity(self, node: fx.Node) -> fx.Node:
        if node not in self._identities:
            self._identities[node] = identity(node)
        return self._identities[node]

    @staticmethod
    def _call(node: fx.Node, inputs: list[fx.Node]) -> Any:
        numbers = [value for value in pytree.tree_leaves((node.args, node.kwargs)) if isinstance(value, (int, float))]
        return node.target, tuple(dict.fromkeys(inputs)), repr(numbers)

    def find(self, new: fx.Node) -> fx.Node | None:
        if new.op != "call_function":
            return None
        inputs = [self.program_nodes[other] for other in new.all_input_nodes if other in self.program_nodes]
        if all(inputs):
            found = self._calls.get(self._call(new, [self._identity(node) for node in inputs if node is not None]))
            if found:
                return found.pop()
        # With other numbers, where an option has fixed a size; or behind what a pass has changed.
        same = self.by_name.get(new.name)
        return same if same is not None and same.target == new.target else None

    def add(self, new: fx.Node, stands_for: fx.Node | None) -> None:
        self.program_nodes[new] = stands_for


class ProgramBuilder(Builder):
    """Parameters and buffers are the program's own; inputs the leaves of the program's inputs, one after the other."""

    def __init__(
        self,
        program: ExportedProgram,
        archive: Archive | None,
        body: fx.GraphModule | None = None,
        state: State | None = None,
        functions: ModelFunctions | None = None,
    ):
        """`body`: of control flow, with what its inputs stand for; the program's own graph when left out."""
        self._program = program
        self._archive = archive
        self._source = body or without_tokens(program.graph_module)
        self._is_body = body is not None
        self._state = state or State.of_program(program)
        self._leaves: dict[str, Leaf] = {}
        self._known_pairs: Pairs | None = None
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
        """What the program has and no operation uses is in the state_dict all the same."""
        if self._is_body:
            return
        collection = None if self.graph.signature is not None else self.graph.collection
        names = None if collection is None else {parameter.name for parameter in collection.parameters}
        for name, value in self._program.state_dict.items():
            if self.is_state(name) and (names is None or name in names):
                add_state(module, name, value)

    @staticmethod
    def _leaf_name(node: Node) -> str:
        """As torch.export.unflatten names the calls of one module: fc, fc@1, ..."""
        name = node.target or "root_module"
        return name if node.scope.call == 1 else f"{name}@{node.scope.call - 1}"

    def _check_constant(self, target: str) -> None:
        """The collection has the program's values; the program's tensor itself is used, which leaves share."""
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
            raise RebuildError(f"the values of {target} are not the program's")

    def _leaf(self, node: Node) -> fx.GraphModule:
        of_torch = re.fullmatch(r"torch\.nn\.modules\.\w+\.(\w+)", node.scope.module_type or "")
        leaf = Leaf(
            list(node.program_nodes),
            self._source,
            self._state,
            self._unwritten_mutations(),
            self._signature(node),
            node.target,
            of_torch[1] if of_torch else "",
        )
        given = [name for _, name in node.input_places()]
        if leaf.module_type in ARGUMENTS and leaf.signature is None:
            tensors = [node for node in leaf.entering if isinstance(node.meta["val"], torch.Tensor)]
            if len(given) == len(tensors) == 1 and self._program_node(given[0]) is None:  # a node that a pass has made
                leaf.reorder(tensors)
            else:
                leaf.reorder(self._entering(given, tensors))
        if leaf.signature is None and not leaf.has_own_operator():
            self._name_parts(leaf, node)
        self._leaves[node.name] = leaf
        results = len(leaf.leaving)
        positions = [user.args[1] for user in self._parts_of(node)]
        if leaf.signature is None and results > 1 and not all(0 <= i < results for i in positions):
            raise RebuildError(f"results {positions} are used, but {results} leave")
        return leaf.build(node)

    def _parts_of(self, node: Node) -> Iterator[Node]:
        for name in node.users:
            user = self.graph[name]
            if user.target == "operator.getitem" and user.args[0] == NodeRef(node.name):
                yield user

    def _name_parts(self, leaf: Leaf, node: Node) -> None:
        """The graph says which part of the result each value is: its parts stand in the order of the program's."""
        parts = list(self._leaf_parts(node, ()))
        order = {part.name: i for i, part in enumerate(self.graph)}
        parts.sort(key=lambda part: order[part[0].name])
        if len(parts) != len(leaf.leaving) or not all(_fits(part, value) for (part, _), value in zip(parts, leaf.leaving)):
            raise RebuildError(f"which results the parts {[part.name for part, _ in parts]} are cannot be told, of {leaf.leaving}")
        leaf.parts = [path for _, path in parts]

    def _leaf_parts(self, node: Node, path: tuple[int, ...]) -> Iterator[tuple[Node, tuple[int, ...]]]:
        """The tensors that a graph takes out of the result of a node."""
        for part in self._parts_of(node):
            here = (*path, part.args[1])
            if part.shape is None:
                yield from self._leaf_parts(part, here)
            else:
                yield part, here

    def _entering(self, given: list[str], tensors: list[fx.Node]) -> list[fx.Node]:
        """The nodes of the program that arguments of a leaf stand for, of those that enter it."""
        found = [self._program_node(name) for name in given]
        known = {identity(node) for node in found if node is not None}
        left = [node for node in tensors if identity(node) not in known]
        for i, name in enumerate(given):
            if found[i] is not None:
                continue
            fitting = [node for node in left if _fits(self.graph[name], node)]
            if len(fitting) != 1:
                raise RebuildError(f"which of the program's values enters as {name} cannot be told, of {fitting}")
            found[i] = fitting[0]
            left.remove(fitting[0])
        return [node for node in found if node is not None]

    @property
    def _pairs(self) -> Pairs:
        if self._known_pairs is None:
            self._known_pairs = Pairs(self._source)
        return self._known_pairs

    def _program_node(self, name: str) -> fx.Node | None:
        """The node of the program that a node of the graph stands for; None where nothing tells, as of one that a pass
        has made.  Not by name: a module called as a node of the program has given that node another name."""
        for node in itertools.islice(self.graph, self._pairs.count, len(self._nodes)):
            new = self._nodes[node.name]
            self._pairs.add(new, self._given_node(node) or self._pairs.find(new))
        return self._pairs.program_nodes[self._nodes[name]]

    def _given_node(self, node: Node) -> fx.Node | None:
        """Of an input, a parameter, a leaf or a part of what a leaf gives: the node of the program."""
        if node.op == "get_attr":
            return next((self._pairs.by_name[key] for key, target in self._state.names.items() if target == node.target), None)
        path: tuple[int, ...] = ()
        made_by = node
        while made_by.target == "operator.getitem" and isinstance(made_by.args[0], NodeRef):
            path = (made_by.args[1], *path)
            made_by = self.graph[made_by.args[0].name]
        if made_by.op == "placeholder":
            is_one = len(made_by.program_nodes) <= 1 and not path
            return self._pairs.by_name.get((*made_by.program_nodes, made_by.name)[0]) if is_one else None
        if made_by.op == "call_module":
            paths = self._leaves[made_by.name].result_paths()
            return next((value for value, where in paths.items() if where == path), None)
        return None

    def _unwritten_mutations(self) -> dict[str, list[str]]:
        """Of functional programs: a new value's node, and what takes it on, unless a copy_ node says so."""
        if self._is_body:
            return {}
        written = {self.graph[node.args[0].name].target for node in self.graph if node.target == "aten.copy_.default"}
        found: dict[str, list[str]] = {}
        for spec in self._program.graph_signature.output_specs:
            kinds = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)
            if spec.kind in kinds and spec.target not in written:
                found.setdefault(spec.arg.name, []).append(str(spec.target))
        return found

    def _signature(self, node: Node) -> Any:
        """The recorded signature of this call: the one whose results are made by its nodes."""
        if self._is_body:
            return None
        names = set(node.program_nodes)
        for item in self._source.graph.find_nodes(op="call_function", target=operator.getitem):
            if item.args[0].name in names:
                names.add(item.name)
        fitting = [
            entry.signature
            for entry in self._program.module_call_graph
            if entry.signature is not None
            and entry.fqn.partition("@")[0] == node.target != ""
            and any(getattr(item, "name", None) in names for item in entry.signature.outputs)
        ]
        if len(fitting) > 1:
            raise RebuildError("several recorded calls give results of these nodes")
        return fitting[0] if fitting else None

    def build_body(self, name: str, body: GraphData) -> fx.GraphModule:
        source = getattr(self._source, name, None)
        if not isinstance(source, fx.GraphModule):
            raise RebuildError(f"the program has no body {name!r}")
        (reader,) = self._source.graph.find_nodes(op="get_attr", target=name)
        (caller,) = reader.users
        state = self._state.of_body(caller, reader, source)
        return ProgramBuilder(self._program, self._archive, source, state, self.functions).build(body)
