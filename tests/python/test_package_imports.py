"""Tests that the modules of the Python package import each other in one direction: data first, then conversions."""

import ast
import graphlib
import os
from pathlib import Path

import harness
import pytest


def imports(path: Path) -> set[str]:
    """What a module of the package imports of it, in functions and for type checkers too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = f"fxtrace.{node.module or ''}".rstrip(".") if node.level else str(node.module)
            names.update([start, *(f"{start}.{alias.name}" for alias in node.names)])
    files = {name: path.parent / (name.removeprefix("fxtrace.") + ".py") for name in names if name.startswith("fxtrace.")}
    return {name for name, file in files.items() if file.exists()}


def order(folder: Path) -> list[str]:
    """The modules, each behind what it imports; CycleError has the circle."""
    return list(graphlib.TopologicalSorter({f"fxtrace.{path.stem}": imports(path) for path in folder.glob("*.py")}).static_order())


def test_no_circle():
    modules = order(Path(harness.PACKAGE, "fxtrace"))
    assert modules.index("fxtrace._data") < modules.index("fxtrace._render") < modules.index("fxtrace.__init__")
    assert "fxtrace._graph_module" in modules


@pytest.mark.parametrize(
    "back",
    ["from .a import x", "from . import a", "import fxtrace.a", "def f():\n    from fxtrace.a import x", "if TYPE_CHECKING:\n    from . import a"],
)
def test_a_circle_is_found(tmp_path, back):
    (tmp_path / "a.py").write_text("from . import b\nimport os.path\n")
    (tmp_path / "b.py").write_text(back + os.linesep)
    with pytest.raises(graphlib.CycleError):
        order(tmp_path)
