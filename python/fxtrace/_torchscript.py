"""TorchScript archives: loading, and their contents besides modules."""

from __future__ import annotations

import collections
import copy
import io
import os
import zipfile
from collections.abc import Iterable
from typing import IO, Any

import torch

from ._data import Constant
from ._errors import RebuildError, not_loaded
from ._functions import own_method
from ._tree import tensor_of_constant

_load: Any = torch.jit.load


def load(path: str | os.PathLike[str]) -> torch.jit.ScriptModule:
    """Load the archive at `path` on the CPU."""
    try:
        model: torch.jit.ScriptModule = _load(os.fspath(path), map_location="cpu")
    except Exception as error:
        raise not_loaded("torch.jit.load", os.fspath(path), error) from error
    modules: Iterable[Any] = model.modules()
    for module in modules:
        # TorchScript makes overloads of torch.nn.LSTM's forward, so that the module cannot be called by that name.
        if not module._c._has_method("forward") and module._c._has_method("forward__0"):
            module.__dict__["forward"] = module._c._get_method("forward__0")
    return model


def with_callable_parts(model: torch.jit.ScriptModule) -> torch.jit.ScriptModule:
    """Return the model with callable submodules, over the same tensors: those of torch.jit.trace's result cannot be called."""
    modules: Iterable[Any] = model.modules()
    if not any(type(module) is torch.jit._trace.TracedModule for module in modules):
        return model
    wrap: Any = torch.jit._recursive.wrap_cpp_module
    return wrap(model._c)  # type: ignore[no-any-return]


def has_forward(module: torch.jit.ScriptModule) -> bool:
    """Return false for a module with overloads of forward, such as nn.LSTM."""
    methods: Any = module._c
    return bool(methods._has_method("forward"))


_HOLDER_CODE = """class Holder(Module):
  __parameters__ = []
  __buffers__ = []
  def forward(self: __torch__.Holder) -> {type}:
    return CONSTANTS.c{index}
"""
_HOLDER_PICKLE = b"\x80\x02c__torch__\nHolder\n)\x81}b."


class Archive:
    """The constants of an archive's code; the archive is given by its path or as an open file."""

    def __init__(self, file: str | IO[bytes]):
        self._file = file

    def constant(self, constant: Constant, name: str) -> Any:
        if constant.index is not None:
            return self._object(constant.index, str(constant.type))
        return tensor_of_constant(constant, name, lambda record: bytes(self._reader().get_record(record)))

    def _reader(self) -> Any:
        if not isinstance(self._file, str):
            self._file.seek(0)
        return torch._C.PyTorchFileReader(self._file)

    def _object(self, index: int, type_name: str) -> Any:
        """Return a script object, or a quantized or sparse tensor, which TorchScript itself loads in a module that returns it."""
        kind = type_name if type_name == "Tensor" else f"__torch__.{type_name}"
        reader = self._reader()
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for record in reader.get_all_records():
                if record in ("version", "constants.pkl", "byteorder") or record.startswith("constants/"):
                    archive.writestr(f"holder/{record}", reader.get_record(record))
            archive.writestr("holder/data.pkl", _HOLDER_PICKLE)
            archive.writestr("holder/code/__torch__.py", _HOLDER_CODE.format(type=kind, index=index))
        buffer.seek(0)
        return _load(buffer, map_location="cpu")()


def without_hooks(module: torch.nn.Module) -> torch.nn.Module:
    """Return the module over the same tensors without its own hooks; hooks that its code calls stay."""
    if not (module._forward_hooks or module._forward_pre_hooks):
        return module
    if isinstance(module, torch.jit.ScriptModule):
        wrap: Any = torch.jit._recursive.wrap_cpp_module
        bare: Any = wrap(module._c)
        if "forward" in module.__dict__:
            bare.__dict__["forward"] = module.__dict__["forward"]
    else:
        bare = copy.copy(module)
    for name in ("hooks", "pre_hooks"):
        for suffix in ("", "_with_kwargs", "_always_called"):
            bare.__dict__[f"_forward_{name}{suffix}"] = collections.OrderedDict()
    return bare  # type: ignore[no-any-return]


class Overloaded(torch.nn.Module):
    """A scripted module whose forward has overloads, such as nn.LSTM with forward__0 and forward__1."""

    def __init__(self, module: torch.jit.ScriptModule):
        super().__init__()
        self.module = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        overloads = [name for name in self.module._c._method_names() if name.startswith("forward__")]
        for method in (getattr(self.module, name) for name in overloads):
            names = [argument.name for argument in method.schema.arguments[1:]]
            types_of = {argument.name: str(argument.type) for argument in method.schema.arguments}
            given = {**dict(zip(names, args)), **kwargs}
            if all(
                isinstance(value, torch.Tensor) == (types_of[name] in ("Tensor", "Optional[Tensor]"))
                for name, value in given.items()
                if value is not None
            ):
                return method(*args, **kwargs)
        raise RebuildError("no overload of forward takes these arguments")


class Method(torch.nn.Module):
    """A module that is called through a method other than forward."""

    def __init__(self, module: torch.nn.Module, method: str):
        super().__init__()
        self.module = module
        self.method = method

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return own_method(self.module, self.method)(*args, **kwargs)
