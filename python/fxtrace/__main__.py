"""Run the program: `python -m fxtrace ARGUMENTS` is `fxtrace ARGUMENTS`."""

import os
import sys

from ._errors import ProgramNotFound
from ._program import environment, find_program


def main() -> int:
    try:
        program = find_program()
    except ProgramNotFound as error:
        print(f"fxtrace: error: {error}", *(f"hint: {hint}" for hint in error.hints), sep="\n", file=sys.stderr)
        return 127  # the exit code of a shell for a command that is not found
    os.execve(program, ["fxtrace", *sys.argv[1:]], environment())


if __name__ == "__main__":
    sys.exit(main())
