"""fxtrace.why: the reasons why modules failed or have their status, and options that help."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._collection import Collection
from ._keywords import ask
from ._options import Unpack, WhyOptions
from ._program import Message
from ._records import Guard, Model
from ._types import ModelLike, Range, Texts
from ._why_records import (
    DimensionInput,
    DimensionPlace,
    FailureGroup,
    ModuleExplanation,
    NarrowedRange,
    Suggestions,
)

__all__ = ["DimensionExplanation", "ExplainedGuard", "Explanation", "why"]


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
    model: ModelLike | Collection,
    module: str | None = None,
    *,
    # scripts/reference writes what follows: why
    dim: Mapping[str, Range] | Texts | None = None,
    guard: int | str | None = None,
    # end of what scripts/reference writes
    **options: Unpack[WhyOptions],
) -> Explanation:
    """Explain why modules failed and which options help, as `fxtrace why` does; each suggestion was tried.

    - model: a file's path or bytes, an open file, an ExportedProgram or ScriptModule, or a collection;
    - module: a path or a glob of paths, to explain why these modules are traced, leaves, failed or not visited;

    Options of `fxtrace why`:

    - dim: the name of a dimension, to explain its range and the guards on it. Ranges as for trace() narrow dimensions, also
      together with a name: dim=["s77", "u0=1..4"];
    - guard: a guard: its number among those of all graphs, from 1, or its expression;
    - options: the other keywords of trace(), for a model, except pass_.

    Returns an Explanation: `failures`, and options of the command line that help in `suggestions`; `explained`, `dimension` and
    `guards` answer the questions of the arguments with these names.

    Raises UsageError for wrong options, and for an unknown module, dimension or guard; InputError for a file that is not a model or
    cannot be read.
    """
    output = ask("why", locals(), *(() if module is None else (module,)))
    return _explanation(json.loads(output.stdout), output.messages)


def _dimension(data: Mapping[str, Any]) -> DimensionExplanation:
    places = {name: tuple(map(DimensionPlace.from_json, data[name])) for name in ("guards", "asserts", "derived", "questions")}
    return DimensionExplanation(
        name=data["name"],
        low=data["range"]["low"],
        high=data["range"]["high"],
        inputs=tuple(map(DimensionInput.from_json, data["inputs"])),
        made_by=data["made_by"] and DimensionPlace.from_json(data["made_by"]),
        **places,
        nodes=data["nodes"],
        narrowed=tuple(map(NarrowedRange.from_json, data["narrowed"])),
    )


def _explanation(data: Mapping[str, Any], messages: Sequence[Message]) -> Explanation:
    return Explanation(
        model=Model.from_json(data["model"]),
        tried=data["tried"],
        modules=data["modules"]["all"],
        failed_modules=data["modules"]["failed"],
        failures=tuple(map(FailureGroup.from_json, data["failures"])),
        suggestions=data["suggestions"] and Suggestions.from_json(data["suggestions"]),
        explained=tuple(map(ModuleExplanation.from_json, data["explained"])),
        dimension=data["dimension"] and _dimension(data["dimension"]),
        guards=tuple(ExplainedGuard(**vars(Guard.from_json(guard)), graph=guard["graph"], number=guard["number"]) for guard in data["guards"]),
        messages=tuple(messages),
    )
