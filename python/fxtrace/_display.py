"""Output of str() and of notebooks: a few lines of text, and the graph drawn by Graphviz, or a table without it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any
from xml.etree import ElementTree

from ._data import Amount, CollectionData, GraphData
from ._errors import Error
from ._printable import printable
from ._records import Node
from ._render import render, summary
from ._tables import sizes_of
from ._values import NodeRef, values_in

MOST_BYTES = 400_000
MOST_ROWS = 100
SECONDS = 15
_ELEMENTS = frozenset("svg g a title text path polygon polyline ellipse defs linearGradient stop".split())
_KINDS = {"torchscript": "TorchScript archive", "exported_program": "exported program"}
_LEAST_WIDTH = 100  # at least so wide is a list that is cut


def overview(collection: CollectionData[Any]) -> str:
    """Describe the collection in ten lines at most."""
    model = collection.model
    title = [model.type or "?", _KINDS.get(model.kind, model.kind)]
    title += [f"method {model.method}"] if model.method != "forward" else []
    statuses = [module.status for module in collection.modules]
    counts = [f"{statuses.count(status):,} {status}" for status in ("traced", "leaf", "failed", "unvisited") if status in statuses]
    lines = [
        (model.file + ": " if model.file != "-" else "") + ", ".join(title),
        f"graphs: {len(collection.graphs):,}, nodes: {collection.count_nodes():,}",
        f"modules: {len(statuses):,} ({', '.join(counts)})",
    ]
    if failures := collection.failures:
        lines.append("failed: " + _listed([f"{path or '(root)'}: {failure}" for path, failure in failures.items()], "; "))
    lines += [f"{kind}s: {text}" for kind in ("parameter", "buffer") if (text := _tensors(collection, kind))]
    if collection.graphs:
        nodes = {node.name: node for node in collection.root}
        lines.append("inputs: " + _listed([f"{node.target} {_value(node)}".rstrip() for node in collection.root.placeholders]))
        used = [value.name for _, value in values_in(list(collection.root.output.args)) if isinstance(value, NodeRef)]
        lines.append("outputs: " + _listed([_value(nodes[name]) or name for name in used if name in nodes]))
    lines.append(_costs(collection))
    return "\n".join(map(printable, lines))


def _tensors(collection: CollectionData[Any], kind: str) -> str:
    """List the parameters or buffers, tied ones once."""
    sizes = [sizes_of(each) for each in collection.parameters if each.kind == kind and each.alias_of is None]
    totals = [sum(amount or 0 for amount in amounts) for amounts in zip(*sizes)]
    return "{:,} elements, {:,} bytes".format(*totals) if sizes else ""


def _value(node: Node) -> str:
    """Return a short form of a node's value: "float32[batch, 3]", "int"; an empty text if nothing is known."""
    meta = node.meta
    if meta is None or meta.shape is None:
        return "" if meta is None else meta.dtype or meta.type or ""
    return f"{meta.dtype or '?'}[{', '.join(map(str, meta.shape))}]"


def _costs(collection: CollectionData[Any]) -> str:
    cost = collection.cost
    if cost is None or (cost.macs is None and cost.peak_bytes is None):
        needs_shapes = collection.model.kind == "torchscript" and not collection.options.get("input")
        return "costs: not known" + (" without shapes: trace it with input=" if needs_shapes else "")
    left_out = sum(cost.unknown.values()) + cost.unsized
    return f"costs: {_amount(cost.macs)} MACs, {_amount(cost.peak_bytes)} bytes of activations at a time" + (
        f", {left_out:,} call{'s' if left_out > 1 else ''} not counted" if left_out else ""
    )


def _amount(amount: Amount | None) -> str:
    if amount is None:
        return "unknown"
    if isinstance(amount, int):
        return f"{amount:,}"
    names = sorted(set(re.findall(r"(?<![\w.])[A-Za-z_]\w*(?![\w(])", amount)))
    return amount if len(amount) <= 60 else f"(depends on {_listed(names)})"


def _listed(texts: list[str], separator: str = ", ") -> str:
    """Join as many texts as fit into a line, at least one."""
    shown = 0
    length = 0
    while shown < len(texts) and (not shown or length + len(texts[shown]) <= _LEAST_WIDTH):
        length += len(texts[shown]) + len(separator)
        shown += 1
    left_out = f"{separator}and {len(texts) - shown:,} more" if shown < len(texts) else ""
    return separator.join(map(_cell, texts[:shown])) + left_out or "none"


def html_of_collection(collection: CollectionData[Any]) -> str:
    try:
        return _heading(collection) + (_picture(collection) or _summary_table(collection))
    except (Error, OSError):  # a notebook shows the table instead
        return f"<pre>{escape(repr(collection))}</pre>"


def html_of_graph(graph: GraphData) -> str:
    collection = graph.collection
    if collection is not None and len(collection.graphs) == 1 and collection.root is graph:
        return html_of_collection(collection)
    return f"<p>{escape(repr(graph)[1:-1])}</p>" + _nodes_table(graph)


def _heading(collection: CollectionData[Any]) -> str:
    return f"<p>{escape(repr(collection).removeprefix('<Collection of ').removesuffix('>'))}</p>"


def _picture(collection: CollectionData[Any]) -> str | None:
    """Return the graph as SVG in HTML, or None without Graphviz and for a model that it cannot draw."""
    try:
        svg = render(collection, "svg", max_time=SECONDS).decode("utf-8", errors="replace")
    except (Error, OSError):
        return None
    if len(svg) > MOST_BYTES or not _is_picture(svg):
        return None
    start = re.search(r"<svg\b", svg)
    return f'<div style="overflow:auto;max-height:50em">{svg[start.start() :]}</div>' if start else None


def _is_picture(svg: str) -> bool:
    """Return true if the picture can neither run nor load anything: its names come from an untrusted file."""
    try:
        elements = list(ElementTree.fromstring(svg).iter())
    except ElementTree.ParseError:
        return False
    return all(
        element.tag.rpartition("}")[2] in _ELEMENTS
        and not any(name.rpartition("}")[2].startswith(("on", "href")) for name in element.attrib)
        for element in elements
    )


def _summary_table(collection: CollectionData[Any]) -> str:
    found = summary(collection, fold=True)
    totals = found["totals"]
    rows = [
        (
            "\u2003" * row["depth"] + (_name(row) or "(root)"),
            (row["type"] or "?").rpartition(".")[2] + (f" × {row['modules']}" if row["modules"] > 1 else ""),
            ", ".join(_tensor(output) for output in row["outputs"] or ()),
            row["parameters"]["elements"],
            row["macs"],
        )
        for row in found["modules"]
    ]
    rows.append(("total", "", "", totals["parameters"]["elements"], totals["macs"]))
    return _table(("module", "type", "output", "parameters", "MACs"), rows)


def _name(row: dict[str, Any]) -> str:
    name = str(row["path"]).rpartition(".")[2]
    last = row["last_path"]
    return name if last is None else f"{name} - {str(last).rpartition('.')[2]}"


def _tensor(tensor: dict[str, Any]) -> str:
    shape = tensor["shape"]
    return f"{tensor['dtype'] or '?'}" + ("" if shape is None else f"[{', '.join(map(str, shape))}]")


def _nodes_table(graph: GraphData) -> str:
    rows = [
        (node.name, node.op, node.target, ", ".join(node.inputs), list(node.shape) if node.shape is not None else "")
        for node in graph
    ]
    return _table(("node", "op", "target", "inputs", "shape"), rows)


def _table(head: Sequence[str], rows: Sequence[Iterable[Any]]) -> str:
    def cells(tag: str, row: Iterable[Any]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(_cell(value))}</{tag}>" for value in row) + "</tr>"

    shown = list(rows) if len(rows) <= MOST_ROWS else [*rows[: MOST_ROWS - 1], rows[-1]]
    body = "".join(cells("td", row) for row in shown)
    left_out = len(rows) - len(shown)
    note = f"<p>{left_out} rows before the last are left out</p>" if left_out else ""
    return f"<table><thead>{cells('th', head)}</thead><tbody>{body}</tbody></table>{note}"


def _cell(value: Any) -> str:
    text = f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)
    return text if len(text) <= 200 else text[:199] + "…"
