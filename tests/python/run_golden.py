#!/usr/bin/env python3
"""Runs the cases of tests/golden and compares with what is recorded there.

    tests/python/run_golden.py [--fxtrace PATH] [-k WORD] [-j N]
    tests/python/run_golden.py --update         # records what the program does now; never in CI

A case is a folder with `args` (words as a shell splits them, "#" begins a comment; run in the project's root)
and the expected `exit_code`, `stdout` and `stderr`; `stdin` is given to the program where it stands.  In
expected output `{VERSION}` stands for the program's version.  Every sample model has a case for JSON and one
for DOT: --update adds what is missing.  Needs Python alone.
"""

import argparse
import concurrent.futures
import difflib
import glob
import json
import os
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GOLDEN = os.path.join(ROOT, "tests", "golden")
STREAMS = ("exit_code", "stdout", "stderr")


def find_program(given: str | None) -> str:
    builds = glob.glob(os.path.join(ROOT, "build", "*", "bin", "fxtrace"))
    program = given or os.environ.get("FXTRACE") or max(builds, key=os.path.getmtime, default=None)
    if program is None:
        sys.exit("no fxtrace: give --fxtrace PATH, or build it first")
    return os.path.abspath(program)


def sample_cases() -> dict[str, str]:
    """Name of a case: its args."""
    with open(os.path.join(ROOT, "sample_models", "manifest.json"), encoding="utf-8") as file:
        samples = json.load(file)["samples"]
    cases = {}
    for sample in samples:
        method = "" if sample["method"] == "forward" else f" --method {sample['method']}"
        model = f" --model {sample['model']}" if "model" in sample else ""
        name = f"json_{os.path.splitext(sample['file'])[0]}"
        cases[name] = f"trace sample_models/{sample['file']} -f json{method}{model}\n"
    return cases


def read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def run(program: str, case: str) -> dict[str, bytes]:
    folder = os.path.join(GOLDEN, case)
    with open(os.path.join(folder, "args"), encoding="utf-8") as file:
        args = shlex.split(file.read(), comments=True)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FXTRACE")}
    done = subprocess.run(
        [program, *args],
        capture_output=True,
        cwd=ROOT,
        timeout=120,
        input=read(os.path.join(folder, "stdin")) or b"",
        env={**environment, "LC_ALL": "C.UTF-8", "COLUMNS": "100", "NO_COLOR": "1"},
    )
    return {"exit_code": b"%d\n" % done.returncode, "stdout": done.stdout, "stderr": done.stderr}


def version_of(program: str) -> bytes:
    done = subprocess.run([program, "--version"], capture_output=True, timeout=60)
    words = done.stdout.split()
    return words[-1] if done.returncode == 0 and words else b"\0"


def hide_version(text: bytes, version: bytes) -> bytes:
    return text.replace(b'"version": "' + version + b'"', b'"version": "{VERSION}"').replace(
        b"fxtrace " + version, b"fxtrace {VERSION}"
    )


def record(case: str, result: dict[str, bytes]) -> list[str]:
    changed = []
    for stream, content in result.items():
        path = os.path.join(GOLDEN, case, stream)
        if not content and stream != "exit_code":  # no file: nothing is expected
            if os.path.exists(path):
                os.remove(path)
                changed.append(stream)
        elif read(path) != content:
            with open(path, "wb") as file:
                file.write(content)
            changed.append(stream)
    return changed


def differences(case: str, result: dict[str, bytes]) -> list[str]:
    lines = []
    for stream in STREAMS:
        expected = read(os.path.join(GOLDEN, case, stream)) or b""
        if expected != result[stream]:
            texts = [text.decode(errors="replace").splitlines() for text in (expected, result[stream])]
            diff = list(
                difflib.unified_diff(*texts, f"{case}/{stream} expected", f"{case}/{stream} now", lineterm="")
            )
            lines += diff[:40] + ([f"... {len(diff) - 40} lines more"] if len(diff) > 40 else [])
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fxtrace", metavar="PATH")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("-k", metavar="WORD", default="", help="only the cases whose names hold WORD")
    parser.add_argument("-j", type=int, default=os.cpu_count(), metavar="N", help="so many at a time")
    options = parser.parse_args()
    program = find_program(options.fxtrace)

    missing = {
        case: args
        for case, args in sample_cases().items()
        if options.k in case and not os.path.isdir(os.path.join(GOLDEN, case))
    }
    if options.update:
        for case, args in missing.items():
            os.makedirs(os.path.join(GOLDEN, case))
            with open(os.path.join(GOLDEN, case, "args"), "w", encoding="utf-8") as file:
                file.write(args)
    elif missing:
        print("samples without a case: " + ", ".join(missing) + "; --update adds them", file=sys.stderr)

    cases = sorted(
        name
        for name in os.listdir(GOLDEN)
        if os.path.exists(os.path.join(GOLDEN, name, "args")) and options.k in name
    )
    version = version_of(program)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for case, result in zip(cases, pool.map(lambda case: run(program, case), cases)):
            result = {stream: hide_version(content, version) for stream, content in result.items()}
            if options.update:
                changed = record(case, result)
                if changed:
                    print(f"recorded {case}: {', '.join(changed)}")
            else:
                lines = differences(case, result)
                failed += bool(lines)
                if lines:
                    print("\n".join(lines))
    if not options.update:
        print(f"{len(cases) - failed} of {len(cases)} cases as recorded")
    return 1 if failed or (missing and not options.update) else 0


if __name__ == "__main__":
    sys.exit(main())
