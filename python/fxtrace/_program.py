"""Search for the program fxtrace, and runs of it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import NamedTuple

from ._errors import Error, FxtraceWarning, InputError, InternalError, ProgramNotFound, UsageError

__all__ = ["Message", "find_program"]

STRICT_FAILED = 4
NOT_EQUAL = 1  # for verify alone
BROKEN = 1  # for check alone
NOT_ALL_READ = 1  # for catalog alone, with --strict


class Message(NamedTuple):
    """A message of the program on stderr; its kind is "warning", "note", "hint" or "info"."""

    kind: str
    text: str


class Output(NamedTuple):
    stdout: bytes
    messages: tuple[Message, ...]
    exit_code: int
    model: str | None = None  # path or URL of the file of the model


class Renamed(str):
    """The path of a file that is called `name` in all output; `owner` has the file."""

    name: str
    owner: object

    @classmethod
    def of(cls, path: str, name: str, owner: object) -> Renamed:
        renamed = cls(path)
        renamed.name, renamed.owner = name, owner
        return renamed


def _candidates() -> Iterator[str]:
    """Yield the paths where an installation may have the program, the nearest first."""
    import shutil
    import sysconfig

    package = os.path.dirname(os.path.abspath(__file__))
    schemes = dict.fromkeys((sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user")))
    for scheme in schemes:
        yield os.path.join(sysconfig.get_path("scripts", scheme), "fxtrace")
    yield os.path.join(package, "bin", "fxtrace")
    yield os.path.join(os.path.dirname(package), "bin", "fxtrace")  # pip install --target
    on_path = shutil.which("fxtrace")
    if on_path is not None:
        yield on_path


def _is_program(path: str) -> bool:
    """Return true if the path is the program, and not a script of this package, which would start itself for ever."""
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        return False
    try:
        with open(path, "rb") as file:
            head = file.read(2000)
    except OSError:  # a program may be unreadable
        return True
    return not (head.startswith(b"#!") and b"from fxtrace" in head)


def find_program() -> str:
    """Return the path of the program: $FXTRACE, or a file in the scripts folder of this Python, beside this package, or on PATH."""
    given = os.environ.get("FXTRACE")
    if given:
        if not os.path.isfile(given) or not os.access(given, os.X_OK):
            raise ProgramNotFound(f"FXTRACE is {given}, which is not an executable program")
        return os.path.abspath(given)
    for path in _candidates():
        if _is_program(path):
            return path
    raise ProgramNotFound(
        "the program fxtrace was found neither in the scripts folder of this Python, "
        f"{os.path.dirname(next(_candidates()))}, nor beside the package, nor on PATH",
        ["install it, or let the environment variable FXTRACE name it"],
    )


def _folders_of_scripts() -> set[str]:
    """Return the folders where Python looks first for modules and that others may write to: the script's, and the current one."""
    import site

    main = sys.modules.get("__main__")
    folders = {os.path.abspath(os.curdir)} if os.path.isdir(os.curdir) else set()
    if isinstance(file := getattr(main, "__file__", None), str):
        folders.add(os.path.dirname(os.path.abspath(file)))
    if getattr(main, "__spec__", None) is not None and sys.path:  # python -m: the folder that was current at the start
        folders.add(sys.path[0])
    own = [*site.getsitepackages(), site.getusersitepackages()] if hasattr(site, "getsitepackages") else []
    return {os.path.realpath(folder) for folder in folders} - {os.path.realpath(folder) for folder in own}


def _own_torch() -> str | None:
    """Return the lib folder of the torch package that is installed in this Python."""
    from importlib.machinery import PathFinder

    scripts = _folders_of_scripts()
    path = [folder for folder in sys.path if os.path.realpath(folder) not in scripts]
    imported = getattr(sys.modules.get("torch"), "__spec__", None)
    for spec in (imported, PathFinder.find_spec("torch", path)):
        for folder in (spec.submodule_search_locations if spec is not None and spec.origin else None) or ():
            library = os.path.join(folder, "lib")
            if os.path.realpath(os.path.dirname(folder)) not in scripts and os.path.isdir(library):
                return library
    return None


def environment() -> dict[str, str]:
    """Return the environment of the program, in which FXTRACE_LIBTORCH is this Python's torch by default, for --op-library."""
    variables = dict(os.environ)
    if not variables.get("FXTRACE_LIBTORCH") and (library := _own_torch()) is not None:
        variables["FXTRACE_LIBTORCH"] = library
    return variables


def _message(line: str) -> Message:
    line = line.removeprefix("fxtrace: ")
    for kind in ("error", "warning", "note", "hint"):
        if line.startswith(kind + ": "):
            return Message(kind, line.removeprefix(kind + ": "))
    return Message("info", line)


Runner = Callable[[Sequence[str], "bytes | None"], "tuple[int, bytes, bytes]"]


def _run_process(arguments: Sequence[str], stdin: bytes | None) -> tuple[int, bytes, bytes]:
    import subprocess

    try:
        done = subprocess.run(
            [find_program(), *arguments],
            stdin=subprocess.DEVNULL if stdin is None else None,
            input=stdin,
            capture_output=True,
            env=environment(),
        )
    except OSError as error:
        raise ProgramNotFound(f"{find_program()} cannot be run: {error.strerror}") from None
    except ValueError as error:  # a NUL character in an argument
        raise UsageError(str(error)) from None
    return done.returncode, done.stdout, done.stderr


# Runs the program and returns its exit code, stdout and stderr; fxtrace.trusted sets another one.
runner: ContextVar[Runner] = ContextVar("runner", default=_run_process)


def run(*arguments: str, stdin: bytes | None = None, expected: tuple[int, ...] = (0, STRICT_FAILED)) -> Output:
    """Run the program with these arguments; raise UsageError, InputError or InternalError according to its exit code."""
    exit_code, stdout, stderr = runner.get()(arguments, stdin)
    for renamed in (each for each in arguments if isinstance(each, Renamed)):
        stdout, stderr = (text.replace(renamed.encode(), renamed.name.encode()) for text in (stdout, stderr))
    messages = tuple(map(_message, stderr.decode("utf-8", errors="replace").splitlines()))
    if exit_code not in expected:
        raise _error(exit_code, messages)
    return Output(stdout, messages, exit_code)


def _error(exit_code: int, messages: tuple[Message, ...]) -> Error:
    kind: type[Error] = {2: UsageError, 3: InputError}.get(exit_code, InternalError)
    texts = [message.text for message in messages if message.kind == "error"]
    if not texts:
        texts = [f"fxtrace ended with signal {-exit_code}" if exit_code < 0 else f"fxtrace ended with code {exit_code}"]
        texts += [message.text for message in messages]
    return kind("; ".join(texts), [message.text for message in messages if message.kind == "hint"])


def warn_of(messages: Iterable[Message], stacklevel: int) -> None:
    stacklevel += runner.get() is not _run_process  # the function that set it
    for message in messages:
        if message.kind in ("warning", "info"):
            warnings.warn(message.text, FxtraceWarning, stacklevel=stacklevel)
