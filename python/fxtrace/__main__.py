"""Run the program: `python -m fxtrace ARGUMENTS` is `fxtrace ARGUMENTS`, and `catalog --export DIR` writes its tables as Parquet."""

from __future__ import annotations

import os
import subprocess
import sys

from ._errors import Error, ProgramNotFound
from ._program import environment, find_program


def _take(arguments: list[str], *options: str) -> tuple[str | None, list[str]]:
    """Return the last value of an option, and the other arguments."""
    value, others, left = None, [], iter(arguments)
    for argument in left:
        name, equals, text = argument.partition("=")
        if argument == "--":
            others += [argument, *left]
        elif argument in options:
            value = next(left, None)
        elif equals and name in options:
            value = text
        else:
            others.append(argument)
    return value, others


def _tell(error: Error) -> None:
    print(f"fxtrace: error: {error}", *(f"hint: {hint}" for hint in error.hints), sep="\n", file=sys.stderr)


def _export(program: str, arguments: list[str], folder: str) -> int:
    """Make the catalog, if there are models for it, and write its tables into the folder."""
    from ._catalog import catalog

    file, others = _take(arguments, "-o", "--output")
    if others or file is None:
        done = subprocess.run([program, "catalog", *arguments], env=environment()).returncode
        if file is None or done not in (0, 1):  # 1: a file could not be read, with --strict
            return done
    else:
        done = 0
    try:
        catalog.export(file, folder)
    except Error as error:
        _tell(error)
        return 3
    return done


def main() -> int:
    arguments = sys.argv[1:]
    try:
        program = find_program()
    except ProgramNotFound as error:
        _tell(error)
        return 127  # the exit code of a shell for a command that is not found
    if arguments[:1] == ["catalog"]:
        folder, others = _take(arguments[1:], "--export")
        if folder is not None:
            return _export(program, others, folder)
    os.execve(program, ["fxtrace", *arguments], environment())


if __name__ == "__main__":
    sys.exit(main())
