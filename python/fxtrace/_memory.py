"""Models that torch has in memory: they are traced as what torch would write of them."""

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
        """As torch writes it now."""
        content = None if self.model is None else saved(self.model)
        return None if content is None else io.BytesIO(content)


def _saver_of(model: Any) -> Any:
    """torch.jit.save, torch.export.save, or None; nothing of torch is imported for that."""
    jit, exported = sys.modules.get("torch.jit"), sys.modules.get("torch.export.exported_program")
    if jit is not None and isinstance(model, (jit.ScriptModule, jit.ScriptFunction)):
        return jit.save
    return sys.modules["torch.export"].save if exported is not None and isinstance(model, exported.ExportedProgram) else None


def kept(model: Any) -> Kept | None:
    if _saver_of(model) is None:
        return None
    jit = sys.modules["torch.jit"]
    if isinstance(model, jit.ScriptFunction):  # a file has a module for it
        model = jit.load(Kept(model).file())
    return Kept(model)


def saved(model: Any) -> bytes | None:
    """The bytes that torch writes of a ScriptModule or ExportedProgram, weights included; None for anything else."""
    save, buffer = _saver_of(model), io.BytesIO()
    if save is None:
        return None
    try:
        with warnings.catch_warnings():  # of TorchScript's age
            warnings.simplefilter("ignore", DeprecationWarning)
            save(model, buffer)
    except Exception as error:
        cause = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(f"{save.__module__}.{save.__name__} cannot write this {type(model).__name__}: {cause}") from error
    return buffer.getvalue()


def wrong_model(given: Any) -> WrongModel:
    """What is no model, and what would be one."""
    nn = sys.modules.get("torch.nn")
    if nn is not None and isinstance(given, nn.Module):
        return WrongModel(
            f"a model is its file, an ExportedProgram or a ScriptModule, not the nn.Module itself ({type(given).__name__}): "
            "give torch.export.export(model, args) or torch.jit.script(model)"
        )
    return WrongModel(
        f"a model is given by its file, as an ExportedProgram or as a ScriptModule, not as {type(given).__name__}",
        ["torch.export.export and torch.jit.script make one of an nn.Module"],
    )
