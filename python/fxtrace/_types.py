"""Types of arguments that functions share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Union

if TYPE_CHECKING:
    import torch

Texts = Union[str, Iterable[str]]
Path = Union[str, "os.PathLike[str]"]
# A file's path or URL, its bytes, an open file, or a model in torch's memory.
ModelLike = Union[Path, bytes, IO[bytes], "torch.jit.ScriptModule", "torch.export.ExportedProgram"]
Range = Union[str, int, "tuple[int | None, int | None]"]
# Numbers of sizes by name, and shapes of inputs.
At = Union[Mapping[str, "int | Sequence[int]"], Texts]
