"""Guards of a graph, checked before it runs.

They are texts of a collection, which may say anything: they are never Python that runs. What is evaluated is a small part
of the language, on the inputs alone: arithmetic and comparisons, what tensors say of themselves, and functions of the
table of those that only compute. A guard over anything else (modules, attributes and values in the graph, the state of the
process) is not checked.
"""

from __future__ import annotations

import ast
import enum
import inspect
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

from ._data import GraphData
from ._errors import GuardError, RebuildError
from ._functions import is_tensor_attribute, is_tensor_method, resolve_function
from ._signature import ModelSignature

_LONGEST = 20_000  # characters of a guard that is read
_LARGEST_EXPONENT = 64

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_BUILTINS: dict[str, Callable[..., Any]] = {
    "abs": abs, "bool": bool, "float": float, "int": int, "len": len, "list": list, "max": max, "min": min, "tuple": tuple
}  # fmt: skip
_NUMBERS = (bool, int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)
_SEQUENCES = (list, tuple)


class _NotChecked(Exception):
    """The guard has something that is not evaluated."""


class GuardCheck:
    """A forward pre-hook that raises GuardError for inputs that the graph is not for."""

    def __init__(self, graph: GraphData):
        self._inputs = [(node.target, node.name, node.shape or ()) for node in graph if node.op == "placeholder"]
        names = {name for target, node, _ in self._inputs for name in (target, node)}
        names |= {size for *_, shape in self._inputs for size in shape if isinstance(size, str) and size.isidentifier()}
        read = ((guard, _read(guard.expr, names)) for guard in graph.guards)
        self._guards = [(guard, tree) for guard, tree in read if tree is not None]

    def __bool__(self) -> bool:
        return bool(self._guards)

    def __call__(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if torch.compiler.is_compiling():
            return
        try:
            call = inspect.signature(module.forward).bind(*args, **kwargs)
        except TypeError:
            return  # forward says it better
        call.apply_defaults()
        values = dict(call.arguments)
        signature = module.graph._codegen if isinstance(module, fx.GraphModule) else None
        if isinstance(signature, ModelSignature):  # placeholders are parts of what the model takes
            values |= dict(zip(signature.placeholders, signature.process_inputs(*call.args)))
        self.check(values)

    def check(self, inputs: dict[str, Any]) -> None:
        if any(isinstance(value, fx.Proxy) for value in inputs.values()):
            return
        values = {name: value.value if isinstance(value, enum.Enum) else value for name, value in inputs.items()}
        for target, name, shape in self._inputs:
            value = values.get(target, values.get(name))
            values.setdefault(target, value)
            values.setdefault(name, value)
            if isinstance(value, torch.Tensor):
                for size, known in zip(value.shape, shape):
                    if isinstance(known, str) and known.isidentifier():
                        values.setdefault(known, size)
        for guard, tree in self._guards:
            if not _holds(tree, values):
                place = f" ({guard.source.file}:{guard.source.line})" if guard.source is not None else ""
                raise GuardError(
                    f"these inputs are not what the graph was traced for: {guard.expr}{place} does not hold",
                    ["trace again, for these inputs; graph_module(check=False) runs the graph all the same"],
                )


def _read(expr: str, names: set[str]) -> ast.expr | None:
    """Nothing where a name in it is not known, or none is of an input."""
    if len(expr) > _LONGEST:
        return None
    try:
        tree = ast.parse(expr, mode="eval").body
        nodes = list(ast.walk(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    bound = {node.target.id for node in nodes if isinstance(node, ast.NamedExpr)}
    used = {node.id for node in nodes if isinstance(node, ast.Name)} - bound
    return tree if used & names and used <= names | {"torch", "math"} | _BUILTINS.keys() else None


def _holds(tree: ast.expr, values: dict[str, Any]) -> bool:
    """True as well where that cannot be told."""
    try:
        with torch.no_grad():
            return bool(_Evaluator(values).value(tree))
    except (AttributeError, IndexError, TypeError, ValueError, ZeroDivisionError):
        return False  # an input of another type, or with fewer dimensions
    except (_NotChecked, RuntimeError, OverflowError, RecursionError, MemoryError):
        return True


class _Evaluator:
    def __init__(self, values: dict[str, Any]):
        self._values = dict(values)

    def value(self, node: ast.expr | None) -> Any:
        found = getattr(self, "_" + type(node).__name__.lower(), None)
        if found is None:
            raise _NotChecked
        return found(node)

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        if node.id not in self._values:
            raise _NotChecked
        return self._values[node.id]

    def _namedexpr(self, node: ast.NamedExpr) -> Any:
        self._values[node.target.id] = value = self.value(node.value)
        return value

    def _list(self, node: ast.List) -> list[Any]:
        return [self.value(item) for item in node.elts]

    def _tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self._list(node))  # type: ignore[arg-type]

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        return {self.value(key): self.value(item) for key, item in zip(node.keys, node.values)}

    def _slice(self, node: ast.Slice) -> slice:
        return slice(*(None if part is None else self.value(part) for part in (node.lower, node.upper, node.step)))

    def _subscript(self, node: ast.Subscript) -> Any:
        holder = self.value(node.value)
        if not isinstance(holder, (torch.Tensor, dict, str, *_SEQUENCES)):
            raise _NotChecked
        return holder[self.value(node.slice)]

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        return _UNARY[type(node.op)](self.value(node.operand))

    def _binop(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        numbers = (torch.Tensor, *_NUMBERS)
        if isinstance(node.op, ast.Add) and isinstance(left, _SEQUENCES) and isinstance(right, _SEQUENCES):
            return [*left, *right]
        if not isinstance(left, numbers) or not isinstance(right, numbers) or type(node.op) not in _BINARY:
            raise _NotChecked
        if isinstance(node.op, (ast.Pow, ast.LShift)) and isinstance(right, int) and right > _LARGEST_EXPONENT:
            raise _NotChecked
        return _BINARY[type(node.op)](left, right)

    def _boolop(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        value: Any = is_and
        for part in node.values:
            value = self.value(part)
            if bool(value) != is_and:
                break
        return value

    def _compare(self, node: ast.Compare) -> bool:
        left = self.value(node.left)
        for op, following in zip(node.ops, node.comparators):
            right = self.value(following)
            if type(op) not in _COMPARED:
                raise _NotChecked
            if isinstance(left, _SEQUENCES) and isinstance(right, _SEQUENCES):
                left, right = list(left), list(right)  # sizes of a tensor are a tuple
            if not bool(_COMPARED[type(op)](left, right)):
                return False
            left = right
        return True

    def _attribute(self, node: ast.Attribute) -> Any:
        path = _dotted(node)
        if path is not None and path.startswith(("torch.", "math.")):
            space, _, name = path.rpartition(".")
            value = getattr({"torch": torch, "math": math}.get(space), name, None)
            if not isinstance(value, (torch.dtype, torch.layout, torch.memory_format, float)):
                raise _NotChecked
            return value
        holder = self.value(node.value)
        if isinstance(holder, torch.device) and node.attr in ("type", "index"):
            return getattr(holder, node.attr)
        if isinstance(holder, torch.Tensor) and not is_tensor_attribute(node.attr):
            raise _NotChecked
        if not isinstance(holder, torch.Tensor):
            raise TypeError(node.attr)
        return getattr(holder, node.attr)

    def _call(self, node: ast.Call) -> Any:
        function = self._function(node.func)
        if any(item.arg in (None, "out") for item in node.keywords):
            raise _NotChecked
        args = [self.value(item) for item in node.args]
        return function(*args, **{str(item.arg): self.value(item.value) for item in node.keywords})

    def _function(self, node: ast.expr) -> Callable[..., Any]:
        if isinstance(node, ast.Name) and node.id in _BUILTINS and node.id not in self._values:
            return _BUILTINS[node.id]
        if not isinstance(node, ast.Attribute):
            raise _NotChecked
        path = _dotted(node)
        if path == "torch.device":
            return torch.device
        if path is not None and path.startswith(("torch.", "math.")):
            return _known_function(path.removeprefix("torch.ops."))
        holder = self.value(node.value)
        if not isinstance(holder, torch.Tensor):
            raise TypeError(node.attr)
        if not is_tensor_method(node.attr) or node.attr.endswith("_"):  # what writes into the inputs
            raise _NotChecked
        method: Callable[..., Any] = getattr(holder, node.attr)
        return method


def _known_function(path: str) -> Callable[..., Any]:
    """Of torch or math, or an operator of aten; none that writes into its arguments."""
    space = path.rpartition(".")[0]
    if path.endswith("_") or (space not in ("torch", "math") and not path.startswith("aten.")):
        raise _NotChecked
    try:
        function = resolve_function(path)
    except RebuildError:
        raise _NotChecked from None
    if isinstance(function, torch._ops.OpOverloadPacket) or getattr(getattr(function, "_schema", None), "is_mutable", False):
        raise _NotChecked
    return function


def _dotted(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None
