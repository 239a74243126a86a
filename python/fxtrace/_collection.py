"""Collections and their graphs, with what can be made of them: pictures, tables, torch.fx modules.

What makes it is imported when it is asked for: importing the package is light.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, ClassVar, Literal

from ._data import CollectionData, GraphData, Json, Malformed, parse
from ._errors import InputError

if TYPE_CHECKING:
    import networkx
    import pandas
    import torch
    from torch.fx import GraphModule

    from ._functions import Functions
    from ._render import At, Summary


@dataclass(frozen=True, eq=False, repr=False)
class Graph(GraphData):
    """A graph: its nodes in execution order. `graph["name"]` and `graph[0]` are nodes."""

    collection: Collection | None = field(default=None, repr=False)  # that it belongs to

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
        """As `Collection.graph_module`, for this graph."""
        try:
            import torch.fx  # noqa: F401
        except ImportError as error:
            raise ImportError(f"graph_module needs torch: pip install torch ({error})", name="torch") from None
        from ._graph_module import graph_module

        return graph_module(self, model, archive, check, functions, arguments or {}, libraries)

    def to_networkx(self) -> networkx.MultiDiGraph[str]:
        """A MultiDiGraph: nodes by name with their fields, and an edge for each use of a node by another; `place` and
        the edge's key say where among the arguments: "0", "1.2", "mask"."""
        from ._tables import to_networkx

        return to_networkx(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each node, subgraphs included."""
        from ._tables import nodes_table

        return nodes_table([self])

    def _repr_html_(self) -> str:
        from ._display import html_of_graph

        return html_of_graph(self)


@dataclass(frozen=True, eq=False, repr=False)
class Collection(CollectionData[Graph]):
    """Everything that one trace gave: the graphs, the root's first, with the model's modules and parameters."""

    _graph_class: ClassVar[Any] = Graph

    def __str__(self) -> str:
        """What it is in a few lines; render("text") has all of it."""
        from ._display import overview

        return overview(self)

    def render(
        self,
        format: str = "text",
        *,
        at: At | None = None,
        depth: int | None = None,
        focus: str | None = None,
        fold: bool = True,
        show_plumbing: bool = False,
        show_parameters: bool = False,
        order: bool = False,
        max_label: int | None = None,
    ) -> str:
        """The collection as `fxtrace render -f FORMAT` writes it: "text", "dot", "svg", "html", "mermaid",
        "model-explorer", "fx" or "json".

        `at` gives numbers for named sizes, or shapes of inputs, as for summary(): {"batch": 1, "seq": 4096}. The others are
        for pictures: levels that are open (`depth`), one module alone (`focus`), equal siblings as one (`fold`).

        Raises UsageError for an unknown format or wrong options, InputError where there is no Graphviz for "svg".
        """
        from ._render import picture_options, render

        options = picture_options(at, depth, focus, fold, show_plumbing, show_parameters, order, max_label)
        return render(self, format, *options).decode()

    def run_passes(self, *names: str) -> Collection:
        """The collection after these graph passes, in this order: `fxtrace render --pass NAME`."""
        from ._render import run_passes

        return run_passes(self, names)

    def summary(
        self,
        *,
        at: At | None = None,
        columns: str | Iterable[str] = (),
        depth: int | None = None,
        fold: bool = False,
        sort: Literal["macs", "params", "bytes"] | None = None,
    ) -> Summary:
        """As fxtrace.summary(): what `fxtrace summary --json` says of it."""
        from ._render import summary, summary_words

        return summary(self, *summary_words(at, columns, depth, fold, sort))

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
        """A torch.fx.GraphModule that runs: the graph of `module` with the model's own parameters and leaves.

        `model` is what they come from: the model's file (the default, where trace() read it), that file loaded (a
        ScriptModule or an ExportedProgram; the default where trace() was given one), or the torch.nn.Module that it was made of.
        Files are loaded by torch, in
        this process. Of a loaded model `archive` is the file, which large constants of TorchScript are read from; that
        is the file that was traced unless given. With `check` a call raises GuardError for inputs that a guard of the graph
        rules out.

        `functions` are the model's own that `wrap` kept: a dict by qualified name, or a list of functions and of Python
        modules, which give what they define.

        `arguments`: of modules of an exported program that stay calls, by path: how the parameters of forward are called that
        the arguments of the node are for, one after the other. Needed with a `model` of yours where the node says "in order
        of use": the file does not tell. The module is compared with the file's operations on random values.

        `libraries`: namespaces of torch.ops whose operators the graph may call ("torchaudio"). Without being asked it calls
        those of torch and torchvision that only compute; another of theirs is given by its own name ("aten.from_file").

        Raises RebuildError where the graph and the model do not fit or the graph calls what it may not, InputError where there
        is no such file, NotFound where `module` has no graph of its own, and ImportError without torch.
        """
        return self.graph(module).graph_module(
            model, archive=archive, check=check, functions=functions, arguments=arguments, libraries=libraries
        )

    def to_pandas(self, table: str = "nodes") -> pandas.DataFrame:
        """A DataFrame of the "nodes" of all graphs, the "modules" with their costs, or the "parameters"."""
        from ._tables import to_pandas

        return to_pandas(self, table)

    def _repr_html_(self) -> str:
        from ._display import html_of_collection

        return html_of_collection(self)


def load(source: str | os.PathLike[str] | IO[str] | IO[bytes] | Json) -> Collection:
    """A collection that was saved: of a file's path, an open file, or a parsed document.

    Returns a Collection. Its graph_module() needs the model, as the document has no weights.

    Raises InputError for a file that cannot be read, and for what is no collection or one of another version.
    """
    name = "collection"
    try:
        if isinstance(source, dict):
            return Collection.from_json(source)
        if isinstance(source, (str, os.PathLike)):
            name = os.fspath(source)
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
