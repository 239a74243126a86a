"""What a sample is, and how its inputs are written down in manifest.json."""

import importlib
from dataclasses import dataclass, field
from typing import Any, Callable, Optional

import torch


@dataclass
class Sample:
    name: str  # of the archive, without suffix
    how: str  # "scripted", "traced", ...: for people
    shows: str
    make: Callable[[], Any]  # a ScriptModule; an ExportedProgram, or several of them by name
    inputs: list  # calls: each {"args": [SPEC, ...], "kwargs": {NAME: SPEC}}
    failed: list = field(default_factory=list)  # paths of the modules that cannot be followed
    # The same under other rules, where it differs: {"no-default-leaves": [...], "max-depth-1": [...]}.
    failed_under: dict = field(default_factory=dict)
    # Rules under which the graph cannot give the archive's outputs, and why: {"max-depth-1": "..."}.
    differs: dict = field(default_factory=dict)
    method: str = "forward"
    eager: Optional[Callable[[], torch.nn.Module]] = (
        None  # the same model for Python's tracers, where they manage
    )
    notes: str = ""
    kind: str = "torchscript"  # or "exported_program"
    model: str = ""  # which of several exported programs
    layout: str = ""  # of the archive of an exported program: "", "old", "one record"
    net: str = ""  # the file in nets/ that it stands in; the generator knows it

    @property
    def file(self) -> str:
        return self.name + (".pt" if self.kind == "torchscript" else ".pt2")

    def manifest_entry(self) -> dict:
        entry: dict[str, Any] = {
            "file": self.file,
            "how": self.how,
            "shows": self.shows,
            "method": self.method,
            "inputs": self.inputs,
            "failed": self.failed,
        }
        if self.kind != "torchscript":
            entry["kind"] = self.kind
        if self.model:
            entry["model"] = self.model
        if self.failed_under:
            entry["failed_under"] = self.failed_under
        if self.differs:
            entry["differs"] = self.differs
        if self.notes:
            entry["notes"] = self.notes
        entry["net"] = self.net
        entry["peers"] = self.eager is not None
        return entry


def tensor(*shape: int, dtype: str = "float32", seed: int = 0, low: int = 0, high: int = 8) -> dict:
    """SPEC of a random tensor: standard normal, or integers in [low, high)."""
    spec: dict[str, Any] = {"tensor": dtype, "shape": list(shape), "seed": seed}
    if not dtype.startswith("float"):
        spec.update(low=low, high=high)
    return spec


def call(*args: Any, **kwargs: Any) -> dict:
    return {"args": list(args), "kwargs": kwargs}


def make_value(spec: Any) -> Any:
    """The Python value of a SPEC: null, booleans, numbers, strings and lists stand for themselves."""
    if isinstance(spec, list):
        return [make_value(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    if "tuple" in spec:
        return tuple(make_value(item) for item in spec["tuple"])
    if "dict" in spec:
        return {key: make_value(value) for key, value in spec["dict"].items()}
    if "namedtuple" in spec:
        module, name = spec["namedtuple"].rsplit(".", 1)
        return getattr(importlib.import_module(module), name)(*make_value(spec["fields"]))
    dtype = getattr(torch, spec["tensor"])
    generator = torch.Generator().manual_seed(spec["seed"])
    if dtype.is_floating_point:
        return torch.randn(spec["shape"], generator=generator, dtype=dtype)
    return torch.randint(spec["low"], spec["high"], spec["shape"], generator=generator).to(dtype)


def make_inputs(spec: dict) -> tuple[tuple, dict]:
    """Positional and keyword arguments of one call, fresh each time."""
    return (
        tuple(make_value(item) for item in spec["args"]),
        {key: make_value(value) for key, value in spec["kwargs"].items()},
    )
