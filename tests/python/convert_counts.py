#!/usr/bin/env python3
"""Counts the programs that fxtrace convert makes of the samples and the zoo, and those of torch's TS2EPConverter, for
docs/how-to/convert.md.

    convert_counts.py FXTRACE [--jobs N] [--only WORD]

Prints what does not hold, by archive, and then the table of the page. Each archive has a process of its own; the zoo's are
those that its cache has (zoo.py makes them).
"""

import argparse
import collections
import concurrent.futures
import glob
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import warnings
from typing import Any

import convert_cases
import harness
import torch
import tvcompat
import zoo

MOST_SECONDS = 900


def archives(cache: str | None) -> dict[str, tuple[str, str, Any]]:
    """Path, method and sample (None of the zoo) by name."""
    found: dict[str, tuple[str, str, Any]] = {}
    for sample in harness.samples("torchscript"):
        if sample["inputs"]:
            found[sample["file"]] = harness.sample_path(sample), sample["method"], sample
    for path in sorted(glob.glob(os.path.join(zoo.cache_folder(cache), "*.pt"))):
        if not path.endswith(".inputs.pt"):
            found[os.path.basename(path)] = path, "forward", None
    return found


def inputs_of(path: str, sample: Any) -> tuple[tuple, dict]:
    if sample is not None:
        return harness.make_inputs(sample["inputs"][0])
    return tuple(torch.load(path.removesuffix(".pt") + ".inputs.pt", weights_only=False)), {}


def of_fxtrace(path: str, method: str, args: tuple, kwargs: dict, program: harness.Program) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder:
        case = convert_cases.Converted(program, path, folder, args, kwargs, method)
        if case.run.returncode != 0:
            return {"refused": case.run.stderr.decode()}
        return convert_cases.proof(case, program, path, folder, method)


def of_torch(path: str, method: str, args: tuple, kwargs: dict) -> dict[str, str]:
    """What torch's own converter gives: it takes forward alone."""
    from torch._export.converter import TS2EPConverter

    if method != "forward":
        return {"refused": "another method than forward"}
    try:
        program = TS2EPConverter(torch.jit.load(path), args, kwargs).convert()
        module = program.module()
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    case = convert_cases.Converted.__new__(convert_cases.Converted)
    case.call, case.args, case.kwargs = torch.jit.load(path), args, kwargs
    try:
        return {"run": case.compare(module, 2)}
    except Exception as error:
        return {"run": f"fails: {type(error).__name__}: {error}"}


def one(name: str, fxtrace: str, cache: str | None) -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    path, method, sample = archives(cache)[name]
    if sample is None:
        tvcompat.add_kernels()  # of detection models
    args, kwargs = inputs_of(path, sample)
    print(json.dumps(["fxtrace", of_fxtrace(path, method, args, kwargs, harness.Program(fxtrace))]), flush=True)
    print(json.dumps(["torch", of_torch(path, method, args, kwargs)]), flush=True)


def run_one(name: str, arguments: argparse.Namespace) -> dict[str, dict[str, str]]:
    words = [sys.executable, __file__, arguments.fxtrace, "--one", name]
    words += ["--zoo-cache", arguments.zoo_cache] if arguments.zoo_cache else []
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=MOST_SECONDS)
        output, errors = done.stdout, done.stderr
    except subprocess.TimeoutExpired as timeout:
        output, errors = (timeout.stdout or b"").decode(), "took too long"
    found = dict(json.loads(line) for line in output.splitlines() if line.startswith('["'))
    last = (errors.strip().splitlines() or ["crashed"])[-1]
    return {who: found.get(who, {"run": f"fails: {last}"}) for who in ("fxtrace", "torch")}


def cause(text: str) -> str:
    """A refusal without what is the archive's own."""
    lines = [line for line in text.splitlines() if line.startswith("refused: ")]
    line = lines[0].removeprefix("refused: ") if lines else text.strip().splitlines()[-1]
    line = re.sub(r" \([^()]*\.py:\d+.*", "", line.partition(": ")[2] or line)
    return line.partition(";")[0]


def rows(found: dict[str, dict[str, dict[str, str]]]) -> list[tuple[str, str, str]]:
    """Of the table: what was counted, of fxtrace, of torch's converter."""
    ours, theirs = ([each[who] for each in found.values()] for who in ("fxtrace", "torch"))

    def count(results: list[dict[str, str]], key: str, holds: Any) -> str:
        asked = [result[key] for result in results if key in result]
        return str(sum(map(holds, asked))) if asked else ""

    def exact(text: str) -> bool:
        return text == ""

    def near(text: str) -> bool:
        return text != "" and convert_cases.close(text)

    def wrong(text: str) -> bool:
        return not exact(text) and not near(text)

    def both(label: str, key: str, holds: Any) -> tuple[str, str, str]:
        return label, count(ours, key, holds), count(theirs, key, holds)

    asked = sum("batch" in result for result in ours)
    return [
        ("archives", str(len(ours)), str(len(theirs))),
        ("a program is made", str(sum("refused" not in result for result in ours)), str(sum("refused" not in result for result in theirs))),
        both("two runs equal `torch.jit.load`, bit for bit", "run", exact),
        both("within 2e-5", "run", near),
        both("wrong, or does not run", "run", wrong),
        ("`unflatten` has every module and gives the same", count([r for r in ours if not r.get("modules")], "unflatten", exact), ""),
        ("`run_decompositions` gives the same, bit for bit", count(ours, "decompose", exact), ""),
        ("within 2e-5", count(ours, "decompose", near), ""),
        ("torch cannot decompose it", count(ours, "decompose", lambda text: text.startswith("fails")), ""),
        (f"with a named batch, of {asked}: equal with 1, 3 and 5 rows", count(ours, "batch", exact), ""),
        ("the archive holds the number", count(ours, "batch", lambda text: text == "fixed"), ""),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fxtrace")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--zoo-cache")
    parser.add_argument("--one")
    arguments = parser.parse_args()
    if arguments.one:
        return one(arguments.one, arguments.fxtrace, arguments.zoo_cache)
    names = [name for name in archives(arguments.zoo_cache) if arguments.only in name]
    found = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for name, result in zip(names, pool.map(lambda name: run_one(name, arguments), names), strict=True):
            found[name] = result
            for who, parts in result.items():
                for part, text in parts.items():
                    if text:
                        print(f"{name}: {who}: {part}: {text.strip()[:400]}", file=sys.stderr, flush=True)
    print("| | `fxtrace convert` | `TS2EPConverter` |\n|---|---|---|")
    for row in rows(found):
        print("| " + " | ".join(row) + " |")
    causes = collections.Counter(cause(each["fxtrace"]["refused"]) for each in found.values() if "refused" in each["fxtrace"])
    for text, number in causes.most_common():
        print(f"- {number}: {text}")


if __name__ == "__main__":
    main()
