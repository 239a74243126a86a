"""Run the program: `python -m fxtrace ARGUMENTS` is `fxtrace ARGUMENTS`, and what the package adds to it (_commands.py)."""

import os
import sys

from ._errors import Error, ProgramNotFound, UsageError
from ._program import environment, find_program
from ._remote import is_url


def main() -> int:
    arguments = sys.argv[1:]
    try:
        if arguments[:1] == ["fetch"] or any(is_url(word) or word.startswith("--export") for word in arguments):
            from ._commands import run_command

            return run_command(arguments)
        program = find_program()
    except KeyboardInterrupt:
        return 130  # of a shell, for a program that SIGINT has ended
    except Error as error:
        print(f"fxtrace: error: {error}", *(f"hint: {hint}" for hint in error.hints), sep="\n", file=sys.stderr)
        # 127 is the exit code of a shell for a command that is not found
        return 127 if isinstance(error, ProgramNotFound) else 2 if isinstance(error, UsageError) else 3
    os.execve(program, ["fxtrace", *arguments], environment())


if __name__ == "__main__":
    sys.exit(main())
