import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import harness  # noqa: E402  (stands beside this file)


def pytest_addoption(parser):
    parser.addoption("--fxtrace", metavar="PATH", help="the program to test")
    parser.addoption("--zoo-cache", metavar="DIR", help="where the zoo's archives are kept")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes more than a minute")


@pytest.fixture(scope="session")
def program(request):
    path = harness.find_program(request.config.getoption("--fxtrace"))
    if path is None or not os.access(path, os.X_OK):
        pytest.fail("no fxtrace: give --fxtrace PATH, or build it first")
    return harness.Program(path)


@pytest.fixture(scope="session")
def open_program(program):
    """Carries out whatever LibTorch would: see tests/open_wall."""
    path = os.path.join(os.path.dirname(os.path.dirname(program.path)), "open_wall", "fxtrace")
    if not os.access(path, os.X_OK):
        pytest.skip("no program without the first wall: the build makes it")
    return harness.Program(path)
