"""fxtrace.partition: what backends take of a model, and the pieces that it falls into."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._collection import Collection
from ._errors import InputError
from ._keywords import ask
from ._options import PartitionOptions, Unpack
from ._plan import Backend, Piece, PlanData
from ._program import BROKEN, STRICT_FAILED, Message
from ._records import Source
from ._types import At, ModelLike, Path, Texts

if TYPE_CHECKING:
    import torch

__all__ = ["Coverage", "CrossingValue", "LeftCall", "LeftReason", "Part", "Partition", "Plan", "partition"]


@dataclass(frozen=True)
class Coverage:
    """A number of things of which some are taken."""

    taken: int
    all: int

    @property
    def ratio(self) -> float | None:
        return self.taken / self.all if self.all else None


@dataclass(frozen=True)
class CrossingValue:
    """A value that crosses the border of a part."""

    name: str
    type: str | None
    dtype: str | None
    shape: tuple[int | str, ...] | None
    bytes: int | str | None


@dataclass(frozen=True)
class Part:
    """A region, which one set takes, or a rest, which none takes (set is None); schemas/partition.schema.json describes each field."""

    graph: str
    set: str | None
    calls: int
    macs: int | str | None
    unknown_calls: int
    parameter_bytes: int
    nodes: tuple[str, ...]
    inputs: tuple[CrossingValue, ...]
    outputs: tuple[CrossingValue, ...]


@dataclass(frozen=True)
class LeftReason:
    """Why calls of an operator are left, and which modules would be taken as a whole if it were gone."""

    target: str
    text: str
    calls: int
    macs: int | str | None
    modules: int
    outermost_modules: tuple[str, ...]


@dataclass(frozen=True)
class LeftCall:
    graph: str
    node: str
    target: str
    module: str
    type: str | None
    reason: LeftReason
    source: Source | None


@dataclass(frozen=True)
class Partition:
    """The parts of a model in order of execution, and what no set takes; iterates over the parts."""

    file: str
    sets: tuple[str, ...]
    parts: tuple[Part, ...]
    left: tuple[LeftCall, ...]
    reasons: tuple[LeftReason, ...]  # the one with the most to gain first
    calls: Coverage
    operators: Coverage
    modules: Coverage
    macs: int | str | None
    taken_macs: int | str | None
    cut_edges: int
    cut_bytes: int | str | None
    holds: bool  # true if all that `require` asks holds
    messages: tuple[Message, ...]
    plan: Plan | None = None  # with `extract`

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    @property
    def regions(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.set is not None)


class Plan(PlanData):
    """The pieces of a model that `fxtrace partition --extract DIR` wrote, in order of execution, and how they are joined."""

    def module(self, backends: Mapping[str, Backend] | None = None) -> torch.nn.Module:
        """Return a module that runs the pieces one after the other, with the signature of the model.

        `backends` has a function for the name of a set, which gets each Piece of that set and returns what runs it: a callable of its
        inputs that returns its output, or a tuple of several. Other pieces run in torch. The attribute `split` of the module is a
        torch.fx.GraphModule with a call_module for each piece.
        """
        from ._joined import join

        return join(self, backends or {})


def partition(
    model: ModelLike | Collection,
    ops: Path | Iterable[Path],
    *,
    # scripts/reference writes what follows: partition
    exclude: Texts | None = None,
    keep_together: Texts | None = None,
    min_nodes: int | None = None,
    min_macs: int | str | None = None,
    max_regions: int | None = None,
    require: Texts | None = None,
    at: At | None = None,
    extract: Path | None = None,
    # end of what scripts/reference writes
    **options: Unpack[PartitionOptions],
) -> Partition:
    """Partition a model or collection, as `fxtrace partition` does.

    - model: a file's path or bytes, an open file, an ExportedProgram or ScriptModule, or a collection;
    - ops: names of shipped sets, or files; the first that takes a call has it;

    Options of `fxtrace partition`:

    - exclude: leave what matches: a glob over operators, types and paths of modules; '@PATH' over paths alone;
    - keep_together: take a module whole or not at all: a glob over its type or path, as for `exclude`;
    - min_nodes: leave regions with fewer calls. Default: 1;
    - min_macs: leave regions with fewer multiply-accumulates: 1M;
    - max_regions: keep only the N largest regions, by MACs;
    - require: what must hold: "covered>=95%", "regions<=2"; Partition.holds tells whether it does;
    - at: numbers for named sizes, or the shapes of inputs, for shapes and costs: {"batch": 1, "seq": 4096} or {"x": (1, 3, 224,
      224)};
    - extract: a folder for the parts of the model as programs (.pt2), with plan.json, which joins them: Partition.plan;
    - options: the keywords of trace(), for models, without those about leaves.

    Returns a Partition, which iterates over the parts in order of execution.

    Raises UsageError for wrong options, InputError for a file that is not a model or cannot be read, and with `extract` for a model
    that a program of torch.export cannot express.
    """
    output = ask("partition", locals(), expected=(0, BROKEN, STRICT_FAILED))
    if not output.stdout:
        raise InputError("\n".join(message.text for message in output.messages))
    return _partition(json.loads(output.stdout), output.messages, None if extract is None else Plan(extract))


def _values(data: Sequence[Mapping[str, Any]]) -> tuple[CrossingValue, ...]:
    return tuple(CrossingValue(**{**value, "shape": value["shape"] and tuple(value["shape"])}) for value in data)


def _partition(data: Mapping[str, Any], messages: Sequence[Message], plan: Plan | None) -> Partition:
    totals = data["totals"]
    reasons = tuple(LeftReason(**{**each, "outermost_modules": tuple(each["outermost_modules"])}) for each in data["reasons"])
    left = tuple(
        LeftCall(**{**call, "reason": reasons[call["reason"]], "source": call["source"] and Source(**call["source"])}) for call in data["left"]
    )
    parts = tuple(
        Part(**{**part, "nodes": tuple(part["nodes"]), "inputs": _values(part["inputs"]), "outputs": _values(part["outputs"])})
        for part in data["parts"]
    )
    return Partition(
        file=data["model"]["file"],
        sets=tuple(each["name"] for each in data["sets"]),
        parts=parts,
        left=left,
        reasons=reasons,
        calls=Coverage(**totals["calls"]),
        operators=Coverage(**totals["operators"]),
        modules=Coverage(**totals["modules"]),
        macs=totals["macs"]["all"],
        taken_macs=totals["macs"]["taken"],
        cut_edges=totals["cut"]["edges"],
        cut_bytes=totals["cut"]["bytes"],
        holds=all(each["holds"] for each in data["requirements"]),
        messages=tuple(messages),
        plan=plan,
    )
