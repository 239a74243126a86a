"""fxtrace.verify: comparison of a graph's results with its model's."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._collection import Collection
from ._options import TraceOptions, Unpack
from ._program import NOT_EQUAL, Message, run
from ._trace import check_keywords, model_argument, option_words
from ._types import ModelLike, Path


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
    path: ModelLike,
    *,
    inputs: Any = None,
    runs: int = 1,
    seed: int = 0,
    atol: float = 0,
    rtol: float = 0,
    collection: Collection | Path | None = None,
    profile: bool = False,
    against: Path | None = None,
    **options: Unpack[TraceOptions],
) -> Verification:
    """Run a model and its traced graph on the same inputs and compare the results, as `fxtrace verify` does.

    - path: a file's path or bytes, an open file, an ExportedProgram or ScriptModule;
    - inputs: tensors, or a tuple, list or dict of them, as the model takes them; or a file that numpy or torch.save wrote;
    - runs, seed: the number of runs, each with other random values and sizes, and the seed of the first;
    - atol, rtol: tolerated differences, as for torch.allclose; zero by default;
    - collection: the graph, if the model must not be traced now;
    - against: the file of the model that a program was made of; the program is compared with it instead of its own file;
    - profile: true to measure seconds, bytes and FLOP/s of each module;
    - options: the keywords of trace().

    The model runs in a process that cannot open files; FXTRACE_LIBTORCH names the LibTorch to use, by default this Python's.

    Returns a Verification, which is true if both compute the same; otherwise `fault` says where a difference begins.

    Raises UsageError for wrong options; InputError for a file that is not a model, or that cannot be read or run, and without a
    LibTorch.
    """
    check_keywords("verify", options)
    name, content = model_argument(path)
    with tempfile.TemporaryDirectory(prefix="fxtrace_") as folder, option_words(options, name if content is None else content) as words:
        words += [f"--{key}={value}" for key, value in (("runs", runs), ("seed", seed), ("atol", atol), ("rtol", rtol))]
        if profile:
            words.append("--profile")
        if against is not None:
            words.append(f"--against={os.fspath(against)}")
        if inputs is not None:
            words.append("--inputs=" + _inputs_file(inputs, folder))
        if collection is not None:
            words.append("--collection=" + _collection_file(collection, folder))
        output = run("verify", "--json", *words, name, stdin=content, expected=(0, NOT_EQUAL))
    return _verification(json.loads(output.stdout), output.messages)


def _inputs_file(inputs: Any, folder: str) -> str:
    if isinstance(inputs, (str, os.PathLike)):
        return os.fspath(inputs)
    import torch

    name = os.path.join(folder, "inputs.pt")
    torch.save(dict(inputs) if isinstance(inputs, Mapping) else inputs, name)
    return name


def _collection_file(collection: Collection | Path, folder: str) -> str:
    if not isinstance(collection, Collection):
        return os.fspath(collection)
    name = os.path.join(folder, "collection.json")
    with open(name, "wb") as file:
        file.write(collection._content())
    return name


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
