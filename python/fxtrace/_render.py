"""What the program makes of a collection."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from ._data import CollectionData, GraphData, parse
from ._errors import Error
from ._program import run, warn_of

C = TypeVar("C", bound=CollectionData[Any])


def picture_options(
    depth: int | None,
    focus: str | None,
    fold: bool,
    show_plumbing: bool,
    show_parameters: bool,
    order: bool,
    max_label: int | None,
) -> Iterator[str]:
    values = (("--depth", depth), ("--focus", focus), ("--max-label", max_label))
    yield from (f"{name}={value}" for name, value in values if value is not None)
    flags = (
        ("--no-fold", not fold),
        ("--show-plumbing", show_plumbing),
        ("--show-parameters", show_parameters),
        ("--order", order),
    )
    yield from (name for name, is_set in flags if is_set)


def render(collection: CollectionData[Any], format: str, *options: str) -> bytes:
    return run("render", "-", f"--format={format}", *options, stdin=collection._content()).stdout


def run_passes(collection: C, names: Iterable[str]) -> C:
    output = run("render", "-", "--format=json", *(f"--pass={name}" for name in names), stdin=collection._content())
    warn_of(output.messages, stacklevel=4)
    return type(collection).from_json(parse(output.stdout), collection.path, output.messages)


def summary(collection: CollectionData[Any], *options: str) -> dict[str, Any]:
    output = run("summary", "-", "--json", *options, stdin=collection._content())
    found: dict[str, Any] = json.loads(output.stdout)
    return found


def text_of_graph(graph: GraphData) -> str:
    if graph.collection is None:
        raise Error("this graph belongs to no collection")
    place = next(
        place for i, top in enumerate(graph.collection.graphs) if (place := _place(top, graph, (i,))) is not None
    )
    lines = render(graph.collection, "text").decode().splitlines()
    for depth, position in enumerate(place):
        head = "  " * depth + ("graph " if depth == 0 else "subgraph ")
        lines = _section(lines, head, position)
    indent = "  " * (len(place) - 1)
    return "\n".join(line.removeprefix(indent) for line in lines)


def _place(top: GraphData, graph: GraphData, path: tuple[int, ...]) -> tuple[int, ...] | None:
    """Positions of the graphs on the way to `graph`."""
    if top is graph:
        return path
    found = (_place(body, graph, (*path, i)) for i, body in enumerate(top.subgraphs.values()))
    return next((place for place in found if place is not None), None)


def _section(lines: list[str], head: str, position: int) -> list[str]:
    """From the line with this number of those that begin with `head`, up to the next line as far to the left."""
    start = [i for i, line in enumerate(lines) if line.startswith(head)][position]
    indent = len(head) - len(head.lstrip())
    for end in range(start + 1, len(lines)):
        if not lines[end].startswith(" " * (indent + 1)):
            return lines[start:end]
    return lines[start:]
