"""Modules, parameters and buffers by their qualified names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ._data import Constant
from ._errors import RebuildError
from ._functions import read_value
from ._paths import parts_of
from ._values import Dtype


def resolve_attribute(model: torch.nn.Module, path: str) -> Any:
    """Return a module, parameter, buffer or attribute by its qualified name; "" is the model."""
    value: Any = model
    for name in parts_of(path) if path else []:
        registered = find_registered(value, name) if isinstance(value, torch.nn.Module) else None
        if registered is not None:
            value = registered
        elif name.startswith("__"):  # every Python object has these
            raise AttributeError(name)
        else:
            value = read_value(value, name)
    return value


def find_registered(module: torch.nn.Module, name: str) -> Any:
    """Return a submodule, parameter or buffer; these may have any name."""
    for table in (module._modules, module._parameters, module._buffers):
        if name in table:
            return table[name]
    return None


def place_attribute(root: torch.nn.Module, path: str, value: Any) -> str:
    """Put the value under `root` by its qualified name, and return its name there.

    That is another name if the value would be inside of a module that is a value itself and has no such attribute.
    """
    if '"' in path or "\\" in path or not path.isprintable():  # torch.fx writes the name unchanged into Python code
        raise RebuildError(f"{path!r} is not the name of an attribute")
    *folders, name = path.split(".")
    place = root
    for folder in folders:
        child = _own(place, folder)
        if child is None:
            child = torch.nn.Module()
            _set(place, folder, child)
        if type(child) is not torch.nn.Module:
            if _has(root, path, value):
                return path
            return place_attribute(root, path.replace(".", "_"), value)
        place = child
    if (own := _own(place, name)) is not None and own is not value:
        raise RebuildError(f"two values would both be called {path}")
    _set(place, name, value)
    return path


def _set(module: torch.nn.Module, name: str, value: Any) -> None:
    try:
        if isinstance(value, torch.nn.Parameter):
            module.register_parameter(name, value)
        elif isinstance(value, torch.Tensor):
            module.register_buffer(name, value)
        elif isinstance(value, torch.nn.Module):
            module.add_module(name, value)
        elif name.startswith("__"):
            raise KeyError
        else:
            setattr(module, name, value)
    except KeyError:  # a name such as forward
        raise RebuildError(f"{name!r} is an attribute of every module") from None


def _own(module: torch.nn.Module, name: str) -> Any:
    """Return the module's own attribute of this name, not one of its class."""
    registered = find_registered(module, name)
    return module.__dict__.get(name) if registered is None else registered


def add_state(root: torch.nn.Module, path: str, value: torch.Tensor) -> None:
    """Add a parameter or buffer under its qualified name, unless that is taken."""
    *folders, name = path.split(".")
    place: Any = root
    for folder in folders:
        child = _own(place, folder)
        if child is None:
            child = torch.nn.Module()
            place.add_module(folder, child)
        place = child
    if not isinstance(place, torch.nn.Module) or _own(place, name) is not None:
        return
    if isinstance(value, torch.nn.Parameter):
        place.register_parameter(name, value)
    else:
        place.register_buffer(name, value)


def leave_out_of_state_dict(root: torch.nn.Module, path: str) -> None:
    """Make a buffer non-persistent that exists only to be moved along with the others."""
    *folders, name = path.split(".")
    owner = resolve_attribute(root, ".".join(folders))
    if isinstance(owner, torch.nn.Module) and name in owner._buffers:
        owner.register_buffer(name, owner._buffers[name], persistent=False)


def _has(root: torch.nn.Module, path: str, value: Any) -> bool:
    """Return true if the value is there already. Tensors may differ: a module may put new ones into its buffers."""
    try:
        found = resolve_attribute(root, path)
    except AttributeError:
        return False
    return found is value or not isinstance(value, torch.nn.Module)


def tensor_of_constant(constant: Constant, name: str, record: Callable[[str], bytes]) -> torch.Tensor:
    """Return the tensor of a constant; `record` returns the bytes of a record of the model's file."""
    dtype, shape = Dtype(str(constant.dtype)).to_torch(), constant.shape or ()
    if constant.data is not None:
        return torch.tensor(constant.data, dtype=dtype).reshape(shape)
    if constant.record is None or constant.stride is None:
        raise RebuildError(f"constant {name} has neither data nor a record")
    content = bytearray(record(constant.record))
    if not content and 0 not in shape:
        raise RebuildError(f"the values of constant {name} are not in the model's file")
    storage = torch.frombuffer(content, dtype=dtype) if content else torch.empty(0, dtype=dtype)
    return storage.as_strided(shape, constant.stride, constant.storage_offset)
