"""What can go wrong, by whose business it is."""

from __future__ import annotations

from collections.abc import Iterable

from ._printable import printable


class Error(Exception):
    """What is wrong, in one line; `hints` say what to do."""

    def __init__(self, message: str, hints: Iterable[str] = ()):
        super().__init__(printable(message))
        self.hints = tuple(map(printable, hints))
        if hasattr(self, "add_note"):  # Python 3.11: a traceback shows them
            for hint in self.hints:
                self.add_note(f"hint: {hint}")

    def __str__(self) -> str:
        return str(self.args[0])


class UsageError(Error):
    """The options are wrong (exit code 2)."""


class WrongModel(UsageError, TypeError):
    """What was given as a model is none."""


class InputError(Error):
    """A file cannot be read or is not supported, or the output cannot be written (exit code 3)."""


class InternalError(Error):
    """A defect of the program (exit code 70, or a signal)."""


class ProgramNotFound(Error):
    """The program is not installed where this package looks for it."""


class RebuildError(Error):
    """The graph cannot be made a torch.fx.GraphModule with this model."""


def not_loaded(loader: str, path: str, error: Exception) -> RebuildError:
    """Of a file that torch itself cannot load; the graph does not need it to."""
    cause = next((line.strip(" :") for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return RebuildError(
        f"{loader} cannot load {path}: {cause}; graph_module(MODEL) takes the model itself in place of the file, and if "
        "the file needs classes or operators of other code, import that first"
    )


class GuardError(Error, ValueError):
    """The inputs are not what the graph was traced for; the message has the guard that does not hold."""


class ViewError(Error, ValueError):
    """A view of the graph would reach outside of the memory of its tensor."""


class StructureError(GuardError, TypeError):
    """An input has not the parts that the graph takes of it."""


class NotFound(Error, LookupError):
    """The collection or graph holds nothing of this name."""


class FxtraceWarning(UserWarning):
    """The program had something to say that needs attention."""
