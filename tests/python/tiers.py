"""Selects the parameters of a test that are in the first tier; the others get the mark `volume` (docs/contributing/testing.md)."""

import functools
import os
import subprocess
from collections.abc import Callable, Iterable
from typing import Any

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def where(is_first: Callable[[Any], bool], values: Iterable) -> list:
    return [value if is_first(value) else pytest.param(value, marks=pytest.mark.volume) for value in values]


def pairs_where(is_first: Callable[..., bool], values: Iterable[tuple]) -> list:
    """Of a test with several parameters."""
    return [value if is_first(*value) else pytest.param(*value, marks=pytest.mark.volume) for value in values]


def one_in(count: int, values: Iterable) -> list:
    """The first value, and every so many behind it."""
    return [value if i % count == 0 else pytest.param(value, marks=pytest.mark.volume) for i, value in enumerate(values)]


def only(first: Iterable, values: Iterable) -> list:
    wanted = list(first)
    values = list(values)
    assert all(value in values for value in wanted), "what is to be in the first tier is no value of the test"
    return where(lambda value: value in wanted, values)


@functools.cache
def turn() -> int:
    """The number of commits so far."""
    done = subprocess.run(["git", "-C", ROOT, "rev-list", "--count", "HEAD"], capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else 0


def of_the_turn(values: Iterable, count: int) -> list:
    """So many of the values, with each commit those that follow."""
    values = list(values)
    start = turn() * count
    return [values[(start + i) % len(values)] for i in range(min(count, len(values)))]


def rotating(values: Iterable, count: int = 1) -> list:
    """The values, of which each commit has so many other ones in the first tier."""
    values = list(values)
    return only(of_the_turn(values, count), values)


def in_turn(first: Iterable, values: Iterable, count: int | None = None) -> list:
    """The values of the first tier, and for the second tier so many of the others, a sixth by default, with each commit other ones.

    For programs that are drawn, and for what many models have in common: a run of all of them would take hours.
    """
    first = list(first)
    others = [value for value in values if value not in first]
    return only(first, [*first, *of_the_turn(others, count or -(-len(others) // 6))])
