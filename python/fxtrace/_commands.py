"""Commands that `python -m fxtrace` has beside the program's: `fetch`, URLs in the place of files, and `catalog --export`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence

from ._errors import UsageError
from ._fetch import fetch
from ._program import environment, find_program
from ._remote import is_url


def run_command(arguments: Sequence[str]) -> int:
    """Return the exit code. Raises Error."""
    if arguments[0] == "fetch":
        return _fetch(arguments[1:])
    if arguments[0] == "catalog":
        return _catalog(arguments[1:])
    return _on_skeletons(arguments)


def _fetch(arguments: Sequence[str]) -> int:
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
    read = f"{skeleton.bytes_read} of {skeleton.size} bytes by {skeleton.requests} requests"
    left_out = f"; {sum(end - start for start, end in skeleton.holes)} bytes of weights are left out" if skeleton.holes else ""
    print(f"fxtrace: {given.output}: {read}{left_out}", file=sys.stderr)
    return 0


def _catalog(arguments: Sequence[str]) -> int:
    from ._catalog import catalog
    from ._stored_models import add_models, urls_of

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-o", "--output")
    parser.add_argument("--export")
    parser.add_argument("--no-recursive", action="store_true")
    parser.add_argument("--include", action="append", default=[])
    given, others = parser.parse_known_args(arguments)
    urls = [word for word in others if is_url(word)]
    words = [word for word in arguments if word not in urls]
    if given.export is not None:
        words = _without_export(words)
    exit_codes = [0]

    def run(*more: str) -> None:
        exit_codes.append(subprocess.run([find_program(), "catalog", *words, *more], env=environment()).returncode)

    if urls and given.output is not None:
        errors = add_models(given.output, urls_of(urls, not given.no_recursive, given.include, None), None, lambda listed: run(f"--files-from={listed}"))
        for error in errors.values():
            print(f"fxtrace: warning: {error}", file=sys.stderr)
    elif others or given.output is None:
        run()
    exit_code = max(exit_codes)
    if given.export is not None and given.output is not None and exit_code in (0, 1):  # 1: a file could not be read, with --strict
        catalog.export(given.output, given.export)
    return exit_code


def _without_export(words: Sequence[str]) -> list[str]:
    left = iter(words)
    kept = []
    for word in left:
        if word == "--export":
            next(left, None)
        elif not word.startswith("--export="):
            kept.append(word)
    return kept


def _on_skeletons(arguments: Sequence[str]) -> int:
    """Run the program on skeletons, which its output calls by their URLs."""
    skeletons = {word: fetch(word) for word in arguments if is_url(word)}
    words = [skeletons[word].path if word in skeletons else word for word in arguments]
    done = subprocess.run([find_program(), *words], capture_output=True, env=environment())
    for stream, text in ((sys.stdout, done.stdout), (sys.stderr, done.stderr)):
        for skeleton in skeletons.values():
            text = text.replace(skeleton.path.encode(), skeleton.url.encode())
        stream.buffer.write(text)
    return done.returncode
