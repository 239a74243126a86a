"""fxtrace.diff: the differences between two models."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._collection import Collection
from ._data import Amount
from ._keywords import input_argument, option_words, options_of
from ._options import TraceOptions, Unpack
from ._program import Message, run
from ._records import Source
from ._types import At, ModelLike, Texts

__all__ = ["ComparedModel", "Comparison", "Difference", "ModuleDifferences", "diff"]


@dataclass(frozen=True)
class Difference:
    """A difference between two models; schemas/comparison.schema.json describes each field."""

    kind: str  # "modules", "nodes", ...
    change: str  # "added", "removed", "moved" or "changed"
    subject: str
    subject_after: str | None
    field: str | None
    before: str | None
    after: str | None
    text: str | None
    graph: str
    users: tuple[str, ...]
    source: Source | None
    within: str | None
    follows: bool


@dataclass(frozen=True)
class ModuleDifferences:
    """The differences in one module, with the modules, parameters and nodes that were added or removed with it."""

    path: str
    path_after: str | None
    type: str | None
    modules: int
    parameters: int
    nodes: int
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class ComparedModel:
    file: str
    kind: str
    type: str | None
    method: str
    modules: int
    failed_modules: int
    nodes: int
    parameters: int  # elements
    parameter_bytes: int
    buffers: int
    buffer_bytes: int
    macs: Amount | None
    activation_bytes: Amount | None
    peak_bytes: Amount | None
    partial: bool


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison: true if there is a difference of the reported kinds."""

    before: ComparedModel
    after: ComparedModel
    equal: bool
    kinds: tuple[str, ...]
    counts: Mapping[str, Mapping[str, int]]  # the number of differences by kind and change, reported or not
    weights: Mapping[str, Any]  # tensors of both models: compared, differ, not_compared, bytes_before, bytes_after; by: "checksums" or "bytes"
    modules: tuple[ModuleDifferences, ...]
    messages: tuple[Message, ...]

    def __bool__(self) -> bool:
        return not self.equal

    def __iter__(self) -> Iterator[Difference]:
        return (difference for module in self.modules for difference in module.differences)


def diff(
    before: ModelLike | Collection,
    after: ModelLike | Collection,
    *,
    # scripts/reference writes what follows: diff
    only: Texts | None = None,
    ignore: Texts | None = None,
    verify_content: bool = False,
    at: At | None = None,
    # end of what scripts/reference writes
    **options: Unpack[TraceOptions],
) -> Comparison:
    """Compare two models or collections, as `fxtrace diff` does.

    - before, after: each a file's path or bytes, an open file, an ExportedProgram or ScriptModule, or a collection;

    Options of `fxtrace diff`:

    - only: only these kinds: modules, parameters, weights (their content, by the checksums of the archives or `verify_content`),
      nodes, arguments, shapes, order, costs, guards, names, sources. Default: all but names and sources; of weights only the number
      that differ;
    - ignore: without these kinds;
    - verify_content: compare the bytes of weights, which are read, and not the checksums in the archives;
    - at: numbers for named sizes, or the shapes of inputs, for shapes and costs: {"batch": 1, "seq": 4096} or {"x": (1, 3, 224,
      224)};
    - options: the keywords of trace(), for models.

    Returns a Comparison, which is true if something differs, and iterates over the differences.

    Raises UsageError for wrong options; InputError for a file that is not a model or cannot be read.
    """
    options_given = options_of("diff", locals())
    with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder, option_words("diff", options_given) as words:
        files = [_file(model, os.path.join(folder, name)) for model, name in ((before, "before"), (after, "after"))]
        output = run("diff", "--json", *words, *files)
    return _comparison(json.loads(output.stdout), output.messages)


def _file(model: ModelLike | Collection, name: str) -> str:
    """Return the path of a model or collection; one that is not a file is written to `name` first."""
    given, content = input_argument(model)
    if content is None:
        return given
    with open(name, "wb") as file:
        file.write(content)
    return name


def _model(data: Mapping[str, Any]) -> ComparedModel:
    tensors = {
        "parameters": data["parameters"]["elements"],
        "parameter_bytes": data["parameters"]["bytes"],
        "buffers": data["buffers"]["elements"],
        "buffer_bytes": data["buffers"]["bytes"],
    }
    return ComparedModel(**{**data, **tensors})


def _difference(data: Mapping[str, Any]) -> Difference:
    source = data["source"]
    return Difference(**{**data, "users": tuple(data["users"]), "source": source and Source(**source)})


def _comparison(data: Mapping[str, Any], messages: Sequence[Message]) -> Comparison:
    return Comparison(
        before=_model(data["before"]),
        after=_model(data["after"]),
        equal=data["equal"],
        kinds=tuple(data["kinds"]),
        counts=data["counts"],
        weights=data["weights"],
        modules=tuple(
            ModuleDifferences(
                path=module["path"],
                path_after=module["path_after"],
                type=module["type"],
                differences=tuple(map(_difference, module["differences"])),
                **module["contents"],
            )
            for module in data["modules"]
        ),
        messages=tuple(messages),
    )
