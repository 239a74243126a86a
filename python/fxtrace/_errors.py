"""Exceptions and warnings of the package, by their cause."""

from __future__ import annotations

from collections.abc import Iterable

from ._printable import printable

__all__ = [
    "Error", "FxtraceWarning", "GuardError", "InputError", "InternalError", "NotFound", "ProgramNotFound", "RebuildError",
    "UsageError", "ViewError", "WrongModel",
]


class Error(Exception):
    """Base class of the package's exceptions: a message of one line, and `hints` on what to do."""

    def __init__(self, message: str, hints: Iterable[str] = ()):
        super().__init__(printable(message))
        self.hints = tuple(map(printable, hints))
        if hasattr(self, "add_note"):  # Python 3.11 shows them in a traceback
            for hint in self.hints:
                self.add_note(f"hint: {hint}")

    def __str__(self) -> str:
        return str(self.args[0])


class UsageError(Error):
    """The options are wrong (exit code 2)."""


class WrongModel(UsageError, TypeError):
    """The object given as a model is not one."""


class InputError(Error):
    """A file cannot be read or is not supported, or the output cannot be written (exit code 3)."""


class InternalError(Error):
    """A defect of the program (exit code 70, or a signal)."""


class ProgramNotFound(Error):
    """The program is not installed where this package looks for it."""


class RebuildError(Error):
    """The graph cannot be made into a torch.fx.GraphModule with this model."""


def not_loaded(loader: str, path: str, error: Exception) -> RebuildError:
    """Return the error for a file that torch itself cannot load; tracing does not need torch to load it."""
    cause = next((line.strip(" :") for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return RebuildError(
        f"{loader} cannot load {path}: {cause}; graph_module(MODEL) takes the model itself in place of the file, and if "
        "the file needs classes or operators of other code, import that first"
    )


class GuardError(Error, ValueError):
    """The inputs violate a guard of the graph; the message has the guard."""


class ViewError(Error, ValueError):
    """A view in the graph would access memory outside of its tensor."""


class StructureError(GuardError, TypeError):
    """An input does not have the parts that the graph takes of it."""


class NotFound(Error, LookupError):
    """The collection or graph has no item of this name."""


class FxtraceWarning(UserWarning):
    """A message of the program that needs attention."""
