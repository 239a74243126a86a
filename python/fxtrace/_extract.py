"""fxtrace.extract: extraction of a part of a graph as a collection of its own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ._collection import Collection
from ._data import parse
from ._memory import Kept, kept
from ._options import TraceOptions, Unpack
from ._program import run, warn_of
from ._remote import is_url, public_url
from ._trace import check_keywords, input_argument, option_words
from ._types import ModelLike


def extract(
    path: ModelLike | Collection,
    module: str | None = None,
    *,
    call: int | None = None,
    start: str | Iterable[str] = (),
    end: str | Iterable[str] = (),
    graph: str | None = None,
    **options: Unpack[TraceOptions],
) -> Collection:
    """Extract a part of a model or collection, as `fxtrace extract` does.

    - path: a file's path or bytes, an open file, an ExportedProgram or ScriptModule, or a collection;
    - module, call: a call of a module, by its path and number, the first from 1;
    - start, end: names of nodes, --from and --to on the command line;
    - graph: the module whose graph has these nodes, the root by default;
    - options: the keywords of trace(), for a model.

    Returns a Collection with the part as its graph, whose graph_module() takes modules and parameters from the same model.

    Raises UsageError for wrong options, and for a module or node that does not exist; InputError for a file that is not a model or
    cannot be read.
    """
    check_keywords("extract", options)
    name, content = input_argument(path)
    with option_words(options, name if content is None else content) as words:
        for option, value in (("--module", module), ("--call", call), ("--graph", graph)):
            if value is not None:
                words += [option, str(value)]
        for option, names in (("--from", start), ("--to", end)):
            for each in [names] if isinstance(names, str) else names:
                words += [option, each]
        output = run("extract", "-f", "json", *words, name, stdin=content)
    warn_of(output.messages, stacklevel=3)
    return Collection.from_json(parse(output.stdout), _model_file(path), output.messages, _kept(path))


def _kept(model: Any) -> Kept | None:
    return model._kept if isinstance(model, Collection) else kept(model)


def _model_file(model: Any) -> str | None:
    """Return the path of the file with the modules and weights, or None; a saved collection has none."""
    if isinstance(model, Collection):
        return model.path
    if not isinstance(model, (str, os.PathLike)):
        return None
    if is_url(model):
        return public_url(os.fspath(model))
    with open(model, "rb") as file:
        is_json = file.read(64).lstrip().startswith(b"{")
    return None if is_json else os.path.abspath(model)
