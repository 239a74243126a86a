"""fxtrace.check: checks of a model against rules."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._collection import Collection
from ._options import TraceOptions, Unpack
from ._program import BROKEN, STRICT_FAILED, Message, run
from ._records import Source
from ._render import At, at_words
from ._trace import check_keywords, input_argument, option_words
from ._types import ModelLike, Path, Texts


@dataclass(frozen=True)
class CheckedRule:
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
    path: ModelLike | Collection,
    *,
    at: At | None = None,
    no_failed: bool = False,
    max_params: int | str | None = None,
    max_macs: int | str | None = None,
    max_activations: int | str | None = None,
    max_peak: int | str | None = None,
    deny: Texts | None = None,
    ops: Path | Sequence[str] | None = None,
    require: Texts | None = None,
    rules: Path | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    program: bool = False,
    security: bool = False,
    programs_only: bool = False,
    verify_content: bool = False,
    baseline: Path | None = None,
    **options: Unpack[TraceOptions],
) -> CheckReport:
    """Check a model or collection against rules, as `fxtrace check` does; the default rules are no_failed and security.

    - path: a file's path or bytes, an open file, an ExportedProgram or ScriptModule, or a collection;
    - at: numbers for named sizes, or the shapes of inputs, for limits: {"batch": 1, "seq": 4096};
    - no_failed: no module fails to trace;
    - max_params (elements), max_macs (multiply-accumulates of one run), max_activations and max_peak (bytes): upper limits, such as
      25_000_000 or "25M"; where sizes are not known, the limit must hold for all sizes;
    - deny: patterns of operators and types that the model must not have: "aten.item.*", "torch.nn.Dropout";
    - require: a required order or count: "torch.nn.Linear followed-by *.dequantize*", "no X within Y", "X at-most N";
    - ops: the operators that are allowed, or a file of them;
    - rules: rules as in schemas/check_rules.schema.json, or a file of them;
    - program: the file of an exported program is right, as far as that can be told without running it;
    - security: the file has nothing that could harm its reader; programs_only: apply only that rule to a file without a program;
    - verify_content: the bytes of every record of the archive match their checksum there;
    - baseline: a file of `fxtrace check --write-baseline`; the offences in it are known and do not break rules;
    - options: the keywords of trace(), for models. TorchScript has no shapes without `input`.

    Returns a CheckReport, which is true if no rule of severity "error" is broken, and iterates over the offences.

    Raises UsageError for wrong options, and for a pattern that matches no known name; InputError for a file that is not a model or
    cannot be read.
    """
    check_keywords("check", options)
    flags = {"no_failed": no_failed, "program": program, "security": security, "programs_only": programs_only, "verify_content": verify_content}
    name, content = input_argument(path)
    with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder, option_words(options, name if content is None else content) as words:
        words += [f"--{key.replace('_', '-')}" for key, given in flags.items() if given]
        limits = {"params": max_params, "macs": max_macs, "activations": max_activations, "peak": max_peak}
        words += [f"--max-{key}={limit}" for key, limit in limits.items() if limit is not None]
        words += [f"--deny={text}" for text in _texts(deny)]
        words += [f"--require={text}" for text in _texts(require)]
        words += at_words(at)
        if baseline is not None:
            words.append("--baseline=" + os.fspath(baseline))
        if ops is not None:
            words.append("--ops=" + _ops_file(ops, folder))
        if rules is not None:
            words.append("--rules=" + _rules_file(rules, folder))
        output = run("check", "--json", *words, name, stdin=content, expected=(0, BROKEN, STRICT_FAILED))
    return _report(json.loads(output.stdout), output.messages)


def _texts(given: Texts | None) -> Iterable[str]:
    return () if given is None else (given,) if isinstance(given, str) else given


def _ops_file(ops: Path | Sequence[str], folder: str) -> str:
    if isinstance(ops, (str, os.PathLike)):
        return os.fspath(ops)
    name = os.path.join(folder, "ops")
    with open(name, "w", encoding="utf-8") as file:
        file.writelines(f"{operator}\n" for operator in ops)
    return name


def _rules_file(rules: Path | Mapping[str, Any] | Sequence[Mapping[str, Any]], folder: str) -> str:
    if isinstance(rules, (str, os.PathLike)):
        return os.fspath(rules)
    name = os.path.join(folder, "rules.json")
    with open(name, "w", encoding="utf-8") as file:
        json.dump(rules if isinstance(rules, Mapping) else {"rules": list(rules)}, file)
    return name


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
