"""Tests what scripts/lint looks at: sources that differ from what has passed, and for each header that differs two that include it."""

import importlib.machinery
import importlib.util
import pathlib

import harness

LOADER = importlib.machinery.SourceFileLoader("lint", str(pathlib.Path(harness.ROOT, "scripts", "lint")))
lint = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", LOADER))
LOADER.exec_module(lint)

# c.h is included by all, directly by two; near.cpp is in its folder.
TEXTS = {
    "lib/c/c.h": b"#pragma once\n",
    "lib/b/b.h": b'#include "c/c.h"\n',
    "app/a.cpp": b'#include "b/b.h"\n',
    "lib/a.cpp": b'#include "b/b.h"\n#include <vector>\n',
    "lib/b/far.cpp": b'#include "c/c.h"\n',
    "lib/c/near.cpp": b'#include "b/b.h"\n#include "generated/rows.inc"\n',
    "lib/none.cpp": b"",
}
ALL = [path for path in sorted(TEXTS) if path.endswith(".cpp")]


def sources(changes: dict[str, bytes] | None = None, configuration: str = "", flags: str = "") -> lint.Sources:
    return lint.Sources({**TEXTS, **(changes or {})}, configuration, dict.fromkeys(ALL, flags))


PASSED = {*sources().own.values(), *sources().whole.values()}


def to_lint(now: lint.Sources, everything: bool = False, passed: set[str] | None = None) -> list[str]:
    return now.to_lint(set(TEXTS), PASSED if passed is None else passed, everything)


def test_nothing_has_passed():
    assert to_lint(sources(), passed=set()) == ALL
    assert sources().have_passed(set()) == {}


def test_all_has_passed():
    assert to_lint(sources()) == to_lint(sources(), everything=True) == []
    assert sources().have_passed(PASSED) == sources().own
    # On another machine the own keys are known alone.
    assert to_lint(sources(flags="-O2"), passed=set(sources().own.values())) == []


def test_a_source_differs():
    now = sources({"lib/none.cpp": b"int i;\n"})
    assert to_lint(now) == to_lint(now, everything=True) == ["lib/none.cpp"]


def test_a_header_differs():
    now = sources({"lib/c/c.h": b"#pragma once\nint i;\n"})
    assert to_lint(now) == ["app/a.cpp", "lib/c/near.cpp"]
    assert to_lint(now, everything=True) == [path for path in ALL if path != "lib/none.cpp"]
    # It has passed when both have.
    passed = PASSED | {now.whole["lib/c/near.cpp"]}
    assert to_lint(now, passed=passed) == ["app/a.cpp"]
    assert "lib/c/c.h" not in now.have_passed(passed)
    assert "lib/c/c.h" in now.have_passed(passed | {now.whole["app/a.cpp"]})


def test_sources_that_differ_count_for_headers():
    now = sources({"lib/c/c.h": b"int i;\n", "lib/b/b.h": b'#include "c/c.h"\nint j;\n', "lib/a.cpp": b'#include "b/b.h"\n'})
    assert to_lint(now) == ["app/a.cpp", "lib/a.cpp"]


def test_the_configuration_differs():
    assert to_lint(sources(configuration="Checks: '*'")) == ALL


def test_the_flags_differ():
    assert to_lint(sources(flags="-O2"), everything=True) == ALL


def test_asked_files_alone():
    assert sources().to_lint({"lib/none.cpp"}, set(), everything=True) == ["lib/none.cpp"]
    assert sources().to_lint({"lib/b/b.h"}, set(), everything=False) == ["app/a.cpp", "lib/a.cpp"]
