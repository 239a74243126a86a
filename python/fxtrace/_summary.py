"""fxtrace.summary: the structure and the cost of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from ._collection import Collection
from ._keywords import ask
from ._options import SummaryOptions, Unpack
from ._render import Summary, summary_of
from ._types import At, ModelLike, Path, Texts

__all__ = ["summary"]


def summary(
    model: ModelLike | Collection,
    *,
    # scripts/reference writes what follows: summary
    depth: int | None = None,
    sort: Literal["macs", "params", "bytes"] | None = None,
    columns: Texts | None = None,
    fold: bool = False,
    on: Path | Mapping[str, Any] | None = None,
    memory: bool = False,
    at: At | None = None,
    # end of what scripts/reference writes
    **options: Unpack[SummaryOptions],
) -> Summary:
    """Summarize a model or collection and its cost, module by module, as `fxtrace summary --json` does.

    - model: a file's path or bytes, an open file, an ExportedProgram or ScriptModule, or a collection;

    Options of `fxtrace summary`:

    - depth: show modules down to N levels below the root. Default: all;
    - sort: sort the submodules of each module, largest first; expressions count with 128 for each dimension. Default: the order of
      the model;
    - columns: further costs: "weights" and "kv-cache" (bytes), "intensity" (operations for each byte), "flops"; "quant" (what is
      quantized);
    - fold: one row for consecutive equal blocks;
    - on: a device, for the least time of each module, what bounds it, and whether the model fits, in "device": "h100", or a file or
      dict of schemas/devices.schema.json with one device;
    - memory: what lives in memory: the tensors at the peak, and the bytes of each call, in "memory";
    - at: numbers for named sizes, or the shapes of inputs, for shapes and costs: {"batch": 1, "seq": 4096} or {"x": (1, 3, 224,
      224)};
    - options: the keywords of trace(), for a model. TorchScript has no shapes without input={"x": "float32[1,3,224,224]"}.

    Returns a dict, which schemas/summary.schema.json describes: "model", "inputs", "outputs", "totals", and a row in "modules"
    for each module, submodules included in its numbers. "macs" are multiply-accumulates of one run, "flops" what torch's
    FlopCounterMode counts, parameters have "elements" and "bytes" (tied ones once), "activation_bytes" are those of all results,
    "peak_bytes" the most that results take at one time. Each is a number, an expression of named sizes ("s77*152") without `at`,
    or None if it is not known. `messages` of the result has notes and hints.

    Raises UsageError for wrong options; InputError for a file that is not a model or cannot be read.
    """
    return summary_of(ask("summary", locals()))
