"""Checks of a graph's guards before it runs.

Guards are texts of an untrusted collection and are never run as Python. The evaluator implements a small part of the language on
the inputs: arithmetic and comparisons, properties of tensors, functions of the table of those that only compute, and questions
about the process (is torch.is_grad_enabled()?). A guard on anything else is not checked; conditions on parameters, modules or
values in the graph are assertions in the graph instead.
"""

from __future__ import annotations

import ast
import enum
import inspect
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import fx
from torch.utils import _pytree as pytree

from ._data import GraphData
from ._errors import GuardError, RebuildError, StructureError
from ._functions import is_tensor_attribute, is_tensor_method, resolve_function
from ._records import Guard, Node
from ._signature import ModelSignature, missing

_LONGEST = 20_000  # the most characters that a guard may have to be checked
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
    "abs": abs, "bool": bool, "float": float, "int": int, "len": len, "list": list, "max": max, "min": min, "sorted": sorted, "tuple": tuple
}  # fmt: skip
# Questions about the process.
_PROCESS: dict[str, Callable[[], bool]] = {
    f"torch.{name}": getattr(torch, name)
    for name in (
        "is_grad_enabled",
        "is_autocast_enabled",
        "is_autocast_cpu_enabled",
        "is_vulkan_available",
        "_nnpack_available",
        "_use_cudnn_rnn_flatten_weight",
    )
    if hasattr(torch, name)
}
_TYPES: dict[str, type] = {"bool": bool, "float": float, "int": int}  # of inputs that may have several
_NUMBERS = (bool, int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)
_SEQUENCES = (list, tuple)


class _NotChecked(Exception):
    """The guard contains something that is not evaluated."""


class _Size(NamedTuple):
    """A size of an input, or the value of an integer input: factor*dimension + offset."""

    input: str
    place: int | None
    dimension: str
    factor: int
    offset: int


def _as_torch_checks(guard: Guard) -> str:
    """Return the expression without a lower bound of 2, which torch.export gives to each open dimension and its own module lets pass."""
    if guard.reason != "exported":
        return guard.expr
    return re.sub(r"^[\w.*()+]+ >= 2$", "True", re.sub(r"^2 <= (?=[\w.*()+]+ <= \d+$)", "", guard.expr))


class GuardCheck:
    """A forward pre-hook that raises GuardError for inputs that violate a guard of the graph."""

    def __init__(self, graph: GraphData, in_spec: pytree.TreeSpec | None = None):
        """Read the guards; `in_spec` is the structure of the arguments of an exported program."""
        self._in_spec = in_spec
        self._leaves = _leaves_of(graph) if in_spec is None else {}
        placeholders = [node for node in graph if node.op == "placeholder"]
        self._inputs = [(str(node.target), node.name) for node in placeholders]
        found = (_Size(str(node.target), place, *line) for node in placeholders for place, size in _sizes(node) if (line := _line_of(size)))
        self._sizes = sorted(found, key=lambda size: (size.factor, size.offset) != (1, 0))  # sizes that are a plain dimension come first
        names = {name for names in self._inputs for name in names} | {size.dimension for size in self._sizes}
        if graph.signature is not None:  # the arguments that placeholders are parts of
            names |= {str(entry.path[0]) for entry in graph.signature.inputs if entry.path}
        read = ((guard, _read(_as_torch_checks(guard), names)) for guard in graph.guards)
        self._guards = [(guard, tree) for guard, tree in read if tree is not None]

    def __bool__(self) -> bool:
        return bool(self._guards) or bool(self._leaves) or self._in_spec is not None

    def __call__(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if torch.compiler.is_compiling():
            return
        try:
            call = inspect.signature(module.forward).bind(*args, **kwargs)
        except TypeError:
            return  # forward raises a better error
        call.apply_defaults()
        # A fixed tensor that was left out has the graph's value.
        values = {name: value for name, value in call.arguments.items() if value is not missing}
        signature = module.graph._codegen if isinstance(module, fx.GraphModule) else None
        if isinstance(signature, ModelSignature):  # placeholders are parts of the model's arguments
            values |= dict(zip(signature.placeholders, signature.process_inputs(*call.args)))
        self.check(values)
        self._check_nesting(call.arguments)

    def _check_nesting(self, arguments: Mapping[str, Any]) -> None:
        """Raise StructureError if the arguments are nested in another way, as torch.export's own module does."""
        if any(isinstance(value, fx.Proxy) for value in arguments.values()):
            return
        for name, count in self._leaves.items():
            if name in arguments and (found := len(pytree.tree_leaves(arguments[name]))) != count:
                raise StructureError(f"the graph takes {count} values in {name}, got {found}")
        if self._in_spec is None:
            return
        count, names = self._in_spec.child(0).num_children, list(self._in_spec.child(1).context)
        if list(arguments)[count:] != names:  # an argument without parts is not among the graph's
            return
        args = tuple(list(arguments.values())[:count])
        given = pytree.tree_structure((args, {name: arguments[name] for name in names}))
        if _in_any_order(given) != _in_any_order(self._in_spec):
            raise StructureError(f"these inputs are nested in another way than the program's: expected {self._in_spec}, got {given}")

    def check(self, inputs: dict[str, Any]) -> None:
        if any(isinstance(value, fx.Proxy) for value in inputs.values()):
            return
        values = {name: value.value if isinstance(value, enum.Enum) else value for name, value in inputs.items()}
        for target, name in self._inputs:
            value = values.get(target, values.get(name))
            values.setdefault(target, value)
            values.setdefault(name, value)
        for size in self._sizes:
            value = values[size.input]
            if size.place is not None:
                value = value.shape[size.place] if isinstance(value, torch.Tensor) and size.place < value.dim() else None
            if isinstance(value, int):
                values.setdefault(size.dimension, (value - size.offset) // size.factor)
        for guard, tree in self._guards:
            if not _holds(tree, values):
                place = f" ({guard.source.file}:{guard.source.line})" if guard.source is not None else ""
                if _asks_process(ast.walk(tree)):
                    raise GuardError(
                        f"the graph was traced for a process in which {guard.expr} holds{place}, and it does not hold now",
                        ["run the graph in that state, or use graph_module(check=False) to run it without this check"],
                    )
                raise GuardError(
                    f"the graph was not traced for these inputs: {guard.expr}{place} does not hold",
                    ["trace again for these inputs, or use graph_module(check=False) to run the graph without this check"],
                )


def _in_any_order(spec: pytree.TreeSpec) -> Any:
    """Return the structure without the order of the keys of dicts, as torch.export's own module compares it."""
    if spec.is_leaf():
        return None
    context = set(spec.context) if spec.type is dict else spec.context
    return spec.type, context, [_in_any_order(child) for child in spec.children()]


def _leaves_of(graph: GraphData) -> dict[str, int]:
    """Return the number of values in each argument that the graph takes apart."""
    counts: dict[str, int] = {}
    for entry in graph.signature.inputs if graph.signature is not None else ():
        if entry.path is not None and len(entry.path) > 1:
            count = 1 if entry.node is not None else len(pytree.tree_leaves(entry.value))
            counts[str(entry.path[0])] = counts.get(str(entry.path[0]), 0) + count
    return counts


def _sizes(node: Node) -> Iterator[tuple[int | None, Any]]:
    """Yield the sizes of a placeholder with their dimensions; an integer input is a size itself."""
    yield from enumerate(node.shape or ())
    if node.meta is not None and node.meta.type == "int":
        yield None, node.meta.value


def _line_of(size: Any) -> tuple[str, int, int] | None:
    """Return dimension, factor and offset of "batch*2+1"; None for a number, and for expressions that are not linear in one dimension."""
    if not isinstance(size, str) or len(size) > _LONGEST:
        return None
    try:
        name, factor, offset = _line(ast.parse(size, mode="eval").body)
    except (_NotChecked, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return (name, factor, offset) if name is not None and factor else None


def _line(node: ast.expr) -> tuple[str | None, int, int]:
    if isinstance(node, ast.Name):
        return node.id, 1, 0
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return None, 0, node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        name, factor, offset = _line(node.operand)
        return name, -factor, -offset
    if isinstance(node, ast.BinOp):
        (name, factor, offset), (other, by, shift) = _line(node.left), _line(node.right)
        if name is None or other is None or name == other:
            if isinstance(node.op, ast.Add):
                return name or other, factor + by, offset + shift
            if isinstance(node.op, ast.Sub):
                return name or other, factor - by, offset - shift
            if isinstance(node.op, ast.Mult) and (name is None or other is None):
                return name or other, factor * shift + by * offset, offset * shift
    raise _NotChecked


def _asks_process(nodes: Iterable[ast.AST]) -> bool:
    return any(isinstance(node, ast.Call) and _dotted(node.func) in _PROCESS for node in nodes)


def _read(expr: str, names: set[str]) -> ast.expr | None:
    """Parse a guard; return None if a name in it is unknown, or if it asks neither an input nor the process."""
    if len(expr) > _LONGEST:
        return None
    try:
        tree = ast.parse(expr, mode="eval").body
        nodes = list(ast.walk(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    bound = {node.target.id for node in nodes if isinstance(node, ast.NamedExpr)}
    used = {node.id for node in nodes if isinstance(node, ast.Name)} - bound
    is_asked = bool(used & names) or _asks_process(nodes)
    return tree if is_asked and used <= names | {"torch", "math", "isinstance"} | _BUILTINS.keys() else None


def _holds(tree: ast.expr, values: dict[str, Any]) -> bool:
    """Evaluate a guard; return true also if it cannot be evaluated."""
    evaluator = _Evaluator(values)
    try:
        with torch.no_grad():
            return bool(evaluator.value(tree))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
        return False  # an input of another type, or with fewer dimensions
    except (_NotChecked, RuntimeError, OverflowError, RecursionError, MemoryError):
        return True


class _Evaluator:
    def __init__(self, values: dict[str, Any]):
        self._values = values  # not copied: there may be hundreds of values, and as many guards
        self._bound: dict[str, Any] = {}
        self._grad = torch.is_grad_enabled()  # before the guards run without gradients

    def value(self, node: ast.expr | None) -> Any:
        found = getattr(self, "_" + type(node).__name__.lower(), None)
        if found is None:
            raise _NotChecked
        return found(node)

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        for known in (self._bound, self._values):
            if node.id in known:
                return known[node.id]
        raise _NotChecked

    def _namedexpr(self, node: ast.NamedExpr) -> Any:
        self._bound[node.target.id] = value = self.value(node.value)
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
        if isinstance(holder, tuple) and node.attr in getattr(holder, "_fields", ()):
            return getattr(holder, node.attr)
        if isinstance(holder, torch.device) and node.attr in ("type", "index"):
            return getattr(holder, node.attr)
        if isinstance(holder, torch.Tensor) and not is_tensor_attribute(node.attr):
            raise _NotChecked
        if not isinstance(holder, torch.Tensor):
            raise TypeError(node.attr)
        return getattr(holder, node.attr)

    def _call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            value, kind = node.args
            if not isinstance(kind, ast.Name) or kind.id not in _TYPES:
                raise _NotChecked
            return isinstance(self.value(value), _TYPES[kind.id])
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
        if path == "torch.is_grad_enabled":
            return lambda: self._grad
        if path in _PROCESS:
            return _PROCESS[path]
        if path is not None and path.startswith(("torch.", "math.")):
            return _known_function(path.removeprefix("torch.ops."))
        holder = self.value(node.value)
        if not isinstance(holder, torch.Tensor):
            raise TypeError(node.attr)
        if not is_tensor_method(node.attr) or node.attr.endswith("_"):  # a method that writes into the inputs, or an unknown one
            raise _NotChecked
        method: Callable[..., Any] = getattr(holder, node.attr)
        return method


def _known_function(path: str) -> Callable[..., Any]:
    """Return a function of torch or math, or an operator of aten; never one that writes into its arguments."""
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
