"""fxtrace.check: checks of a model against rules."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._collection import Collection
from ._keywords import ask
from ._options import TraceOptions, Unpack
from ._program import BROKEN, STRICT_FAILED, Message
from ._records import Source
from ._types import At, ModelLike, Path, Texts

__all__ = ["CheckReport", "CheckedRule", "GoneOffence", "Offence", "OffencePlace", "check"]


@dataclass(frozen=True)
class CheckedRule:
    id: str  # "max-params", "deny-operator"; the same in every version
    name: str
    kind: str  # "no_failed", "max_params", "deny", ...
    text: str
    message: str | None
    severity: str  # "error" or "warning"
    offences: int
    known: int = 0  # the number of further offences, which the baseline has

    @property
    def holds(self) -> bool:
        return self.offences == 0


@dataclass(frozen=True)
class OffencePlace:
    module: str | None
    node: str | None
    graph: str | None
    record: str | None  # record of the archive, for an offence about the file


@dataclass(frozen=True)
class Offence:
    """An offence against a rule; schemas/check.schema.json describes each field."""

    rule: str
    id: str
    severity: str
    undecided: bool
    message: str
    subject: str | None
    source: Source | None
    places: tuple[OffencePlace, ...]
    known: bool = False  # true if the baseline has it


@dataclass(frozen=True)
class GoneOffence:
    """An offence of the baseline that occurs less often now."""

    rule: str
    subject: str | None
    undecided: bool
    module: str | None
    record: str | None
    known: int
    now: int


@dataclass(frozen=True)
class CheckReport:
    """The result of a check: true if every offence against a rule of severity "error" is known."""

    file: str
    path: str  # the path as it was given
    holds: bool
    errors: int
    warnings: int
    rules: tuple[CheckedRule, ...]
    offences: tuple[Offence, ...]
    messages: tuple[Message, ...]
    known: int = 0  # the number of offences that the baseline has
    gone: tuple[GoneOffence, ...] = ()

    def __bool__(self) -> bool:
        return self.holds

    def __iter__(self) -> Iterator[Offence]:
        return iter(self.offences)


def check(
    model: ModelLike | Collection,
    *,
    # scripts/reference writes what follows: check
    no_failed: bool = False,
    max_params: int | str | None = None,
    max_macs: int | str | None = None,
    max_activations: int | str | None = None,
    max_peak: int | str | None = None,
    deny: Texts | None = None,
    ops: Path | Iterable[str] | None = None,
    backend: Path | Iterable[Path] | None = None,
    require: Texts | None = None,
    rules: Path | Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None,
    program: bool = False,
    verify_content: bool = False,
    security: bool = False,
    programs_only: bool = False,
    at: At | None = None,
    baseline: Path | None = None,
    # end of what scripts/reference writes
    **options: Unpack[TraceOptions],
) -> CheckReport:
    """Check a model or collection against rules, as `fxtrace check` does; the default rules are no_failed and security.

    - model: a file's path or bytes, an open file, an ExportedProgram or ScriptModule, or a collection;

    Options of `fxtrace check`:

    - no_failed: no module fails to trace;
    - max_params: at most N parameters: 25000000, 25M;
    - max_macs: at most N multiply-accumulates, whatever sizes the dimensions have: 2G, 1e9;
    - max_activations: at most SIZE bytes of results of all operations together: 25MiB, 25M;
    - max_peak: at most SIZE bytes of results at a time, each held until its last use;
    - deny: no operator, and no module of a type, that matches: 'aten.item.*', Linear;
    - ops: the operators and globs that are allowed, or a file of them;
    - backend: a backend takes every operator: a set or file as for partition();
    - require: 'X followed-by Y', 'X preceded-by Y', 'X within Y', each also with 'no' in front, 'no X', 'X at-most N', 'X at-least
      N', 'X has-constant ARGUMENT'; X and Y are globs over operators and types;
    - rules: rules as in schemas/check_rules.schema.json, a file of them, or "quantization";
    - program: the file of an exported program is valid, as far as that can be checked without running it: its signature, records,
      sizes, names, and the arguments and results of each operator;
    - verify_content: the bytes of every record of the archive, and of archives in it, match their checksum there;
    - security: nothing in the file that makes a reader run code, write other files or use unlimited memory: pickles, machine code,
      paths, sizes, libraries;
    - programs_only: a file that holds no program, a state_dict for example, is checked by `security` and `verify_content` only, if
      these are given, and is not an error: for hooks that pass all files of a suffix;
    - at: numbers for named sizes, or the shapes of inputs, for shapes and costs: {"batch": 1, "seq": 4096} or {"x": (1, 3, 224,
      224)};
    - baseline: offences in FILE are known and break no rule: only new ones do, and more of the same in a module;
    - options: the keywords of trace(), for models. TorchScript has no shapes without `input`.

    Returns a CheckReport, which is true if no rule of severity "error" is broken, and iterates over the offences.

    Raises UsageError for wrong options, and for a pattern that matches no known name; InputError for a file that is not a model or
    cannot be read.
    """
    output = ask("check", locals(), expected=(0, BROKEN, STRICT_FAILED))
    return _report(json.loads(output.stdout), output.messages)


def _offence(data: Mapping[str, Any]) -> Offence:
    source = data["source"]
    places = tuple(OffencePlace(**place) for place in data["places"])
    return Offence(**{**data, "source": source and Source(**source), "places": places})


def _report(data: Mapping[str, Any], messages: Sequence[Message]) -> CheckReport:
    return CheckReport(
        file=data["model"]["file"],
        path=data["path"],
        holds=data["holds"],
        errors=data["errors"],
        warnings=data["warnings"],
        rules=tuple(CheckedRule(**rule) for rule in data["rules"]),
        offences=tuple(map(_offence, data["offences"])),
        messages=tuple(messages),
        known=data.get("known", 0),
        gone=tuple(GoneOffence(**gone) for gone in data.get("gone", ())),
    )
