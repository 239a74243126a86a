"""The records of a document. scripts/reference writes this file from schemas/why.schema.json, which says what each field means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._record_methods import optional
from ._records import Failure, Guard, Source

__all__ = [
    "CallSite", "DimensionInput", "DimensionPlace", "FailureGroup", "ModuleExplanation", "ModulePlace", "NarrowedRange",
    "Suggestions", "Trial", "UnknownOperator",
]


@dataclass(frozen=True)
class FailureGroup:
    """Modules that failed for the same cause in equal blocks."""

    paths: tuple[str, ...]
    type: str | None
    depth: int
    failure: Failure

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> FailureGroup:
        return cls(
            tuple(value["paths"]),
            value["type"],
            value["depth"],
            Failure.from_json(value["failure"]),
        )


@dataclass(frozen=True)
class Trial:
    """Options that were tried in addition to the given ones, and the modules that failed with them."""

    options: tuple[str, ...]
    failed: tuple[str, ...]
    nodes: int

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Trial:
        return cls(
            tuple(value["options"]),
            tuple(value["failed"]),
            value["nodes"],
        )


@dataclass(frozen=True)
class Suggestions:
    """What helps; each was tried."""

    helpful: tuple[Trial, ...]
    others: tuple[tuple[str, ...], ...]
    best: Trial | None
    with_leaves: Trial | None
    operators: tuple[UnknownOperator, ...]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Suggestions:
        return cls(
            tuple(map(Trial.from_json, value["helpful"])),
            tuple(map(tuple, value["others"])),
            optional(Trial.from_json, value["best"]),
            optional(Trial.from_json, value["with_leaves"]),
            tuple(map(UnknownOperator.from_json, value["operators"])),
        )


@dataclass(frozen=True)
class UnknownOperator:
    """An operator of another library, without which nothing could be tried."""

    name: str
    schema: str

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> UnknownOperator:
        return cls(
            value["name"],
            value["schema"],
        )


@dataclass(frozen=True)
class ModuleExplanation:
    """The status of a module and its reasons."""

    path: str
    type: str | None
    asked: str | None
    other_names: tuple[str, ...]
    status: str
    cause: str
    rule: str | None
    config: str | None
    failure: Failure | None
    decided_by: str | None
    calls: int
    submodules: int
    places: tuple[ModulePlace, ...]
    call_sites: tuple[CallSite, ...]
    guards: tuple[Guard, ...]
    methods: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ModuleExplanation:
        return cls(
            value["path"],
            value["type"],
            value["asked"],
            tuple(value["other_names"]),
            value["status"],
            value["cause"],
            value["rule"],
            value["config"],
            optional(Failure.from_json, value["failure"]),
            value["decided_by"],
            value["calls"],
            value["submodules"],
            tuple(map(ModulePlace.from_json, value["places"])),
            tuple(map(CallSite.from_json, value["call_sites"])),
            tuple(map(Guard.from_json, value["guards"])),
            tuple(value.get("methods", [])),
        )


@dataclass(frozen=True)
class ModulePlace:
    """The calls and nodes of a module in one graph."""

    graph: str
    calls: int
    nodes: int
    first: str | None
    source: Source | None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ModulePlace:
        return cls(
            value["graph"],
            value["calls"],
            value["nodes"],
            value["first"],
            optional(Source.from_json, value["source"]),
        )


@dataclass(frozen=True)
class CallSite:
    """A call of a module in the code of another, which is not in any graph."""

    module: str
    method: str
    entered: str
    is_run: bool
    source: Source | None
    condition: Source | None
    in_loop: bool

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> CallSite:
        return cls(
            value["module"],
            value["method"],
            value["entered"],
            value["is_run"],
            optional(Source.from_json, value["source"]),
            optional(Source.from_json, value["condition"]),
            value["in_loop"],
        )


@dataclass(frozen=True)
class DimensionPlace:
    """A guard, a node that checks a dimension, or a size computed from it."""

    graph: str
    node: str | None
    target: str | None
    text: str | None
    source: Source | None
    count: int

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> DimensionPlace:
        return cls(
            value["graph"],
            value["node"],
            value["target"],
            value["text"],
            optional(Source.from_json, value["source"]),
            value["count"],
        )


@dataclass(frozen=True)
class DimensionInput:
    """An input of the root that has the dimension."""

    input: str
    place: str
    size: str

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> DimensionInput:
        return cls(
            value["input"],
            value["place"],
            value["size"],
        )


@dataclass(frozen=True)
class NarrowedRange:
    """A range that was tried, and the result with it."""

    option: str
    nodes: int
    guards: int
    failed: int

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> NarrowedRange:
        return cls(
            value["option"],
            value["nodes"],
            value["guards"],
            value["failed"],
        )
