"""Graphs for networkx and tables for pandas."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ._data import CollectionData, GraphData
from ._errors import UsageError
from ._paths import parent_of
from ._records import Node, Parameter
from ._render import summary

if TYPE_CHECKING:
    import networkx
    import pandas


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is missing: pip install {name} ({error})", name=name) from None


def to_networkx(graph: GraphData) -> networkx.MultiDiGraph[str]:
    result: networkx.MultiDiGraph[str] = _import("networkx").MultiDiGraph(module=graph.module)
    for node in graph:
        known = {
            "shape": node.shape,
            "dtype": node.dtype,
            "module_type": node.scope.module_type,
            "source": str(node.source) if node.source else None,
        }
        given = {key: value for key, value in known.items() if value is not None}
        result.add_node(node.name, op=node.op, target=node.target, module=node.scope.module_path, **given)
    for node in graph:
        for place, name in node.input_places():
            result.add_edge(name, node.name, key=place, place=place)
    return result


def nodes_table(graphs: Iterable[GraphData]) -> pandas.DataFrame:
    return _frame(_NODE_COLUMNS, [_node_row(top, owner, node) for top in graphs for owner, node in top.walk()])


def _frame(columns: Sequence[str], rows: list[tuple[Any, ...]]) -> pandas.DataFrame:
    """Make a table; integers stay integers if some are missing, and a column with expressions of dimensions holds Python objects."""
    pandas = _import("pandas")
    table: dict[str, Any] = {}
    for i, name in enumerate(columns):
        values = [row[i] for row in rows]
        kinds = {type(value) for value in values if value is not None}
        table[name] = pandas.Series(
            values, dtype="Int64" if kinds == {int} else "boolean" if kinds == {bool} else object
        )
    return pandas.DataFrame(table)  # type: ignore[no-any-return]


_NODE_COLUMNS = (
    *("graph", "subgraph", "name", "op", "target", "inputs", "module", "module_type", "call"),
    *("type", "shape", "dtype", "macs", "parameter_bytes", "activation_bytes", "source"),
)


def _node_row(top: GraphData, owner: GraphData, node: Node) -> tuple[Any, ...]:
    meta, cost = node.meta, node.cost
    return (
        top.module,
        None if owner is top else _name_of_body(top, owner),
        *(node.name, node.op, node.target, node.inputs),
        *(node.scope.module_path, node.scope.module_type, node.scope.call),
        *((meta.type, meta.shape, meta.dtype) if meta else (None, None, None)),
        *((cost.macs, cost.parameter_bytes, cost.activation_bytes) if cost else (None, None, None)),
        str(node.source) if node.source else None,
    )


def _name_of_body(graph: GraphData, body: GraphData) -> str | None:
    """Return the name of a body: "true_graph_0" or, inside of another, "true_graph_0.false_graph_0"."""
    for name, inner in graph.subgraphs.items():
        if inner is body:
            return name
        if (found := _name_of_body(inner, body)) is not None:
            return f"{name}.{found}"
    return None


def to_pandas(collection: CollectionData[Any], table: str) -> pandas.DataFrame:
    if table == "nodes":
        return nodes_table(collection.graphs)
    if table == "modules":
        return _frame(_MODULE_COLUMNS, _module_rows(collection))
    if table == "parameters":
        return _frame(_PARAMETER_COLUMNS, _parameter_rows(collection))
    raise UsageError(f"unknown table {table!r}, expected nodes, modules or parameters")


_MODULE_COLUMNS = (
    *("path", "type", "status", "alias_of", "rule", "calls", "failure"),
    *("own_parameters", "parameters", "parameter_bytes", "buffer_bytes", "macs", "activation_bytes"),
)


def _module_rows(collection: CollectionData[Any]) -> list[tuple[Any, ...]]:
    costs = {row["path"]: row for row in summary(collection)["modules"]}
    rows: list[tuple[Any, ...]] = []
    for module in collection.modules:
        own = (module.path, module.type, module.status, module.alias_of, module.rule, module.calls)
        failure = module.failure.message if module.failure else None
        row = costs.get(module.path)
        if row is None:
            rows.append((*own, failure, *[None] * 6))
            continue
        parameters, buffers = row["parameters"], row["buffers"]
        counts = (parameters["own_elements"], parameters["elements"], parameters["bytes"], buffers["bytes"])
        rows.append((*own, failure, *counts, row["macs"], row["activation_bytes"]))
    return rows


_PARAMETER_COLUMNS = (
    *("name", "kind", "module", "shape", "dtype", "device", "alias_of"),
    *("elements", "bytes", "used", "forward_order"),
)


def _parameter_rows(collection: CollectionData[Any]) -> list[tuple[Any, ...]]:
    order = {name: i for i, name in enumerate(_forward_order(collection))}
    unused = set(collection.unused_parameters)
    rows: list[tuple[Any, ...]] = []
    for parameter in collection.parameters:
        name, shape = parameter.name, parameter.shape
        device = None if shape is None else parameter.device or "cpu"
        rows.append(
            (
                *(name, parameter.kind, parent_of(name), shape, parameter.dtype, device, parameter.alias_of),
                *sizes_of(parameter),
                *(name not in unused, order.get(parameter.alias_of or name)),
            )
        )
    return rows


def sizes_of(parameter: Parameter) -> tuple[int | None, int | None]:
    """Return elements and bytes of a parameter, each None if it is not known."""
    shape = parameter.shape
    elements = None if shape is None else math.prod(shape)
    if parameter.stored and parameter.type:
        elements = sum(math.prod(part.shape) for part in parameter.stored)
    parts = [(part.shape, part.dtype) for part in parameter.stored] or [(shape or (), parameter.dtype or "")]
    sizes = [_bytes_of(*part) for part in parts]
    return elements, None if shape is None or None in sizes else sum(each or 0 for each in sizes)


def _forward_order(collection: CollectionData[Any]) -> list[str]:
    execution = collection.root.execution if collection.graphs else None
    return list(execution.param_forward_order) if execution else []


def _bytes_of(shape: tuple[int, ...], dtype: str) -> int | None:
    """Return the bytes of a tensor by the bits in the dtype's name; None for types below a byte, except quantized ones (quint4x2)."""
    if dtype == "bool":
        return math.prod(shape)
    bits = re.search(r"(\d+)(x\d+)?", dtype)
    if bits is None or not (int(bits[1]) % 8 == 0 or (bits[2] and dtype.startswith("quint"))):
        return None
    return -(-math.prod(shape) * int(bits[1]) // 8)
