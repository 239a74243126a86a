"""The options of a trace as keywords.  scripts/reference writes this file from the program's table of options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack

    from ._types import Path, Range, Texts
else:
    Unpack = None  # in annotations only, which are not evaluated

# By keyword: the option, its kind, and the commands without it.
OPTIONS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "method": ("--method", "text", ("convert",)),
    "model": ("--model", "text", ()),
    "hooks": ("--hooks", "choice", ("convert", "partition")),
    "concrete": ("--concrete", "json_by_name", ()),
    "input_names": ("--input-names", "names", ()),
    "defaults": ("--defaults", "choice", ()),
    "control_flow": ("--control-flow", "choice", ("convert", "partition")),
    "config": ("--config", "config_file", ()),
    "strict": ("--strict", "flag", ()),
    "input": ("--input", "by_name", ()),
    "dim": ("--dim", "by_name", ()),
    "param_shapes_constant": ("--param-shapes-constant", "flag", ()),
    "leaf": ("--leaf", "rule", ("convert", "partition")),
    "no_leaf": ("--no-leaf", "rule", ("convert", "partition")),
    "no_default_leaves": ("--no-default-leaves", "flag", ("convert", "partition")),
    "max_depth": ("--max-depth", "integer", ("convert", "partition")),
    "wrap": ("--wrap", "rule", ("convert", "partition")),
    "no_wrap": ("--no-wrap", "rule", ("convert", "partition")),
    "op_library": ("--op-library", "libraries", ()),
    "op_schema": ("--op-schema", "repeatable", ()),
    "cost": ("--cost", "by_name", ("convert",)),
    "max_iterations": ("--max-iterations", "integer", ()),
    "max_nodes": ("--max-nodes", "integer", ()),
    "max_call_depth": ("--max-call-depth", "integer", ()),
    "passes": ("--pass", "repeatable", ("why", "summary")),
    "max_memory": ("--max-memory", "integer", ()),
    "max_time": ("--max-time", "integer", ()),
    "no_isolation": ("--no-isolation", "flag", ()),
}


class _Options0(TypedDict, total=False):
    method: str | None
    """the method of the root to trace; default forward"""
    cost: Mapping[str, str] | Texts | None
    """the MACs of an operator, for costs: 'my::op=numel(out)*in0.size(-1)', Python over its arguments in0, in1, ... and its results
    out, out0, ...; EXPR knows numel(x), x.size(i), x.shape[i], len(x), min, max and integers. Repeatable"""


class _Options1(TypedDict, total=False):
    model: str | None
    """the model to trace, in an archive of several exported programs"""
    concrete: Mapping[str, Any] | None
    """fix an input of the root: VALUE is JSON, or @FILE to read it from a file; each "$PH" in it remains an input, named by its
    place: x_key_0. Repeatable"""
    input_names: Texts | None
    """only these inputs of the root remain; the others take their defaults, or None"""
    defaults: Literal["needed", "never"] | None
    """an input that control flow depends on, and that no option mentions, takes its default (needed, the default), or fails the
    module that depends on it (never)"""
    config: Path | Mapping[str, Any] | None
    """any of these options from a JSON file, rules with conditions among them; options of the command line come after those of the
    file"""
    strict: bool
    """exit with code 4 if any module failed to trace, or if an in-place write remains that a pass should have removed (the output is
    written all the same), and with 2 if a rule or --concrete does nothing"""
    input: Mapping[str, Any] | Sequence[Any] | str | None
    """a dummy input of the root, for shapes: 'x=float32[1,batch,224]', whose sizes are numbers, names or expressions of names,
    followed by @cuda:0 for a device; for an integer input just a size: n=seq. NAME is a path (past.0.k); without it, inputs are
    matched by position. Repeatable"""
    param_shapes_constant: bool
    """treat sizes of parameters and buffers as plain values"""
    op_library: Path | Iterable[Path] | None
    """load a library that registers operators. Repeatable"""
    op_schema: Texts | None
    """declare an operator without loading it: 'my::op(Tensor x, int n) -> Tensor'. Repeatable"""
    max_iterations: int | None
    """loop iterations and function calls in one call of a module; default 100000"""
    max_nodes: int | None
    """nodes and module calls in one graph; default 200000"""
    max_call_depth: int | None
    """nested calls of modules, methods and functions; default 1000"""
    max_memory: int | None
    """limit on memory while the model is read, in MiB; 0: no limit. Default 8192"""
    max_time: int | None
    """limit on processor time while the model is read, in seconds; 0: no limit. Default 300"""
    no_isolation: bool
    """read the model without the sandbox, a process that can open no files; only for models that you trust"""


class _Options2(TypedDict, total=False):
    hooks: Literal["run", "skip"] | None
    """trace forward hooks (default), or skip them"""
    control_flow: Literal["fail", "subgraph"] | None
    """the effect of an `if` or a loop that depends on data: its module fails and becomes a leaf (default), or it becomes a node
    higher_order.cond or higher_order.while_loop with subgraphs"""
    leaf: Texts | None
    """keep matching modules as leaves; RULE is TYPE, @PATH or TYPE@PATH, globs over the module's type (or its public alias) and path:
    * matches within one dotted part, ** across parts. Repeatable; the last rule that matches a module decides"""
    no_leaf: Texts | None
    """trace into matching modules"""
    no_default_leaves: bool
    """drop the default rule, which makes modules of torch.nn and torch.ao.nn leaves, except Sequential"""
    max_depth: int | None
    """keep modules N levels below the root as leaves"""
    wrap: Texts | None
    """keep calls of matching script functions as one call_function, as is the default for those of torch.nn.functional and
    torch.functional. Repeatable"""
    no_wrap: Texts | None
    """trace into matching functions"""


class _Options3(TypedDict, total=False):
    dim: Mapping[str, Range] | Texts | None
    """the range of a named dimension: 1..64, 1.., ..64 or 8; default 0... For an exported program, narrows an existing dimension.
    Repeatable"""


class _Options4(TypedDict, total=False):
    passes: Texts | None
    """run a graph pass; --list-passes lists them. Repeatable"""


class TraceOptions(_Options0, _Options1, _Options2, _Options3, _Options4, total=False):
    pass


class SummaryOptions(_Options0, _Options1, _Options2, _Options3, total=False):
    pass


class WhyOptions(_Options0, _Options1, _Options2, total=False):
    pass


class PartitionOptions(_Options0, _Options1, _Options3, _Options4, total=False):
    pass


class ConvertOptions(_Options1, _Options3, _Options4, total=False):
    pass
