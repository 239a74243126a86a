"""Calls of the program that convert a collection: renderings, passes and summaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, Union

from ._data import CollectionData, GraphData, parse
from ._errors import Error, UsageError
from ._program import Message, Output, run, warn_of

C = TypeVar("C", bound=CollectionData[Any])
At = Union[Mapping[str, "int | Sequence[int]"], str, Iterable[str]]


class Summary(dict[str, Any]):
    """The document of `fxtrace summary --json`, with the messages of the program in `messages`."""

    messages: tuple[Message, ...] = ()


def at_words(at: At | None) -> list[str]:
    """Return the --at options for names of sizes and shapes of inputs."""
    if at is None:
        return []
    try:
        given = [at] if isinstance(at, str) else at
        texts = [f"{name}={_sizes(size)}" for name, size in given.items()] if isinstance(given, Mapping) else list(given)
        if not all(isinstance(text, str) for text in texts):
            raise TypeError
    except TypeError:
        raise UsageError(f"at expects a dict of integers and shapes, got {at!r:.80}") from None
    return [f"--at={text}" for text in texts]


def _sizes(size: Any) -> str:
    shape = getattr(size, "shape", size)
    return f"[{','.join(map(str, shape))}]" if isinstance(shape, Sequence) and not isinstance(shape, str) else str(size)


def picture_options(
    at: At | None,
    depth: int | None,
    focus: str | None,
    fold: bool,
    show_plumbing: bool,
    show_parameters: bool,
    order: bool,
    max_label: int | None,
) -> Iterator[str]:
    yield from at_words(at)
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
    return type(collection).from_json(parse(output.stdout), collection.path, output.messages, collection._kept)


def summary_words(
    at: At | None, columns: str | Iterable[str], depth: int | None, fold: bool, sort: str | None
) -> list[str]:
    values = {
        "columns": (columns if isinstance(columns, str) else ",".join(columns)) or None,
        "depth": depth,
        "sort": sort,
    }
    words = [f"--{name}={value}" for name, value in values.items() if value is not None]
    return [*at_words(at), *words, *(["--fold"] if fold else [])]


def summary_of(output: Output) -> Summary:
    found = Summary(parse(output.stdout))
    found.messages = output.messages
    return found


def summary(collection: CollectionData[Any], *options: str) -> Summary:
    return summary_of(run("summary", "-", "--json", *options, stdin=collection._content()))


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
