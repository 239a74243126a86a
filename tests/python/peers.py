"""Runs Python's tracers on a model and puts their results into the form of a collection."""

import torch
from torch import fx
from torch.distributed.fsdp._trace_utils import _ExecOrderTracer


class Peer:
    """torch.fx's graph of an eager model, with the scope of each node, and FSDP's order of execution."""

    def __init__(self, model: torch.nn.Module):
        self.model = model
        self.paths = {}  # module: its first path
        for path, module in model.named_modules(remove_duplicate=False):
            self.paths.setdefault(module, path)
        self.parameter_names = {}
        for name, parameter in model.named_parameters(remove_duplicate=False):
            self.parameter_names.setdefault(parameter, name)
        tracer = fx.Tracer()
        order = _ExecOrderTracer()
        with order.patch_tracer(tracer, model):
            self.graph = tracer.trace(model)
        self.scopes = tracer.node_name_to_scope
        self.info = order.exec_info

    def scope(self, node: fx.Node) -> tuple[str, str | None]:
        path, module_type = self.scopes.get(node.name, ("", None))
        return path, qualified_name(module_type) if path else None

    def execution(self) -> dict:
        def names(parameters):
            return [self.parameter_names[parameter] for _, parameter in parameters]

        return {
            "module_forward_order": [self.paths[module] for module in self.info.module_forward_order],
            "param_forward_order": [
                self.parameter_names[parameter] for parameter in self.info.param_forward_order
            ],
            "module_param_usage": [
                {
                    "module": self.paths[module],
                    "uses": [
                        {"module": self.paths[use.module], "params": names(use.named_params)} for use in uses
                    ],
                }
                for module, uses in self.info.module_to_param_usage_infos.items()
            ],
        }


def qualified_name(module_type: type) -> str:
    return f"{module_type.__module__}.{module_type.__qualname__}"


# Operators of which Python and TorchScript have different names.  torch.fx records `a += b` as `a + b`, and
# knows functions that have two bodies, with and without indices, by the name of both.
_SAME = {"_max_pool2d": "max_pool2d", "truediv": "div", "add_": "add", "sub_": "sub", "mul_": "mul"}


def plain_operation(node_op: str, target: str) -> str:
    """`add` for operator.add, aten.add.Tensor, torch.add and the method add."""
    if node_op == "call_method":
        return _SAME.get(target, target)
    parts = target.split(".")
    name = parts[-1]
    if parts[0] not in ("operator", "builtins", "math", "torch") and len(parts) == 3:
        name = parts[1]
    return _SAME.get(name, name)


def target_name(node: fx.Node) -> str:
    if node.op != "call_function":
        return str(node.target)
    module = {"_operator": "operator"}.get(
        node.target.__module__ or "torch", node.target.__module__ or "torch"
    )
    return f"{module}.{node.target.__name__}"


def steps_of_peer(peer: Peer) -> list[dict]:
    """All nodes but get_attr, which torch.fx makes at other places: its users name what it reads."""
    return _steps(
        [
            {
                "name": node.name,
                "op": node.op,
                "target": target_name(node),
                "scope": peer.scope(node),
                "inputs": [(user.op, user.name, str(user.target)) for user in _inputs(node)],
            }
            for node in peer.graph.nodes
        ],
        peer,
    )


def _inputs(node: fx.Node) -> list[fx.Node]:
    found: list[fx.Node] = []
    fx.map_arg((node.args, node.kwargs), found.append)
    return found


def steps_of_collection(graph: dict, peer: Peer) -> list[dict]:
    by_name = {node["name"]: node for node in graph["nodes"]}

    def references(value):
        if isinstance(value, list):
            for item in value:
                yield from references(item)
        elif isinstance(value, dict):
            ((kind, inner),) = value.items()
            if kind == "node":
                yield by_name[inner]
            else:
                yield from references(inner)

    nodes = []
    for node in graph["nodes"]:
        inputs = [*references(node["args"]), *references(list(node["kwargs"].values()))]
        nodes.append(
            {
                "name": node["name"],
                "op": node["op"],
                "target": node["target"],
                "scope": (node["scope"]["module_path"], node["scope"]["module_type"]),
                "inputs": [(item["op"], item["name"], item["target"]) for item in inputs],
            }
        )
    return _steps(nodes, peer)


def _steps(nodes: list[dict], peer: Peer) -> list[dict]:
    position: dict[str, int] = {}
    steps = []
    first_path = {
        path: peer.paths[module] for path, module in peer.model.named_modules(remove_duplicate=False)
    }
    first_parameter = {
        name: peer.parameter_names[parameter]
        for name, parameter in peer.model.named_parameters(remove_duplicate=False)
    }
    for node in nodes:
        if node["op"] == "get_attr":
            continue
        position[node["name"]] = len(steps)
        target = node["target"]
        if node["op"] == "call_module":
            what = ("call_module", first_path[target])
        elif node["op"] in ("call_function", "call_method"):
            what = ("call", plain_operation(node["op"], target))
        else:
            what = (node["op"], target)
        inputs = [
            ("reads", first_parameter.get(target, target)) if op == "get_attr" else ("step", position[name])
            for op, name, target in node["inputs"]
        ]
        steps.append({"name": node["name"], "what": what, "scope": node["scope"], "inputs": inputs})
    return steps
