"""Resolution of the targets of call_function nodes to Python callables."""

from __future__ import annotations

import functools
import importlib
import keyword
import math
import pkgutil
import re
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union

import torch
from torch.jit._script import RecursiveScriptClass

from ._checked import checked
from ._errors import RebuildError


def _table(name: str) -> dict[str, frozenset[str]]:
    """Read names by namespace from rows of a table of lib/operators: {"torch.linalg", " cholesky cond " " det "},"""
    rows = re.findall(r'\{"(.+?)",([^}]*)\}', (pkgutil.get_data(__package__, name) or b"").decode())
    return {space: frozenset(names.replace('"', " ").split()) for space, names in rows}


# Functions of torch that a graph may call.
FUNCTIONS = _table("torch_functions.inc")
# Operators that a graph may call without the caller's permission.
OPERATORS = _table("callable_operators.inc")
# Builtins that a graph may call; those that could run other code than the graph's are left out.
_BUILTINS = frozenset(
    "abs all any bin bool bytes chr complex dict divmod enumerate float getattr hash hex int isinstance len list max "
    "min oct ord pow range reversed round set slice sorted str sum tuple type zip".split()
)
_NOT_OF_OPERATOR = frozenset(("attrgetter", "call", "itemgetter", "methodcaller"))
_NOT_OF_STRINGS = frozenset(("format", "format_map"))
# Attributes of tensors that a graph may read; all are plain values.
_TENSOR_ATTRIBUTES = frozenset(
    "H T data device dtype grad imag is_cuda is_leaf is_meta is_nested is_quantized is_sparse itemsize layout mH mT "
    "nbytes ndim real requires_grad shape".split()
)
# The model's own functions, as a caller gives them: by qualified name, or as functions and whole Python modules.
Functions = Union[Mapping[str, Callable[..., Any]], Iterable[Union[Callable[..., Any], types.ModuleType]]]
_OPERATORS = (torch._ops.OpOverload, torch._ops.OpOverloadPacket, torch._ops.HigherOrderOperator)


def is_callable(target: str, libraries: Iterable[str] = ()) -> bool:
    """Return true if an operator, or a class of torch.classes, only computes or is trusted by the caller.

    `libraries` trusts a namespace, unless some of its operators are in the table; of these, an operator by namespace and name.
    """
    parts = target.split(".")
    space, _, name = ("torch.classes", "", parts[2]) if parts[:2] == ["torch", "classes"] else (parts[0], "", ".".join(parts[1:2]))
    if not OPERATORS.get(space, frozenset()).isdisjoint((name, ".".join(parts[1:3]))):  # some by the overload
        return True
    trusted = name if space == "torch.classes" else space
    return (trusted in libraries and trusted not in OPERATORS) or f"{space}.{name}" in libraries


def operator_name(function: torch._ops.OpOverload | torch._ops.HigherOrderOperator) -> str:
    """Return the name of an operator as in targets of nodes: "aten.add.Tensor", "higher_order.cond"."""
    named: Any = function
    return f"higher_order.{named.name()}" if isinstance(function, torch._ops.HigherOrderOperator) else str(function)


def check_callable(target: str, libraries: Iterable[str] = ()) -> None:
    if is_callable(target, libraries):
        return
    parts = target.split(".")
    space = parts[2] if parts[:2] == ["torch", "classes"] else parts[0]
    needed = ".".join(parts[:2]) if space in OPERATORS else space
    raise RebuildError(
        f"{target} is refused: it may do more than compute, and the graph decides what it does to files, memory or this "
        f"process; if you trust it, call graph_module(libraries=[{needed!r}])"
    )


def resolve_function(target: str, libraries: Iterable[str] = ()) -> Callable[..., Any]:
    """Return the callable that `target` of a call_function names: an operator under torch.ops, or a Python function."""
    if target == "aten.str.default":  # torch.ops takes no values for its parameter
        return text_of
    head, *rest = target.split(".")
    if head in ("operator", "builtins", "math"):
        value = _of_python(head, rest)
    elif head == "torch":
        value = _of_torch(target, libraries)
    else:
        value = torch.ops
        for part in (head, *rest):
            value = getattr(value, part, None)
        if not isinstance(value, _OPERATORS):
            value = None
        else:
            check_callable(target, libraries)
    if value is None:
        raise RebuildError(f"no such function: {target}")
    if not callable(value):
        raise RebuildError(f"not a function: {target}")
    if isinstance(value, types.MethodDescriptorType) and not hasattr(value, "__module__"):
        return _named_function(value)
    return checked(target, value)


def text_of(value: Any) -> str:
    """Return the text that TorchScript's str() gives for a plain value: "1000." for 1000.0."""
    if isinstance(value, float):
        if -(2.0**63) <= value < 2.0**63 and value == int(value):
            return f"{int(value)}."
        return ("-" if value != value and math.copysign(1, value) < 0 else "") + f"{value:.17g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text_of(key)}: {text_of(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(text_of, value)) + (",)" if len(value) == 1 else ")")
    return str(value)


class ModelFunctions:
    """The model's own Python functions, as given by the caller; nothing is imported for a name in a collection.

    `libraries`: the libraries whose operators the caller trusts.
    """

    def __init__(self, functions: Functions | None, libraries: Iterable[str] = ()):
        self.libraries = frozenset([libraries] if isinstance(libraries, str) else libraries)
        for name in self.libraries:
            if not isinstance(name, str):
                raise TypeError(f"libraries: expected namespaces of torch.ops as str, got {type(name).__name__}")
        self._named: dict[str, Callable[..., Any]] = {}  # under the names that the caller gave
        self._by_name: dict[str, Callable[..., Any]] = {}
        self._modules: dict[str, types.ModuleType] = {}
        if isinstance(functions, (types.ModuleType, torch.jit.ScriptFunction)) or callable(functions):
            functions = [functions]
        if isinstance(functions, Mapping):
            for name, function in functions.items():
                if not callable(function):
                    raise TypeError(f"functions: {name} is not a function, got {type(function).__name__}")
                self._named[name] = self._by_name[name] = function
            return
        for item in functions or ():
            if isinstance(item, types.ModuleType):
                self._modules[_own_name(item.__name__)] = item
            elif callable(item):
                self._by_name[_qualified_name(item)] = item
            else:
                raise TypeError(f"functions: expected a function or a module, got {type(item).__name__}")

    def find(self, target: str) -> Callable[..., Any] | None:
        """Return the given function of this name, or None; a module provides the functions that it defines, not those that it imports."""
        function = self._by_name.get(target) or self._by_name.get(f"__main__.{target}")
        space, _, name = target.rpartition(".")
        if function is None and space in self._modules and not name.startswith("__"):
            found = vars(self._modules[space]).get(name)
            own = isinstance(found, (types.FunctionType, torch.jit.ScriptFunction))
            function = found if own and _qualified_name(found) == target else None
        return None if function is None else _for_fx(function, name)

    def resolve(self, target: str, is_recorded: bool = False) -> Callable[..., Any]:
        """Return the given function; with `is_recorded` only one given by name: its parameters must be in the order of the arguments."""
        function = self.find(target)
        if is_recorded and target not in self._named:
            raise RebuildError(
                f"{target} is a function of the model's own, and the archive does not tell its parameters: give one that "
                f"takes these values in the order of their first use, functions={{{target!r}: ...}}"
            )
        if function is None:
            space = target.rpartition(".")[0] or "__main__"
            is_module = all(name.isidentifier() for name in space.split("."))
            raise RebuildError(
                f"{target} is a function of the model's own: give it to graph_module, functions={{{target!r}: ...}}"
                + (f", or the module that defines it, functions=[{space}]" if is_module else "")
            )
        return function


def _own_name(module: str) -> str:
    """Return the name of a module as in TorchScript, which leaves __main__ out."""
    return "" if module == "__main__" else module


def _qualified_name(function: Any) -> str:
    """Return the qualified name of a function as in TorchScript."""
    if isinstance(function, torch.jit.ScriptFunction):
        parts = str(function.qualified_name).split(".")
        return ".".join(part for part in parts if part != "__torch__" and not part.startswith("___torch_mangle_"))
    name, module = getattr(function, "__name__", None), getattr(function, "__module__", None)
    if not isinstance(name, str) or not isinstance(module, str):
        raise TypeError("functions: an object without a name must be given by name, functions={NAME: ...}")
    return f"{module}.{name}" if _own_name(module) else name


def _for_fx(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that torch.fx's code generator has a name for."""
    if isinstance(function, types.FunctionType) and function.__name__.isidentifier():
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


def _of_python(module: str, names: list[str]) -> Any:
    """Return a function, or a method of a builtin type such as str.upper; None if a graph may not call it."""
    first = names[0] if names else ""
    if (module == "builtins" and first not in _BUILTINS) or (module == "operator" and first in _NOT_OF_OPERATOR):
        return None
    if any(name.startswith("_") for name in names) or len(names) > (2 if module == "builtins" else 1):
        return None
    if len(names) == 2 and (first != "str" or names[1] in _NOT_OF_STRINGS):
        return None
    value: Any = importlib.import_module(module)
    for name in names:
        value = getattr(value, name, None)
    return value


def _of_torch(target: str, libraries: Iterable[str]) -> Any:
    """Return a function of the table, or a class that LibTorch or a library of operators has registered."""
    space, _, name = target.rpartition(".")
    if space.startswith("torch.classes.") and space.count(".") == 2:
        made_by = _of_classes(space.rpartition(".")[2], name)
        if made_by is not None:
            check_callable(target, libraries)
        return made_by
    if name not in FUNCTIONS.get(space, ()):
        return None
    if space == "torch.Tensor" or space.startswith("torch._C"):  # these are not importable modules
        place: Any = functools.reduce(getattr, space.split(".")[1:], torch)
    else:
        place = importlib.import_module(space)
    return getattr(place, name, None)


def _of_classes(space: str, name: str) -> Any:
    classes = getattr(torch.classes, space)
    if not isinstance(classes, torch._classes._ClassNamespace) or name.startswith("__"):
        return None
    try:
        made_by = getattr(classes, name)
    except RuntimeError:  # there is no such class
        return None
    return _for_fx(made_by, name)


def by_position(function: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the arguments without keywords that Python has no syntax for: uniform_(x, from=0) becomes uniform_(x, 0)."""
    schema = getattr(function, "_schema", None)  # no operator with a check has such names
    if schema is None or not any(keyword.iskeyword(name) for name in kwargs):
        return args, kwargs
    last = max(i for i, argument in enumerate(schema.arguments) if argument.name in kwargs and keyword.iskeyword(argument.name))
    values, rest = list(args), dict(kwargs)
    for argument in schema.arguments[len(args) : last + 1]:
        if argument.kwarg_only or (argument.name not in rest and not argument.has_default_value()):
            raise RebuildError(f"argument {argument.name!r} cannot be passed by position")
        values.append(rest.pop(argument.name) if argument.name in rest else argument.default_value)
    return tuple(values), rest


def is_tensor_method(name: str) -> bool:
    return name in FUNCTIONS["torch.Tensor"]


def is_tensor_attribute(name: str) -> bool:
    return name in _TENSOR_ATTRIBUTES


def read_value(holder: Any, name: str) -> Any:
    """Return an attribute that a graph reads; raise RebuildError for a function, class or module of Python."""
    value = getattr(holder, name)
    own = (torch.nn.Module, RecursiveScriptClass)
    if isinstance(value, types.ModuleType) or (callable(value) and not isinstance(value, own)):
        raise RebuildError(f"{name} is not a module, tensor or other value")
    return value


def call_object(value: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a method of a script object."""
    if name.startswith("__") or not isinstance(value, (torch.ScriptObject, RecursiveScriptClass)):
        raise RebuildError(f"{name} is a method of script objects, but is called on another value")
    return getattr(value, name)(*args, **kwargs)


def own_method(module: torch.nn.Module, name: str) -> Callable[..., Any]:
    """Return a method that a graph calls: one of TorchScript, or one that is defined beside the module's forward."""
    is_own = False
    if isinstance(module, torch.jit.ScriptModule):
        is_own = bool(module._c._has_method(name))
    else:
        for base in type(module).__mro__:
            is_own = is_own or name in vars(base)
            if is_own or "forward" in vars(base):
                break
    if not is_own or name.startswith("__"):
        raise RebuildError(f"{name} is not a method that the module's forward could call")
    method: Callable[..., Any] = getattr(module, name)
    return method


def _named_function(method: types.MethodDescriptorType) -> Callable[..., Any]:
    """Wrap a method in a function that torch.fx's code generator has a name for: methods of builtins have no __module__."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    function.__name__ = function.__qualname__ = f"{method.__objclass__.__name__}_{method.__name__}"
    return function
