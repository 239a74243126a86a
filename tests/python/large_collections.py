"""Makes collections of any size for `fxtrace render` without a model, to test pictures of many nodes."""

import json
import random
from typing import Any

Collection = dict[str, Any]
OPERATORS = ["relu", "gelu", "mul", "add", "sigmoid", "softmax", "sub", "neg", "exp", "tanh"]


class _Graph:
    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.by_name: dict[str, dict[str, Any]] = {}
        self.names: dict[str, int] = {}
        self.modules: list[dict[str, Any]] = []
        self.order: list[str] = []

    def name(self, hint: str) -> str:
        count = self.names.get(hint, 0)
        self.names[hint] = count + 1
        return f"{hint}_{count}" if count else hint

    def module(self, path: str, kind: str, status: str = "traced") -> None:
        self.modules.append(
            {"path": path, "type": kind, "status": status, "alias_of": None, "rule": None, "calls": 1, "failure": None}
        )
        self.order.append(path)

    def node(self, op: str, target: str, inputs: list[str], scope: str, kind: str | None, width: int, line: int) -> str:
        name = self.name(target.split(".")[1] if op == "call_function" else target.replace(".", "_"))
        args = [{"node": given} for given in inputs]
        if op == "output":
            args = [args[0]]
        node: dict[str, Any] = {
            "name": name,
            "op": op,
            "target": target if op != "placeholder" else name,
            "args": args,
            "kwargs": {},
            "users": [],
            "scope": {"module_path": scope, "module_type": kind, "call": 1},
            "meta": {"type": "Tensor", "shape": [1, width], "dtype": "float32"},
            "source": {"file": "net.py", "line": line, "function": "forward", "text": f"x = step_{line}(x)"},
        }
        if op == "call_module":
            node["meta"]["cost"] = {"macs": width * width, "parameter_bytes": 4 * width * width, "activation_bytes": 4 * width}
        for given in dict.fromkeys(inputs):
            self.by_name[given]["users"].append(name)
        self.nodes.append(node)
        self.by_name[name] = node
        return name

    def collection(self, file: str) -> Collection:
        costs = [node["meta"]["cost"] for node in self.nodes if "cost" in node["meta"]]
        cost = {name: sum(each[name] for each in costs) for name in ("macs", "parameter_bytes", "activation_bytes")}
        return {
            "format": "fxtrace.graph_collection",
            "version": 1,
            "producer": {"name": "fxtrace", "version": "0.1.0"},
            "model": {"file": file, "kind": "torchscript", "type": "large.Net", "method": "forward"},
            "options": {},
            "summary": {
                "graphs": 1,
                "nodes": len(self.nodes),
                "modules": {
                    status: sum(module["status"] == status for module in self.modules)
                    for status in ("traced", "leaf", "failed", "unvisited")
                },
                "parameters": 0,
                "unused_parameters": [],
                "cost": cost,
            },
            "modules": self.modules,
            "parameters": [],
            "graphs": [
                {
                    "module": "",
                    "type": "large.Net",
                    "nodes": self.nodes,
                    "constants": {},
                    "subgraphs": {},
                    "guards": [],
                    "execution": {
                        "module_forward_order": self.order,
                        "param_forward_order": [],
                        "module_param_usage": [],
                    },
                    "cost": cost,
                }
            ],
        }


def nested(count: int, seed: int = 0) -> Collection:
    """Stages of blocks of layers, no two of one width in a row, so that little of it is folded."""
    draw = random.Random(seed)
    graph = _Graph()
    graph.module("", "large.Net")
    x = graph.node("placeholder", "x", [], "", None, 16, 1)
    stage = 0
    while len(graph.nodes) < count - 1:
        stage_path = f"stage{stage}"
        graph.module(stage_path, "large.Stage")
        for block in range(draw.randint(3, 9)):
            path = f"{stage_path}.block{block}"
            graph.module(path, "large.Block")
            entry = x
            for layer in range(draw.randint(2, 6)):
                if len(graph.nodes) >= count - 1:
                    break
                width = draw.choice([16, 32, 48, 64, 96])
                leaf = f"{path}.linear{layer}"
                graph.module(leaf, "torch.nn.modules.linear.Linear", "leaf")
                x = graph.node("call_module", leaf, [x], leaf, "torch.nn.modules.linear.Linear", width, 10 + layer)
                if len(graph.nodes) >= count - 1:
                    break
                operator = draw.choice(OPERATORS)
                inputs = [x, entry] if operator in ("add", "mul", "sub") else [x]
                target = f"aten.{operator}.{'Tensor' if len(inputs) == 2 else 'default'}"
                x = graph.node("call_function", target, inputs, path, "large.Block", width, 40 + layer)
        stage += 1
    graph.node("output", "output", [x], "", None, 16, 99)
    return graph.collection(f"nested_{count}.pt")


def flat(count: int, seed: int = 0) -> Collection:
    """Every operation in the root, with edges to what stands near and a few to what stands far."""
    draw = random.Random(seed)
    graph = _Graph()
    graph.module("", "large.Net")
    made = [graph.node("placeholder", "x", [], "", None, 16, 1)]
    while len(graph.nodes) < count - 1:
        operator = draw.choice(OPERATORS)
        inputs = [made[-1]]
        if operator in ("add", "mul", "sub"):
            near = made[max(0, len(made) - 12) :]
            inputs.append(draw.choice(made if draw.random() < 0.02 else near))
        target = f"aten.{operator}.{'Tensor' if len(inputs) == 2 else 'default'}"
        made.append(graph.node("call_function", target, inputs, "", None, draw.choice([16, 32, 64]), 5))
    graph.node("output", "output", [made[-1]], "", None, 16, 99)
    return graph.collection(f"flat_{count}.pt")


def write(collection: Collection, path: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(collection, file)
