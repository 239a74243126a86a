"""A pytest plugin that saves what tests script, trace and export, each with the inputs of its first call.

In the folder FXTRACE_SAVED: NAME.pt or NAME.pt2, and NAME.inputs where a call was seen (torch.save of its args and kwargs).  A module is
saved right before its first call, so that the file has the state that the call began with; one that is never called, when its test ends.
"""

import copy
import hashlib
import io
import os
import pathlib
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

MOST = 20_000_000  # bytes of a file
FOLDER = pathlib.Path(os.environ["FXTRACE_SAVED"])


class Saver:
    def __init__(self) -> None:
        self.test = ""
        self.waiting: dict[int, Any] = {}  # made, and not yet called or saved; kept alive, as ids are their keys
        self.inside = threading.local()

    def begin(self, test: str) -> None:
        self.test, self.waiting = test, {}

    def end(self) -> None:
        for made in self.waiting.values():
            self.save(made, None)
        self.waiting = {}

    def made(self, value: Any) -> None:
        if self.test and isinstance(value, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
            self.waiting[id(value)] = value

    def called(self, value: Any, args: tuple, kwargs: dict) -> None:
        if self.waiting.pop(id(value), None) is not None:
            self.save(value, (args, kwargs))

    def save(self, value: Any, inputs: tuple | None) -> None:
        """Saves in a process of its own, as torch dies of saving some modules of tests."""
        child = os.fork()
        if child == 0:
            try:
                self.write(value, inputs)
            finally:
                os._exit(0)
        os.waitpid(child, 0)

    def write(self, value: Any, inputs: tuple | None) -> None:
        data = io.BytesIO()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if isinstance(value, torch.export.ExportedProgram):
                    torch.export.save(value, data)
                else:
                    torch.jit.save(value, data)
        except Exception:  # what cannot be saved is no file
            return
        content = data.getvalue()
        if len(content) > MOST:
            return
        kind = "pt2" if isinstance(value, torch.export.ExportedProgram) else "pt"
        name = f"{self.test}-{hashlib.sha256(content).hexdigest()[:10]}"
        (FOLDER / f"{name}.{kind}").write_bytes(content)
        if inputs is None:
            return
        try:
            torch.save(copy.deepcopy(inputs), FOLDER / f"{name}.inputs")
        except Exception:  # inputs that only the test's process has
            (FOLDER / f"{name}.inputs").unlink(missing_ok=True)

    def outermost(self, f: Callable, then: Callable) -> Callable:
        """f, and then(result, args, kwargs) unless f was called by a function like it."""

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if getattr(self.inside, "on", False):
                return f(*args, **kwargs)
            self.inside.on = True
            try:
                result = f(*args, **kwargs)
            finally:
                self.inside.on = False
            then(result, args, kwargs)
            return result

        return wrapped

    def watched(self, call: Callable) -> Callable:
        def wrapped(called: Any, *args: Any, **kwargs: Any) -> Any:
            if not getattr(self.inside, "on", False):
                self.called(called, args, kwargs)
            return call(called, *args, **kwargs)

        return wrapped


saver = Saver()


def pytest_configure(config: pytest.Config) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    from torch.testing._internal import common_utils

    arguments, sys.argv = sys.argv, sys.argv[:1]
    if hasattr(common_utils, "parse_cmd_line_args"):  # else it is done when the module is imported
        common_utils.parse_cmd_line_args()
    sys.argv = arguments

    def of_export(program: Any, args: tuple, kwargs: dict) -> None:
        if saver.test:
            given = kwargs.get("args", args[1] if len(args) > 1 else ())
            saver.save(program, (given, kwargs.get("kwargs", args[2] if len(args) > 2 else None) or {}))

    for name in ("script", "trace", "trace_module", "freeze"):
        setattr(torch.jit, name, saver.outermost(getattr(torch.jit, name), lambda value, args, kwargs: saver.made(value)))
    for name in ("export", "export_for_training"):
        if hasattr(torch.export, name):
            setattr(torch.export, name, saver.outermost(getattr(torch.export, name), of_export))
    for kind in (torch.jit.ScriptModule, torch.jit.RecursiveScriptModule, torch.jit.ScriptFunction):
        kind.__call__ = saver.watched(kind.__call__)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    saver.begin("".join(c if c.isalnum() else "_" for c in item.nodeid.removesuffix(".py"))[-150:])
    yield
    saver.end()
    saver.test = ""
