"""Models in memory, which are traced from the bytes that torch would save."""

from __future__ import annotations

import io
import sys
import warnings
from typing import IO, TYPE_CHECKING, Any

from ._errors import InputError, WrongModel

if TYPE_CHECKING:
    import torch


class Kept:
    """The model of a collection, for its graph modules. Copies of the collection share it; a pickle leaves it out."""

    def __init__(self, model: torch.jit.ScriptModule | torch.export.ExportedProgram | None = None):
        self.model = model

    def __deepcopy__(self, memo: Any) -> Kept:
        return self

    def __reduce__(self) -> Any:
        return Kept, ()

    def file(self) -> IO[bytes] | None:
        """Return the model as torch saves it now."""
        content = None if self.model is None else saved(self.model)
        return None if content is None else io.BytesIO(content)


def _saver_of(model: Any) -> Any:
    """Return torch.jit.save, torch.export.save or None, without importing torch."""
    jit, exported = sys.modules.get("torch.jit"), sys.modules.get("torch.export.exported_program")
    if jit is not None and isinstance(model, (jit.ScriptModule, jit.ScriptFunction)):
        return jit.save
    return sys.modules["torch.export"].save if exported is not None and isinstance(model, exported.ExportedProgram) else None


def kept(model: Any) -> Kept | None:
    if _saver_of(model) is None:
        return None
    jit = sys.modules["torch.jit"]
    if isinstance(model, jit.ScriptFunction):  # a file contains it as a module
        model = jit.load(Kept(model).file())
    return Kept(model)


def saved(model: Any) -> bytes | None:
    """Return the bytes of a saved ScriptModule or ExportedProgram, weights included; None for anything else."""
    save, buffer = _saver_of(model), io.BytesIO()
    if save is None:
        return None
    try:
        with warnings.catch_warnings():  # TorchScript is deprecated
            warnings.simplefilter("ignore", DeprecationWarning)
            save(model, buffer)
    except Exception as error:
        cause = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(f"{save.__module__}.{save.__name__} cannot write this {type(model).__name__}: {cause}") from error
    return buffer.getvalue()


def wrong_model(given: Any) -> WrongModel:
    """Return the error for an object that is not a model, with hints on how to make one."""
    nn = sys.modules.get("torch.nn")
    if nn is not None and isinstance(given, nn.Module):
        return WrongModel(
            f"expected a file, an ExportedProgram or a ScriptModule as the model, got an nn.Module ({type(given).__name__}): "
            "give torch.export.export(model, args) or torch.jit.script(model)"
        )
    return WrongModel(
        f"expected a file, an ExportedProgram or a ScriptModule as the model, got {type(given).__name__}",
        ["torch.export.export and torch.jit.script make one of an nn.Module"],
    )
