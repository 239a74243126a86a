"""What a notebook shows: the graph drawn by Graphviz, or a table without it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any
from xml.etree import ElementTree

from ._data import CollectionData, GraphData
from ._errors import Error
from ._render import render, summary

MOST_BYTES = 400_000
MOST_ROWS = 100
SECONDS = 15
_ELEMENTS = frozenset("svg g a title text path polygon polyline ellipse defs linearGradient stop".split())


def html_of_collection(collection: CollectionData[Any]) -> str:
    try:
        return _heading(collection) + (_picture(collection) or _summary_table(collection))
    except (Error, OSError):  # a notebook shows something all the same
        return f"<pre>{escape(repr(collection))}</pre>"


def html_of_graph(graph: GraphData) -> str:
    collection = graph.collection
    if collection is not None and len(collection.graphs) == 1 and collection.root is graph:
        return html_of_collection(collection)
    return f"<p>{escape(repr(graph)[1:-1])}</p>" + _nodes_table(graph)


def _heading(collection: CollectionData[Any]) -> str:
    return f"<p>{escape(repr(collection).removeprefix('<Collection of ').removesuffix('>'))}</p>"


def _picture(collection: CollectionData[Any]) -> str | None:
    """SVG in HTML; None where there is no Graphviz, or a model that it cannot draw."""
    try:
        svg = render(collection, "svg", f"--max-time={SECONDS}").decode("utf-8", errors="replace")
    except (Error, OSError):
        return None
    if len(svg) > MOST_BYTES or not _is_picture(svg):
        return None
    start = re.search(r"<svg\b", svg)
    return f'<div style="overflow:auto;max-height:50em">{svg[start.start() :]}</div>' if start else None


def _is_picture(svg: str) -> bool:
    """Whether nothing in it can run or load: it comes from names in a stranger's file."""
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
    found = summary(collection, "--fold")
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
