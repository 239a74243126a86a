"""Collections and their graphs, with conversions to pictures, tables and torch.fx modules.

The code of the conversions is imported on first use, so that importing the package is cheap.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, ClassVar, Literal

from ._data import CollectionData, GraphData, Json, Malformed, parse
from ._errors import InputError
from ._remote import is_url, public_url

if TYPE_CHECKING:
    import networkx
    import pandas
    import torch
    from torch.fx import GraphModule

    from ._functions import Functions
    from ._render import Summary
    from ._types import At, Path, Texts

__all__ = ["Collection", "Graph", "load"]


@dataclass(frozen=True, eq=False, repr=False)
class Graph(GraphData):
    """A graph: its nodes in execution order. `graph["name"]` and `graph[0]` are nodes."""

    collection: Collection | None = field(default=None, repr=False)  # the collection that the graph belongs to

    def __str__(self) -> str:
        """The graph as `fxtrace render -f text` writes it."""
        from ._render import text_of_graph

        return text_of_graph(self)

    def graph_module(
        self,
        model: str | os.PathLike[str] | torch.nn.Module | torch.export.ExportedProgram | None = None,
        *,
        archive: str | os.PathLike[str] | None = None,
        check: bool = True,
        functions: Functions | None = None,
        arguments: Mapping[str, Sequence[str]] | None = None,
        libraries: Sequence[str] = (),
    ) -> GraphModule:
        """Return a torch.fx.GraphModule of this graph; see `Collection.graph_module`."""
        try:
            import torch.fx  # noqa: F401
        except ImportError as error:
            raise ImportError(f"graph_module needs torch: pip install torch ({error})", name="torch") from None
        from ._graph_module import graph_module

        return graph_module(self, model, archive, check, functions, arguments or {}, libraries)

    def to_networkx(self) -> networkx.MultiDiGraph[str]:
        """Return a MultiDiGraph: nodes by name with their fields, and an edge for each use of a node by another.

        `place` and the edge's key are the place among the arguments: "0", "1.2", "mask".
        """
        from ._tables import to_networkx

        return to_networkx(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame with a row for each node, subgraphs included."""
        from ._tables import nodes_table

        return nodes_table([self])

    def _repr_html_(self) -> str:
        from ._display import html_of_graph

        return html_of_graph(self)


@dataclass(frozen=True, eq=False, repr=False)
class Collection(CollectionData[Graph]):
    """The result of one trace: the graphs, the root's first, with the model's modules and parameters."""

    _graph_class: ClassVar[Any] = Graph

    def __str__(self) -> str:
        """Return an overview in a few lines; render("text") returns the whole collection."""
        from ._display import overview

        return overview(self)

    def render(
        self,
        format: str = "text",
        *,
        # scripts/reference writes what follows: render
        at: At | None = None,
        depth: int | None = None,
        focus: str | None = None,
        no_fold: bool = False,
        show_plumbing: bool = False,
        show_parameters: bool = False,
        order: bool = False,
        max_label: int | None = None,
        overlay: Path | Mapping[str, Any] | None = None,
        # end of what scripts/reference writes
    ) -> str:
        """Return the collection as `fxtrace render -f FORMAT` writes it.

        - format: "text", "graph", "dot", "svg", "html", "mermaid", "model-explorer", "fx" or "json";

        Options of `fxtrace render`:

        - at: numbers for named sizes, or the shapes of inputs, for shapes and costs: {"batch": 1, "seq": 4096} or {"x": (1, 3, 224,
          224)};
        - depth: show nested modules down to depth N; default: as many as fit one picture;
        - focus: show only the module PATH and its neighbours;
        - no_fold: show equal siblings one by one;
        - show_plumbing: show what pictures leave out: sizes and arithmetic on them, asserts, dtype and device queries, constants;
        - show_parameters: show all parameters and buffers, those of leaf modules inside their boxes;
        - order: number modules and parameters in the order of their use;
        - max_label: truncate labels to N characters;
        - overlay: values that colour nodes and modules, as node data of Model Explorer or a file of it;

        Raises UsageError for an unknown format or wrong options; InputError for "svg" without Graphviz.
        """
        arguments = locals()
        from ._keywords import options_of
        from ._render import render

        return render(self, format, **options_of("render", arguments)).decode()

    def run_passes(self, *names: str) -> Collection:
        """Return the collection after these graph passes, applied in this order: `fxtrace render --pass NAME`."""
        from ._render import run_passes

        return run_passes(self, names)

    def summary(
        self,
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
    ) -> Summary:
        """Return a summary of the collection as a dict; see fxtrace.summary()."""
        arguments = locals()
        from ._keywords import options_of
        from ._render import summary

        return summary(self, **options_of("summary", arguments))

    def graph_module(
        self,
        model: str | os.PathLike[str] | torch.nn.Module | torch.export.ExportedProgram | None = None,
        module: str = "",
        *,
        archive: str | os.PathLike[str] | None = None,
        check: bool = True,
        functions: Functions | None = None,
        arguments: Mapping[str, Sequence[str]] | None = None,
        libraries: Sequence[str] = (),
    ) -> GraphModule:
        """Return a torch.fx.GraphModule that runs: the graph of `module` with the model's own parameters and leaves.

        - model: the source of parameters and leaves: the model's file (the default after trace() of a file), that file loaded (a
          ScriptModule or an ExportedProgram; the default after trace() of one), or the torch.nn.Module that the file was made of.
          Files are loaded by torch, in this process;
        - module: the path of the module whose graph is built, the root by default;
        - archive: the file of a loaded model, from which large constants of TorchScript are read; by default the file that was traced;
        - check: true to raise GuardError in a call whose inputs violate a guard of the graph;
        - functions: the model's own functions that `wrap` kept: a dict by qualified name, or a list of functions and of Python
          modules, which provide the functions that they define;
        - arguments: for modules of an exported program that stay calls, by path: the names of forward's parameters for the
          arguments of the node, in their order. Needed with a `model` of your own if the node says "in order of use", because the
          file does not tell the names. The module is compared with the file's operations on random values;
        - libraries: namespaces of torch.ops whose operators the graph may call ("torchaudio"). By default the graph may call
          those of torch and torchvision that only compute; others of these are allowed by their own names ("aten.from_file").

        Raises RebuildError if the graph does not fit the model, or calls something that it may not call; InputError if the file does
        not exist; NotFound if `module` has no graph of its own; and ImportError without torch.
        """
        return self.graph(module).graph_module(
            model, archive=archive, check=check, functions=functions, arguments=arguments, libraries=libraries
        )

    def to_pandas(self, table: str = "nodes") -> pandas.DataFrame:
        """Return a DataFrame of the "nodes" of all graphs, the "modules" with their costs, or the "parameters"."""
        from ._tables import to_pandas

        return to_pandas(self, table)

    def _repr_html_(self) -> str:
        from ._display import html_of_collection

        return html_of_collection(self)


def load(source: str | os.PathLike[str] | IO[str] | IO[bytes] | Json) -> Collection:
    """Load a collection that was saved.

    - source: a file's path or URL, an open file, or a parsed document.

    Returns a Collection. Its graph_module() needs the model, because the document has no weights.

    Raises InputError for a file that cannot be read, and for one that is not a collection, or is of another version.
    """
    name = "collection"
    try:
        if isinstance(source, dict):
            return Collection.from_json(source)
        if is_url(source):
            from ._fetch import fetch

            name = public_url(str(source))
            source = fetch(str(source), whole=True)
        elif isinstance(source, (str, os.PathLike)):
            name = os.fspath(source)
        if isinstance(source, (str, os.PathLike)):
            with open(source, "rb") as file:
                content: str | bytes = file.read()
        else:
            name = str(getattr(source, "name", name))
            content = source.read()
        return Collection.from_json(parse(content))
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}") from None
    except Malformed as error:
        raise InputError(f"{name}: {error}") from None
