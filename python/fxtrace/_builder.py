"""Conversion of a graph to a torch.fx.GraphModule, node by node.

Nothing is repaired: a name that torch.fx would change, users that differ from those that torch.fx derives, or a target that
does not exist in Python is an error.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import fx
from torch.utils import _pytree as pytree

from . import _torchscript
from ._control_flow import Body
from ._data import Constant, GraphData
from ._errors import RebuildError
from ._functions import ModelFunctions, by_position, call_object, is_tensor_attribute, is_tensor_method, read_value, resolve_function
from ._module_stacks import ModuleStacks
from ._named_tuples import classes_by_name
from ._records import Node
from ._signature import model_signature, set_code, set_tracer
from ._state import NAME, Assign
from ._tree import leave_out_of_state_dict, place_attribute, resolve_attribute, tensor_of_constant
from ._values import Device, Dtype, FunctionRef, GraphRef, Layout, MemoryFormat, NodeRef, map_values

_OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output")


class Archive(Protocol):
    """Access to the constants in the model's file."""

    def constant(self, constant: Constant, name: str) -> Any: ...


class Builder:
    """Creates the nodes of a graph module; its subclasses provide modules and attributes."""

    graph: GraphData
    functions: ModelFunctions

    check = True  # false to accept any value for inputs that options fixed

    def build(self, graph: GraphData, kind: type[fx.GraphModule] = fx.GraphModule) -> fx.GraphModule:
        self.graph = graph
        self._attributes: dict[str, Any] = {}  # values by their names in the graph module
        self._seen_as: dict[str, str] = {}  # qualified names by these names
        self._new = fx.Graph()
        self._nodes: dict[str, fx.Node] = {}
        types = graph.collection.modules if graph.collection is not None else ()
        self._stacks = ModuleStacks(graph, {module.path: module.type for module in types})
        for node in graph:
            try:
                self._append(node)
            except (RebuildError, ValueError) as error:
                raise RebuildError(f"node {node.name}: {error}") from None
        self._check_users()
        self._set_signature()
        root = self._root()
        self._add_assignments(root)
        name = (graph.type or "").split(".")[-1]
        result = kind(root, self._new, name if name.isidentifier() else "Graph")
        if graph.assignments:
            self._complete_assignments(result)
        for seen, place in self._placed.items():
            if not self.is_state(self._seen_as[seen]):
                leave_out_of_state_dict(result, place)
        self.complete(result)
        result.graph.lint()
        return result

    def _set_signature(self) -> None:
        placeholders = {name: str(node.target) for name, node in self._nodes.items() if node.op == "placeholder"}
        try:
            classes = classes_by_name([[node.args, node.kwargs] for node in self._new.nodes])
        except ValueError as error:
            raise RebuildError(str(error)) from None
        signature = model_signature(self.graph, placeholders, self.out_spec(), self.check)
        if signature is None:
            set_code(self._new, classes)
        else:
            signature.classes = classes
            set_tracer(self._new)
            self._new.set_codegen(signature)

    def out_spec(self) -> pytree.TreeSpec | None:
        """Return the structure of the model's result, if it contains classes."""
        return None

    def find_attribute(self, node: Node) -> tuple[str, str, Any]:
        """Return for a call_module or get_attr node the name to use, the qualified name of the object, and the object."""
        raise NotImplementedError

    def call_as(self, node: Node, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Return the arguments as the module found by find_attribute() takes them."""
        return args, kwargs

    def build_body(self, name: str, body: GraphData) -> fx.GraphModule:
        """Build the graph module of a body of control flow."""
        raise NotImplementedError

    def complete(self, module: fx.GraphModule) -> None:
        """Add state that no node names."""

    def is_state(self, name: str) -> bool:
        """Return true if a tensor belongs to the state_dict."""
        return name not in self.graph.constants

    def _append(self, node: Node) -> None:
        if node.name in self._nodes:
            raise RebuildError("the name is used by an earlier node")
        self._check_names(node)
        args, kwargs = map_values((node.args, node.kwargs), self._argument)
        op: str = node.op
        target: Any = node.target
        if op == "call_function" and target == "builtins.getattr" and not node.model_function and not is_tensor_attribute(args[1]):
            target = read_value
        elif op == "call_function":
            target = self._function(node)
            args, kwargs = by_position(target, args, kwargs)
        elif op == "call_method" and not is_tensor_method(target):
            op, target, args = "call_function", call_object, (args[0], target, *args[1:])
        elif op in ("call_module", "get_attr"):
            target = self._keep(*self.find_attribute(node))
            if op == "call_module":
                args, kwargs = self.call_as(node, args, kwargs)
        for name in kwargs:
            self._check_name(name)
        made = self._new.create_node(op, target, args, kwargs, name=node.name)
        if made.name != node.name:
            raise RebuildError(f"torch.fx would name it {made.name}")
        made.meta.update(self._meta(node))
        self._nodes[node.name] = made

    def _function(self, node: Node) -> Callable[..., Any]:
        if node.model_function:
            return self.functions.resolve(node.target, is_recorded=node.recorded and len(node.args) > 1)
        try:
            return resolve_function(node.target, self.functions.libraries)
        except RebuildError:
            if (given := self.functions.find(node.target)) is not None:  # a collection that does not mark model functions
                return given
            raise

    @staticmethod
    def _check_name(name: str) -> None:
        """Raise RebuildError unless the name can stand in Python code, where torch.fx writes it unchanged."""
        if not name.isidentifier() or keyword.iskeyword(name):
            raise RebuildError(f"{name!r} is not a Python name")

    def _check_names(self, node: Node) -> None:
        if node.op not in _OPS:
            raise RebuildError(f"{node.op!r} is not an op of torch.fx")
        if node.op in ("placeholder", "call_method"):
            self._check_name(node.target)
        if node.target == "builtins.getattr":
            attribute = node.args[1] if len(node.args) > 1 else None
            if not isinstance(attribute, str) or attribute.startswith("_"):
                raise RebuildError(f"{attribute!r} is not an attribute that a graph may read")

    def _argument(self, value: Any) -> Any:
        if isinstance(value, NodeRef):
            if value.name not in self._nodes:
                raise RebuildError(f"uses {value.name}, which is not defined before it")
            return self._nodes[value.name]
        if isinstance(value, GraphRef):
            if value.name not in self.graph.subgraphs:
                raise RebuildError(f"the graph has no subgraph {value.name!r}")
            body = self.build_body(value.name, self.graph.subgraphs[value.name])
            return self._new.create_node("get_attr", self._keep(value.name, value.name, body))
        if isinstance(value, FunctionRef):
            return resolve_function(value.target, self.functions.libraries)
        if isinstance(value, (Dtype, Device, Layout, MemoryFormat)):
            return value.to_torch()
        return value

    def _meta(self, node: Node) -> dict[str, Any]:
        """Return the meta of a node: `fxtrace` is the node itself; the other keys are torch.fx's, with their meaning there."""
        meta: dict[str, Any] = {"fxtrace": node}
        if node.shape is not None:
            meta["shape"] = node.shape
        if isinstance(dtype := getattr(torch, node.dtype or "", None), torch.dtype):
            meta["dtype"] = dtype
        if node.op != "placeholder":
            meta["nn_module_stack"] = self._stacks.next(node.scope)
        if node.source is not None:
            source = node.source
            line = "" if source.line is None else f", line {source.line}"
            meta["stack_trace"] = f'File "{source.file}"{line}, in {source.function}\n    {source.text}'
        return meta

    def _keep(self, seen: str, target: str, value: Any) -> str:
        if self._seen_as.setdefault(seen, target) != target:
            raise RebuildError(f"{target!r} and {self._seen_as[seen]!r} would both be called {seen}")
        self._attributes.setdefault(seen, value)
        return seen

    def _root(self) -> torch.nn.Module:
        """Return a module with every attribute under its qualified name, or under the name that its nodes have here."""
        root = torch.nn.Module()
        modules_first = sorted(
            self._attributes,
            key=lambda path: (path.count("."), not isinstance(self._attributes[path], torch.nn.Module)),
        )
        self._placed = {path: place_attribute(root, path, self._attributes[path]) for path in modules_first}
        for node in self._new.nodes:
            if node.op in ("call_module", "get_attr"):
                node.target = self._placed[str(node.target)]
        return root

    def plain_attribute(self, target: str) -> Any:
        """Return the value that an attribute has before the first run."""
        raise NotImplementedError

    def _add_assignments(self, root: torch.nn.Module) -> None:
        """Add a call of Assign, which is not a node of the collection: torch.fx has no statement that sets an attribute."""
        if not self.graph.assignments:
            return
        values = [map_values(assignment.value, self._argument) for assignment in self.graph.assignments]
        root.add_module(NAME, torch.nn.Module())
        with self._new.inserting_before(next(reversed(self._new.nodes))):
            self._new.create_node("call_module", NAME, tuple(values), {}, name=NAME)

    def _complete_assignments(self, result: fx.GraphModule) -> None:
        places = [(each.target, each.target.replace("\\.", "_")) for each in self.graph.assignments]
        targets = [self._placed.get(seen) or place_attribute(result, seen, self.plain_attribute(target)) for target, seen in places]
        result.add_module(NAME, Assign(targets, result))

    def _check_users(self) -> None:
        for node in self.graph:
            users = tuple(user.name for user in self._nodes[node.name].users)
            if users != node.users:
                raise RebuildError(f"node {node.name}: the users are {list(node.users)}, but torch.fx derives {list(users)}")


class ModelBuilder(Builder):
    """Takes leaves and attributes from `model`: the loaded archive, or the module that the archive was made of."""

    def __init__(self, model: torch.nn.Module, archive: Archive | None, functions: ModelFunctions | None = None):
        self._model = model
        self._archive = archive
        self.functions = functions or ModelFunctions(None)

    def find_attribute(self, node: Node) -> tuple[str, str, Any]:
        op: str = node.op
        target: Any = node.target
        if op == "get_attr" and target in self.graph.constants:
            value: Any = self._constant(target)
        else:
            try:
                value = resolve_attribute(self._model, target)
            except AttributeError:
                raise RebuildError(f"the model has no {target!r}") from None
        if op == "call_module" and not isinstance(value, torch.nn.Module):
            raise RebuildError(f"{target!r} is not a module")
        collection = self.graph.collection
        if op == "call_module" and collection is not None and collection.options.get("hooks") == "skip":
            value = _torchscript.without_hooks(value)
        # torch.fx has no name for the root, and does not allow dots inside of a name.
        seen = target.replace("\\.", "_") if target else "root_module"
        if node.method is not None:
            return f"{seen}_{node.method}", f"{target}.{node.method}", _torchscript.Method(value, node.method)
        if op == "call_module" and isinstance(value, torch.jit.ScriptModule) and not _torchscript.has_forward(value):
            value = _torchscript.Overloaded(value)
        return seen, target, value

    def plain_attribute(self, target: str) -> Any:
        try:
            return resolve_attribute(self._model, target)
        except AttributeError:
            raise RebuildError(f"the model has no {target!r}") from None

    def _constant(self, name: str) -> Any:
        constant = self.graph.constants[name]
        if constant.data is not None:
            return tensor_of_constant(constant, name, lambda record: b"")
        if self._archive is None:
            raise RebuildError(f"constant {name} is in the model's file: give that as archive=PATH")
        return self._archive.constant(constant, name)

    def build_body(self, name: str, body: GraphData) -> fx.GraphModule:
        return type(self)(self._model, self._archive, self.functions).build(body, Body)
