#!/usr/bin/env python3
"""Turns a graph of an exported program's GraphCollection into a torch.fx.GraphModule, node by node.

    rebuild_exported.py MODEL COLLECTION [NAME]     # prints its code; NAME of one of several programs

A leaf runs the nodes of the program that the collection says it stands for.  Which values enter and leave
them is worked out here anew, from the program as torch.export loads it, so a call with other arguments or
results than these is an error.
"""

import json
import logging
import operator
import re
import sys
import zipfile
from typing import Any, Callable

import torch
from rebuild import RebuildError, Rebuilder, decode_constant
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

LIFTED = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR, InputKind.CUSTOM_OBJ)


def load(path: str, model: str = "") -> ExportedProgram:
    for name in (
        "torch.export",
        "torch._export",
    ):  # they warn of old layouts, and of classes in sample inputs
        logging.getLogger(name).setLevel(logging.ERROR)
    if not model:
        return torch.export.load(path)
    from torch.export.pt2_archive._package import load_pt2

    return load_pt2(path).exported_programs[model]


def state_of(program: ExportedProgram) -> dict[str, Any]:
    """Parameters, buffers, constants and objects by qualified name."""
    return {**program.constants, **program.state_dict}


def is_same(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor) or a.numel() == 0:
        return a is b
    return (a.data_ptr(), a.shape, a.stride(), a.dtype) == (b.data_ptr(), b.shape, b.stride(), b.dtype)


class State:
    """What inputs of a graph stand for a parameter, buffer, constant or object: by the placeholder's name."""

    def __init__(self, values: dict[str, Any], names: dict[str, str], constants: set[str]):
        self.values = values
        self.names = names  # of the placeholder: qualified name
        self.constants = constants

    @classmethod
    def of_program(cls, program: ExportedProgram) -> "State":
        specs = program.graph_signature.input_specs
        names = {spec.arg.name: spec.target for spec in specs if spec.kind in LIFTED}
        return cls(state_of(program), names, set(program.constants) - set(program.graph_signature.buffers))

    def belongs_to(self, node: fx.Node, paths: set[str]) -> bool:
        """Whether the node reads a tensor, by any of its names, of one of these modules; or a constant."""
        name = self.lifted(node)
        if name is None or name in self.constants:
            return name is not None
        value = self.values[name]
        names = [name] + [other for other, tensor in self.values.items() if is_same(tensor, value)]
        return any(name.startswith(path + ".") for name in names for path in paths)

    def of_body(self, caller: fx.Node, body: fx.Node, body_module: fx.GraphModule) -> "State":
        """For the body of control flow, where the caller's operands reach it unchanged in every turn."""
        placeholders = [node for node in body_module.graph.nodes if node.op == "placeholder"]
        if caller.target.name() in ("cond", "while_loop", "scan", "associative_scan", "map_impl"):
            operands = pytree.tree_leaves(caller.args[-1])  # before these: carried values, slices of tensors
        else:
            operands = pytree.tree_leaves(caller.args[caller.args.index(body) + 1 :])
        names = {}
        for placeholder, operand in zip(reversed(placeholders), reversed(operands)):
            name = self.lifted(operand) if isinstance(operand, fx.Node) else None
            if name is not None:
                names[placeholder.name] = name
        return State(self.values, names, self.constants)

    def lifted(self, node: fx.Node) -> str | None:
        """The qualified name that `node` reads or, as the result of an operator in place, has changed."""
        while node.name not in self.names:
            same = given_back(node)
            if same is None:
                return None
            node = same
        return self.names[node.name]


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
            value = node.args[i] if i < len(node.args) else node.kwargs.get(argument.name)
            return value if isinstance(value, fx.Node) else None
    return None


def given_back(node: fx.Node) -> fx.Node | None:
    """The argument that is the node's result itself, unchanged or changed in place."""
    if node.target is operator.getitem:
        return handed_through(node) or given_back_in_list(node)
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return None
    changed = changed_argument(node)
    value, first = node.meta.get("val"), node.args[0] if node.args else None
    if changed is not None or not isinstance(value, torch.Tensor) or not isinstance(first, fx.Node):
        return changed
    if not isinstance(first.meta.get("val"), torch.Tensor) or node.target.namespace != "aten":
        return None
    before = first.meta["val"]
    if str((before.shape, before.dtype, before.stride())) != str((value.shape, value.dtype, value.stride())):
        return None  # as text: a question about sizes that depend on data would raise
    args, kwargs = fx.map_arg((node.args, node.kwargs), lambda other: other.meta["val"])
    with value.fake_mode, torch.no_grad():
        return first if node.target(*args, **kwargs) is before else None


def given_back_in_list(item: fx.Node) -> fx.Node | None:
    maker, index = item.args
    if getattr(maker.target, "_opname", "") not in ("broadcast_tensors", "atleast_1d", "atleast_2d", "atleast_3d"):
        return None
    with item.meta["val"].fake_mode:
        results = maker.target(*fx.map_arg(maker.args, lambda other: other.meta["val"]))
    return next((other for other in maker.all_input_nodes if other.meta["val"] is results[index]), None)


def handed_through(item: fx.Node) -> fx.Node | None:
    """The operand that a region (no_grad, autocast) hands through its body as this result."""
    region, index = item.args
    if not isinstance(region, fx.Node) or not str(region.target).startswith("wrap"):
        return None
    at = next(i for i, arg in enumerate(region.args) if isinstance(arg, fx.Node) and arg.op == "get_attr")
    body = getattr(region.graph.owning_module, region.args[at].target)
    node = next(node for node in body.graph.nodes if node.op == "output").args[0][index]
    while isinstance(node, fx.Node) and node.op != "placeholder":
        node = given_back(node)
    placeholders = [node for node in body.graph.nodes if node.op == "placeholder"]
    return None if node is None else region.args[at + 1 + placeholders.index(node)]


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
    return node.args[0] if node.target is operator.getitem else node


class Leaf(torch.nn.Module):
    """Some nodes of a program's graph, run as one call.

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
        super().__init__()
        self.module_type = module_type
        by_name = nodes_by_name(graph_module)
        unknown = [name for name in names if name not in by_name]
        if unknown:
            raise RebuildError(f"the program has no nodes {unknown}")
        listed = [operation(by_name[name]) for name in names]
        inside = set(listed)
        for node in graph_module.graph.nodes:  # results of operators with several are nodes of their own
            if node.target is operator.getitem and node.args[0] in inside:
                inside.add(node)
        self.nodes = [node for node in graph_module.graph.nodes if node in inside]
        if [node for node in self.nodes if node in listed] != listed:
            raise RebuildError(f"{names} is not the program's order")
        self.graph_module_ = [graph_module]  # in a list: it is no submodule
        self.state = state
        self.signature = signature
        paths = self._paths(path)
        self.entering = list(
            dict.fromkeys(node for user in self.nodes for node in self._enters(user, inside, paths))
        )
        self.writes = []
        used = []
        for node in self.nodes:
            if node.name in mutations:
                self.writes += [(node, target) for target in mutations[node.name]]
            if not state.belongs_to(node, paths) and self._is_used_outside(node, inside, mutations):
                used.append(node)
        from_outside = [node for node in self.nodes if self._outside(node, inside) is not None]
        self.leaving = [node for node in used if node not in from_outside]
        if not self.leaving and not any(
            changes_something(node) for node in self.nodes if node not in from_outside
        ):
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
    def _outside(node: fx.Node, inside: set) -> fx.Node | None:
        """The node outside of the leaf that this one hands on."""
        found: fx.Node | None = node
        while found is not None and found in inside:
            found = given_back(found)
        return found

    def _enters(self, user: fx.Node, inside: set, paths: set[str]) -> list[fx.Node]:
        return [
            node
            for node in user.all_input_nodes
            if node not in inside and node.op != "get_attr" and not self.state.belongs_to(node, paths)
        ]

    @staticmethod
    def _is_used_outside(node: fx.Node, inside: set, mutations: dict) -> bool:
        for user in node.users:
            if user in inside:
                continue
            if user.op != "output":
                return True
            results = pytree.tree_leaves(user.args[0])
            if results.count(node) > len(mutations.get(node.name, [])):
                return True
        return False

    def result_paths(self) -> dict[fx.Node, tuple[int, ...]]:
        """Where in the result of the module's forward each leaving node is."""
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
        self.entering = [node or again.get(identity(other)) for node, other in zip(found, given)]
        if None in self.entering:
            raise RebuildError(f"of the arguments {given} only {self.entering} enter")
        self.sizes = list(entering.values())

    def forward(self, *args, **kwargs):
        values = self._bind(args, kwargs)

        def value(node: fx.Node) -> Any:
            if node.op == "get_attr":
                return getattr(self.graph_module_[0], node.target)
            if node in values:
                return values[node]
            name = self.state.lifted(node)
            if name is None:
                raise RebuildError(f"{node.name} enters, but is not among the arguments")
            return self.state.values[name]

        for node in self.nodes:
            arguments, keywords = fx.map_arg((node.args, node.kwargs), value)
            values[node] = node.target(*arguments, **keywords)
        for node, target in self.writes:
            self.state.values[target].copy_(values[node])
        if self.signature is not None:
            by_name = {node.name: node for node in self.graph_module_[0].graph.nodes}
            results = [
                value(by_name[item.name]) if hasattr(item, "name") and item.name in by_name else item.value
                for item in self.signature.outputs
            ]
            return pytree.tree_unflatten(results, self.signature.out_spec)
        return nested({path: values[node] for node, path in self.result_paths().items()})

    def _bind(self, args: tuple, kwargs: dict) -> dict[fx.Node, Any]:
        if self.signature is None and self.module_type in ARGUMENTS:
            tensors = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
            values = dict(zip(self.entering, tensors, strict=True))
            return values | {node: self._size(node, values) for node in self.sizes}
        if self.signature is None:
            if kwargs or len(args) != len(self.entering):
                names = [node.name for node in self.entering]
                raise RebuildError(f"{len(args)} arguments and {list(kwargs)} for {names}")
            return dict(zip(self.entering, args))
        by_name = {node.name: node for node in self.graph_module_[0].graph.nodes}
        in_spec = self.signature.in_spec
        order = in_spec.children()[1].context
        if set(order) != set(kwargs):
            raise RebuildError(f"keyword arguments {list(kwargs)}, but the call signature has {order}")
        given, spec = pytree.tree_flatten((args, {name: kwargs[name] for name in order}))
        if spec != in_spec:
            raise RebuildError(f"the arguments are nested as {spec}, the call signature says {in_spec}")
        return {
            by_name[item.name]: value
            for item, value in zip(self.signature.inputs, given)
            if hasattr(item, "name") and item.name in by_name
        }


    @staticmethod
    def _size(size: fx.Node, values: dict[fx.Node, Any]) -> int:
        for node, tensor in values.items():
            for dim, length in enumerate(node.meta["val"].shape):
                if str(length) == str(size.meta["val"]):
                    return tensor.shape[dim]
        raise RebuildError(f"{size} is no size of the arguments")


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
    inner: dict[int, dict] = {}
    for (first, *rest), value in results.items():
        inner.setdefault(first, {})[tuple(rest)] = value
    return tuple(nested(inner[i]) if i in inner else None for i in range(max(inner, default=-1) + 1))


def lstm_path(node: fx.Node) -> tuple[int, ...]:
    index = behind_views(node).args[1]
    return (0,) if index == 0 else (1, index - 1)


def pool_path(node: fx.Node) -> tuple[int, ...]:
    """Alone, the pooled tensor is the result; the indices never are."""
    others = sum(bool(item.users) for item in node.args[0].users) if node.target is operator.getitem else 0
    return () if others == 0 or (node.args[1] == 0 and others == 1) else (node.args[1],)


# Modules of torch.nn whose results are nested, or whose arguments are in another order than that of their use.
RESULTS: dict[str, Callable[[fx.Node], tuple[int, ...]]] = {
    "LSTM": lstm_path,
    "GRU": lambda node: (behind_views(node).args[1],),
    "RNN": lambda node: (behind_views(node).args[1],),
    "LSTMCell": lambda node: (behind_views(node).args[1],),
    **{f"{kind}MaxPool{dims}d": pool_path for kind in ("", "Adaptive") for dims in (1, 2, 3)},
    "MultiheadAttention": lambda node: (int("softmax" in str(behind_views(node).target)),),
}
ARGUMENTS = {
    *RESULTS,
    *("GRUCell", "RNNCell", "Bilinear", "CosineSimilarity", "PairwiseDistance", "EmbeddingBag", "Transformer"),
    *("TransformerEncoder", "TransformerEncoderLayer", "TransformerDecoder", "TransformerDecoderLayer"),
    *("TripletMarginLoss", "CosineEmbeddingLoss", "MarginRankingLoss", "MSELoss", "CrossEntropyLoss"),
}


class ProgramRebuilder(Rebuilder):
    def __init__(
        self,
        program: ExportedProgram,
        record: Callable[[str], torch.Tensor],
        body: fx.GraphModule | None = None,
        state: State | None = None,
    ):
        """`body`: of control flow, with what its inputs stand for; the program's own graph when left out."""
        super().__init__(torch.nn.Module(), record)
        self.program = program
        self.source = body or program.graph_module
        self.leaves: dict[str, Leaf] = {}
        self.is_body = body is not None
        self.state = state or State.of_program(program)

    def _attribute(self, node_json: dict) -> str:
        target = node_json["target"]
        if node_json["op"] == "call_module":
            return self._keep("leaf_" + node_json["name"], node_json["name"], self._leaf(node_json))
        state = state_of(self.program)
        if target in self.constants:
            self._check_constant(target, state)
        if target not in state:
            raise RebuildError(f"the program has no {target!r}")
        return self._keep(target, target, state[target])

    def _check_constant(self, target: str, state: dict) -> None:
        """The JSON has the program's values; the program's tensor itself is used, which leaves share."""
        decoded = decode_constant(self.constants[target], target, lambda record: self.record(record, target))
        ours, theirs = decoded.contiguous(), state[target].detach().contiguous()
        if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape) or not torch.equal(
            ours.reshape(-1).view(torch.uint8), theirs.reshape(-1).view(torch.uint8)
        ):
            raise RebuildError(f"the values of {target} are not the program's")

    def _leaf(self, node_json: dict) -> Leaf:
        names = node_json["program_nodes"]
        of_torch = re.fullmatch(r"torch\.nn\.modules\.\w+\.(\w+)", node_json["scope"]["module_type"] or "")
        leaf = Leaf(
            names,
            self.source,
            self.state,
            self._unwritten_mutations(),
            self._signature(node_json),
            node_json["target"],
            of_torch[1] if of_torch else "",
        )
        given = nodes_in([node_json["args"], node_json["kwargs"]])
        if leaf.module_type in ARGUMENTS and leaf.signature is None:
            known = {node.name for node in self.source.graph.nodes}
            tensors = [node for node in leaf.entering if isinstance(node.meta["val"], torch.Tensor)]
            if len(given) == len(tensors) == 1 and given[0] not in known:  # a node that a pass has made
                leaf.reorder(tensors)
            else:
                leaf.reorder([self._program_node(name) for name in given])
        self.leaves[node_json["name"]] = leaf
        results = len(leaf.leaving)
        positions = [
            user["args"][1]
            for user in self.graph_json["nodes"]
            if user["target"] == "operator.getitem" and user["args"][0] == {"node": node_json["name"]}
        ]
        if leaf.signature is None and results > 1 and not all(0 <= i < results for i in positions):
            raise RebuildError(f"results {positions} are used, but {results} leave")
        return leaf

    def _program_node(self, name: str) -> fx.Node:
        """The node of the program that a node of the JSON stands for."""
        node_json = next(node for node in self.graph_json["nodes"] if node["name"] == name)
        if node_json["op"] == "get_attr":
            name = next(key for key, target in self.state.names.items() if target == node_json["target"])
        path: tuple[int, ...] = ()
        while node_json["target"] == "operator.getitem":
            path = (node_json["args"][1], *path)
            holder = node_json["args"][0]["node"]
            node_json = next(node for node in self.graph_json["nodes"] if node["name"] == holder)
        if node_json["op"] != "call_module":
            return nodes_by_name(self.source)[name]
        leaf = self.leaves[node_json["name"]]
        return next(node for node, where in leaf.result_paths().items() if where == path)

    def _unwritten_mutations(self) -> dict[str, list[str]]:
        """Of functional programs: a new value's node, and what takes it on, unless a copy_ node says so."""
        if self.is_body:
            return {}
        by_name = {node["name"]: node for node in self.graph_json["nodes"]}
        written = {
            by_name[node["args"][0]["node"]]["target"]
            for node in self.graph_json["nodes"]
            if node["target"] == "aten.copy_.default"
        }
        found: dict[str, list[str]] = {}
        for spec in self.program.graph_signature.output_specs:
            kinds = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)
            if spec.kind in kinds and spec.target not in written:
                found.setdefault(spec.arg.name, []).append(spec.target)
        return found

    def _signature(self, node_json: dict) -> Any:
        """The recorded signature of this call: the one whose results are made by its nodes."""
        if self.is_body:
            return None
        names = set(node_json["program_nodes"])
        for node in self.source.graph.nodes:
            if node.target is operator.getitem and node.args[0].name in names:
                names.add(node.name)
        fitting = [
            entry.signature
            for entry in self.program.module_call_graph
            if entry.signature is not None
            and entry.fqn.partition("@")[0] == node_json["target"] != ""
            and any(getattr(item, "name", None) in names for item in entry.signature.outputs)
        ]
        if len(fitting) > 1:
            raise RebuildError("several recorded calls give results of these nodes")
        return fitting[0] if fitting else None

    def _for_body(self, body: fx.GraphModule, state: State) -> "ProgramRebuilder":
        return ProgramRebuilder(self.program, self.record, body, state)

    def _body(self, graph: fx.Graph, name: str) -> fx.Node:
        body = getattr(self.source, name, None)
        if not isinstance(body, fx.GraphModule):
            raise RebuildError(f"the program has no body {name!r}")
        (reader,) = [
            node for node in self.source.graph.nodes if node.op == "get_attr" and node.target == name
        ]
        (caller,) = reader.users
        rebuilder = self._for_body(body, self.state.of_body(caller, reader, body))
        self.attributes[name] = rebuilder.graph_module(self.graph_json["subgraphs"][name])
        return graph.create_node("get_attr", name)


def nodes_in(argument: Any) -> list[str]:
    """Names of the nodes in an argument of the JSON, in their order."""
    if isinstance(argument, dict):
        if set(argument) == {"node"}:
            return [argument["node"]]
        return [name for item in argument.values() for name in nodes_in(item)]
    return [name for item in argument for name in nodes_in(item)] if isinstance(argument, list) else []


class EagerRebuilder(ProgramRebuilder):
    """Leaves are the modules of the model that was exported."""

    def __init__(self, model: torch.nn.Module, program: ExportedProgram, *others: Any):
        super().__init__(program, *others)
        self.eager = model

    def _leaf(self, node_json: dict) -> torch.nn.Module:
        return self.eager.get_submodule(node_json["target"])

    def _for_body(self, body: fx.GraphModule, state: State) -> ProgramRebuilder:
        return EagerRebuilder(self.eager, self.program, self.record, body, state)


def record_reader(path: str) -> Callable[[str, str], bytes]:
    """Gives the bytes of a record such as data/constants/tensor_0 of the archive at `path`; of one that torch.save
    wrote, those of the tensor `name`."""

    def read(record: str, name: str) -> bytes:
        with zipfile.ZipFile(path) as archive:
            found = [item for item in archive.namelist() if item == record or item.endswith("/" + record)]
            if len(found) != 1:
                raise RebuildError(f"the archive has {found} for record {record}")
            content = archive.read(found[0])
        if record.endswith(".pt"):
            import io

            return bytes(torch.load(io.BytesIO(content))[name].untyped_storage())
        return content

    return read


def rebuild(path: str, graph_json: dict, program: ExportedProgram | None = None) -> fx.GraphModule:
    """Its parameters and buffers are those of `program`, which is loaded from `path` unless given.  It takes
    the leaves of the program's inputs, one after the other."""
    return ProgramRebuilder(program or load(path), record_reader(path)).graph_module(graph_json)


def rebuild_eager(
    path: str, graph_json: dict, model: torch.nn.Module, program: ExportedProgram
) -> fx.GraphModule:
    """The same with the modules of `model` as leaves."""
    return EagerRebuilder(model, program, record_reader(path)).graph_module(graph_json)


def main() -> int:
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[2], encoding="utf-8") as file:
        collection = json.load(file)
    program = load(sys.argv[1], *sys.argv[3:])
    print(rebuild(sys.argv[1], collection["graphs"][0], program).code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
