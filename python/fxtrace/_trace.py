"""fxtrace.trace: the options of the command line as keywords."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from ._collection import Collection
from ._data import parse
from ._errors import Error
from ._keywords import PH, ask
from ._memory import kept
from ._program import STRICT_FAILED, warn_of
from ._types import ModelLike, Path, Range, Texts

__all__ = ["PH", "ModulesFailed", "trace"]


class ModulesFailed(Error):
    """Some module failed to trace with `strict=True` (exit code 4); `collection` is the result nonetheless."""

    collection: Collection



def trace(
    model: ModelLike,
    *,
    # scripts/reference writes what follows: trace
    method: str | None = None,
    model_name: str | None = None,
    hooks: Literal["run", "skip"] | None = None,
    concrete: Mapping[str, Any] | None = None,
    input_names: Texts | None = None,
    defaults: Literal["needed", "never"] | None = None,
    control_flow: Literal["fail", "subgraph"] | None = None,
    config: Path | Mapping[str, Any] | None = None,
    strict: bool = False,
    input: Mapping[str, Any] | Sequence[Any] | str | None = None,
    dim: Mapping[str, Range] | Texts | None = None,
    param_shapes_constant: bool = False,
    leaf: Texts | None = None,
    no_leaf: Texts | None = None,
    flat: bool = False,
    no_default_leaves: bool = False,
    max_depth: int | None = None,
    wrap: Texts | None = None,
    no_wrap: Texts | None = None,
    op_library: Path | Iterable[Path] | None = None,
    op_schema: Texts | None = None,
    cost: Mapping[str, str] | Texts | None = None,
    max_iterations: int | None = None,
    max_nodes: int | None = None,
    max_call_depth: int | None = None,
    pass_: Texts | None = None,
    max_memory: int | None = None,
    max_time: int | None = None,
    no_isolation: bool = False,
    # end of what scripts/reference writes
) -> Collection:
    """Trace a model into torch.fx graphs, as `fxtrace trace` does.

    `model` is the model's file or its URL in a store (fetch()), an open file or its bytes; or an ExportedProgram or ScriptModule, which
    torch.export.save or torch.jit.save writes into memory, weights included, and from which graph_module() takes modules and
    parameters. An nn.Module must be exported or scripted first: torch.export.export(model, args) or torch.jit.script(model).

    The keywords are the options of the command line, which `fxtrace trace --help` explains, with these values:

    - options that may be repeated take one text or several: leaf="torch.nn.Linear", no_leaf=["@encoder.*", "@head"];
      rules of no_leaf come after those of leaf, and both after those of a config;
    - concrete={"training": False, "mask": None}: values are written as JSON; fxtrace.PH or torch.fx.PH stays an input, and so
      does a tensor, with its shape and dtype;
    - input={"x": "float32[1,3,224,224]"}, or a list by position; a tensor stands for its shape, dtype and device;
    - dim={"batch": (1, 64), "seq": (8, None), "heads": 8, "time": "1..64"};
    - cost={"my::op": "numel(out)*in0.size(-1)"}: the multiply-accumulates of operators;
    - config is a file, or a dict with the contents of one, such as the `options` of a collection; a dict cannot load libraries,
      which only op_library does;
    - model_name is --model, and pass_ is --pass, as Python and the first argument have these words.

    Returns a Collection of graphs, the root's first. Shapes of nodes are tuples of numbers and, for named sizes, of
    expressions: (1, "2*seq", 64). Costs are multiply-accumulates (macs) and bytes of one run. The program's messages are in
    `messages`; its warnings, and failures of modules, are also warnings of Python (FxtraceWarning).

    Raises UsageError for wrong options (which is also a TypeError for an object that is not a model), InputError for a file that cannot
    be read or is not supported, ModulesFailed with strict=True, InternalError for a defect of fxtrace, and ProgramNotFound.
    """
    output = ask("trace", locals(), form="--format=json")
    collection = Collection.from_json(parse(output.stdout), output.model, output.messages, kept(model))
    if output.exit_code == STRICT_FAILED:
        raise _modules_failed(collection)
    warn_of(output.messages, stacklevel=3)
    return collection


def _modules_failed(collection: Collection) -> ModulesFailed:
    texts = {
        kind: [message.text for message in collection.messages if message.kind == kind] for kind in ("error", "hint")
    }
    error = ModulesFailed("; ".join(texts["error"]) or "some module failed to trace", texts["hint"])
    error.collection = collection
    return error
