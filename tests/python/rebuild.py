#!/usr/bin/env python3
"""Turns a graph of a GraphCollection into a torch.fx.GraphModule, node by node.

    rebuild.py MODEL COLLECTION [MODULE]     # prints the code of the graph of MODULE, by default the root's

Leaves are the archive's own modules.  Nothing is repaired on the way: a name that torch.fx would not give, a
list of users that is not what torch.fx derives, or a target that Python does not know is an error.
"""

import importlib
import io
import json
import math
import re
import sys
import types
import zipfile
from typing import Any, Callable

import torch
from torch import fx


class RebuildError(Exception):
    pass


def resolve_function(target: str) -> Callable:
    """What `target` of a call_function names: an operator under torch.ops, else a Python name."""
    head, *rest = target.split(".")
    if head in ("operator", "builtins", "math", "torch"):
        value: Any = importlib.import_module(head)
    else:
        value, rest = torch.ops, [head, *rest]
    for part in rest:
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
            except (ImportError, AttributeError):
                raise RebuildError(f"no such function: {target}") from None
    if not callable(value):
        raise RebuildError(f"not a function: {target}")
    if isinstance(value, types.MethodDescriptorType) and not hasattr(value, "__module__"):
        return _named_function(value)
    return value


def _named_function(method: types.MethodDescriptorType) -> Callable:
    """A function that torch.fx's code generator has a name for; methods of builtins have no __module__."""

    def function(*args, **kwargs):
        return method(*args, **kwargs)

    function.__name__ = function.__qualname__ = f"{method.__objclass__.__name__}_{method.__name__}"
    return function


def resolve_attribute(model: torch.nn.Module, path: str) -> Any:
    """A module, parameter, buffer or attribute by its qualified name; "" is the model."""
    value: Any = model
    for part in re.split(r"(?<!\\)\.", path) if path else []:
        name = part.replace("\\.", ".")
        children = getattr(value, "_modules", {})
        value = children[name] if name in children else getattr(value, name)
    return value


_ONE_KEY = {
    "float": lambda name: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[name],
    "complex": lambda parts: complex(*(decode_number(part) for part in parts)),
    "dtype": lambda name: _of_torch(name, torch.dtype),
    "device": torch.device,
    "layout": lambda name: _of_torch(name, torch.layout),
    "memory_format": lambda name: _of_torch(name, torch.memory_format),
}


def _of_torch(name: str, kind: type) -> Any:
    value = getattr(torch, name, None)
    if not isinstance(value, kind):
        raise RebuildError(f"{name!r} is no {kind.__name__} of torch")
    return value


def decode_number(value: Any) -> Any:
    return _ONE_KEY["float"](value["float"]) if isinstance(value, dict) else value


def decode_constant(constant: dict, name: str, record: Callable[[str], bytes]) -> torch.Tensor:
    dtype = _of_torch(constant["dtype"], torch.dtype)
    if constant["data"] is None:
        if constant["record"] is None:
            raise RebuildError(f"constant {name} has neither data nor a record")
        storage = torch.frombuffer(bytearray(record(constant["record"])), dtype=dtype)
        return storage.as_strided(constant["shape"], constant["stride"], constant["storage_offset"])

    def decode(data: Any) -> Any:
        if isinstance(data, list):
            return [decode(item) for item in data]
        return (
            _ONE_KEY["complex"](data["complex"])
            if isinstance(data, dict) and "complex" in data
            else decode_number(data)
        )

    return torch.tensor(decode(constant["data"]), dtype=dtype).reshape(constant["shape"])


class Overloaded(torch.nn.Module):
    """A scripted module whose forward has overloads, such as nn.LSTM: it has forward__0 and forward__1."""

    def __init__(self, module: torch.jit.ScriptModule):
        super().__init__()
        self.module = module

    def forward(self, *args, **kwargs):
        overloads = [name for name in self.module._c._method_names() if name.startswith("forward__")]
        for method in (getattr(self.module, name) for name in overloads):
            names = [argument.name for argument in method.schema.arguments[1:]]
            types_of = {argument.name: str(argument.type) for argument in method.schema.arguments}
            given = {**dict(zip(names, args)), **kwargs}
            if all(
                isinstance(value, torch.Tensor) == (types_of[name] in ("Tensor", "Optional[Tensor]"))
                for name, value in given.items()
                if value is not None
            ):
                return method(*args, **kwargs)
        raise RebuildError("no overload of forward takes these arguments")


class Method(torch.nn.Module):
    """A module that is called by another method than forward."""

    def __init__(self, module: torch.jit.ScriptModule, method: str):
        super().__init__()
        self.module = module
        self.method = method

    def forward(self, *args, **kwargs):
        return getattr(self.module, self.method)(*args, **kwargs)


def _tree(attributes: dict[str, Any]) -> torch.nn.Module:
    """A module that has each attribute under its dotted name, unless it stands inside another of them."""
    root = torch.nn.Module()
    for path in sorted(attributes, key=lambda path: path.count(".")):
        *folders, name = path.split(".")
        place = root
        for folder in folders:
            if not hasattr(place, folder):
                place.add_module(folder, torch.nn.Module())
            place = getattr(place, folder)
        value = attributes[path]
        if isinstance(place, torch.jit.ScriptModule):
            continue
        if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
            place.register_buffer(name, value)
        else:
            setattr(place, name, value)
    return root


class Rebuilder:
    """`model` is the archive, loaded; `record` gives the bytes of a record of it, `constant` one of its objects."""

    def __init__(
        self,
        model: torch.nn.Module,
        record: Callable[[str], bytes],
        constant: Callable[[int, str], Any] | None = None,
    ):
        self.model = model
        self.record = record
        self.constant = constant

    def graph_module(self, graph_json: dict) -> fx.GraphModule:
        self.constants = graph_json["constants"]
        self.graph_json = graph_json
        self.attributes: dict[str, Any] = {}  # by the name that fx sees
        self.seen_as: dict[str, str] = {}  # that name: the target it stands for
        graph = fx.Graph()
        nodes: dict[str, fx.Node] = {}
        for node_json in graph_json["nodes"]:
            try:
                self._append(graph, nodes, node_json)
            except RebuildError as error:
                raise RebuildError(f"node {node_json['name']}: {error}") from None
        self._check_users(graph_json, nodes)
        result = fx.GraphModule(_tree(self.attributes), graph, graph_json["type"].split(".")[-1] or "Graph")
        result.graph.lint()
        return result

    def _append(self, graph: fx.Graph, nodes: dict, node_json: dict) -> None:
        name, op, target = node_json["name"], node_json["op"], node_json["target"]
        if name in nodes:
            raise RebuildError("the name is taken")

        def decode(value: Any) -> Any:
            if isinstance(value, list):
                return [decode(item) for item in value]
            if not isinstance(value, dict):
                return value
            ((kind, inner),) = value.items()
            if kind == "node":
                if inner not in nodes:
                    raise RebuildError(f"uses {inner}, which does not stand before it")
                return nodes[inner]
            if kind == "tuple":
                return tuple(decode(item) for item in inner)
            if kind == "dict":
                return {decode(key): decode(item) for key, item in inner}
            if kind == "slice":
                return slice(*(decode(part) for part in inner))
            if kind == "graph":
                return self._body(graph, inner)
            if kind == "function":
                return resolve_function(inner)
            if kind not in _ONE_KEY:
                raise RebuildError(f"unknown argument: {value}")
            return _ONE_KEY[kind](inner)

        args = tuple(decode(item) for item in node_json["args"])
        kwargs = {key: decode(item) for key, item in node_json["kwargs"].items()}
        if op == "call_function":
            target = resolve_function(target)
        elif op in ("call_module", "get_attr"):
            target = self._attribute(node_json)
        node = graph.create_node(op, target, args, kwargs, name=name)
        if node.name != name:
            raise RebuildError(f"torch.fx would name it {node.name}")
        nodes[name] = node

    def _attribute(self, node_json: dict) -> str:
        """The name in the rebuilt module of what a call_module or get_attr node names."""
        op, target = node_json["op"], node_json["target"]
        if op == "get_attr" and target in self.constants:
            constant = self.constants[target]
            if "index" in constant:
                value: Any = self.constant(constant["index"], constant["type"])
            else:
                value = decode_constant(constant, target, self.record)
        else:
            try:
                value = resolve_attribute(self.model, target)
            except AttributeError:
                raise RebuildError(f"the archive has no {target!r}") from None
        if op == "call_module" and not isinstance(value, torch.nn.Module):
            raise RebuildError(f"{target!r} is no module")
        if (
            op == "call_module"
            and isinstance(value, torch.jit.ScriptModule)
            and not hasattr(value, "forward")
        ):
            value = Overloaded(value)
        # torch.fx has no name for the root, and none with a dot inside.
        seen = target.replace("\\.", "_") if target else "root_module"
        if "method" in node_json:
            seen, target = f"{seen}_{node_json['method']}", f"{target}.{node_json['method']}"
            value = Method(value, node_json["method"])
        return self._keep(seen, target, value)

    def _keep(self, seen: str, target: str, value: Any) -> str:
        if self.seen_as.setdefault(seen, target) != target:
            raise RebuildError(f"{target!r} and {self.seen_as[seen]!r} would both be called {seen}")
        self.attributes.setdefault(seen, value)
        return seen

    def _body(self, graph: fx.Graph, name: str) -> fx.Node:
        body = Rebuilder(self.model, self.record, self.constant).graph_module(self.graph_json["subgraphs"][name])
        self.attributes[name] = body
        return graph.create_node("get_attr", name)

    def _check_users(self, graph_json: dict, nodes: dict) -> None:
        for node_json in graph_json["nodes"]:
            users = [user.name for user in nodes[node_json["name"]].users]
            if users != node_json["users"]:
                raise RebuildError(
                    f"node {node_json['name']}: users are {node_json['users']}, torch.fx derives {users}"
                )


def record_reader(path: str) -> Callable[[str], bytes]:
    """Gives the bytes of records such as `constants/3` of the archive at `path`."""
    reader = torch._C.PyTorchFileReader(path)
    return reader.get_record


_HOLDER_CODE = """class Holder(Module):
  __parameters__ = []
  __buffers__ = []
  def forward(self: __torch__.Holder) -> __torch__.{type}:
    return CONSTANTS.c{index}
"""
_HOLDER_PICKLE = b"\x80\x02c__torch__\nHolder\n)\x81}b."


def object_reader(path: str) -> Callable[[int, str], Any]:
    """Gives script objects of the code's constants: TorchScript itself reads them, for a module that returns one."""

    def read(index: int, type_name: str) -> Any:
        reader = torch._C.PyTorchFileReader(path)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for record in reader.get_all_records():
                if record in ("version", "constants.pkl", "byteorder") or record.startswith("constants/"):
                    archive.writestr(f"holder/{record}", reader.get_record(record))
            archive.writestr("holder/data.pkl", _HOLDER_PICKLE)
            archive.writestr("holder/code/__torch__.py", _HOLDER_CODE.format(type=type_name, index=index))
        buffer.seek(0)
        return torch.jit.load(buffer, map_location="cpu")()

    return read


def load(path: str) -> torch.jit.ScriptModule:
    model = torch.jit.load(path, map_location="cpu")
    for module in model.modules():
        # TorchScript makes overloads of torch.nn.LSTM's forward: no name is left to call the module by.
        if not module._c._has_method("forward") and module._c._has_method("forward__0"):
            module.__dict__["forward"] = module._c._get_method("forward__0")
    return model


def rebuild(path: str, graph_json: dict, model: torch.nn.Module | None = None) -> fx.GraphModule:
    """A GraphModule of its own: the archive at `path` is loaded anew unless `model` is given."""
    return Rebuilder(
        model if model is not None else load(path), record_reader(path), object_reader(path)
    ).graph_module(graph_json)


def main() -> int:
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[2], encoding="utf-8") as file:
        collection = json.load(file)
    module = sys.argv[3] if len(sys.argv) == 4 else ""
    graph_json = next(graph for graph in collection["graphs"] if graph["module"] == module)
    print(rebuild(sys.argv[1], graph_json).code)
    return 0


if __name__ == "__main__":
    sys.exit(main())
