"""The functions of fxtrace in this process, for files of your own: without the time that a process takes, and without its sandbox.

from fxtrace import trusted

collection = trusted.trace("model.pt2")

A file of a stranger may crash this process, take all of its memory, or worse: use fxtrace.trace() for it. The GIL is released while a
model is read, so several threads may do so at the same time. `op_library` and verify() load LibTorch into this process.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._check import check
from ._convert import convert
from ._diff import diff
from ._errors import ProgramNotFound, UsageError
from ._extract import extract
from ._order import order
from ._partition import partition
from ._program import environment, find_program, runner
from ._summary import summary
from ._trace import trace
from ._verify import verify
from ._why import why

__all__ = ["check", "convert", "diff", "extract", "order", "partition", "summary", "trace", "verify", "why"]

_RECEIVE = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)


@functools.cache
def _library() -> ctypes.CDLL:
    """Open the library that stands beside the program, in the build folder or as an installation has it, in the program's environment."""
    if libtorch := environment().get("FXTRACE_LIBTORCH"):
        os.environ["FXTRACE_LIBTORCH"] = libtorch
    folder = os.path.dirname(os.path.realpath(find_program()))
    names = [os.path.join(folder, *place, "libfxtrace_trusted.so") for place in ((), ("..", "lib", "fxtrace"))]
    for name in names:
        if os.path.exists(name):
            library = ctypes.CDLL(name)
            library.fxtrace_run.restype = ctypes.c_int
            library.fxtrace_run.argtypes = [ctypes.c_size_t, ctypes.POINTER(ctypes.c_char_p), ctypes.c_char_p, ctypes.c_size_t, _RECEIVE]
            return library
    raise ProgramNotFound(f"{find_program()} has no libfxtrace_trusted.so beside it, as a static program has none", ["fxtrace.trace() runs the program"])


def _run_here(arguments: Sequence[str], stdin: bytes | None) -> tuple[int, bytes, bytes]:
    words = [os.fsencode(word) for word in arguments]
    if any(b"\0" in word for word in words):
        raise UsageError("embedded null byte")
    written = {1: b"", 2: b""}

    def receive(stream: int, content: int, size: int) -> None:
        written[stream] = ctypes.string_at(content, size) if size else b""

    code = _library().fxtrace_run(len(words), (ctypes.c_char_p * len(words))(*words), stdin or b"", len(stdin or b""), _RECEIVE(receive))
    return code, written[1], written[2]


if not TYPE_CHECKING:  # the types are those of the functions that are imported above

    def _here(function):
        @functools.wraps(function)
        def in_process(*args, **kwargs):
            before = runner.set(_run_here)
            try:
                return function(*args, **kwargs)
            finally:
                runner.reset(before)

        return in_process

    globals().update({name: _here(globals()[name]) for name in __all__})
