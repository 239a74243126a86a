"""The records of a document. scripts/reference writes this file from schemas/graph_collection.schema.json, which says what each field means."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ._record_methods import FailureMethods, ModuleMethods, NodeMethods, SourceMethods, optional
from ._values import decode

__all__ = [
    "Assignment", "Cost", "Failure", "GraphSignature", "Guard", "Meta", "Model", "Module", "Node", "Parameter", "Place",
    "Scope", "SignatureEntry", "Source", "StoredPart", "TensorInfo",
]


@dataclass(frozen=True)
class Model:
    """The model that was traced."""

    file: str
    kind: str
    type: str | None
    method: str

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Model:
        return cls(
            value["file"],
            value["kind"],
            value["type"],
            value["method"],
        )


@dataclass(frozen=True)
class Source(SourceMethods):
    """A line of the model's Python source; null when it is not known."""

    file: str
    line: int | None
    function: str
    text: str

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Source:
        return cls(
            value["file"],
            value["line"],
            value["function"],
            value["text"],
        )


@dataclass(frozen=True)
class Cost:
    """Cost of one run; a number is null when it is not known. A node without a cost does no work: an input, a view, a size."""

    macs: int | str | None
    activation_bytes: int | str | None
    uncounted_macs: int | str | None = None
    parameter_bytes: int = 0
    peak_bytes: int | str | None = None
    unknown: dict[str, int] = field(default_factory=dict)
    unsized: int = 0

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Cost:
        return cls(
            value["macs"],
            value["activation_bytes"],
            value.get("uncounted_macs"),
            value.get("parameter_bytes", 0),
            value.get("peak_bytes"),
            value.get("unknown", {}),
            value.get("unsized", 0),
        )


@dataclass(frozen=True)
class Failure(FailureMethods):
    """The reason why the module's forward could not be traced."""

    kind: str
    message: str
    module: str
    op: str | None
    source: Source | None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Failure:
        return cls(
            value["kind"],
            value["message"],
            value["module"],
            value["op"],
            optional(Source.from_json, value["source"]),
        )


@dataclass(frozen=True, repr=False)
class Module(ModuleMethods):
    """A module of the model: traced, a leaf, failed, or unvisited."""

    path: str
    type: str | None
    status: str
    alias_of: str | None
    rule: str | None
    calls: int
    failure: Failure | None
    alias: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: tuple[TensorInfo, ...] | None = None

    def __hash__(self) -> int:
        return hash((self.path, self.type, self.status, self.alias_of, self.rule, self.calls))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Module:
        return cls(
            value["path"],
            value["type"],
            value["status"],
            value["alias_of"],
            value["rule"],
            value["calls"],
            optional(Failure.from_json, value["failure"]),
            value.get("alias"),
            {key: decode(item) for key, item in value.get("attributes", {}).items()},
            optional(lambda items: tuple(map(TensorInfo.from_json, items)), value.get("outputs")),
        )


@dataclass(frozen=True)
class TensorInfo:
    """The known properties of a tensor that a module returns."""

    shape: tuple[int | str, ...] | None
    dtype: str | None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> TensorInfo:
        return cls(
            optional(tuple, value["shape"]),
            value["dtype"],
        )


@dataclass(frozen=True)
class Parameter:
    """A parameter, buffer or custom object."""

    name: str
    kind: str
    shape: tuple[int, ...] | None
    dtype: str | None
    alias_of: str | None
    type: str | None = None
    stored: tuple[StoredPart, ...] = ()
    device: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Parameter:
        return cls(
            value["name"],
            value["kind"],
            optional(tuple, value["shape"]),
            value["dtype"],
            value["alias_of"],
            value.get("type"),
            tuple(map(StoredPart.from_json, value.get("stored", []))),
            value.get("device"),
        )


@dataclass(frozen=True)
class StoredPart:
    """A tensor inside of packed parameters or of a tensor of a subclass."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> StoredPart:
        return cls(
            value["name"],
            tuple(value["shape"]),
            value["dtype"],
        )


@dataclass(frozen=True)
class Guard:
    """An assumption of the trace: a Python expression over the graph's inputs."""

    expr: str
    source: Source | None
    reason: str = "assert"

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Guard:
        return cls(
            value["expr"],
            optional(Source.from_json, value["source"]),
            value.get("reason", "assert"),
        )


@dataclass(frozen=True)
class Assignment:
    """A plain value that forward assigns to an attribute, which has it after the run."""

    target: str
    value: Any
    source: Source | None

    def __hash__(self) -> int:
        return hash((self.target,))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Assignment:
        return cls(
            value["target"],
            decode(value["value"]),
            optional(Source.from_json, value["source"]),
        )


@dataclass(frozen=True)
class GraphSignature:
    """Signature of the root's graph; other graphs have none. For an exported program: inputs and outputs in its own order, lifted
    ones included, as in torch.export.graph_signature. For a TorchScript archive, when an input of the method is fixed or taken
    apart: the inputs of the method in their order, and no outputs.
    """

    inputs: tuple[SignatureEntry, ...]
    outputs: tuple[SignatureEntry, ...]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> GraphSignature:
        return cls(
            tuple(map(SignatureEntry.from_json, value["inputs"])),
            tuple(map(SignatureEntry.from_json, value["outputs"])),
        )


@dataclass(frozen=True)
class SignatureEntry:
    """An input or output of an exported program, in the program's order."""

    role: str
    name: str
    node: str | None
    target: str | None = None
    persistent: bool | None = None
    path: tuple[Any, ...] | None = None
    value: Any = None
    named: bool | None = None

    def __hash__(self) -> int:
        return hash((self.role, self.name, self.node))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> SignatureEntry:
        return cls(
            value["role"],
            value["name"],
            value["node"],
            value.get("target"),
            value.get("persistent"),
            optional(lambda items: tuple(map(decode, items)), value.get("path")),
            decode(value.get("value")),
            value.get("named"),
        )


@dataclass(frozen=True, repr=False)
class Node(NodeMethods):
    """A node with the fields of a torch.fx node."""

    name: str
    op: str
    target: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    users: tuple[str, ...]
    scope: Scope
    meta: Meta | None
    source: Source | None
    method: str | None = None
    model_function: bool = False
    recorded: bool = False
    arguments: str | None = None
    program_nodes: tuple[str, ...] = ()
    program_inputs: tuple[Place, ...] = ()
    program_results: tuple[Place, ...] = ()

    def __hash__(self) -> int:
        return hash((self.name, self.op, self.target))

    @property
    def shape(self) -> tuple[int | str, ...] | None:
        return self.meta.shape if self.meta else None

    @property
    def dtype(self) -> str | None:
        return self.meta.dtype if self.meta else None

    @property
    def cost(self) -> Cost | None:
        return self.meta.cost if self.meta else None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Node:
        return cls(
            value["name"],
            value["op"],
            value["target"],
            tuple(map(decode, value["args"])),
            {key: decode(item) for key, item in value["kwargs"].items()},
            tuple(value["users"]),
            Scope.from_json(value["scope"]),
            optional(Meta.from_json, value["meta"]),
            optional(Source.from_json, value["source"]),
            value.get("method"),
            value.get("model_function", False),
            value.get("recorded", False),
            value.get("arguments"),
            tuple(value.get("program_nodes", [])),
            tuple(map(Place.from_json, value.get("program_inputs", []))),
            tuple(map(Place.from_json, value.get("program_results", []))),
        )


@dataclass(frozen=True)
class Scope:
    """The module whose code makes the node."""

    module_path: str
    module_type: str | None
    call: int
    method: str | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Scope:
        return cls(
            value["module_path"],
            value["module_type"],
            value["call"],
            value.get("method"),
        )


@dataclass(frozen=True)
class Meta:
    """The known properties of the node's value."""

    type: str | None
    shape: tuple[int | str, ...] | None
    dtype: str | None
    device: str | None = None
    value: int | str | None = None
    cost: Cost | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Meta:
        return cls(
            value["type"],
            optional(tuple, value["shape"]),
            value["dtype"],
            value.get("device"),
            value.get("value"),
            optional(Cost.from_json, value.get("cost")),
        )


@dataclass(frozen=True)
class Place:
    """A value of an exported program, and its place among the arguments or in the result of a leaf."""

    value: str
    path: tuple[Any, ...]

    def __hash__(self) -> int:
        return hash((self.value,))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Place:
        return cls(
            value["value"],
            tuple(map(decode, value["path"])),
        )
