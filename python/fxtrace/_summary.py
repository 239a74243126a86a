"""fxtrace.summary: the structure and the cost of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ._collection import Collection
from ._options import SummaryOptions, Unpack
from ._program import run
from ._render import At, Summary, summary_of, summary_words
from ._trace import check_keywords, input_argument, option_words
from ._types import ModelLike


def summary(
    path: ModelLike | Collection,
    *,
    at: At | None = None,
    columns: str | Iterable[str] = (),
    depth: int | None = None,
    fold: bool = False,
    sort: Literal["macs", "params", "bytes"] | None = None,
    **options: Unpack[SummaryOptions],
) -> Summary:
    """Summarize a model or collection and its cost, module by module, as `fxtrace summary --json` does.

    - path: a file's path or bytes, an open file, an ExportedProgram or ScriptModule, or a collection;
    - at: numbers for named sizes, or the shapes of inputs: {"batch": 1, "seq": 4096}, {"x": (1, 3, 224, 224)};
    - columns: further costs: "weights" and "kv-cache" (bytes), "intensity" (operations for each byte);
    - depth: levels below the root; fold: true to show equal consecutive blocks as one row; sort: show submodules with the most first;
    - options: the keywords of trace(), for a model. TorchScript has no shapes without input={"x": "float32[1,3,224,224]"}.

    Returns a dict, which schemas/summary.schema.json describes: "model", "inputs", "outputs", "totals", and a row in "modules"
    for each module, submodules included in its numbers. "macs" are multiply-accumulates of one run, parameters have "elements" and
    "bytes" (tied ones once), "activation_bytes" are those of all results, "peak_bytes" the most that results take at one time. Each is
    a number, an expression of named sizes ("s77*152") without `at`, or None if it is not known. `messages` of the result has notes
    and hints.

    Raises UsageError for wrong options; InputError for a file that is not a model or cannot be read.
    """
    check_keywords("summary", options)
    name, content = input_argument(path)
    with option_words(options, name if content is None else content) as words:
        shown = summary_words(at, columns, depth, fold, sort)
        return summary_of(run("summary", "--json", *words, *shown, name, stdin=content))
