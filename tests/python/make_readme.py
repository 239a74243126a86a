#!/usr/bin/env python3
"""Writes the lists of tests/python/README.md from the docstrings of the files.

    make_readme.py            writes the page
    make_readme.py --check    fails where the page says something else than the files; the test `readme_of_tests`
"""

import ast
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parent
PAGE = FOLDER / "README.md"
BEGIN, END = "<!-- make_readme.py writes what follows -->\n", "<!-- end of what make_readme.py writes -->\n"


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
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    tests = sorted(FOLDER.glob("test_*.py"))
    others = sorted(set(FOLDER.glob("*.py")) - set(tests))
    now = before + BEGIN + "\n" + table("Tests", tests) + table("What they share, and commands", others) + END + after
    if sys.argv[1:] == ["--check"]:
        if now != page:
            print("tests/python/README.md is not what tests/python/make_readme.py writes")
        return int(now != page)
    PAGE.write_text(now, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
