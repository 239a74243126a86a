"""Graph collections as plain data: schemas/graph_collection.schema.json in Python, of which _records.py has the records. _collection.py adds
what is computed from them.

All objects are read-only. Fields that a later version adds are not shown here, but a collection keeps them when it is saved.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, Union, cast, overload

from ._errors import InputError, NotFound
from ._memory import Kept
from ._printable import printable
from ._program import Message
from ._record_methods import optional
from ._records import Assignment, Cost, Failure, GraphSignature, Guard, Model, Module, Node, Parameter, StoredPart
from ._values import decode_complex, decode_float

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Constant", "Execution", "MethodCall", "ModuleUses", "NamedItems"]

Size = Union[int, str]  # a number, or an expression of named dimensions as Python writes it
Amount = Union[int, str]
Json = dict[str, Any]
T = TypeVar("T")

FORMAT = "fxtrace.graph_collection"
VERSION = 1

_WITHOUT_GRAPH = {
    "leaf": "is a leaf, one node of the graph that calls it",
    "failed": "failed, and is one node of the graph that calls it",
    "unvisited": "is never called",
}


class NamedItems(Sequence[T], Generic[T]):
    """A sequence of items that are found by position or by name."""

    def __init__(self, items: Sequence[T], name_of: str, what: str):
        self._items = tuple(items)
        self._what = what
        self._by_name: dict[str, T] = {}
        for item in self._items:
            self._by_name.setdefault(getattr(item, name_of), item)

    @overload
    def __getitem__(self, key: int | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[T, ...]: ...
    def __getitem__(self, key: int | str | slice) -> T | tuple[T, ...]:
        if not isinstance(key, str):
            return self._items[key]
        if key not in self._by_name:
            raise NotFound(f"no {self._what} {key!r}{_similar(key, self._by_name)}")
        return self._by_name[key]

    def __contains__(self, key: object) -> bool:
        return key in self._by_name if isinstance(key, str) else key in self._items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)

    def get(self, name: str) -> T | None:
        return self._by_name.get(name)

    def names(self) -> list[str]:
        return list(self._by_name)

    def __eq__(self, other: object) -> bool:
        return self._items == other._items if isinstance(other, NamedItems) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self._by_name))

    def __repr__(self) -> str:
        return f"<{len(self)} {self._what}{'' if len(self) == 1 else 's'}>"


def _similar(name: str, names: Mapping[str, object]) -> str:
    import difflib

    found = difflib.get_close_matches(name, list(names)[:10_000], n=1)
    return f", did you mean {found[0]!r}?" if found else ""


def _glob(pattern: str) -> re.Pattern[str]:
    """Compile a glob as lib/support/text/glob.h: * matches within one dotted part, ** across parts, ? one character, [abc] one of a set."""
    special = {"**": ".*", "*": "[^.]*", "?": "[^.]"}

    def translated(part: str) -> str:
        if part.endswith("**."):  # any number of whole parts, or none
            return r"(?:.*\.)?"
        if part.startswith("[") and part.endswith("]"):
            return r"(?!\.)[" + ("^" if part[1] == "!" else "") + re.escape(part[1:-1].lstrip("!")).replace(r"\-", "-") + "]"
        return special.get(part, re.escape(part))

    parts = re.split(r"((?:(?<![^.])\*\*\.)+|\*\*|[*?]|\[!?[^\]]+\])", pattern)
    return re.compile("".join(map(translated, parts)), re.DOTALL)


def _type_names(type_: str | None) -> list[str]:
    """Return a module's type and its public alias: torch.nn.modules.linear.Linear, torch.nn.Linear."""
    if type_ is None:
        return []
    alias = re.fullmatch(r"(torch\.(?:ao\.)?nn(?:\.(?!modules\.)\w+)*)\.modules\.\w+\.(\w+)", type_)
    return [type_, f"{alias[1]}.{alias[2]}"] if alias else [type_]


_Names = Callable[["Node"], list[str]]


def _kinds(node: Node) -> list[str]:
    """Return the names of what a node calls: an operator with and without its overload, a function, or a module's type."""
    if node.op not in ("call_function", "call_method"):
        return _type_names(node.scope.module_type) if node.op == "call_module" else []
    parts = node.target.split(".")
    is_operator = len(parts) == 3 and parts[0] not in ("torch", "operator", "builtins", "math", "higher_order")
    return [node.target, ".".join(parts[:2])] if node.op == "call_function" and is_operator else [node.target]


def _last_parts(names_of: _Names) -> _Names:
    def last_parts(node: Node) -> list[str]:
        names = names_of(node)
        has_overload = len(names) == 2 and names[0].startswith(names[1] + ".")  # the overload is not a last part
        return [name.rpartition(".")[2] for name in names[1 if has_overload else 0 :]]

    return last_parts


def _matches(pattern: str, names_of: _Names, path_of: _Names, nodes: Sequence[Node]) -> Callable[[Node], bool]:
    """Return a test of nodes by a pattern, with the rules of lib/support/text/glob.h.

    A name without a dot or star that no node has is the last part of names, or else the last part of paths. A path also matches if it
    equals the pattern, or if a pattern with a dot or star matches it.
    """
    tests: list[tuple[re.Pattern[str], _Names]] = []
    for text in pattern.replace("::", ".").split("|"):
        glob = _glob(text)
        tests += [(glob, names_of), (glob, path_of)]
        if not set(text) & set(".*"):
            for names in (names_of, _last_parts(names_of), _last_parts(path_of)):
                if any(glob.fullmatch(name) for node in nodes for name in names(node)):
                    tests.append((glob, names))
                    break
    return lambda node: any(glob.fullmatch(name) for glob, names in tests for name in names(node))


@dataclass(frozen=True)
class Constant:
    """A tensor: its elements nested by shape, or their place in the file; if `type` is set, a script object, or a quantized or sparse tensor."""

    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    data: Any = None
    record: str | None = None
    stride: tuple[int, ...] | None = None
    storage_offset: int = 0
    type: str | None = None
    index: int | None = None
    stored: tuple[StoredPart, ...] = ()  # the tensors of a script object

    @classmethod
    def from_json(cls, value: Json) -> Constant:
        if "index" in value:
            return cls(type=value["type"], record=value["record"], index=value["index"], stored=tuple(map(StoredPart.from_json, value.get("stored", ()))))
        stride = value.get("stride")
        return cls(
            value["dtype"],
            tuple(value["shape"]),
            _elements(value["data"]),
            value.get("record"),
            None if stride is None else tuple(stride),
            value.get("storage_offset", 0),
        )

    def __hash__(self) -> int:
        return hash((self.dtype, self.shape, self.record, self.index))


def _elements(data: Any) -> Any:
    if isinstance(data, list):
        return [_elements(item) for item in data]
    if isinstance(data, dict) and "complex" in data:
        return decode_complex(data["complex"])
    return decode_float(data)


@dataclass(frozen=True)
class ModuleUses:
    """The uses of parameters in one call of a module, in order: (module, its parameters)."""

    module: str
    uses: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class MethodCall:
    """A call of a method other than forward."""

    module: str
    method: str
    position: int  # the number of calls in module_forward_order that begin before it


@dataclass(frozen=True)
class CallValues:
    """Names in the code of TorchScript for the values of a module's call."""

    module: str
    call: int
    inputs: Mapping[str, str]  # names of nodes by parameter
    results: Mapping[str, str] = field(default_factory=dict)  # for a named tuple or dict: names of nodes by field or key
    type: str | None = None  # type of the named tuple
    method: str = ""

    def __hash__(self) -> int:
        return hash((self.module, self.call, self.method))


@dataclass(frozen=True)
class Execution:
    """Order of execution, with the meaning of FSDP's _ExecutionInfo."""

    module_forward_order: tuple[str, ...]
    param_forward_order: tuple[str, ...]
    module_param_usage: tuple[ModuleUses, ...]
    method_calls: tuple[MethodCall, ...] = ()
    call_values: tuple[CallValues, ...] = ()

    @classmethod
    def from_json(cls, value: Json) -> Execution:
        usage = (
            ModuleUses(item["module"], tuple((use["module"], tuple(use["params"])) for use in item["uses"]))
            for item in value["module_param_usage"]
        )
        calls = (MethodCall(**item) for item in value.get("method_calls", ()))
        values = tuple(CallValues(**item) for item in value.get("call_values", ()))
        return cls(tuple(value["module_forward_order"]), tuple(value["param_forward_order"]), tuple(usage), tuple(calls), values)


@dataclass(frozen=True, eq=False)
class GraphData:
    """A graph: its nodes in execution order. `graph["name"]` and `graph[0]` are nodes."""

    module: str
    type: str | None
    nodes: NamedItems[Node]
    constants: dict[str, Constant]
    subgraphs: dict[str, Self]
    guards: tuple[Guard, ...]
    execution: Execution | None
    signature: GraphSignature | None
    cost: Cost | None
    assignments: tuple[Assignment, ...] = ()
    collection: CollectionData[Any] | None = field(default=None, repr=False)  # the collection that the graph belongs to

    @classmethod
    def from_json(cls, value: Json) -> Self:
        nodes = [_at(f"/nodes/{i}", Node.from_json, item) for i, item in enumerate(value["nodes"])]
        return cls(
            value["module"],
            value["type"],
            NamedItems(nodes, "name", "node"),
            {key: _at(f"/constants/{key}", Constant.from_json, item) for key, item in value["constants"].items()},
            {key: _at(f"/subgraphs/{key}", cls.from_json, item) for key, item in value["subgraphs"].items()},
            tuple(map(Guard.from_json, value["guards"])),
            optional(Execution.from_json, value.get("execution")),
            optional(GraphSignature.from_json, value.get("graph_signature")),
            optional(Cost.from_json, value.get("cost")),
            tuple(_at(f"/assignments/{i}", Assignment.from_json, item) for i, item in enumerate(value.get("assignments", ()))),
        )

    @overload
    def __getitem__(self, key: int | str) -> Node: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, key: int | str | slice) -> Node | tuple[Node, ...]:
        return self.nodes[key]

    def __contains__(self, key: object) -> bool:
        return key in self.nodes

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def walk(self) -> Iterator[tuple[Self, Node]]:
        """Yield every node with its graph; the nodes of subgraphs come after the graph's own."""
        for node in self.nodes:
            yield self, node
        for body in self.subgraphs.values():
            yield from body.walk()

    def find(
        self,
        *,
        op: str | None = None,
        target: str | None = None,
        module: str | None = None,
        module_type: str | None = None,
    ) -> list[Node]:
        """Return the nodes for which all given conditions hold, in order.

        Arguments, each a pattern of `fxtrace check` except op: `*` matches within one dotted part, `**` across parts, `|` separates
        alternatives; a bare name (`Linear`, `relu`, `mlp`) that no node has in full matches the last part of names.

        - op: the op of the node, such as "call_function";
        - target: an operator with or without its overload, a function, or the type of a called module; also the path of a called module
          or attribute, which torch.fx calls target too;
        - module, module_type: the module of the node's scope, and its type.
        """
        given: list[tuple[str | None, _Names, _Names]] = [
            (target, _kinds, lambda node: [] if node.op in ("call_function", "call_method") else [node.target]),
            (module, path_of := lambda node: [node.scope.module_path], path_of),
            (module_type, types_of := lambda node: _type_names(node.scope.module_type), types_of),
        ]
        tests = [_matches(pattern, names, paths, self.nodes) for pattern, names, paths in given if pattern is not None]
        return [node for node in self.nodes if (op is None or node.op == op) and all(test(node) for test in tests)]

    @property
    def placeholders(self) -> list[Node]:
        return self.find(op="placeholder")

    @property
    def output(self) -> Node:
        return self.nodes[-1]

    def __repr__(self) -> str:
        return printable(f"<Graph {self.module or '(root)'}: {self.type}, {len(self)} nodes>")


G = TypeVar("G", bound=GraphData)


@dataclass(frozen=True, eq=False)
class CollectionData(Generic[G]):
    """The result of one trace: the graphs, the root's first, with the model's modules and parameters."""

    model: Model
    producer: str
    options: dict[str, Any]
    modules: NamedItems[Module]
    parameters: NamedItems[Parameter]
    graphs: NamedItems[G]
    cost: Cost | None
    unused_parameters: tuple[str, ...]
    path: str | None = None  # path of the model's file, if this Python traced it
    messages: tuple[Message, ...] = ()  # messages of the program while it traced
    _document: Json = field(default_factory=dict, repr=False)
    _kept: Kept | None = field(default=None, repr=False)  # the model, if it was traced from memory
    _graph_class: ClassVar[Any] = GraphData

    @classmethod
    def from_json(cls, value: Json, path: str | None = None, messages: tuple[Message, ...] = (), kept: Kept | None = None) -> Self:
        """Build a collection from a parsed document; raise InputError if the document is malformed."""
        _check_format(value)
        collection = _at("", lambda document: cls._decode(document, path, messages, kept), value)
        for graph in collection.graphs:
            _set_collection(graph, collection)
        return collection

    @classmethod
    def _decode(cls, value: Json, path: str | None, messages: tuple[Message, ...], kept: Kept | None) -> Self:
        model, producer, summary = value["model"], value["producer"], value["summary"]

        def items(key: str, kind: Callable[[Json], T], name_of: str, what: str) -> NamedItems[T]:
            decoded = [_at(f"/{key}/{i}", kind, item) for i, item in enumerate(value[key])]
            return NamedItems(decoded, name_of, what)

        return cls(
            Model.from_json(model),
            f"{producer['name']} {producer['version']}",
            value["options"],
            items("modules", Module.from_json, "path", "module"),
            items("parameters", Parameter.from_json, "name", "parameter"),
            items("graphs", cls._graph_class.from_json, "module", "graph of module"),
            optional(Cost.from_json, summary.get("cost")),
            tuple(summary["unused_parameters"]),
            path,
            messages,
            value,
            kept,
        )

    @property
    def root(self) -> G:
        """The graph of the root module."""
        return self.graphs[0]

    def graph(self, module: str = "") -> G:
        """Return the graph of a module: the root, or a submodule of one that failed. Raise NotFound if the module has none."""
        found = self.graphs.get(module)
        if found is not None:
            return found
        owner = self.modules[module]  # raises NotFound if there is no such module
        if owner.alias_of is not None:
            raise NotFound(f"module {module!r} is {owner.alias_of!r} under another name")
        if owner.status == "traced":
            raise NotFound(
                f"module {module!r} has no graph of its own: its nodes are in the graph that calls it, "
                f"graph.find(module={module!r})"
            )
        raise NotFound(
            f"module {module!r} has no graph of its own: it {_WITHOUT_GRAPH.get(owner.status, owner.status)}"
        )

    @property
    def failures(self) -> dict[str, Failure]:
        """The failures of the modules that failed, by path."""
        return {module.path: module.failure for module in self.modules if module.failure is not None}

    def __iter__(self) -> Iterator[G]:
        return iter(self.graphs)

    def __len__(self) -> int:
        return len(self.graphs)

    def __eq__(self, other: object) -> bool:
        """Compare the documents."""
        return self._document == other._document if isinstance(other, CollectionData) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.model, self.producer, len(self.graphs)))

    def __repr__(self) -> str:
        counts = [f"{len(self.graphs)} graph{'s' if len(self.graphs) > 1 else ''}", f"{self.count_nodes()} nodes"]
        failed = len(self.failures)
        counts += [f"{failed} failed module{'s' if failed > 1 else ''}"] if failed else []
        file = "" if self.model.file == "-" else f"{self.model.file}: "  # bytes, or a model in memory
        return printable(f"<Collection of {file}{self.model.type}, {', '.join(counts)}>")

    def count_nodes(self) -> int:
        """Count the nodes of all graphs, bodies of control flow included."""
        return sum(1 for graph in self.graphs for _ in graph.walk())

    def to_json(self) -> Json:
        """Return a copy of the document that the collection was loaded from, with all fields."""
        import copy

        return copy.deepcopy(self._document)

    def save(self, file: str | os.PathLike[str] | IO[str] | IO[bytes]) -> None:
        """Write the collection as JSON to a path or an open file; if that fails, an existing file at the path is left unchanged."""
        content = self._content()
        if isinstance(file, (str, os.PathLike)):
            _write_file(os.fspath(file), content)
        elif isinstance(file, io.TextIOBase):
            file.write(content.decode())
        else:
            cast("IO[bytes]", file).write(content)

    def _content(self) -> bytes:
        text = json.dumps(self._document, ensure_ascii=False) + "\n"
        return text.encode(errors="backslashreplace")  # half of a surrogate pair is written as it is in JSON


class Malformed(InputError):
    """A defect of a document, with its place there."""

    def __init__(self, place: str, text: str):
        super().__init__(f"{place}: {text}" if place else text)
        self.place = place
        self.text = text


def _at(place: str, make: Callable[[Any], T], value: Any) -> T:
    """Return `make(value)`; raise Malformed with the place if the value is wrong."""
    try:
        return make(value)
    except Malformed as error:
        raise Malformed(place + error.place, error.text) from None
    except KeyError as error:
        raise Malformed(place, f"no {error.args[0]!r}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise Malformed(place, str(error)) from None
    except RecursionError:
        raise Malformed(place, "the value is nested too deeply") from None


def _check_format(value: Any) -> None:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        found = value.get("format") if isinstance(value, dict) else None
        raise Malformed(
            "", f"this is {found!r}" if found else "this is JSON, but not a graph collection of fxtrace trace"
        )
    if value.get("version") != VERSION:
        raise Malformed("/version", f"version {value.get('version')!r} is not supported, only {VERSION}")


def _set_collection(graph: GraphData, collection: CollectionData[Any]) -> None:
    object.__setattr__(graph, "collection", collection)
    for body in graph.subgraphs.values():
        _set_collection(body, collection)


def _write_file(path: str, content: bytes) -> None:
    path = os.path.realpath(path)
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe or terminal
            with open(path, "wb") as file:
                file.write(content)
            return
        try:
            with open(temporary, "xb") as file:
                file.write(content)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def parse(content: str | bytes) -> Any:
    """Parse a JSON document; raise Malformed if `content` is not one."""
    try:
        return json.loads(content)
    except UnicodeDecodeError:
        raise Malformed("", "this is not JSON: it is not UTF-8") from None
    except json.JSONDecodeError as error:
        text = f"this is not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        raise Malformed("", text) from None
    except ValueError as error:  # a number with thousands of digits
        raise Malformed("", str(error)) from None
    except RecursionError:
        raise Malformed("", "this JSON is nested too deeply") from None
