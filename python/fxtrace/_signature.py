"""Signatures of rebuilt graphs, as of the model's own forward: nested inputs are taken whole, fixed ones checked and ignored."""

from __future__ import annotations

import dataclasses
import enum
import io
import keyword
import math
import tokenize
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch import fx
from torch.fx.graph import _format_target, _PyTreeCodeGen, _PyTreeInfo
from torch.utils import _pytree as pytree

from ._data import GraphData
from ._errors import GuardError, RebuildError, StructureError
from ._values import Device, Dtype, Layout, MemoryFormat, map_values

_NOTHING: Any = object()
_PLAIN = (type(None), bool, int, float, complex, str, torch.dtype, torch.device, torch.layout, torch.memory_format)
# The types of containers in a graph's output.
_USUAL = (tuple, list, dict)


class Input(NamedTuple):
    """A part of a parameter of forward."""

    path: tuple[Any, ...]  # keys and positions inside of the parameter
    node: str | None  # the placeholder that receives it
    value: Any  # the fixed value of an input without placeholder; _NOTHING if any value is accepted

    def expression(self, parameter: str) -> str:
        return parameter + "".join(f"[{key!r}]" for key in self.path)

    def guard(self, parameter: str) -> str:
        place = self.expression(parameter)
        if isinstance(self.value, float) and math.isnan(self.value):
            return f"math.isnan({place})"
        return place + (" is None" if self.value is None else f" == {self.value!r}")


class Parameter(NamedTuple):
    name: str
    inputs: list[Input]

    @property
    def is_whole(self) -> bool:
        return len(self.inputs) == 1 and not self.inputs[0].path

    @property
    def is_fixed(self) -> bool:
        return self.is_whole and self.inputs[0].node is None


class _Missing:
    """Default of an input without one that follows an input with one: Python requires a default there."""

    __name__ = "missing"  # the name by which pickle finds it

    def __repr__(self) -> str:
        return "<no default>"

    def __reduce__(self) -> str:
        return "missing"


missing = _Missing()


def given(value: Any, name: str) -> Any:
    """Return an input; raise TypeError if it was left out."""
    if value is missing:
        raise TypeError(f"forward() is missing the argument {name!r}")
    return value


def part(value: Any, key: Any, of: str) -> Any:
    """Return the part under a key or position of an input, as torch.utils._pytree finds it."""
    if isinstance(value, fx.Proxy):  # a pickled graph module is traced again
        return value.tracer.create_proxy("call_function", part, (value, key, of), {})
    try:
        if isinstance(value, Mapping):
            return value[key]
        if isinstance(value, (list, tuple)) and type(key) is int:
            return value[key]
        if isinstance(value, tuple) and key in getattr(value, "_fields", ()):
            return getattr(value, key)
        if type(value) in pytree.SUPPORTED_NODES:
            return _registered_part(value, key)
        if dataclasses.is_dataclass(value):
            fields = [field.name for field in dataclasses.fields(value)]
            return getattr(value, fields[key] if type(key) is int else fields[fields.index(key)])
    except (KeyError, IndexError, ValueError):
        pass
    raise StructureError(f"{of} has no {key!r}: got {type(value).__name__}")


def _registered_part(value: Any, key: Any) -> Any:
    node = pytree.SUPPORTED_NODES[type(value)]
    if type(key) is not int and node.flatten_with_keys_fn is not None:
        for known, child in node.flatten_with_keys_fn(value)[0]:
            if key in (getattr(known, "name", _NOTHING), getattr(known, "key", _NOTHING)):
                return child
        raise KeyError(key)
    return node.flatten_fn(value)[0][key]


def check(value: Any, fixed: Any, guard: str) -> Any:
    """Return an input; raise GuardError if it is not the value that the graph was traced with."""
    if isinstance(value, fx.Proxy):
        return value.tracer.create_proxy("call_function", check, (value, fixed, guard), {})
    if not _is_same(value, fixed):
        shown = repr(value) if isinstance(value, _PLAIN) else type(value).__name__
        raise GuardError(f"the graph was traced with {guard}, which does not hold: got {shown}")
    return value


def _is_same(value: Any, fixed: Any) -> bool:
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(fixed, (list, tuple)):
        same_size = isinstance(value, (list, tuple)) and len(value) == len(fixed)
        return same_size and all(map(_is_same, value, fixed))
    if isinstance(fixed, float) and math.isnan(fixed):
        return isinstance(value, float) and math.isnan(value)
    return value is None if fixed is None else value is not None and bool(value == fixed)


class GraphCode(fx.graph.CodeGen):
    """Code generator with two additions to torch.fx's.

    It writes getattr(self.heads, "class") where torch.fx writes self.heads.class, and it knows the classes of named tuples, which
    torch.fx writes by their bare names.
    """

    classes: dict[str, Any] = {}

    def _gen_python_code(self, nodes: Any, *args: Any, **options: Any) -> Any:
        code = super()._gen_python_code(nodes, *args, **options)
        texts = {_words(_format_target("self", path)): _attribute(path) for path in _keyword_paths(nodes)}
        for name, named_tuple in self.classes.items():
            code.globals.setdefault(name, named_tuple)
        if texts:
            code.src = "".join(_with_texts(line, texts) for line in code.src.splitlines(keepends=True))
        return code


class KeywordTracer(fx.Tracer):
    """Tracer of pickled modules: the graph that torch.fx makes of them gets the module's own code generator."""

    def trace(self, *args: Any, **kwargs: Any) -> fx.Graph:
        graph = super().trace(*args, **kwargs)
        set_code(graph, {})
        return graph


def set_tracer(graph: fx.Graph) -> None:
    if _keyword_paths(graph.nodes):
        graph._tracer_cls = KeywordTracer


def set_code(graph: fx.Graph, classes: dict[str, Any]) -> None:
    """Set the code generator of a graph that torch.fx's own cannot write."""
    set_tracer(graph)
    if classes or _keyword_paths(graph.nodes):
        code = GraphCode()
        code.classes = classes
        graph.set_codegen(code)


def _keyword_paths(nodes: Iterable[fx.Node]) -> set[str]:
    """Return the paths in the nodes that contain Python keywords."""
    paths = {str(node.target) for node in nodes if node.op in ("call_module", "get_attr")}
    return {path for path in paths if any(map(keyword.iskeyword, path.split(".")))}


def _attribute(path: str) -> str:
    text = "self"
    for name in path.split("."):
        text = f"{text}.{name}" if name.isidentifier() and not keyword.iskeyword(name) else f'getattr({text}, "{name}")'
    return text


def _words(line: str) -> tuple[str, ...]:
    return tuple(token.string for token in _tokens(line))


def _tokens(line: str) -> list[tokenize.TokenInfo]:
    """Return the tokens of one line, whatever comes before and after it."""
    found = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip("\n")).readline):
            found.append(token)
    except (tokenize.TokenError, IndentationError):
        pass
    return [token for token in found if token.string.strip()]


def _with_texts(line: str, texts: dict[tuple[str, ...], str]) -> str:
    tokens = _tokens(line)
    for start in reversed(range(len(tokens))):
        for words, text in texts.items():
            end = start + len(words)
            if tuple(token.string for token in tokens[start:end]) != words or [token.string for token in tokens[end : end + 1]] == ["."]:
                continue
            line = line[: tokens[start].start[1]] + text + line[tokens[end - 1].end[1] :]
    return line


class ModelSignature(GraphCode, _PyTreeCodeGen):
    """Code generator for the forward of a graph module with the parameters of the model's own."""

    def __init__(
        self,
        parameters: list[Parameter],
        placeholders: dict[str, str],
        out_spec: pytree.TreeSpec | None,
        required: int,
        check: bool,
    ):
        """Store the parameters; `placeholders` are variables by node, `required` is the number of those without default in the model."""
        # torch.fx puts both into the module; inputs are not read from it.
        _PyTreeCodeGen.__init__(self, _PyTreeInfo([each.name for each in parameters], None, out_spec))  # type: ignore[arg-type]
        self._parameters = parameters
        self._required = required
        self._check = check
        self.placeholders = placeholders

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, **options: Any) -> str:
        texts = {text.split(":")[0].split("=")[0].split("#")[0].strip(): text for text in free_vars if text != "self"}
        lines: list[str] = []
        written: list[str] = []
        has_default = False  # true after a parameter with a default
        for place, parameter in enumerate(self._parameters):
            name, inputs = parameter
            first = inputs[0]
            variable = self.placeholders[first.node] if parameter.is_whole and first.node is not None else name
            text = texts.get(variable, variable) if parameter.is_whole and first.node is not None else name
            if place < self._required:
                text = text.split("=")[0].strip()
            elif parameter.is_fixed:
                text = f"{name} = " + ("_fxtrace_missing" if first.value is _NOTHING else _code(first.value))
            elif "=" not in text and has_default:
                text = f"{variable} = _fxtrace_missing"
                lines.append(f"{variable} = _fxtrace_given({variable}, {name!r})")
            has_default = has_default or "=" in text
            written.append(text)
            if not (parameter.is_whole and first.node is not None):
                lines += self._lines(name, inputs)
        head: str = fx.graph.CodeGen.gen_fn_def(self, written, maybe_return_annotation, **options)
        return head + "".join(f"\n    {line}" for line in lines)

    def _lines(self, name: str, inputs: list[Input]) -> list[str]:
        lines = []
        for item in inputs:
            text = name
            for i, key in enumerate(item.path):
                text = f"_fxtrace_part({text}, {key!r}, {Input(item.path[:i], None, None).expression(name)!r})"
            if item.node is not None:
                lines.append(f"{self.placeholders[item.node]} = {text}")
            elif self._check and item.value is not _NOTHING:
                lines.append(f"_fxtrace_check({text}, {_code(item.value)}, {item.guard(name)!r})")
        return lines

    def additional_globals(self) -> list[tuple[str, Any]]:
        own = {"part": part, "check": check, "as": as_model_gives, "given": given, "missing": missing}
        return [(f"_fxtrace_{name}", value) for name, value in own.items()]

    # torch.fx passes these names.
    def generate_output(self, output_args: Any, *, descs: Any = None, repr_fn: Callable[[Any], str] | None = None) -> str:
        text = (repr_fn or repr)(output_args)
        return f"return {text}" if self.pytree_info.out_spec is None else f"return _fxtrace_as({text}, self._out_spec)"

    # The methods that fx.Interpreter calls.

    def process_inputs(self, *inputs: Any) -> Any:
        if len(inputs) > len(self._parameters):
            raise TypeError(f"takes {len(self._parameters)} inputs, got {len(inputs)}")
        values = dict(zip((each.name for each in self._parameters), inputs))
        found: dict[str, Any] = {}
        for name, parts in self._parameters:
            if name not in values:
                break
            if any(item.node is not None for item in parts):
                given(values[name], name)
            for item in parts:
                value = values[name]
                for i, key in enumerate(item.path):
                    value = part(value, key, Input(item.path[:i], None, None).expression(name))
                if item.node is not None:
                    found[item.node] = value
                elif self._check and item.value is not _NOTHING:
                    check(value, item.value, item.guard(name))
        return [found[node] for node in self.placeholders if node in found]

    def process_outputs(self, out: Any) -> Any:
        return out if self.pytree_info.out_spec is None else as_model_gives(out, self.pytree_info.out_spec)


def as_model_gives(value: Any, spec: pytree.TreeSpec) -> Any:
    """Convert the graph's own dicts and tuples to the dataclasses, named tuples and other classes that the model returns."""
    leaves = pytree.tree_leaves(value)
    return pytree.tree_unflatten(leaves, spec) if len(leaves) == spec.num_leaves else value


def _code(value: Any) -> str:
    """Return a value as in generated code, where torch.fx defines inf, nan, torch and device."""
    return repr(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(type(key) in (str, int) and _is_plain(item) for key, item in value.items())
    return isinstance(value, _PLAIN)


def _to_torch(value: Any) -> Any:
    return value.to_torch() if isinstance(value, (Dtype, Device, Layout, MemoryFormat)) else value


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise RebuildError(f"the signature: {name!r} is not a Python name")


def model_signature(
    graph: GraphData,
    placeholders: dict[str, str],
    out_spec: pytree.TreeSpec | None = None,
    check: bool = True,
) -> ModelSignature | None:
    """Return the signature of a graph whose inputs are not simply its placeholders; `placeholders` are variables by node."""
    entries = [entry for entry in graph.signature.inputs if entry.role == "user_input"] if graph.signature else []
    guards = {guard.expr for guard in graph.guards}
    parameters: dict[str, Parameter] = {}
    for entry in entries:
        if not entry.path:  # the program does not tell the place
            return None
        name, *path = entry.path
        _check_name(name)
        if not all(type(key) in (str, int, bool, float) for key in path):
            raise RebuildError(f"the signature: an input has the path {entry.path!r}")
        value = map_values(entry.value, _to_torch)
        # The collection does not have the value of a tensor.
        is_known = value is not None or bool(path) or f"{name} is None" in guards
        fixed = value if entry.node is None and is_known and _is_plain(value) else _NOTHING
        parameters.setdefault(name, Parameter(name, [])).inputs.append(Input(tuple(path), entry.node, fixed))
    if not entries and _has_late_input(graph):
        parameters = {name: Parameter(name, [Input((), node, _NOTHING)]) for node, name in placeholders.items()}
    elif sorted(entry.node for entry in entries if entry.node is not None) != sorted(placeholders):
        return None
    if out_spec is not None and not _has_classes(out_spec):
        out_spec = None
    plain = [each.inputs[0].node for each in parameters.values() if each.is_whole]
    if out_spec is None and plain == list(placeholders) and not _has_late_input(graph):
        return None
    # Inputs that options fix may have a default, which the options override: None.
    given_values = {guard.expr.removesuffix(" is not None") for guard in graph.guards}
    without = {node.name for node in graph if node.op == "placeholder" and not node.args and node.target not in given_values}
    required = 0
    for place, each in enumerate(parameters.values(), 1):
        required = place if each.is_whole and each.inputs[0].node in without else required
    return ModelSignature(list(parameters.values()), placeholders, out_spec, required, check)


def _has_late_input(graph: GraphData) -> bool:
    """Return true if an input without a default follows one with a default."""
    defaults = [bool(node.args) for node in graph if node.op == "placeholder"]
    return defaults != sorted(defaults)


def _has_classes(spec: pytree.TreeSpec) -> bool:
    if spec.is_leaf():
        return False
    return spec.type not in _USUAL or any(map(_has_classes, spec.children()))
