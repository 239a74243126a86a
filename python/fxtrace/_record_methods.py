"""What the records of _records.py can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ._printable import printable
from ._values import NodeRef, values_in

T = TypeVar("T")


def optional(make: Callable[[Any], T], value: Any) -> T | None:
    return None if value is None else make(value)


class SourceMethods:
    file: str
    line: int | None

    def __str__(self) -> str:
        return printable(f"{self.file}:{self.line}" if self.line is not None else self.file)


class FailureMethods:
    message: str
    source: Any

    def __str__(self) -> str:
        return printable(self.message) + (f" ({self.source})" if self.source else "")


class ModuleMethods:
    path: str
    type: str | None
    status: str

    def __repr__(self) -> str:
        return printable(f"<Module {self.path or '(root)'}: {self.type}, {self.status}>")


class NodeMethods:
    """Arguments hold a NodeRef for each other node."""

    name: str
    op: str
    target: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __repr__(self) -> str:
        return printable(f"<Node {self.name} = {self.op}[{self.target}]>")

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the names of the nodes among the arguments, each once, in their order."""
        return tuple(dict.fromkeys(name for _, name in self.input_places()))

    def input_places(self) -> list[tuple[str, str]]:
        """Return each use of another node: its place among the arguments ("0", "1.2", "mask") and the node's name."""
        places = (values_in(list(self.args)), values_in(self.kwargs))
        return [(place, value.name) for part in places for place, value in part if isinstance(value, NodeRef)]
