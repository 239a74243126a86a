"""Run the program: `python -m fxtrace ARGUMENTS` is `fxtrace ARGUMENTS`, with URLs for models; `fetch` is the package's own command."""

from __future__ import annotations

import os
import sys

from ._errors import Error, ProgramNotFound, UsageError
from ._program import environment, find_program
from ._remote import is_url

_NOT_FOUND = 127  # the exit code of a shell for a command that is not found
_USAGE, _INPUT = 2, 3


def main() -> int:
    arguments = sys.argv[1:]
    try:
        if arguments[:1] == ["fetch"]:
            return _fetch(arguments[1:])
        program = find_program()
        if any(map(is_url, arguments)):
            return _run_on_urls(program, arguments)
    except Error as error:
        print(f"fxtrace: error: {error}", *(f"fxtrace: hint: {hint}" for hint in error.hints), sep="\n", file=sys.stderr)
        return _NOT_FOUND if isinstance(error, ProgramNotFound) else _USAGE if isinstance(error, UsageError) else _INPUT
    os.execve(program, ["fxtrace", *arguments], environment())


def _fetch(arguments: list[str]) -> int:
    import argparse

    from ._fetch import fetch

    parser = argparse.ArgumentParser(
        prog="fxtrace fetch",
        usage="python -m fxtrace fetch URL -o FILE [--whole] [--read-headers]",
        description="Fetches what tracing a model needs from a store: a local file of the same size, without the weights. "
        "Credentials are those of fsspec: its configuration and the variables of the environment.",
    )
    parser.add_argument("url", metavar="URL", help="https://, s3://, gs://, az://, hf://, or what else fsspec opens")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the file to write")
    parser.add_argument("--whole", action="store_true", help="fetch the weights too")
    parser.add_argument("--read-headers", action="store_true", help="read the header of each weight's record, by a request each")
    given = parser.parse_args(arguments)
    if not is_url(given.url):
        raise UsageError(f"{given.url}: this is not a URL")
    skeleton = fetch(given.url, given.output, whole=given.whole, read_headers=given.read_headers)
    left_out = f"; the weights are left out, {sum(end - start for start, end in skeleton.holes)} bytes" if skeleton.holes else ""
    print(
        f"fxtrace: {given.output}: {skeleton.bytes_read} of {skeleton.size} bytes by {skeleton.requests} requests{left_out}", file=sys.stderr
    )
    return 0


def _run_on_urls(program: str, arguments: list[str]) -> int:
    """Run the program on skeletons, which its output calls by their URLs."""
    import subprocess

    from ._fetch import fetch

    skeletons = {argument: fetch(argument) for argument in arguments if is_url(argument)}
    words = [os.fspath(skeletons[argument]) if argument in skeletons else argument for argument in arguments]
    done = subprocess.run([program, *words], capture_output=True, env=environment())
    for stream, text in ((sys.stdout, done.stdout), (sys.stderr, done.stderr)):
        for skeleton in skeletons.values():
            text = text.replace(skeleton.path.encode(), skeleton.url.encode())
        stream.buffer.write(text)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
