"""Leaves of exported programs: some nodes of a program's graph as a module of their own.

Which values enter and leave them is worked out here anew, from the program as torch.export loads it, so a call with
other arguments or results than these is an error.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree

from ._data import Node
from ._errors import RebuildError
from ._tree import leave_out_of_state_dict, place_attribute
from ._values import NodeRef

LIFTED = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR, InputKind.CUSTOM_OBJ)


def state_of(program: ExportedProgram) -> dict[str, Any]:
    """Parameters, buffers, constants and objects by qualified name."""
    return {**program.constants, **program.state_dict}


def is_same(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor) or a.numel() == 0:
        return a is b
    return (a.data_ptr(), a.shape, a.stride(), a.dtype) == (b.data_ptr(), b.shape, b.stride(), b.dtype)


class State:
    """What inputs of a graph stand for a parameter, buffer, constant or object: by the placeholder's name."""

    def __init__(self, values: dict[str, Any], names: dict[str, str], constants: set[str], persistent: set[str]):
        self.values = values
        self.names = names  # of the placeholder: qualified name
        self.constants = constants
        self.persistent = persistent  # what is in the model's state_dict

    @classmethod
    def of_program(cls, program: ExportedProgram) -> State:
        specs = program.graph_signature.input_specs
        names = {spec.arg.name: spec.target for spec in specs if spec.kind in LIFTED}
        constants = set(program.constants) - set(program.graph_signature.buffers)
        persistent = set(program.state_dict) - set(program.graph_signature.non_persistent_buffers)
        return cls(state_of(program), names, constants, persistent)

    def belongs_to(self, node: fx.Node, paths: set[str]) -> bool:
        """Whether the node reads a tensor, by any of its names, of one of these modules; or a constant."""
        name = self.lifted(node)
        if name is None or name in self.constants:
            return name is not None
        value = self.values[name]
        names = [name] + [other for other, tensor in self.values.items() if is_same(tensor, value)]
        return any(name.startswith(path + ".") for name in names for path in paths)

    def of_body(self, caller: fx.Node, body: fx.Node, body_module: fx.GraphModule) -> State:
        """For the body of control flow, where the caller's operands reach it unchanged in every turn."""
        placeholders = [node for node in body_module.graph.nodes if node.op == "placeholder"]
        operator_of: Any = caller.target
        if operator_of.name() in ("cond", "while_loop", "scan", "associative_scan", "map_impl"):
            operands = pytree.tree_leaves(_args(caller)[-1])  # before these: carried values, slices of tensors
        else:
            operands = pytree.tree_leaves(_args(caller)[_args(caller).index(body) + 1 :])
        names = {}
        for placeholder, operand in zip(reversed(placeholders), reversed(operands)):
            name = self.lifted(operand) if isinstance(operand, fx.Node) else None
            if name is not None:
                names[placeholder.name] = name
        return State(self.values, names, self.constants, self.persistent)

    def lifted(self, node: fx.Node) -> str | None:
        """The qualified name that `node` reads or, as the result of an operator in place, has changed."""
        while node.name not in self.names:
            same = given_back(node)
            if same is None:
                return None
            node = same
        return self.names[node.name]


def _args(node: fx.Node) -> tuple[Any, ...]:
    """The arguments of a node that is known to have such."""
    return node.args


def changed_argument(node: fx.Node) -> fx.Node | None:
    """The argument that a node gives back after changing it in place."""
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
    """The argument that is the node's result itself, unchanged or changed in place."""
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
        return None  # as text: a question about sizes that depend on data would raise
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
    """The operand that a region (no_grad, autocast) hands through its body as this result."""
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


def changes_something(node: fx.Node) -> bool:
    if node.target is operator.getitem or not callable(node.target):
        return False
    if isinstance(node.target, torch._ops.OpOverload):
        return node.target._schema.is_mutable or node.target.namespace != "aten"
    return "torch" not in getattr(node.target, "__module__", "") or isinstance(
        node.target, torch._ops.HigherOrderOperator
    )


def nodes_by_name(graph_module: fx.GraphModule) -> dict[str, fx.Node]:
    """By the names in the archive.  For some, torch.export.load makes others: NAME_unused without a result,
    and NAME_OVERLOAD where the archive (before torch 2.8) has no name for an operator with several."""
    nodes = {node.name: node for node in graph_module.graph.nodes}
    other = {}
    for name, node in nodes.items():
        if node.op == "call_function" and node.target is not operator.getitem:
            overload = getattr(node.target, "_overloadname", "unused").lower()
            other[re.sub(rf"_({overload}|unused)(?=(_\d+)?$)", "", name)] = node
    return other | nodes


def operation(node: fx.Node) -> fx.Node:
    """Where an operator with several results has no name in the archive, its first result stands for it."""
    return _args(node)[0] if node.target is operator.getitem else node


class Leaf:
    """Some nodes of a program's graph, called as one module.

    `mutations` are those that the program has as outputs and nodes of the rebuilt graph do not carry out: the
    name of the node with the new value, and the qualified names of what changes.
    """

    def __init__(
        self,
        names: list[str],
        graph_module: fx.GraphModule,
        state: State,
        mutations: dict[str, list[str]],
        signature: Any,
        path: str,
        module_type: str,
    ):
        self.module_type = module_type
        self.path = path
        self.by_name = by_name = nodes_by_name(graph_module)
        unknown = [name for name in names if name not in by_name]
        if unknown:
            raise RebuildError(f"the program has no nodes {unknown}")
        listed = [operation(by_name[name]) for name in names]
        inside = set(listed)
        for node in graph_module.graph.nodes:  # results of operators with several are nodes of their own
            if node.target is operator.getitem and _args(node)[0] in inside:
                inside.add(node)
        self.nodes = [node for node in graph_module.graph.nodes if node in inside]
        if [node for node in self.nodes if node in listed] != listed:
            raise RebuildError(f"{names} is not the program's order")
        self.source = graph_module
        self.state = state
        self.signature = signature
        paths = self._paths(path)
        self.parts: list[tuple[int, ...]] | None = None  # of the result, in the order of `leaving`, where given
        self.entering = list(dict.fromkeys(node for user in self.nodes for node in self._enters(user, inside, paths)))
        self.writes = []
        used = []
        for node in self.nodes:
            if node.name in mutations:
                self.writes += [(node, target) for target in mutations[node.name]]
            if not state.belongs_to(node, paths) and self._is_used_outside(node, inside, mutations):
                used.append(node)
        from_outside = [node for node in self.nodes if self._outside(node, inside) is not None]
        self.leaving = [node for node in used if node not in from_outside]
        if not self.leaving and not any(changes_something(node) for node in self.nodes if node not in from_outside):
            self.leaving = used

    def _paths(self, path: str) -> set[str]:
        """The leaf's module, and the modules that run within its call."""
        paths = {path}
        nodes = list(self.nodes)
        for node in nodes:
            stack = [item[0].partition("@")[0] for item in node.meta.get("nn_module_stack", {}).values()]
            paths.update(stack[stack.index(path) :] if path in stack else stack[1:])
            for body in node.all_input_nodes:
                if body.op == "get_attr":
                    nodes += getattr(body.graph.owning_module, body.target).graph.nodes
        return paths

    @staticmethod
    def _outside(node: fx.Node, inside: set[fx.Node]) -> fx.Node | None:
        """The node outside of the leaf that this one hands on."""
        found: fx.Node | None = node
        while found is not None and found in inside:
            found = given_back(found)
        return found

    def _enters(self, user: fx.Node, inside: set[fx.Node], paths: set[str]) -> list[fx.Node]:
        return [
            node
            for node in user.all_input_nodes
            if node not in inside and node.op != "get_attr" and not self.state.belongs_to(node, paths)
        ]

    @staticmethod
    def _is_used_outside(node: fx.Node, inside: set[fx.Node], mutations: dict[str, list[str]]) -> bool:
        for user in node.users:
            if user in inside:
                continue
            if user.op != "output":
                return True
            results = pytree.tree_leaves(_args(user)[0])
            if results.count(node) > len(mutations.get(node.name, [])):
                return True
        return False

    def result_paths(self) -> dict[fx.Node, tuple[int, ...]]:
        """Where in the result of the module's forward each leaving node is."""
        if self.parts is not None:
            return dict(zip(self.leaving, self.parts))
        if self.module_type in RESULTS:
            return {node: RESULTS[self.module_type](node) for node in self.leaving}
        if len(self.leaving) == 1:
            return {self.leaving[0]: ()}
        return {node: (i,) for i, node in enumerate(self.leaving)}

    def reorder(self, given: list[fx.Node]) -> None:
        """For modules of torch.nn with arguments in an order of their own: what the nodes of the JSON that are
        the arguments stand for."""
        entering = {identity(node): node for node in self.entering}
        found = [entering.pop(identity(node), None) for node in given]
        if any(isinstance(node.meta["val"], torch.Tensor) for node in entering.values()):
            raise RebuildError(f"{list(entering.values())} enter, but are not among the arguments {given}")
        again = {identity(node): node for node in self.entering}
        known = [node or again.get(identity(other)) for node, other in zip(found, given)]
        self.entering = [node for node in known if node is not None]
        if len(self.entering) != len(given):
            raise RebuildError(f"of the arguments {given} only {self.entering} enter")
        self.sizes = list(entering.values())

    def has_own_operator(self) -> bool:
        """Whether one operator computes what the module returns; False of a recurrent module, decomposed into steps."""
        return self.module_type not in RECURRENT or any(
            getattr(node.target, "_opname", "") in RECURRENT_OPERATORS for node in self.nodes
        )

    def build(self, call: Node) -> fx.GraphModule:
        """The module, for a call of it with these arguments."""
        self._new = fx.Graph()
        self._values: dict[fx.Node, fx.Node] = {}  # by the program's node
        self._attributes: dict[str, Any] = {}  # by the name in the module
        self._names: dict[str, str] = {}  # of what that is in the program
        self._bind(call)
        for node in self.nodes:
            self._values[node] = self._new.node_copy(node, self._value)
        for node, target in self.writes:
            self._new.call_function(torch.ops.aten.copy_.default, (self._read(target), self._values[node]))
        self._new.output(self._result())
        root = torch.nn.Module()
        for name in sorted(self._attributes, key=lambda name: name.count(".")):
            place_attribute(root, name, self._attributes[name])
        module = fx.GraphModule(root, self._new, self.module_type or "Leaf")
        for name, original in self._names.items():
            if original not in self.state.persistent:
                leave_out_of_state_dict(module, name)
        return module

    def _value(self, node: fx.Node) -> fx.Node:
        if node in self._values:
            return self._values[node]
        if node.op == "get_attr":
            name = str(node.target)
            self._attributes[name] = getattr(self.source, name)
            made = self._new.get_attr(name)
        else:
            lifted = self.state.lifted(node)
            if lifted is None:
                raise RebuildError(f"{node.name} enters, but is not among the arguments")
            made = self._read(lifted)
        self._values[node] = made
        return made

    def _read(self, original: str) -> fx.Node:
        """The parameter, buffer, constant or object of this name in the program."""
        prefix = self.path + "." if self.path else ""
        if original.startswith(prefix):
            name = original.removeprefix(prefix)
        else:
            name = "shared_" + original.replace(".", "_")
        if self._names.setdefault(name, original) != original:
            raise RebuildError(f"{original!r} and {self._names[name]!r} would both be called {name}")
        self._attributes[name] = self.state.values[original]
        return self._new.get_attr(name)

    def _bind(self, call: Node) -> None:
        """Makes the placeholders, and what the program's nodes stand for among them."""
        args, kwargs = call.args, call.kwargs
        plain = self.signature is None and self.module_type not in ARGUMENTS
        if plain and (kwargs or len(args) != len(self.entering)):
            names = [node.name for node in self.entering]
            raise RebuildError(f"{len(args)} arguments and {list(kwargs)} for {names}")
        if self.signature is not None:
            order = self.signature.in_spec.children()[1].context
            if set(order) != set(kwargs):
                raise RebuildError(f"keyword arguments {list(kwargs)}, but the call signature has {order}")
            kwargs = {name: kwargs[name] for name in order}
        names = [node.name for node in self.entering] if plain else [f"arg{i}" for i in range(len(args))]
        inputs = (
            [self._new.placeholder(name) for name in names],
            {name: self._new.placeholder(name) for name in kwargs},
        )
        if plain:
            self._values.update(zip(self.entering, inputs[0]))
            return
        found, spec = pytree.tree_flatten_with_path((args, kwargs))
        if self.signature is not None:
            if spec != self.signature.in_spec:
                raise RebuildError(
                    f"the arguments are nested as {spec}, the call signature says {self.signature.in_spec}"
                )
            for item, (path, _) in zip(self.signature.inputs, found):
                if hasattr(item, "name") and item.name in self.by_name:
                    self._values[self.by_name[item.name]] = self._unpack(inputs, path)
            return
        nodes = [path for path, value in found if isinstance(value, NodeRef)]
        if len(nodes) != len(self.entering):
            raise RebuildError(f"{len(nodes)} arguments for {[node.name for node in self.entering]}")
        for node, path in zip(self.entering, nodes):
            self._values[node] = self._unpack(inputs, path)
        for size in self.sizes:
            self._values[size] = self._size(size)

    def _unpack(self, inputs: Any, path: tuple[Any, ...]) -> fx.Node:
        """The part of the arguments with this path in a tree of pytree."""
        value = inputs
        for depth, key in enumerate(path):
            if isinstance(key, pytree.GetAttrKey):  # a field of a named tuple
                value = self._new.call_function(getattr, (value, key.name))
                continue
            position = key.idx if isinstance(key, pytree.SequenceKey) else key.key
            value = value[position] if depth < 2 else self._new.call_function(operator.getitem, (value, position))
        node: fx.Node = value
        return node

    def _size(self, size: fx.Node) -> fx.Node:
        for node in self.entering:
            for dim, length in enumerate(node.meta["val"].shape):
                if str(length) == str(size.meta["val"]):
                    return self._new.call_function(torch.ops.aten.sym_size.int, (self._values[node], dim))
        raise RebuildError(f"{size} is no size of the arguments")

    def _result(self) -> Any:
        if self.signature is None:
            return nested({path: self._values[node] for node, path in self.result_paths().items()})
        results = [
            self._value(self.by_name[item.name]) if getattr(item, "name", None) in self.by_name else item.value
            for item in self.signature.outputs
        ]
        return pytree.tree_unflatten(results, self.signature.out_spec)


def identity(node: fx.Node) -> fx.Node:
    while (same := given_back(node)) is not None:
        node = same
    return node


def behind_views(node: fx.Node) -> fx.Node:
    """What the node is made of alone: back to the operator with several operands or results."""
    while node.target is not operator.getitem and len(node.all_input_nodes) == 1:
        if "softmax" in str(node.target):
            break
        node = node.all_input_nodes[0]
    return node


def nested(results: dict[tuple[int, ...], Any]) -> Any:
    """{(0,): a, (1, 1): b} -> (a, (None, b))"""
    if () in results:
        return results[()]
    inner: dict[int, dict[tuple[int, ...], Any]] = {}
    for (first, *rest), value in results.items():
        inner.setdefault(first, {})[tuple(rest)] = value
    return tuple(nested(inner[i]) if i in inner else None for i in range(max(inner, default=-1) + 1))


def lstm_path(node: fx.Node) -> tuple[int, ...]:
    index = _args(behind_views(node))[1]
    return (0,) if index == 0 else (1, index - 1)


def pool_path(node: fx.Node) -> tuple[int, ...]:
    """Alone, the pooled tensor is the result; the indices never are."""
    others = sum(bool(item.users) for item in _args(node)[0].users) if node.target is operator.getitem else 0
    return () if others == 0 or (_args(node)[1] == 0 and others == 1) else (_args(node)[1],)


# Modules of torch.nn whose results are nested, or whose arguments are in another order than that of their use.
RESULTS: dict[str, Callable[[fx.Node], tuple[int, ...]]] = {
    "LSTM": lstm_path,
    "GRU": lambda node: (_args(behind_views(node))[1],),
    "RNN": lambda node: (_args(behind_views(node))[1],),
    "LSTMCell": lambda node: (_args(behind_views(node))[1],),
    **{f"{kind}MaxPool{dims}d": pool_path for kind in ("", "Adaptive") for dims in (1, 2, 3)},
    "MultiheadAttention": lambda node: (int("softmax" in str(behind_views(node).target)),),
}
RECURRENT = ("LSTM", "GRU", "RNN", "LSTMCell")
RECURRENT_OPERATORS = ("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell")
ARGUMENTS = {
    *RESULTS,
    *("GRUCell", "RNNCell", "Bilinear", "CosineSimilarity", "PairwiseDistance", "EmbeddingBag", "Transformer"),
    *("TransformerEncoder", "TransformerEncoderLayer", "TransformerDecoder", "TransformerDecoderLayer"),
    *("TripletMarginLoss", "CosineEmbeddingLoss", "MarginRankingLoss", "MSELoss", "CrossEntropyLoss"),
}
