"""Calls of the program that convert a collection: renderings, passes and summaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from ._data import CollectionData, GraphData, parse
from ._errors import Error
from ._keywords import ask, option_words
from ._program import Message, Output, run, warn_of

__all__ = ["Summary"]

C = TypeVar("C", bound=CollectionData[Any])


class Summary(dict[str, Any]):
    """The document of `fxtrace summary --json`, with the messages of the program in `messages`."""

    messages: tuple[Message, ...] = ()


def render(collection: CollectionData[Any], format: str, **options: Any) -> bytes:
    with option_words("render", options) as words:
        output = run("render", "-", f"--format={format}", *words, stdin=collection._content())
    warn_of(output.messages, stacklevel=4)
    return output.stdout


def run_passes(collection: C, names: Iterable[str]) -> C:
    output = run("render", "-", "--format=json", *(f"--pass={name}" for name in names), stdin=collection._content())
    warn_of(output.messages, stacklevel=4)
    return type(collection).from_json(parse(output.stdout), collection.path, output.messages, collection._kept)


def summary_of(output: Output) -> Summary:
    found = Summary(parse(output.stdout))
    found.messages = output.messages
    return found


def summary(collection: CollectionData[Any], **options: Any) -> Summary:
    return summary_of(ask("summary", {"model": collection, **options}))


def text_of_graph(graph: GraphData) -> str:
    if graph.collection is None:
        raise Error("this graph does not belong to a collection")
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
    """Return the positions of the graphs on the way to `graph`."""
    if top is graph:
        return path
    found = (_place(body, graph, (*path, i)) for i, body in enumerate(top.subgraphs.values()))
    return next((place for place in found if place is not None), None)


def _section(lines: list[str], head: str, position: int) -> list[str]:
    """Return the lines from the `position`-th that begins with `head` up to the next line with the same indentation or less."""
    start = [i for i, line in enumerate(lines) if line.startswith(head)][position]
    indent = len(head) - len(head.lstrip())
    for end in range(start + 1, len(lines)):
        if not lines[end].startswith(" " * (indent + 1)):
            return lines[start:end]
    return lines[start:]
