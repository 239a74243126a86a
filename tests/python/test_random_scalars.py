"""Tests random programs on numbers, texts, lists and dicts: the graph, the source that -f fx writes, and the program compute what the
archive computes, or raise as it does."""

import collections
import copy
import math  # noqa: F401  (the programs call it)
import os
import sys
import warnings

import fx_source
import fxtrace
import pytest
import random_scalars
import torch

SEEDS, TOGETHER, FIRST = 20000, 1000, 60
RUNS = 3  # what torch computes in the first run differs from later ones, which are optimized


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


def outcome(function, inputs: tuple) -> str:
    """The result as a text, with types and the signs of zeros."""
    try:
        return repr(function(*copy.deepcopy(inputs)))
    except UnicodeDecodeError:
        return "cut"  # TorchScript cuts texts between bytes, which Python cannot have in a text
    except Exception:  # of any kind: that it raises is what counts
        return "raises"


def script(code: str) -> torch.jit.ScriptFunction:
    return torch.jit.CompilationUnit(code).f


def check(seed: int, program, path: str, counts: collections.Counter) -> None:
    drawn = random_scalars.make(seed)
    try:
        torch.jit.save(script(drawn.code), path)
        archive = torch.jit.load(path)
    except (RuntimeError, ValueError):
        counts["not scripted"] += 1  # or torch cannot read what it has written
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            collection = fxtrace.trace(path, no_default_leaves=True)
    except fxtrace.Error as error:
        counts[f"refused: {type(error).__name__}"] += 1
        return
    if collection.failures:
        counts["failed: " + next(iter(collection.failures.values())).message.split(",")[0][:70]] += 1
        return
    counts["traced"] += 1
    source = fx_source.load(program, path, "--no-default-leaves")
    graphs = {"graph": collection.graph_module(), "source": fx_source.make(fx_source.classes(source)[0], archive, path)}
    for inputs in drawn.inputs:
        expected = {outcome(archive, inputs) for _ in range(RUNS)}
        counts["compared"] += 1
        for what, graph in graphs.items():
            try:
                if what == "source":
                    fx_source.check_inputs(graph, *copy.deepcopy(inputs))
                actual = outcome(graph, inputs)
            except fxtrace.GuardError:
                counts["guarded"] += 1
                continue
            assert actual in expected or actual == "cut", f"seed {seed}, {what}:\n{drawn.code}\ninputs {inputs}\narchive {expected}\n{what} {actual}"


def test_first(program, tmp_path):
    counts: collections.Counter = collections.Counter()
    for seed in range(FIRST):
        check(seed, program, str(tmp_path / "m.pt"), counts)
    assert counts["traced"] > FIRST * 0.5, counts


@pytest.mark.volume
@pytest.mark.parametrize("part", range(SEEDS // TOGETHER))
def test_volume(program, part, tmp_path):
    counts: collections.Counter = collections.Counter()
    for seed in range(part * TOGETHER, (part + 1) * TOGETHER):
        check(seed, program, str(tmp_path / "m.pt"), counts)
    assert counts["traced"] > TOGETHER * 0.5, counts


def main() -> None:
    """test_random_scalars.py PROGRAM FROM COUNT: prints what differs."""
    import harness

    os.environ["FXTRACE"] = os.path.abspath(sys.argv[1])
    program = harness.Program(os.environ["FXTRACE"])
    counts: collections.Counter = collections.Counter()
    first = int(sys.argv[2])
    for seed in range(first, first + int(sys.argv[3])):
        try:
            check(seed, program, os.path.join(os.environ.get("TMPDIR", "/tmp"), f"scalars{os.getpid()}.pt"), counts)
        except AssertionError as error:
            counts["different"] += 1
            print(error, end="\n\n")
        except Exception as error:
            counts["broken"] += 1
            print(f"seed {seed}: {type(error).__name__} {str(error)[:1500]}\n{random_scalars.make(seed).code}")
    print(*counts.items(), sep="\n")


if __name__ == "__main__":
    main()
