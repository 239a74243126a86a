"""Provides fixtures for all tests: the program, the archives of the zoo, and the mark of the second tier."""

import importlib
import importlib.util
import os
import signal
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness  # noqa: E402  (stands beside this file)
import zoo  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--fxtrace", metavar="PATH", help="the program to test")
    parser.addoption("--zoo-cache", metavar="DIR", help="where the zoo's archives are kept")


def pytest_configure(config):
    config.addinivalue_line("markers", "volume: belongs to the second tier (docs/contributing/testing.md)")

    # A shell that starts us in the background has these ignored, and so would be whatever we start.
    for sent in (signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(sent) == signal.SIG_IGN:
            signal.signal(sent, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def torch_is_as_before():
    """Tests of other files follow in the same process."""
    yield
    if torch := sys.modules.get("torch"):
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled(), "gradients are off after the test"
        assert torch._C._functorch.peek_interpreter_stack() is None, "vmap is on after the test"


@pytest.fixture(scope="session")
def program(request):
    path = harness.find_program(request.config.getoption("--fxtrace"))
    if path is None or not os.access(path, os.X_OK):
        pytest.fail("no fxtrace: give --fxtrace PATH, or build it first")
    if os.environ.get("FXTRACE_FORMS"):
        return importlib.import_module("program_forms").CheckingProgram(path)
    return harness.Program(path)


@pytest.fixture(scope="session")
def zoo_archive(request):
    """zoo_archive(NAME): the path of an archive of zoo.py.  The first call makes all that the selected tests name."""
    cache = zoo.cache_folder(request.config.getoption("--zoo-cache"))

    def is_available(name: str) -> bool:
        return importlib.util.find_spec(zoo.package_of(name)) is not None

    named = {value for item in request.session.items if hasattr(item, "callspec") for value in item.callspec.params.values()
             if isinstance(value, str)}  # fmt: skip
    zoo.make_archives([name for name in zoo.MAKERS if name in named and is_available(name)], cache)

    def archive(name: str) -> str:
        if not is_available(name):
            pytest.skip(f"needs {zoo.package_of(name)}")
        zoo.make_archives([name], cache)
        return zoo.archive_path(name, cache)

    return archive
