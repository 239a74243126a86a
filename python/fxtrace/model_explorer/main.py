"""TorchScript archives, exported programs and saved collections as graphs of Model Explorer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import model_explorer  # type: ignore[import-untyped,import-not-found,unused-ignore]
from model_explorer import graph_builder

import fxtrace
from fxtrace._paths import parent_of, parts_of
from fxtrace._values import GraphRef, values_in

FAILED_COLOR = "#fbd9d5"
MOST_TEXT = 1000  # of one attribute


class FxtraceAdapter(model_explorer.Adapter):  # type: ignore[misc]
    """What `fxtrace trace` makes of a model; boxes are the model's modules."""

    metadata = model_explorer.AdapterMetadata(
        id="fxtrace",
        name="fxtrace",
        description="TorchScript archives, exported programs, and collections that fxtrace wrote",
        source_repo="",
        fileExts=["pt", "pt2", "pth", "ts", "ptl", "json"],
    )

    def convert(self, model_path: str, settings: dict[str, Any]) -> model_explorer.ModelExplorerGraphs:
        if model_path.endswith(".json"):
            return {"graphs": graphs_of(fxtrace.load(model_path))}
        with warnings.catch_warnings():  # that a module failed stands in the graph
            warnings.simplefilter("ignore", fxtrace.FxtraceWarning)
            return {"graphs": graphs_of(fxtrace.trace(model_path))}


def graphs_of(collection: fxtrace.Collection) -> list[graph_builder.Graph]:
    """The root's first; bodies of control flow are graphs that the nodes which run them lead to."""
    costs = {row["path"]: row for row in collection.summary()["modules"]}
    made = [graph for top in collection for graph in _Graphs(collection, costs).of(top, top.module or "(root)")]
    made[0].groupNodeAttributes[""] = _model_attributes(collection)
    return made


class _Graphs:
    def __init__(self, collection: fxtrace.Collection, costs: dict[str, Any]):
        self._collection = collection
        self._costs = costs

    def of(self, graph: fxtrace.Graph, graph_id: str) -> Iterator[graph_builder.Graph]:
        self._groups: dict[str, str] = {}  # namespace: the path of its module
        nodes = [self._node(graph, node, graph_id) for node in graph]
        groups = {namespace: self._module_attributes(path) for namespace, path in self._groups.items()}
        yield graph_builder.Graph(id=graph_id, nodes=nodes, groupNodeAttributes=groups)
        for name, body in graph.subgraphs.items():
            yield from _Graphs(self._collection, self._costs).of(body, f"{graph_id}/{name}")

    def _node(self, graph: fxtrace.Graph, node: fxtrace.Node, graph_id: str) -> graph_builder.GraphNode:
        path = node.scope.module_path
        is_module = node.op == "call_module"
        made = graph_builder.GraphNode(
            id=node.name,
            label=self._label(node),
            namespace=self._namespace(parent_of(path) if is_module else path),
            attrs=[graph_builder.KeyValue(key=key, value=_cut(value)) for key, value in _attributes(node)],
        )
        for i, (place, source) in enumerate(node.input_places()):
            made.incomingEdges.append(graph_builder.IncomingEdge(sourceNodeId=source, targetNodeInputId=str(i)))
            tag = graph_builder.KeyValue(key="__tensor_tag", value=place)
            made.inputsMetadata.append(graph_builder.MetadataItem(id=str(i), attrs=[tag]))
        if output := _output(node):
            shape = graph_builder.KeyValue(key="tensor_shape", value=output)
            made.outputsMetadata.append(graph_builder.MetadataItem(id="0", attrs=[shape]))
        for _, value in values_in([list(node.args), node.kwargs]):
            if isinstance(value, GraphRef) and value.name in graph.subgraphs:
                made.subgraphIds.append(f"{graph_id}/{value.name}")
        failure = self._collection.failures.get(path) if is_module else None
        if failure is not None:
            made.attrs.append(graph_builder.KeyValue(key="failure", value=_cut(str(failure))))
            made.style = graph_builder.GraphNodeStyle(backgroundColor=FAILED_COLOR)
        return made

    def _label(self, node: fxtrace.Node) -> str:
        if node.op == "call_module":
            return self._name(node.target) if node.target else _short(node.scope.module_type) or "(root)"
        if node.op == "get_attr":
            return parts_of(node.target)[-1]
        return node.target.removesuffix(".default")

    def _name(self, path: str) -> str:
        """`linear (Linear)`: a module's own name and type."""
        module = self._collection.modules.get(path)
        name, kind = parts_of(path)[-1].replace("/", "_"), _short(module.type if module else None)
        return f"{name} ({kind})" if kind else name

    def _namespace(self, path: str) -> str:
        """`blocks (Sequential)/0 (Block)`"""
        if not path:
            return ""
        above = self._namespace(parent_of(path))
        namespace = f"{above}/{self._name(path)}" if above else self._name(path)
        self._groups[namespace] = path
        return namespace

    def _module_attributes(self, path: str) -> dict[str, str]:
        module, row = self._collection.modules.get(path), self._costs.get(path)
        attributes = {"path": path}
        if module is not None:
            attributes.update(type=module.type or "?", status=module.status, calls=str(module.calls))
            attributes.update({f"attribute {name}": _cut(str(value)) for name, value in module.attributes.items()})
        if row is not None:
            attributes["parameters"] = f"{row['parameters']['elements']:,}"
            if row["macs"] is not None:
                attributes["MACs"] = _number(row["macs"])
        return attributes


def _model_attributes(collection: fxtrace.Collection) -> dict[str, str]:
    model, cost = collection.model, collection.cost
    attributes = {"file": model.file, "kind": model.kind, "type": model.type or "?", "method": model.method}
    if cost is not None and cost.macs is not None:
        attributes["MACs"] = _number(cost.macs)
    for path, failure in collection.failures.items():
        attributes[f"failure of {path or '(root)'}"] = _cut(str(failure))
    return {key: _cut(value) for key, value in attributes.items()}


def _attributes(node: fxtrace.Node) -> Iterator[tuple[str, str]]:
    yield "op", node.op
    yield "target", node.target
    if node.method is not None:
        yield "method", node.method
    for i, argument in enumerate(node.args):
        yield f"args[{i}]", repr(argument)
    for name, argument in node.kwargs.items():
        yield name, repr(argument)
    if node.scope.module_path:
        yield "module", node.scope.module_path
    if node.scope.module_type:
        yield "module type", node.scope.module_type
    if node.meta is not None:
        if node.meta.dtype:
            yield "dtype", node.meta.dtype
        if node.meta.value is not None:
            yield "value", str(node.meta.value)
    if node.cost is not None:
        amounts = (("MACs", node.cost.macs), ("activation bytes", node.cost.activation_bytes))
        yield from ((name, _number(amount)) for name, amount in amounts if amount is not None)
        if node.cost.parameter_bytes:
            yield "parameter bytes", _number(node.cost.parameter_bytes)
    if node.source is not None:
        yield "source", f"{node.source}: {node.source.text}"
    if node.program_nodes:
        yield "program nodes", ", ".join(node.program_nodes)


def _output(node: fxtrace.Node) -> str:
    if node.shape is None:
        return ""
    return f"{node.dtype or '?'}[{', '.join(map(str, node.shape))}]"


def _short(kind: str | None) -> str:
    return (kind or "").rpartition(".")[2].replace("/", "_")


def _number(amount: int | str) -> str:
    return f"{amount:,}" if isinstance(amount, int) else amount


def _cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
