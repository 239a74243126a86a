"""Leaves of exported programs: modules that run some nodes of a program's graph.

The collection lists the values of the program that enter and leave a leaf. Parameters, buffers and sizes that are not listed belong
to the leaf. The program fxtrace knows which ones these are, but does not write it: here torch's own schemas and fake tensors tell
which argument a node returns. So a leaf that runs and computes the model's results confirms what the collection says of it, and
collections of earlier versions take the same path.
"""

from __future__ import annotations

import operator
import re
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.reference import PythonReferenceAnalysis

from ._errors import RebuildError
from ._records import Node
from ._signature import set_code
from ._tree import leave_out_of_state_dict, place_attribute
from ._values import NodeRef, map_values

RESULTS_KEY = "fxtrace.results"  # key in a node's meta: names of its results that are not nodes any more
LIFTED = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR, InputKind.CUSTOM_OBJ)


def state_of(program: ExportedProgram) -> dict[str, Any]:
    """Return parameters, buffers, constants and objects by qualified name."""
    return {**program.constants, **program.state_dict}


class State:
    """The inputs of a graph that stand for a parameter, buffer, constant or object, by the placeholder's name."""

    def __init__(self, values: dict[str, Any], names: dict[str, str], constants: set[str], persistent: set[str]):
        self.values = values
        self.names = names  # qualified names by the placeholder's name
        self.constants = constants
        self.persistent = persistent  # names in the model's state_dict

    @classmethod
    def of_program(cls, program: ExportedProgram) -> State:
        specs = program.graph_signature.input_specs
        names = {spec.arg.name: spec.target for spec in specs if spec.kind in LIFTED}
        constants = set(program.constants) - set(program.graph_signature.buffers)
        persistent = set(program.state_dict) - set(program.graph_signature.non_persistent_buffers)
        return cls(state_of(program), names, constants, persistent)

    def of_body(self, caller: fx.Node, body: fx.Node, body_module: fx.GraphModule) -> State:
        """Return the state of a body of control flow, for operands of the caller that reach it unchanged in every iteration."""
        placeholders = [node for node in body_module.graph.nodes if node.op == "placeholder"]
        operator_of: Any = caller.target
        if operator_of.name() in ("cond", "while_loop", "scan", "associative_scan", "map_impl"):
            operands = pytree.tree_leaves(_args(caller)[-1])  # the last argument; those before it are carried values and slices of tensors
        else:
            operands = pytree.tree_leaves(_args(caller)[_args(caller).index(body) + 1 :])
        names = {}
        for placeholder, operand in zip(reversed(placeholders), reversed(operands)):
            name = self.lifted(operand) if isinstance(operand, fx.Node) else None
            if name is not None:
                names[placeholder.name] = name
        return State(self.values, names, self.constants, self.persistent)

    def lifted(self, node: fx.Node) -> str | None:
        """Return the qualified name of the state that `node` reads or, as the result of an in-place operator, has changed."""
        while node.name not in self.names:
            same = given_back(node)
            if same is None:
                return None
            node = same
        return self.names[node.name]


def _args(node: fx.Node) -> tuple[Any, ...]:
    """Return the arguments of a node as a tuple."""
    return node.args


def changed_argument(node: fx.Node) -> fx.Node | None:
    """Return the argument that a node returns after changing it in place."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return None
    schema = node.target._schema
    if len(schema.returns) != 1 or schema.returns[0].alias_info is None:
        return None
    if not schema.returns[0].alias_info.is_write:
        return None
    for i, argument in enumerate(schema.arguments):
        if argument.alias_info and argument.alias_info.before_set == schema.returns[0].alias_info.before_set:
            value = _args(node)[i] if i < len(_args(node)) else node.kwargs.get(argument.name)
            return value if isinstance(value, fx.Node) else None
    return None


def given_back(node: fx.Node) -> fx.Node | None:
    """Return the argument that a node returns as its result, unchanged or changed in place."""
    if node.target is operator.getitem:
        return handed_through(node) or given_back_in_list(node)
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return None
    changed = changed_argument(node)
    value, first = node.meta.get("val"), _args(node)[0] if _args(node) else None
    if changed is not None or not isinstance(value, torch.Tensor) or not isinstance(first, fx.Node):
        return changed
    if not isinstance(first.meta.get("val"), torch.Tensor) or node.target.namespace != "aten":
        return None
    before = first.meta["val"]
    if str((before.shape, before.dtype, before.stride())) != str((value.shape, value.dtype, value.stride())):
        return None  # compared as text: a comparison of sizes that depend on data would raise
    args, kwargs = fx.map_arg((_args(node), node.kwargs), lambda other: other.meta["val"])
    fake: Any = value
    with fake.fake_mode, torch.no_grad():
        return first if node.target(*args, **kwargs) is before else None


def given_back_in_list(item: fx.Node) -> fx.Node | None:
    maker, index = _args(item)
    if getattr(maker.target, "_opname", "") not in ("broadcast_tensors", "atleast_1d", "atleast_2d", "atleast_3d"):
        return None
    with item.meta["val"].fake_mode:
        results = maker.target(*fx.map_arg(_args(maker), lambda other: other.meta["val"]))
    return next((other for other in maker.all_input_nodes if other.meta["val"] is results[index]), None)


def handed_through(item: fx.Node) -> fx.Node | None:
    """Return the operand that a region (no_grad, autocast) returns unchanged from its body as this result."""
    region, index = _args(item)
    if not isinstance(region, fx.Node) or not str(region.target).startswith("wrap"):
        return None
    at = next(i for i, arg in enumerate(_args(region)) if isinstance(arg, fx.Node) and arg.op == "get_attr")
    body = getattr(region.graph.owning_module, _args(region)[at].target)
    node = next(node for node in body.graph.nodes if node.op == "output").args[0][index]
    while isinstance(node, fx.Node) and node.op != "placeholder":
        node = given_back(node)
    placeholders = [node for node in body.graph.nodes if node.op == "placeholder"]
    return None if node is None else _args(region)[at + 1 + placeholders.index(node)]


def nodes_by_name(graph_module: fx.GraphModule) -> dict[str, fx.Node]:
    """Return the nodes by their names in the archive.

    torch.export.load renames some: NAME_unused without a result, and NAME_OVERLOAD where the archive (before torch 2.8) has no name
    for an operator with several results.
    """
    nodes = {node.name: node for node in graph_module.graph.nodes}
    other = {}
    for name, node in nodes.items():
        if node.op == "call_function" and node.target is not operator.getitem:
            overload = getattr(node.target, "_overloadname", "unused").lower()
            other[re.sub(rf"_({overload}|unused)(?=(_\d+)?$)", "", name)] = node
        other.update(dict.fromkeys(node.meta.get(RESULTS_KEY, ()), node))
    return other | nodes


def operation(node: fx.Node) -> fx.Node:
    """Return the node that calls the operator; its first result stands for an operator that has no name in the archive."""
    return _args(node)[0] if node.target is operator.getitem else node


class ProgramNodes:
    """The nodes of a program's graph, by name and by their position in it."""

    def __init__(self, module: fx.GraphModule):
        self.module = module
        self.by_name = nodes_by_name(module)
        self.places = {node: place for place, node in enumerate(module.graph.nodes)}


class Leaf:
    """A module of the nodes of a program's graph that one node of the rebuilt graph stands for.

    `mutations` are the updates of state that the program returns as outputs and that no node of the rebuilt graph carries out: the
    name of the node with the new value, and the qualified names of the state that it updates.
    """

    def __init__(self, call: Node, program: ProgramNodes, state: State, mutations: dict[str, list[str]]):
        self.call = call
        self.source = program.module
        self.state = state
        self.by_name = by_name = program.by_name
        named = (*call.program_nodes, *(place.value for place in (*call.program_inputs, *call.program_results)))
        unknown = [name for name in named if name not in by_name]
        if unknown:
            raise RebuildError(f"the program has no nodes {unknown}")
        listed = [operation(by_name[name]) for name in call.program_nodes]
        known = set(listed)
        inside, added = set(listed), list(listed)
        while added:  # results of an operator with several are nodes of their own
            node = added.pop()
            results = [user for user in node.users if user.target is operator.getitem and _args(user)[0] is node]
            added += [each for each in results if each not in inside]
            inside.update(results)
        self.nodes = sorted(inside, key=program.places.__getitem__)
        if [node for node in self.nodes if node in known] != listed:
            raise RebuildError(f"expected nodes in the program's order, got {list(call.program_nodes)}")
        self.writes = [(node, target) for node in self.nodes for target in mutations.get(node.name, ())]
        self.inputs = {by_name[place.value]: place.path for place in call.program_inputs}

    def build(self) -> fx.GraphModule:
        """Build the module for a call with these arguments."""
        self._new = fx.Graph()
        self._values: dict[fx.Node, Any] = {}  # values by the program's node
        self._attributes: dict[str, Any] = {}  # values by their names in the module
        self._names: dict[str, str] = {}  # names in the program by name in the module
        self._bind()
        for node in self.nodes:
            if node not in self._values:
                self._values[node] = self._new.node_copy(node, self._value)
        for node, target in self.writes:
            self._new.call_function(torch.ops.aten.copy_.default, (self._read(target), self._values[node]))
        results = {place.path: self._value(self.by_name[place.value]) for place in self.call.program_results}
        self._new.output(nested(results))
        root = torch.nn.Module()
        for name in sorted(self._attributes, key=lambda name: name.count(".")):
            place_attribute(root, name, self._attributes[name])
        name = (self.call.scope.module_type or "").split(".")[-1]
        set_code(self._new, {})
        module = fx.GraphModule(root, self._new, name if name.isidentifier() else "Leaf")
        for name, original in self._names.items():
            if original not in self.state.persistent:
                leave_out_of_state_dict(module, name)
        return module

    def random_arguments(self) -> tuple[Any, Any]:
        """Return random arguments with the sizes of the program's example."""
        places = iter(self.call.program_inputs)

        def value_of(value: Any) -> Any:
            if not isinstance(value, NodeRef):
                return value
            place = next(places)
            while not isinstance(_part_of(self.call, place.path), NodeRef):  # an argument that an option fixed
                place = next(places)
            return random_like(self.by_name[place.value].meta["val"])

        args, kwargs = map_values((self.call.args, self.call.kwargs), value_of)
        return args, kwargs

    def _bind(self) -> None:
        """Create the placeholders, and bind the program's values to them or their parts."""
        keys = [*range(len(self.call.args)), *self.call.kwargs]
        for place in self.call.program_inputs:
            if place.path[0] not in keys:
                raise RebuildError(f"{place.value} is an input of the call, but not among its arguments")
        names = [f"arg{i}" for i in range(len(self.call.args))]
        for place in self.call.program_inputs:
            if len(place.path) == 1 and isinstance(place.path[0], int) and place.value not in (*names, *self.call.kwargs):
                names[place.path[0]] = place.value
        placeholders = {key: self._new.placeholder(name) for key, name in zip(keys, (*names, *self.call.kwargs))}
        for node, path in self.inputs.items():
            value = placeholders[path[0]]
            for key in path[1:]:
                value = self._new.call_function(operator.getitem, (value, key))
            self._values[node] = value

    def _value(self, node: fx.Node) -> Any:
        if node not in self._values:
            self._values[node] = self._outer(node)
        return self._values[node]

    def _outer(self, node: fx.Node) -> Any:
        """Return a value that is not an argument: the leaf's own state, or a size that it computes."""
        if node.op == "get_attr":
            name = str(node.target)
            self._attributes[name] = getattr(self.source, name)
            return self._new.get_attr(name)
        same = given_back(node)
        if same is not None and same in self._values:
            return self._values[same]
        lifted = self.state.lifted(node)
        if lifted is not None:
            return self._read(lifted)
        if same is not None:
            return self._value(same)
        if not isinstance(node.meta["val"], torch.Tensor):
            return self._size(node.meta["val"])
        raise RebuildError(f"{node.name} is an input of the call, but not among its arguments")

    def _read(self, original: str) -> fx.Node:
        """Return a node for the parameter, buffer, constant or object of this name in the program."""
        path = self.call.target
        prefix = path + "." if path else ""
        if original.startswith(prefix):
            name = original.removeprefix(prefix)
        else:
            name = "shared_" + original.replace(".", "_")
        if self._names.setdefault(name, original) != original:
            raise RebuildError(f"{original!r} and {self._names[name]!r} would both be called {name}")
        self._attributes[name] = self.state.values[original]
        return self._new.get_attr(name)

    def _size(self, size: Any) -> Any:
        """Return a size of an argument, or an expression of such sizes."""
        if not isinstance(size, torch.SymInt):
            return size
        tracer = fx.proxy.GraphAppendingTracer(self._new)

        def find(wanted: Any) -> Any:
            for node in self.inputs:
                value = node.meta["val"]
                for dim, length in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
                    if isinstance(length, torch.SymInt) and (line := _affine(wanted, length.node.expr)) is not None:
                        factor, offset, divisor = line
                        read = self._new.call_function(torch.ops.aten.sym_size.int, (self._values[node], dim))
                        return read if line == (1, 0, 1) else (fx.Proxy(read, tracer) * factor + offset) // divisor
            return None

        expression = size.node.expr
        found: Any = find(expression)
        if found is None:
            names = {symbol: find(symbol) for symbol in sorted(expression.free_symbols, key=str)}
            if None in names.values():
                raise RebuildError(f"{size} does not follow from the sizes of the arguments")
            proxies = {symbol: fx.Proxy(value, tracer) if isinstance(value, fx.Node) else value for symbol, value in names.items()}
            found = sympy_interp(PythonReferenceAnalysis, proxies, expression)
        return found.node if isinstance(found, fx.Proxy) else found


def _affine(size: Any, other: Any) -> tuple[int, int, int] | None:
    """Return (factor, offset, divisor) if size is (factor*other + offset) / divisor for all values of the symbols."""
    if size == other:
        return 1, 0, 1
    symbols = sorted(size.free_symbols | other.free_symbols, key=str)
    first, second = ({symbol: start + step * i for i, symbol in enumerate(symbols)} for start, step in ((61, 1), (127, 7)))
    rise, run = (each.subs(second) - each.subs(first) for each in (size, other))
    if rise == 0 or run == 0:
        return None
    slope = sympy.Rational(int(rise), int(run))
    offset = sympy.expand(size * slope.q - other * slope.p)
    return (int(slope.p), int(offset), int(slope.q)) if offset.is_Integer else None


def _part_of(call: Node, path: tuple[int | str, ...]) -> Any:
    value: Any = call.args if isinstance(path[0], int) else call.kwargs
    for key in path:
        value = value[key]
    return value


def random_like(value: Any) -> Any:
    """Return a random value with the sizes of the program's example; indices are 0 and 1."""

    def size(number: Any) -> Any:
        return number if not isinstance(number, torch.SymInt) else 2 if number.node.hint is None else number.node.hint

    if not isinstance(value, torch.Tensor):
        return size(value)
    shape = [size(length) for length in value.shape]
    if value.is_floating_point() or value.is_complex():
        return torch.randn(shape, dtype=value.dtype)
    return torch.randint(0, 2, shape).to(value.dtype)


class RootLeaf(torch.nn.Module):
    """A module of the whole program, called with the leaves of its inputs in order."""

    def __init__(self, program: ExportedProgram):
        super().__init__()
        self.module = program.module()
        self._in_spec: Any = program.call_spec.in_spec

    def forward(self, *leaves: Any) -> Any:
        args, kwargs = pytree.tree_unflatten(leaves, self._in_spec)
        return self.module(*args, **kwargs)


def nested(results: dict[tuple[Any, ...], Any]) -> Any:
    """Nest results by their paths: {(0,): a, (1, 1): b} -> (a, (None, b)), {("x",): a} -> {"x": a}."""
    if () in results:
        return results[()]
    inner: dict[Any, dict[tuple[Any, ...], Any]] = {}
    for (first, *rest), value in results.items():
        inner.setdefault(first, {})[tuple(rest)] = value
    if not all(isinstance(key, int) for key in inner):
        return {key: nested(parts) for key, parts in inner.items()}
    return tuple(nested(inner[i]) if i in inner else None for i in range(max(inner, default=-1) + 1))
