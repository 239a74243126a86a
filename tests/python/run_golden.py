#!/usr/bin/env python3
"""Runs the cases of tests/golden and compares the results with the recorded ones.

    tests/python/run_golden.py [--fxtrace PATH] [-k WORD] [-j N]
    tests/python/run_golden.py --update         # records what the program does now; never in CI

golden.py says what a case is.  Every sample model has a case for JSON: --update adds what is missing.
Needs Python alone.
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
from dataclasses import replace

from golden import ROOT, Case, dot_structure, names, paths



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


def version_of(program: str) -> bytes:
    done = subprocess.run([program, "--version"], capture_output=True, timeout=60)
    words = done.stdout.split()
    return words[-1] if done.returncode == 0 and words else b"\0"


def hide_version(text: bytes, version: bytes) -> bytes:
    return text.replace(b'"version": "' + version + b'"', b'"version": "{VERSION}"').replace(
        b"fxtrace " + version, b"fxtrace {VERSION}"
    )


def run(case: Case, program: str, version: bytes) -> Case:
    """The case with what the program gives now."""
    args = shlex.split(case.command.decode(), comments=True)[1:]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("FXTRACE")}
    done = subprocess.run(
        [program, *args],
        capture_output=True,
        cwd=ROOT,
        timeout=120,
        input=case.given(),
        env={**environment, "LC_ALL": "C.UTF-8", "COLUMNS": "100", "NO_COLOR": "1"},
    )
    out, err = (hide_version(text, version) for text in (done.stdout, done.stderr))
    is_structure = case.structure and out.startswith(b"digraph")
    structure = dot_structure(out) if is_structure else b""
    return replace(case, exit_code=b"%d" % done.returncode, stdout=b"" if is_structure else out, structure=structure, stderr=err)


def differences(name: str, expected: bytes, now: bytes) -> list[str]:
    texts = [text.decode(errors="replace").splitlines() for text in (expected, now)]
    diff = list(difflib.unified_diff(*texts, f"{name} expected", f"{name} now", lineterm=""))
    return diff[:40] + ([f"... {len(diff) - 40} lines more"] if len(diff) > 40 else [])


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
        name: args
        for name, args in sample_cases().items()
        if options.k in name and not os.path.exists(Case.path(name))
    }
    if options.update:
        for name, args in missing.items():
            with open(Case.path(name), "w", encoding="utf-8") as file:
                file.write(f"fxtrace {args}")
        paths.cache_clear()
    elif missing:
        print("samples without a case: " + ", ".join(missing) + "; --update adds them", file=sys.stderr)

    cases = [Case.read(name) for name in names() if options.k in name]
    version = version_of(program)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for case, result in zip(cases, pool.map(lambda case: run(case, program, version), cases)):
            if result.content() == case.content():
                continue
            failed += 1
            if options.update:
                with open(Case.path(case.name), "wb") as out:
                    out.write(result.content())
                print(f"recorded {case.name}")
            else:
                print("\n".join(differences(case.name, case.content(), result.content())))
    if not options.update:
        print(f"{len(cases) - failed} of {len(cases)} cases as recorded")
    return 1 if (failed or missing) and not options.update else 0


if __name__ == "__main__":
    sys.exit(main())
