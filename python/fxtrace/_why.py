"""fxtrace.why: the reasons why modules failed or have their status, and options that help."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._collection import Collection
from ._data import Failure, Guard, Model, Source
from ._diff import model_file
from ._options import WhyOptions, Unpack
from ._program import Message, run
from ._trace import ModelLike, Range, Texts, check_keywords, option_words


@dataclass(frozen=True)
class FailureGroup:
    """Modules that failed for the same cause in equal blocks."""

    paths: tuple[str, ...]
    type: str | None
    depth: int  # number of failed modules around it
    failure: Failure


@dataclass(frozen=True)
class Trial:
    """Options that were tried in addition to the given ones, and the modules that failed with them."""

    options: tuple[str, ...]  # words of a command line, quoted for a shell
    failed: tuple[str, ...]
    nodes: int


@dataclass(frozen=True)
class UnknownOperator:
    """An operator of another library, without which nothing could be tried."""

    name: str
    schema: str


@dataclass(frozen=True)
class Suggestions:
    helpful: tuple[Trial, ...]  # options that help alone, those that leave the fewest failures first
    others: tuple[tuple[str, ...], ...]  # options that alone leave as many failures
    best: Trial | None  # the fewest options found that leave the fewest failures
    with_leaves: Trial | None  # the best options, with the remaining failures made leaves on purpose
    operators: tuple[UnknownOperator, ...]


@dataclass(frozen=True)
class ModulePlace:
    """The calls and nodes of a module in one graph."""

    graph: str
    calls: int
    nodes: int
    first: str | None
    source: Source | None


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


@dataclass(frozen=True)
class ModuleExplanation:
    """The status of a module and its reasons; schemas/why.schema.json describes each field."""

    path: str
    type: str | None
    asked: str | None
    other_names: tuple[str, ...]
    status: str  # "traced", "leaf", "failed" or "unvisited"
    cause: str  # "traced", "rule", "leaf", "failed", "container", "in_leaf", "in_uncalled" or "not_called"
    rule: str | None
    config: str | None
    failure: Failure | None
    decided_by: str | None
    calls: int
    submodules: int
    places: tuple[ModulePlace, ...]
    call_sites: tuple[CallSite, ...]
    guards: tuple[Guard, ...]
    methods: tuple[str, ...] = ()  # methods other than forward that are called


@dataclass(frozen=True)
class DimensionInput:
    input: str
    place: str  # index in the input's shape; empty for an integer
    size: str


@dataclass(frozen=True)
class DimensionPlace:
    """A guard, a node that checks a dimension, or a size computed from it."""

    graph: str
    node: str | None
    target: str | None
    text: str | None
    source: Source | None
    count: int


@dataclass(frozen=True)
class NarrowedRange:
    option: str
    nodes: int
    guards: int
    failed: int


@dataclass(frozen=True)
class DimensionExplanation:
    name: str
    low: int | None
    high: int | None
    inputs: tuple[DimensionInput, ...]
    made_by: DimensionPlace | None
    guards: tuple[DimensionPlace, ...]
    asserts: tuple[DimensionPlace, ...]
    derived: tuple[DimensionPlace, ...]
    questions: tuple[DimensionPlace, ...]
    nodes: int
    narrowed: tuple[NarrowedRange, ...]


@dataclass(frozen=True)
class ExplainedGuard(Guard):
    graph: str = ""  # path of its module
    number: int = 0  # number among the guards of all graphs, from 1


@dataclass(frozen=True)
class Explanation:
    model: Model
    tried: bool
    modules: int
    failed_modules: int
    failures: tuple[FailureGroup, ...]
    suggestions: Suggestions | None
    explained: tuple[ModuleExplanation, ...]
    dimension: DimensionExplanation | None
    guards: tuple[ExplainedGuard, ...]
    messages: tuple[Message, ...]


def why(
    path: ModelLike | Collection,
    module: str | None = None,
    *,
    dim: str | Mapping[str, Range] | Texts | None = None,
    guard: int | str | None = None,
    **options: Unpack[WhyOptions],
) -> Explanation:
    """Explain why modules failed and which options help, as `fxtrace why` does; each suggestion was tried.

    - path: a file's path or bytes, an open file, an ExportedProgram or ScriptModule, or a collection;
    - module: a path or a glob of paths, to explain why these modules are traced, leaves, failed or not visited;
    - dim: the name of a dimension, to explain its range and the guards on it. Ranges as for trace() narrow dimensions, also
      together with a name: dim=["s77", "u0=1..4"];
    - guard: the number or the expression of a guard, to explain its origin and the source line that needs it;
    - options: the other keywords of trace(), for a model, except passes.

    Returns an Explanation: `failures`, and options of the command line that help in `suggestions`; `explained`, `dimension` and
    `guards` answer the questions of the arguments with these names.

    Raises UsageError for wrong options, and for an unknown module, dimension or guard; InputError for a file that is not a model or
    cannot be read.
    """
    check_keywords("why", options)
    with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder, option_words(
        {**options, "dim": dim}, os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    ) as words:
        asked = [] if module is None else [module]
        if guard is not None:
            words = [*words, "--guard", str(guard)]
        output = run("why", "--json", *words, "--", model_file(path, os.path.join(folder, "model")), *asked)
    return _explanation(json.loads(output.stdout), output.messages)


def _source(data: dict[str, Any] | None) -> Source | None:
    return None if data is None else Source.from_json(data)


def _with_source(cls: Any, data: Mapping[str, Any]) -> Any:
    return cls(**{**data, "source": _source(data["source"])})


def _optional(cls: Any, data: Mapping[str, Any] | None) -> Any:
    return None if data is None else cls(data)


def _trial(data: Mapping[str, Any]) -> Trial:
    return Trial(tuple(data["options"]), tuple(data["failed"]), data["nodes"])


def _failed(data: Mapping[str, Any]) -> FailureGroup:
    return FailureGroup(tuple(data["paths"]), data["type"], data["depth"], Failure.from_json(data["failure"]))


def _suggestions(data: Mapping[str, Any]) -> Suggestions:
    return Suggestions(
        helpful=tuple(map(_trial, data["helpful"])),
        others=tuple(map(tuple, data["others"])),
        best=_optional(_trial, data["best"]),
        with_leaves=_optional(_trial, data["with_leaves"]),
        operators=tuple(UnknownOperator(**operator) for operator in data["operators"]),
    )


def _call_site(data: Mapping[str, Any]) -> CallSite:
    return CallSite(**{**data, "source": _source(data["source"]), "condition": _source(data["condition"])})


def _module(data: Mapping[str, Any]) -> ModuleExplanation:
    parts = {
        "other_names": tuple(data["other_names"]),
        "methods": tuple(data.get("methods", ())),
        "failure": _optional(Failure.from_json, data["failure"]),
        "places": tuple(_with_source(ModulePlace, place) for place in data["places"]),
        "call_sites": tuple(map(_call_site, data["call_sites"])),
        "guards": tuple(_with_source(Guard, guard) for guard in data["guards"]),
    }
    return ModuleExplanation(**{**data, **parts})


def _places(data: Sequence[Mapping[str, Any]]) -> tuple[DimensionPlace, ...]:
    return tuple(_with_source(DimensionPlace, place) for place in data)


def _dimension(data: Mapping[str, Any]) -> DimensionExplanation:
    return DimensionExplanation(
        name=data["name"],
        low=data["range"]["low"],
        high=data["range"]["high"],
        inputs=tuple(DimensionInput(**origin) for origin in data["inputs"]),
        made_by=None if data["made_by"] is None else _with_source(DimensionPlace, data["made_by"]),
        **{name: _places(data[name]) for name in ("guards", "asserts", "derived", "questions")},
        nodes=data["nodes"],
        narrowed=tuple(NarrowedRange(**narrowed) for narrowed in data["narrowed"]),
    )


def _explanation(data: Mapping[str, Any], messages: Sequence[Message]) -> Explanation:
    return Explanation(
        model=Model(**data["model"]),
        tried=data["tried"],
        modules=data["modules"]["all"],
        failed_modules=data["modules"]["failed"],
        failures=tuple(map(_failed, data["failures"])),
        suggestions=_optional(_suggestions, data["suggestions"]),
        explained=tuple(map(_module, data["explained"])),
        dimension=_optional(_dimension, data["dimension"]),
        guards=tuple(_with_source(ExplainedGuard, guard) for guard in data["guards"]),
        messages=tuple(messages),
    )
