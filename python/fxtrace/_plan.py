"""The pieces of a partitioned model, as `fxtrace partition --extract` writes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from ._errors import InputError
from ._types import Path

if TYPE_CHECKING:
    import torch

__all__ = ["Piece"]


@dataclass(frozen=True)
class Piece:
    """A part of a model as a program of torch.export."""

    path: FilePath
    set: str | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.stem

    def load(self) -> torch.export.ExportedProgram:
        import torch

        return torch.export.load(self.path)


Backend = Callable[[Piece], Callable[..., Any]]


class PlanData:
    """What plan.json says: the pieces in order of execution, and how they are joined."""

    def __init__(self, folder: Path) -> None:
        self.folder = FilePath(folder)
        try:
            data = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))
            if data["format"] != "fxtrace.plan" or data["version"] != 1:
                raise InputError(f"{folder}: plan.json is of another format or version")
            self.pieces = tuple(
                Piece(self.folder / FilePath(part["file"]).name, part["set"], tuple(part["inputs"]), tuple(part["outputs"]))
                for part in data["parts"]
            )
            self.in_spec: str | None = data["in_spec"]
            self.inputs: tuple[tuple[str, str], ...] = tuple((each["node"], each["argument"]) for each in data["inputs"])
            self.sets: tuple[str, ...] = tuple(data["sets"])
            self.fixed: dict[str, Any] = {each["argument"]: each["value"] for each in data["inputs"] if "value" in each}
            self.attributes: tuple[tuple[str, str], ...] = tuple((each["node"], each["attribute"]) for each in data["attributes"])
            self.result: Mapping[str, Any] = data["result"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{folder}: it has no plan.json of fxtrace partition --extract: {error}") from error
