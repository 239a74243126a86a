"""fxtrace.extract: extraction of a part of a graph as a collection of its own."""

from __future__ import annotations

from ._collection import Collection
from ._data import parse
from ._keywords import ask
from ._memory import kept
from ._options import TraceOptions, Unpack
from ._program import warn_of
from ._remote import is_url
from ._types import ModelLike, Texts

__all__ = ["extract"]


def extract(
    model: ModelLike | Collection,
    module: str | None = None,
    *,
    # scripts/reference writes what follows: extract
    call: int | None = None,
    from_: Texts | None = None,
    to: Texts | None = None,
    graph: str | None = None,
    # end of what scripts/reference writes
    **options: Unpack[TraceOptions],
) -> Collection:
    """Extract a part of a model or collection, as `fxtrace extract` does.

    - model: a file's path or bytes, an open file, an ExportedProgram or ScriptModule, or a collection;
    - module: the module to extract: its own graph if it has one, else a call of it;

    Options of `fxtrace extract`:

    - call: the number of the module's call in the graph, from 1. Default: the module's own graph, else 1;
    - from_: a node that the part begins with, by name. Default: all that `to` needs;
    - to: a node that the part ends with. Default: the graph's output;
    - graph: the graph of the module PATH, where modules that failed have given several. Default: the root's;
    - options: the keywords of trace(), for a model.

    Returns a Collection with the part as its graph, whose graph_module() takes modules and parameters from the same model.

    Raises UsageError for wrong options, and for a module or node that does not exist; InputError for a file that is not a model or
    cannot be read.
    """
    output = ask("extract", locals(), form="--format=json")
    warn_of(output.messages, stacklevel=3)
    if isinstance(model, Collection):
        return Collection.from_json(parse(output.stdout), model.path, output.messages, model._kept)
    return Collection.from_json(parse(output.stdout), _file_of_weights(output.model), output.messages, kept(model))


def _file_of_weights(model: str | None) -> str | None:
    """Return the file or URL with the modules and weights, or None; a saved collection has none."""
    if model is None or is_url(model):
        return model
    with open(model, "rb") as file:
        return None if file.read(64).lstrip().startswith(b"{") else model
