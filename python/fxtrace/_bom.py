"""fxtrace.bom: bills of materials."""

from __future__ import annotations

import json
from typing import Any, Literal

from ._keywords import ask, input_argument
from ._options import TraceOptions, Unpack
from ._types import ModelLike, Path

__all__ = ["bom"]


def bom(
    model: ModelLike,
    *others: Path,
    format: Literal["cyclonedx", "spdx"] = "cyclonedx",
    # scripts/reference writes what follows: bom
    # end of what scripts/reference writes
    **options: Unpack[TraceOptions],
) -> dict[str, Any]:
    """Return a bill of materials of models' files as CycloneDX 1.6 or SPDX 2.3, as `fxtrace bom` writes it.

    - model: a file's path or bytes, an open file, or an ExportedProgram or ScriptModule;
    - others: paths of more files, for one document of all;
    - format: "cyclonedx" or "spdx";
    - options: the keywords of trace().

    Returns the document: of each file the name, size and SHA-256, the torch that wrote it, operators by namespace, and licences.

    Raises UsageError for wrong options; InputError for a file that cannot be read.
    """
    more = [input_argument(other)[0] for other in others]
    return dict(json.loads(ask("bom", locals(), *more, form=f"--format={format}").stdout))
