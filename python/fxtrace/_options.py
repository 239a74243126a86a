"""The options of commands as keywords.  scripts/reference writes this file from the program's table of options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack

    from ._types import Path, Range, Texts
else:
    Unpack = None  # in annotations only, which are not evaluated

# By function and keyword: the option and the form of its value. Of trace() are those that all functions share.
OPTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "trace": {
        "method": ("--method", "text"),
        "model_name": ("--model", "text"),
        "hooks": ("--hooks", "text"),
        "concrete": ("--concrete", "concrete"),
        "input_names": ("--input-names", "names"),
        "defaults": ("--defaults", "text"),
        "control_flow": ("--control-flow", "text"),
        "config": ("--config", "file"),
        "strict": ("--strict", "flag"),
        "input": ("--input", "input"),
        "dim": ("--dim", "dim"),
        "param_shapes_constant": ("--param-shapes-constant", "flag"),
        "leaf": ("--leaf", "repeatable"),
        "no_leaf": ("--no-leaf", "repeatable"),
        "flat": ("--flat", "flag"),
        "no_default_leaves": ("--no-default-leaves", "flag"),
        "max_depth": ("--max-depth", "integer"),
        "wrap": ("--wrap", "repeatable"),
        "no_wrap": ("--no-wrap", "repeatable"),
        "op_library": ("--op-library", "libraries"),
        "op_schema": ("--op-schema", "repeatable"),
        "cost": ("--cost", "cost"),
        "max_iterations": ("--max-iterations", "integer"),
        "max_nodes": ("--max-nodes", "integer"),
        "max_call_depth": ("--max-call-depth", "integer"),
        "pass_": ("--pass", "repeatable"),
        "max_memory": ("--max-memory", "integer"),
        "max_time": ("--max-time", "integer"),
        "no_isolation": ("--no-isolation", "flag"),
    },
    "bom": {
    },
    "diff": {
        "only": ("--only", "names"),
        "ignore": ("--ignore", "names"),
        "verify_content": ("--verify-content", "flag"),
        "at": ("--at", "at"),
    },
    "order": {
        "buckets": ("--buckets", "text"),
        "at": ("--at", "at"),
    },
    "extract": {
        "module": ("--module", "text"),
        "call": ("--call", "integer"),
        "from_": ("--from", "repeatable"),
        "to": ("--to", "repeatable"),
        "graph": ("--graph", "text"),
    },
    "check": {
        "no_failed": ("--no-failed", "flag"),
        "max_params": ("--max-params", "text"),
        "max_macs": ("--max-macs", "text"),
        "max_activations": ("--max-activations", "text"),
        "max_peak": ("--max-peak", "text"),
        "deny": ("--deny", "repeatable"),
        "ops": ("--ops", "file"),
        "backend": ("--backend", "libraries"),
        "require": ("--require", "repeatable"),
        "rules": ("--rules", "file"),
        "program": ("--program", "flag"),
        "verify_content": ("--verify-content", "flag"),
        "security": ("--security", "flag"),
        "programs_only": ("--programs-only", "flag"),
        "at": ("--at", "at"),
        "baseline": ("--baseline", "text"),
    },
    "catalog": {
        "jobs": ("--jobs", "integer"),
        "no_recursive": ("--no-recursive", "flag"),
        "include": ("--include", "repeatable"),
        "backend": ("--backend", "libraries"),
        "verify_content": ("--verify-content", "flag"),
    },
    "verify": {
        "runs": ("--runs", "integer"),
        "seed": ("--seed", "integer"),
        "atol": ("--atol", "number"),
        "rtol": ("--rtol", "number"),
        "collection": ("--collection", "file"),
        "against": ("--against", "text"),
        "inputs": ("--inputs", "file"),
        "profile": ("--profile", "flag"),
    },
    "summary": {
        "depth": ("--depth", "integer"),
        "sort": ("--sort", "text"),
        "columns": ("--columns", "names"),
        "fold": ("--fold", "flag"),
        "on": ("--on", "file"),
        "memory": ("--memory", "flag"),
        "at": ("--at", "at"),
    },
    "why": {
        "dim": ("--dim", "dim"),
        "guard": ("--guard", "text"),
    },
    "partition": {
        "ops": ("--ops", "libraries"),
        "exclude": ("--exclude", "repeatable"),
        "keep_together": ("--keep-together", "repeatable"),
        "min_nodes": ("--min-nodes", "integer"),
        "min_macs": ("--min-macs", "text"),
        "max_regions": ("--max-regions", "integer"),
        "require": ("--require", "repeatable"),
        "at": ("--at", "at"),
        "extract": ("--extract", "text"),
    },
    "convert": {
        "grad": ("--grad", "switch"),
        "dialect": ("--dialect", "text"),
        "quantized": ("--quantized", "text"),
        "state": ("--state", "text"),
        "drop_output": ("--drop-output", "integers"),
        "for_torch": ("--for-torch", "text"),
        "rename": ("--rename", "cost"),
        "tap": ("--tap", "repeatable"),
        "no_weights": ("--no-weights", "flag"),
        "external_weights": ("--external-weights", "flag"),
        "hint": ("--hint", "hint"),
        "sample_inputs": ("--sample-inputs", "text"),
        "method": ("--method", "repeatable"),
        "module": ("--module", "text"),
        "call": ("--call", "integer"),
        "from_": ("--from", "repeatable"),
        "to": ("--to", "repeatable"),
    },
    "render": {
        "at": ("--at", "at"),
        "depth": ("--depth", "integer"),
        "focus": ("--focus", "text"),
        "no_fold": ("--no-fold", "flag"),
        "show_plumbing": ("--show-plumbing", "flag"),
        "show_parameters": ("--show-parameters", "flag"),
        "order": ("--order", "flag"),
        "max_label": ("--max-label", "integer"),
        "overlay": ("--overlay", "file"),
    },
}


class _NotForConvert(TypedDict, total=False):
    method: str | None
    """the method of the root to trace; default forward"""
    cost: Mapping[str, str] | Texts | None
    """the MACs of an operator, for costs: 'my::op=numel(out)*in0.size(-1)', Python over its arguments in0, in1, ... and its results
    out, out0, ...; EXPR knows numel(x), x.size(i), x.shape[i], len(x), min, max and integers. Repeatable"""


class _ForAll(TypedDict, total=False):
    model_name: str | None
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
    """fail for what could not be done, with the rest written: exit with code 4 if any module failed to trace, or if an in-place write
    remains that a pass should have removed; and with 2 if a rule or --concrete does nothing"""
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


class _NotForConvertAndPartition(TypedDict, total=False):
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
    flat: bool
    """trace down to operators: without the default rule, which makes modules of torch.nn and torch.ao.nn leaves, except Sequential"""
    no_default_leaves: bool
    """trace down to operators: without the default rule, which makes modules of torch.nn and torch.ao.nn leaves, except Sequential"""
    max_depth: int | None
    """keep modules N levels below the root as leaves"""
    wrap: Texts | None
    """keep calls of matching script functions as one call_function, as is the default for those of torch.nn.functional and
    torch.functional. Repeatable"""
    no_wrap: Texts | None
    """trace into matching functions"""


class _NotForWhy(TypedDict, total=False):
    dim: Mapping[str, Range] | Texts | None
    """the range of a named dimension: 1..64, 1.., ..64 or 8; default 0... For an exported program, narrows an existing dimension.
    Repeatable"""


class _NotForSummaryAndWhy(TypedDict, total=False):
    pass_: Texts | None
    """run a graph pass; --list-passes lists them. Repeatable"""


class TraceOptions(_NotForConvert, _ForAll, _NotForConvertAndPartition, _NotForWhy, _NotForSummaryAndWhy, total=False):
    pass


class SummaryOptions(_NotForConvert, _ForAll, _NotForConvertAndPartition, _NotForWhy, total=False):
    pass


class WhyOptions(_NotForConvert, _ForAll, _NotForConvertAndPartition, total=False):
    pass


class PartitionOptions(_NotForConvert, _ForAll, _NotForWhy, _NotForSummaryAndWhy, total=False):
    pass


class ConvertOptions(_ForAll, _NotForWhy, _NotForSummaryAndWhy, total=False):
    pass


# By function: the keywords of trace() that it takes.
TAKEN: dict[str, frozenset[str]] = {
    "trace": TraceOptions.__optional_keys__,
    "bom": TraceOptions.__optional_keys__,
    "diff": TraceOptions.__optional_keys__,
    "order": TraceOptions.__optional_keys__,
    "extract": TraceOptions.__optional_keys__,
    "check": TraceOptions.__optional_keys__,
    "catalog": TraceOptions.__optional_keys__,
    "verify": TraceOptions.__optional_keys__,
    "summary": SummaryOptions.__optional_keys__,
    "why": WhyOptions.__optional_keys__,
    "partition": PartitionOptions.__optional_keys__,
    "convert": ConvertOptions.__optional_keys__,
}
