"""fxtrace.verify: comparison of a graph's results with its model's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._collection import Collection
from ._keywords import ask
from ._options import TraceOptions, Unpack
from ._program import NOT_EQUAL, Message
from ._types import ModelLike, Path

__all__ = ["Fault", "ModuleProfile", "Profile", "Refusal", "Statistics", "Verification", "verify"]


@dataclass(frozen=True)
class Statistics:
    """Statistics of a tensor's elements; `least`, `greatest` and `mean` are those of the finite ones."""

    elements: int
    not_finite: int
    least: float | None
    greatest: float | None
    mean: float | None


@dataclass(frozen=True)
class Fault:
    """A difference, and the node where it begins; schemas/verification.schema.json describes each field."""

    kind: str  # "value", "meta", "guard" or "fails"
    run: int
    message: str
    place: str | None
    node: str | None
    text: str | None
    module: str | None
    source: str | None
    graph_statistics: Statistics | None
    model_statistics: Statistics | None
    different_elements: int | None
    greatest_difference: float | None
    nodes_after: int


@dataclass(frozen=True)
class ModuleProfile:
    """The time, memory and cost of a module in one run, submodules included."""

    path: str
    type: str
    calls: int
    seconds: float
    share: float
    allocated_bytes: int
    peak_bytes: int
    macs: int | None
    flops_per_second: float | None


@dataclass(frozen=True)
class Profile:
    runs: int
    modules: tuple[ModuleProfile, ...]


@dataclass(frozen=True)
class Refusal:
    """A run with random sizes that the model itself refuses; `dim` can exclude these sizes."""

    sizes: str
    message: str


@dataclass(frozen=True)
class Verification:
    """The result of a verification: true if the graph and the model compute the same."""

    against: str | None  # file of the other model
    equal: bool
    verdict: str  # "equal", "not equal", "cannot tell" or "not verified"
    why: str | None  # the values that were not compared, for the last two verdicts
    runs: int
    sizes: tuple[str, ...]  # for each run: "batch=3"
    inputs: tuple[str, ...]  # for each run: "random", "sample" or "file"
    refused: tuple[Refusal, ...]  # not among the runs
    nodes: int
    tensors: int
    guards: int
    own_modules: tuple[str, ...]  # modules that the graph calls: they ran as the model has them
    failed_modules: tuple[str, ...]  # the modules among these that failed to trace
    fault: Fault | None
    profile: Profile | None
    messages: tuple[Message, ...]

    def __bool__(self) -> bool:
        return self.equal


def verify(
    model: ModelLike,
    *,
    # scripts/reference writes what follows: verify
    runs: int | None = None,
    seed: int | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    collection: Collection | Path | None = None,
    against: Path | None = None,
    inputs: Any = None,
    profile: bool = False,
    # end of what scripts/reference writes
    **options: Unpack[TraceOptions],
) -> Verification:
    """Run a model and its traced graph on the same inputs and compare the results, as `fxtrace verify` does.

    - model: a file's path or bytes, an open file, an ExportedProgram or ScriptModule;

    Options of `fxtrace verify`:

    - runs: the number of runs; each draws the sizes of named dimensions from their ranges. Default 1; 2 for a graph that keeps
      state;
    - seed: the seed of random inputs, and of operators that draw random numbers. Default 0;
    - atol: tolerated absolute difference. Default 0;
    - rtol: tolerated difference relative to the model's value. Default 0: all bits must be equal;
    - collection: the graph to verify, or its file, which other tools may have changed; by default the model is traced now;
    - against: compare the program MODEL with the model in FILE that it was converted from, a TorchScript archive or another
      program: both run, at least twice, on random inputs. `method` names the converted method;
    - inputs: tensors, or a tuple, list or dict of them, as the model takes them; or a file that numpy or torch.save wrote. Default:
      the sample inputs of an exported program in the first run, else random values;
    - profile: measure the time and memory of each module of the graph, and show them beside its costs;
    - options: the keywords of trace().

    The model runs in a process that cannot open files; FXTRACE_LIBTORCH names the LibTorch to use, by default this Python's.

    Returns a Verification, which is true if both compute the same; otherwise `fault` says where a difference begins.

    Raises UsageError for wrong options; InputError for a file that is not a model, or that cannot be read or run, and without a
    LibTorch.
    """
    output = ask("verify", locals(), expected=(0, NOT_EQUAL))
    return _verification(json.loads(output.stdout), output.messages)


def _verification(data: Mapping[str, Any], messages: Sequence[Message]) -> Verification:
    fault = data["fault"]
    if fault is not None:
        statistics = {
            key: Statistics(**fault[key]) for key in ("graph_statistics", "model_statistics") if fault[key] is not None
        }
        fault = Fault(**{**fault, **statistics})
    profile = data["profile"]
    if profile is not None:
        profile = Profile(profile["runs"], tuple(ModuleProfile(**module) for module in profile["modules"]))
    return Verification(
        against=data["against"],
        equal=data["equal"],
        verdict=data["verdict"],
        why=data["why"],
        runs=data["runs"],
        sizes=tuple(data["sizes"]),
        inputs=tuple(data["inputs"]),
        refused=tuple(Refusal(**refusal) for refusal in data["refused"]),
        nodes=data["nodes"],
        tensors=data["tensors"],
        guards=data["guards"],
        own_modules=tuple(data["own_modules"]),
        failed_modules=tuple(data["failed_modules"]),
        fault=fault,
        profile=profile,
        messages=tuple(messages),
    )
