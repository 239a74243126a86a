"""Judges fxtrace by the files of a folder, as saver.py wrote them, with torch as the truth.

    python judge.py --fxtrace PROGRAM --json RESULTS FOLDER

RESULTS has a line for each file: what became of it as a graph, as source for torch.fx, as a program (convert), with shapes, and under
check --security.  A worker judges one file after the other; one that dies or takes too long is a verdict of that file's, and the next
worker goes on behind it.
"""

import argparse
import concurrent.futures as futures
import contextlib
import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import convert_cases
import fx_source
import harness
import torch
from torch.utils import _pytree as pytree

SECONDS = 120  # for a file
PART = 50  # files that a worker judges
CRASHES = (70, *range(128, 160))


def crashed(done: subprocess.CompletedProcess) -> bool:
    return done.returncode < 0 or done.returncode in CRASHES


def reason(stderr: bytes) -> str:
    """The first message, without what differs between models."""
    lines = [line for line in stderr.decode(errors="replace").splitlines() if line.startswith(("refused:", "fxtrace: error:"))]
    text = next((line for line in lines if line.startswith("refused:")), lines[0] if lines else "")
    text = re.sub(r"^(refused|fxtrace: error): ", "", text)
    text = re.sub(r"[^ ]*\.pt2?: | \(/.*", "", text)  # the file, and the line of source
    return re.sub(r"'[^']*'|\"[^\"]*\"|[\w.]*\d[\w.]*|%\w+", "_", text)[:120]


def options_of(names: list[str], args: tuple, kwargs: dict) -> list[str]:
    """--input for each tensor, and --concrete for each argument that is not one alone."""
    options: list[str] = []

    def given(name: str, value: Any) -> Any:
        """The value as --concrete takes it."""
        if isinstance(value, torch.Tensor):
            options.extend(("--input", f"{name}={convert_cases.spec(value)}"))
            return "$PH"
        if isinstance(value, (list, tuple)):
            return [given(f"{name}.{i}", item) for i, item in enumerate(value)]
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                raise TypeError
            return {key: given(f"{name}.{key}", item) for key, item in value.items()}
        return value

    for name, value in (*zip(names, args, strict=False), *kwargs.items()):
        concrete = given(name, value)
        if concrete != "$PH":
            options.extend(("--concrete", f"{name}={json.dumps(concrete, allow_nan=False)}"))
    return options


def as_lists(value: Any) -> Any:
    """A range, of which torch makes a list when it is given for one, is a list; and so is a ScriptList, which torch would change."""
    if isinstance(value, (range, torch._C.ScriptList)):
        return list(value)
    if type(value) in (list, tuple):
        return type(value)(map(as_lists, value))
    return {key: as_lists(item) for key, item in value.items()} if type(value) is dict else value


def comparable(value: Any) -> Any:
    """What is compared of a result: an awaited value, the state of a generator; of objects only that they are there."""
    if isinstance(value, torch._C._Await):
        return comparable(torch.jit._awaitable_wait(value))
    if isinstance(value, torch.Generator):
        return value.get_state()
    if isinstance(value, (torch.nn.Module, torch.ScriptObject)):
        return "an object"
    if isinstance(value, (list, tuple)):
        return list(map(comparable, value))
    return {key: comparable(item) for key, item in value.items()} if isinstance(value, dict) else value


class Case:
    def __init__(self, program: harness.Program, path: str, folder: str):
        self.program, self.path, self.folder = program, path, folder
        self.is_export = path.endswith(".pt2")
        inputs = os.path.splitext(path)[0] + ".inputs"
        self.inputs = as_lists(torch.load(inputs, weights_only=False)) if os.path.exists(inputs) else None

    def load(self) -> Any:
        return torch.export.load(self.path).module() if self.is_export else torch.jit.load(self.path)

    def run(self, call: Any, times: int = 2) -> list[Any]:
        """Results of so many calls, each with inputs of its own, and what the calls made of them."""
        results = []
        for _ in range(times):
            args, kwargs = copy.deepcopy(self.inputs)
            torch.manual_seed(0)
            results.append(comparable((call(*args, **kwargs), args, kwargs)))
        return results

    def verdicts(self) -> dict[str, str]:
        found = {}
        security = self.program.run("check", "--security", self.path)
        found["security"] = "crash" if crashed(security) else {0: "holds", 1: "offence"}.get(security.returncode, "not read")
        try:
            model = self.load()
        except Exception as error:
            return found | {"torch": f"does not load: {type(error).__name__}"}
        traced = self.program.run("trace", self.path, "-f", "json")
        if traced.returncode != 0:
            return found | {"trace": "crash" if crashed(traced) else f"not traced: {reason(traced.stderr)}"}
        graph = next(iter(json.loads(traced.stdout)["graphs"]), None)
        if graph is None or graph["module"] != "":
            return found | {"trace": "the root stays one call"}
        found["trace"] = "whole"
        if self.inputs is None:
            return found | {"graph": "no call was seen"}
        try:
            with torch.no_grad():
                expected = self.run(model)
                if harness.difference(expected, self.run(self.load())):
                    return found | {"torch": "gives something else each time"}
        except Exception as error:
            return found | {"torch": f"does not run: {type(error).__name__}"}
        found["graph"] = self.judge(expected, lambda: self.rebuilt(graph))
        found["fx"] = self.judge(expected, self.source)
        found["convert"] = self.judge(expected, self.converted)
        return found

    def judge(self, expected: list, make: Any) -> str:
        try:
            call = make()
        except Verdict as verdict:
            return str(verdict)
        except Exception as error:
            return f"cannot be built: {type(error).__name__}: {error}"[:300]
        try:
            with torch.no_grad():
                actual = self.run(call)
        except Exception as error:
            return f"refused: {type(error).__name__}: {error}"[:300]
        for number, (one, other) in enumerate(zip(expected, actual, strict=True)):
            results = (one[0], other[0]) if make != self.source else tuple(map(pytree.tree_leaves, (one[0], other[0])))
            text = harness.difference(*results) or harness.difference(one[1:], other[1:], "inputs afterwards")
            if text:
                return f"different: call {number}: {text}"[:300]
        return "equal"

    def rebuilt(self, graph: dict) -> Any:
        rebuild = harness.rebuild_exported if self.is_export else harness.rebuild
        return rebuild(self.path, graph)

    def source(self) -> Any:
        done = self.program.run("trace", self.path, "-f", "fx", *["--no-default-leaves"] * self.is_export)
        if done.returncode != 0:
            raise Verdict("crash" if crashed(done) else f"not written: {reason(done.stderr)}")
        module = fx_source.load_text(done.stdout.decode(), "graphs")
        model = torch.export.load(self.path).module() if self.is_export else torch.jit.load(self.path)
        made = fx_source.make(fx_source.classes(module)[0], model, self.path)
        # The class of a program takes its inputs in one row.
        return (lambda *args, **kwargs: made(*pytree.tree_leaves((args, kwargs)))) if self.is_export else made

    def converted(self) -> Any:
        target = os.path.join(self.folder, "out.pt2")
        with contextlib.suppress(FileNotFoundError):
            os.unlink(target)
        options, names = [], []
        if not self.is_export:
            names = [argument.name for argument in torch.jit.load(self.path).forward.schema.arguments[1:]]
            try:
                options = options_of(names, *self.inputs)
            except (TypeError, ValueError):
                raise Verdict("no way to give the inputs") from None
        done = self.program.run("convert", self.path, "-o", target, *options)
        if done.returncode != 0:
            raise Verdict("crash" if crashed(done) else f"not converted: {reason(done.stderr)}")
        module = torch.export.load(target).module()

        def call(*args: Any, **kwargs: Any) -> Any:
            """A program of an archive takes all by position."""
            if not self.is_export and list(kwargs) == names[len(args) : len(args) + len(kwargs)]:
                args, kwargs = (*args, *kwargs.values()), {}
            return module(*args, **kwargs)

        return call


class Verdict(Exception):
    """Why there is nothing to run."""


def work(program: str, paths: list[str]) -> None:
    """Writes a line before each file, and one after it."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            print(json.dumps({"begin": path}), flush=True)
            try:
                verdicts = Case(harness.Program(program), path, folder).verdicts()
            except Exception as error:
                verdicts = {"judge": f"{type(error).__name__}: {error}"[:300]}
            print(json.dumps({"file": os.path.basename(path), **verdicts}), flush=True)


def judge(program: str, paths: list[str]) -> list[dict]:
    results: list[dict] = []
    while len(results) < len(paths):
        left = paths[len(results) :]
        command = [sys.executable, "-W", "ignore", __file__, "--fxtrace", program, "--worker", *left]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS + 10 * len(left), check=False)
            output, end = done.stdout, f"the judge died: {done.returncode}"
        except subprocess.TimeoutExpired as error:
            output, end = (error.stdout or b"").decode(), "took too long"
        lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        results += [line for line in lines if "begin" not in line]
        if len(results) < len(paths) and (not lines or "begin" in lines[-1]):
            results.append({"file": os.path.basename(paths[len(results)]), "judge": end})
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fxtrace", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--worker", action="store_true")
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    if given.worker:
        return work(given.fxtrace, given.files)
    paths = [str(path) for each in given.files for path in (sorted(pathlib.Path(each).glob("*.pt*")) if os.path.isdir(each) else [each])]
    parts = [paths[i : i + PART] for i in range(0, len(paths), PART)]
    with open(given.json, "w", encoding="utf-8") as file, futures.ThreadPoolExecutor(given.jobs) as pool:
        for results in pool.map(lambda part: judge(given.fxtrace, part), parts):
            file.writelines(json.dumps(result) + "\n" for result in results)
    return None


if __name__ == "__main__":
    main()
