"""fxtrace.bom: bills of materials."""

from __future__ import annotations

import json
from typing import Any, Literal

from ._keywords import ask
from ._options import TraceOptions, Unpack
from ._types import ModelLike

__all__ = ["bom"]


def bom(
    model: ModelLike,
    *,
    format: Literal["cyclonedx", "spdx"] = "cyclonedx",
    # scripts/reference writes what follows: bom
    # end of what scripts/reference writes
    **options: Unpack[TraceOptions],
) -> dict[str, Any]:
    """Return a bill of materials of a model's file as CycloneDX 1.6 or SPDX 2.3, as `fxtrace bom` writes it.

    - model: a file's path or bytes, an open file, or an ExportedProgram or ScriptModule;
    - format: "cyclonedx" or "spdx";
    - options: the keywords of trace().

    Returns the document: the file's name, size and SHA-256, the torch that wrote it, operators by namespace, and licences.

    Raises UsageError for wrong options; InputError for a file that cannot be read.
    """
    return dict(json.loads(ask("bom", locals(), form=f"--format={format}").stdout))
