#!/usr/bin/env python3
"""Writes the lists of tests/python/README.md from the docstrings of the files.

    make_readme.py            writes the page
    make_readme.py --check    fails where the page says something else than the files; the test `readme_of_tests`
"""

import ast
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parents[1] / "scripts"))
import page_part  # noqa: E402

PAGE = FOLDER / "README.md"


def purpose(path: pathlib.Path) -> str:
    """The first paragraph of the file's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not text:
        sys.exit(f"{path.name}: has no docstring, which says what it is for")
    return " ".join(text.split("\n\n")[0].split())


def table(title: str, paths: list[pathlib.Path]) -> str:
    rows = "".join(f"| `{path.name}` | {purpose(path)} |\n" for path in paths)
    return f"## {title}\n\n| file | purpose |\n|---|---|\n{rows}\n"


def main() -> int:
    tests = sorted(FOLDER.glob("test_*.py"))
    others = sorted(set(FOLDER.glob("*.py")) - set(tests))
    part = "\n" + table("Tests", tests) + table("What they share, and commands", others)
    return 0 if page_part.update(PAGE, "make_readme.py", part, check=sys.argv[1:] == ["--check"]) else 1


if __name__ == "__main__":
    sys.exit(main())
