"""Rebuilt graphs are called as the model's own forward: nested inputs as they are, fixed ones checked and ignored."""

from __future__ import annotations

import dataclasses
import enum
import io
import keyword
import math
import tokenize
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import fx
from torch.fx.graph import _format_target, _PyTreeCodeGen, _PyTreeInfo
from torch.utils import _pytree as pytree

from ._data import GraphData
from ._errors import GuardError, RebuildError
from ._values import Device, Dtype, Layout, MemoryFormat, map_values

_NOTHING: Any = object()
_PLAIN = (type(None), bool, int, float, str, torch.dtype, torch.device, torch.layout, torch.memory_format)
# What a graph's own output is made of.
_USUAL = (tuple, list, dict)


class Input(NamedTuple):
    """A part of a parameter."""

    path: tuple[Any, ...]  # keys and positions inside of the parameter
    node: str | None  # the placeholder that gets it
    value: Any  # what it is fixed to where no placeholder does; _NOTHING where it does not matter

    def expression(self, parameter: str) -> str:
        return parameter + "".join(f"[{key!r}]" for key in self.path)

    def guard(self, parameter: str) -> str:
        test = " is None" if self.value is None else f" == {self.value!r}"
        return self.expression(parameter) + test


class Parameter(NamedTuple):
    name: str
    inputs: list[Input]

    @property
    def is_whole(self) -> bool:
        return len(self.inputs) == 1 and not self.inputs[0].path

    @property
    def is_fixed(self) -> bool:
        return self.is_whole and self.inputs[0].node is None


def part(value: Any, key: Any, of: str) -> Any:
    """What torch.utils._pytree would find under a key or position of an input."""
    if isinstance(value, fx.Proxy):  # a graph module that was pickled is traced anew
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
    raise TypeError(f"{of} has no {key!r}: got {type(value).__name__}")


def _registered_part(value: Any, key: Any) -> Any:
    node = pytree.SUPPORTED_NODES[type(value)]
    if type(key) is not int and node.flatten_with_keys_fn is not None:
        for known, child in node.flatten_with_keys_fn(value)[0]:
            if key in (getattr(known, "name", _NOTHING), getattr(known, "key", _NOTHING)):
                return child
        raise KeyError(key)
    return node.flatten_fn(value)[0][key]


def check(value: Any, fixed: Any, guard: str) -> Any:
    """Raises where an input is not what the graph was traced with."""
    if isinstance(value, fx.Proxy):
        return value.tracer.create_proxy("call_function", check, (value, fixed, guard), {})
    if not _is_same(value, fixed):
        shown = repr(value) if isinstance(value, _PLAIN) else type(value).__name__
        raise GuardError(f"the graph was traced with {guard}, which does not hold: it is {shown}")
    return value


def _is_same(value: Any, fixed: Any) -> bool:
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(fixed, (list, tuple)):
        same_size = isinstance(value, (list, tuple)) and len(value) == len(fixed)
        return same_size and all(map(_is_same, value, fixed))
    return value is None if fixed is None else value is not None and bool(value == fixed)


class AnyNames(fx.graph.CodeGen):
    """Writes attributes whose names are Python's words as getattr(self.heads, "class"), where torch.fx writes
    self.heads.class."""

    def _gen_python_code(self, nodes: Any, *args: Any, **options: Any) -> Any:
        code = super()._gen_python_code(nodes, *args, **options)
        targets = {node.target for node in nodes if node.op in ("call_module", "get_attr")}
        texts = {_words(_format_target("self", path)): _attribute(path) for path in targets if _has_keyword(path)}
        if texts:
            code.src = "".join(_with_texts(line, texts) for line in code.src.splitlines(keepends=True))
        return code


def _has_keyword(path: str) -> bool:
    return any(map(keyword.iskeyword, path.split(".")))


def _attribute(path: str) -> str:
    text = "self"
    for name in path.split("."):
        text = f"{text}.{name}" if name.isidentifier() and not keyword.iskeyword(name) else f'getattr({text}, "{name}")'
    return text


def _words(line: str) -> tuple[str, ...]:
    return tuple(token.string for token in _tokens(line))


def _tokens(line: str) -> list[tokenize.TokenInfo]:
    """Of one line, whatever stands before and behind it."""
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


class ModelSignature(AnyNames, _PyTreeCodeGen):
    """Writes the forward of a graph module with the parameters of the model's own."""

    def __init__(self, parameters: list[Parameter], placeholders: dict[str, str], out_spec: pytree.TreeSpec | None):
        """`placeholders`: their variables, by node."""
        # torch.fx puts both into the module; what enters is not read from it.
        super().__init__(_PyTreeInfo([each.name for each in parameters], None, out_spec))  # type: ignore[arg-type]
        self._parameters = parameters
        self.placeholders = placeholders

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str, **options: Any) -> str:
        texts = {text.split(":")[0].split("=")[0].split("#")[0].strip(): text for text in free_vars if text != "self"}
        lines: list[str] = []
        written: list[str] = []
        may_have_default = True
        for name, inputs in reversed(self._parameters):
            first = inputs[0]
            if Parameter(name, inputs).is_whole and first.node is not None:
                text = texts[self.placeholders[first.node]]
                has_default = "=" in text
                written.append(text if may_have_default else text.split("=")[0].strip())
            else:
                has_default = Parameter(name, inputs).is_fixed and first.value is not _NOTHING
                written.append(f"{name} = {_code(first.value)}" if has_default and may_have_default else name)
            may_have_default = may_have_default and has_default
        for name, inputs in self._parameters:
            if not (Parameter(name, inputs).is_whole and inputs[0].node is not None):
                lines += self._lines(name, inputs)
        head: str = fx.graph.CodeGen.gen_fn_def(self, list(reversed(written)), maybe_return_annotation, **options)
        return head + "".join(f"\n    {line}" for line in lines)

    def _lines(self, name: str, inputs: list[Input]) -> list[str]:
        lines = []
        for item in inputs:
            text = name
            for i, key in enumerate(item.path):
                text = f"_fxtrace_part({text}, {key!r}, {Input(item.path[:i], None, None).expression(name)!r})"
            if item.node is not None:
                lines.append(f"{self.placeholders[item.node]} = {text}")
            elif item.value is not _NOTHING:
                lines.append(f"_fxtrace_check({text}, {_code(item.value)}, {item.guard(name)!r})")
        return lines

    def additional_globals(self) -> list[tuple[str, Any]]:
        return [("_fxtrace_part", part), ("_fxtrace_check", check), ("_fxtrace_as", as_model_gives)]

    def generate_output(self, output_args: Any, *args: Any, **options: Any) -> str:
        if self.pytree_info.out_spec is None:
            return fx.graph.CodeGen.generate_output(self, output_args, *args, **options)
        return f"return _fxtrace_as({output_args!r}, self._out_spec)"

    # What fx.Interpreter asks for.

    def process_inputs(self, *inputs: Any) -> Any:
        if len(inputs) > len(self._parameters):
            raise TypeError(f"takes {len(self._parameters)} inputs, got {len(inputs)}")
        values = dict(zip((each.name for each in self._parameters), inputs))
        found: dict[str, Any] = {}
        for name, parts in self._parameters:
            if name not in values:
                break
            for item in parts:
                value = values[name]
                for i, key in enumerate(item.path):
                    value = part(value, key, Input(item.path[:i], None, None).expression(name))
                if item.node is not None:
                    found[item.node] = value
                elif item.value is not _NOTHING:
                    check(value, item.value, item.guard(name))
        return [found[node] for node in self.placeholders if node in found]

    def process_outputs(self, out: Any) -> Any:
        return out if self.pytree_info.out_spec is None else as_model_gives(out, self.pytree_info.out_spec)


def as_model_gives(value: Any, spec: pytree.TreeSpec) -> Any:
    """Dataclasses, named tuples and other classes in the place of the graph's own dicts and tuples."""
    leaves = pytree.tree_leaves(value)
    return pytree.tree_unflatten(leaves, spec) if len(leaves) == spec.num_leaves else value


def _code(value: Any) -> str:
    """As generated code has it: torch.fx gives it inf, nan, torch and device."""
    return repr(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(type(key) in (str, int) and _is_plain(item) for key, item in value.items())
    return isinstance(value, _PLAIN) and not (isinstance(value, float) and math.isnan(value))


def _to_torch(value: Any) -> Any:
    return value.to_torch() if isinstance(value, (Dtype, Device, Layout, MemoryFormat)) else value


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise RebuildError(f"the signature: {name!r} is no name in Python")


def model_signature(
    graph: GraphData, placeholders: dict[str, str], out_spec: pytree.TreeSpec | None = None
) -> ModelSignature | None:
    """Of a graph whose inputs are not simply its placeholders; `placeholders` are their variables, by node."""
    entries = [entry for entry in graph.signature.inputs if entry.role == "user_input"] if graph.signature else []
    parameters: dict[str, Parameter] = {}
    for entry in entries:
        if not entry.path:  # the program does not tell
            return None
        name, *path = entry.path
        _check_name(name)
        if not all(type(key) in (str, int, bool, float) for key in path):
            raise RebuildError(f"the signature: an input has the path {entry.path!r}")
        value = map_values(entry.value, _to_torch)
        fixed = value if entry.node is None and _is_plain(value) else _NOTHING
        parameters.setdefault(name, Parameter(name, [])).inputs.append(Input(tuple(path), entry.node, fixed))
    if sorted(entry.node for entry in entries if entry.node is not None) != sorted(placeholders):
        return None
    if out_spec is not None and not _has_classes(out_spec):
        out_spec = None
    plain = [each.inputs[0].node for each in parameters.values() if each.is_whole]
    if out_spec is None and plain == list(placeholders):
        return None
    return ModelSignature(list(parameters.values()), placeholders, out_spec)


def _has_classes(spec: pytree.TreeSpec) -> bool:
    if spec.is_leaf():
        return False
    return spec.type not in _USUAL or any(map(_has_classes, spec.children()))
