"""fxtrace.verify: whether a graph computes what its model computes."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._collection import Collection
from ._program import NOT_EQUAL, Message, run
from ._trace import ModelLike, Path, check_keywords, model_argument, option_words


@dataclass(frozen=True)
class Statistics:
    """Of a tensor's elements; `least`, `greatest` and `mean` of the finite ones."""

    elements: int
    not_finite: int
    least: float | None
    greatest: float | None
    mean: float | None


@dataclass(frozen=True)
class Fault:
    """What differs, and the node where that begins; schemas/verification.schema.json says more of each field."""

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
    """What a module took in one run, with its submodules."""

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
    """A run with drawn sizes that the model itself does not take; `dim` draws others."""

    sizes: str
    message: str


@dataclass(frozen=True)
class Verification:
    """True where the graph is right."""

    against: str | None  # the file of the other model
    equal: bool
    verdict: str  # "equal", "not equal", "cannot tell" or "not verified"
    why: str | None  # with the latter two: what was not compared
    runs: int
    sizes: tuple[str, ...]  # by run: "batch=3"
    inputs: tuple[str, ...]  # by run: "random", "sample" or "file"
    refused: tuple[Refusal, ...]  # not among the runs
    nodes: int
    tensors: int
    guards: int
    own_modules: tuple[str, ...]  # that the graph calls: they ran as the model has them
    failed_modules: tuple[str, ...]  # those of them that failed to trace
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
    **options: Any,
) -> Verification:
    """Runs a model, and the graph that is traced of it, on the same inputs, as `fxtrace verify` does.

    - path: a file's path or bytes, an open file, an ExportedProgram or ScriptModule;
    - inputs: tensors, or a tuple, list or dict of them, as the model takes them; or a file that numpy or torch.save wrote;
    - runs: with other random values and sizes each, from `seed` on; atol, rtol: differences that are let pass, as of
      torch.allclose, none by default;
    - collection: the graph, where it is not to be traced now;
    - against: the file of the model that a program was made of, to which it is held instead of to its own file;
    - profile: also seconds, bytes and FLOP/s of each module;
    - options: the keywords of trace().

    The model runs in a process that can open nothing; FXTRACE_LIBTORCH names the LibTorch, this Python's by default.

    Returns a Verification, which is true if both give the same; else `fault` says where a difference begins.

    Raises UsageError for wrong options, InputError for what is no model, cannot be read or run, or without a LibTorch.
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
