"""Tests random programs on numbers, texts, lists and dicts: the graph, the source that -f fx writes, and the program compute what the
archive computes, or raise as it does."""

import collections
import copy
import json
import math
import os
import pathlib
import re
import sys
import tempfile
import warnings

import fx_source
import fxtrace
import pytest
import random_scalars
import tiers
import torch

SEEDS, TOGETHER, FIRST, FIRST_CONVERTED = 20000, 1000, 60, 20
RUNS = 3  # what torch computes in the first run differs from later ones, which are optimized


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


def outcome(function, inputs: tuple) -> str:
    """The result as a text, with types and the signs of zeros; a collection has no signs of nan."""
    try:
        return repr(function(*copy.deepcopy(inputs))).replace("-nan", "nan")
    except UnicodeDecodeError:
        return "cut"  # TorchScript cuts texts between bytes, which Python cannot have in a text
    except Exception:  # of any kind: that it raises is what counts
        return "raises"


def script(code: str) -> torch.jit.ScriptFunction:
    return torch.jit.CompilationUnit(code).f


def outcomes(archive, inputs: tuple, code: str) -> set[str]:
    """What the archive gives in some runs.  i / 1 is an integer where torch declares a float, which few of its operators take."""
    found = {outcome(archive, inputs) for _ in range(RUNS)}
    return found if found != {"raises"} or " / (1)" not in code else {"cut"}


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
    check_folded(seed, drawn, archive, path, counts)
    source = fx_source.load(program, path, "--no-default-leaves")
    graphs = {"graph": collection.graph_module(), "source": fx_source.make(fx_source.classes(source)[0], archive, path)}
    for inputs in drawn.inputs:
        expected = outcomes(archive, inputs, drawn.code)
        counts["compared"] += 1
        for what, graph in graphs.items():
            try:
                if what == "source":
                    fx_source.check_inputs(graph, *copy.deepcopy(inputs))
                actual = outcome(graph, inputs)
            except fxtrace.GuardError:
                counts["guarded"] += 1
                continue
            if actual == "raises" and actual not in expected:  # torch drops calls whose result nobody uses, and what they raise
                used = fxtrace.trace(path, no_default_leaves=True, pass_="eliminate-dead-code")
                actual = outcome(used.graph_module(), inputs)
            assert actual in expected or "cut" in (actual, *expected), f"seed {seed}, {what}:\n{drawn.code}\ninputs {inputs}\narchive {expected}\n{what} {actual}"


def check_folded(seed: int, drawn, archive, path: str, counts: collections.Counter) -> None:
    """The same with all inputs, or only numbers and texts, as concrete values: what is computed while tracing."""
    inputs = drawn.inputs[0]
    given = dict(zip(random_scalars.PARAMETERS, inputs, strict=True))
    plain = {name: value for name, value in given.items() if not isinstance(value, (list, dict))}
    chosen = plain if seed % 2 else given | {"df": {str(key): value for key, value in given["df"].items()}}
    try:
        collection = fxtrace.trace(path, no_default_leaves=True, concrete=chosen)
    except fxtrace.Error as error:
        counts[f"not folded: {type(error).__name__}"] += 1
        return
    if collection.failures:  # such as what raises, or has no sound result in torch
        counts["not folded"] += 1
        return
    expected = outcomes(archive, inputs, drawn.code)
    try:
        actual = outcome(collection.graph_module(), inputs)
    except fxtrace.GuardError:
        counts["not folded: guard"] += 1
        return
    counts["folded"] += 1
    assert actual in expected or "cut" in (actual, *expected), f"seed {seed}, folded:\n{drawn.code}\ninputs {inputs}\narchive {expected}\ngraph {actual}"


def as_json(value) -> str:
    """The value as --concrete takes it."""

    def known(of):
        if isinstance(of, list):
            return [known(item) for item in of]
        if isinstance(of, dict):
            return {key: known(item) for key, item in of.items()}
        return of if not isinstance(of, float) or math.isfinite(of) else {"float": repr(of)}

    return json.dumps(known(value))


def check_converted(seed: int, program, folder, counts: collections.Counter) -> None:
    """The program of convert, with the inputs as values and with two integers as inputs.  It may raise where the archive does not,
    as Python's numbers do, but gives nothing else."""
    drawn, path, made = random_scalars.make(seed, is_for_export=True), str(folder / "m.pt"), str(folder / "m.pt2")
    try:
        torch.jit.save(script(drawn.code), path)
        archive = torch.jit.load(path)
    except (RuntimeError, ValueError):
        counts["not scripted"] += 1
        return
    names = [name for name in random_scalars.PARAMETERS if name != "df"]
    inputs = drawn.inputs[0]
    for open_names in ((), ("i", "j")):
        options = []
        for name, value in zip(names, inputs, strict=True):
            options += ["--input", f"{name}={name}"] if name in open_names else ["--concrete", f"{name}={as_json(value)}"]
        done = program.run("convert", path, "-o", made, *options)
        message = f"seed {seed}:\n{drawn.code}\n{options}\n{done.stderr.decode()}"
        assert done.returncode in (0, 4), f"exit code {done.returncode}, {message}"
        if done.returncode == 4:
            counts["refused: " + re.sub(r"[^ ]*\d[^ ]*", "_", done.stderr.decode().splitlines()[1])[:90]] += 1
            continue
        module = torch.export.load(made).module()
        for given in drawn.inputs:
            values = tuple(given[i] if name in open_names else inputs[i] for i, name in enumerate(names))
            expected = {outcome(archive, values) for _ in range(RUNS)}
            try:
                actual = repr(tuple(module(*copy.deepcopy(values))))
            except Exception as error:
                if "Guard failed" in str(error):
                    counts["guarded"] += 1
                    continue
                counts["raises"] += 1
                continue
            counts["compared"] += 1
            assert actual in expected, f"{message}inputs {values}\narchive {expected}\nprogram {actual}"
            if not open_names:
                break


def test_first(program, tmp_path):
    counts: collections.Counter = collections.Counter()
    for seed in range(FIRST):
        check(seed, program, str(tmp_path / "m.pt"), counts)
    assert counts["traced"] > FIRST * 0.5, counts


OPEN = ["--input", "i=i", "--input", "j=j"]
GIVEN = ["--concrete", "li=[3, 1000000000000000000, 7]"]
# A function of integers and a list of them, its options, and what the program gives where the archive wraps or rounds.
CORNERS = {
    "i + j": "refused",
    "i * j - 3": "refused",
    "-i": "refused",
    "abs(j)": "refused",
    "i << 3": "refused",
    "i / 7": "refused",
    "math.floor(i)": "refused",
    "i % 5 + j // 3": "equal",
    "i % 4611686018427387907": "not converted",
    "i >> 3": "equal",
    "i << j": "not converted",
    "i >> j": "not converted",
    "(0. - i) ** 0.5": "not converted",
    "i ** 2": "refused",
    "li[i:]": "not converted",
    "li[:i]": "not converted",
    "sum(li) + sum([i, 1])": "refused",
    "sum(li * 2)": "equal",
}


@pytest.mark.parametrize("expression", CORNERS)
def test_integers_that_python_has_not(program, tmp_path, expression):
    path, made = str(tmp_path / "m.pt"), str(tmp_path / "m.pt2")
    torch.jit.save(script(f"def f(i: int, j: int, li: List[int]):\n    return {expression}\n"), path)
    done = program.run("convert", path, "-o", made, *OPEN, *GIVEN)
    if CORNERS[expression] == "not converted":
        assert done.returncode == 4 and b"refused: " in done.stderr, done.stderr.decode()
        return
    assert done.returncode == 0, done.stderr.decode()
    archive, module, found = torch.jit.load(path), torch.export.load(made).module(), set()
    for i, j in ((5, 3), (2**63 - 1, 2**62), (-(2**63), -(2**63))):
        values = (i, j, [3, 10**18, 7])
        actual = outcome(module, values)
        found.add(actual)
        assert actual == "raises" or actual in {outcome(archive, values) for _ in range(RUNS)}, (i, j, actual)
    assert ("raises" in found) == (CORNERS[expression] == "refused") and found != {"raises"}


def test_nan_is_equal_to_itself(program, tmp_path):
    """To LibTorch, which decides it when it loads the code."""
    path = str(tmp_path / "m.pt")
    torch.jit.save(script("def f(x: float, y: float):\n    z = x\n    return x == x, z != x, x == y\n"), path)
    given = (math.nan, math.nan)
    assert fxtrace.trace(path).graph_module()(*given) == torch.jit.load(path)(*given) == (True, False, False)


@pytest.mark.parametrize("expression", ["i / 1", "-(i / (2 - 1))", "[i / 1, 2.5]", "torch.ones(2, dtype=torch.int64) * (i / 1)"])
def test_quotients_by_one(tmp_path, expression):
    """Are the integer itself to LibTorch, where a float is declared."""
    path = str(tmp_path / "m.pt")
    torch.jit.save(script(f"def f(i: int):\n    return {expression}\n"), path)
    assert outcome(fxtrace.trace(path).graph_module(), (7,)) == outcome(torch.jit.load(path), (7,))


@pytest.mark.parametrize("expression", ["chr(255)", "chr(200) + s", "'é'[0:1]", "s == chr(255)", "[chr(255)]"])
def test_a_text_that_python_has_not(tmp_path, expression):
    path = str(tmp_path / "m.pt")
    torch.jit.save(script(f"def f(s: str):\n    return {expression}\n"), path)
    (failure,) = fxtrace.trace(path).failures.values()
    assert "a text that is not UTF-8" in failure.message


def test_examples_by_which_torch_divides(program, tmp_path):
    path, made = str(tmp_path / "m.pt"), str(tmp_path / "m.pt2")
    torch.jit.save(script("def f(i: int):\n    return 3.25 // (i // 7), i % (i // 9)\n"), path)
    assert program.run("convert", path, "-o", made, *OPEN[:2]).returncode == 0
    assert torch.export.load(made).module()(40) == torch.jit.load(path)(40)
    refused = program.run("convert", path, "-o", made, *OPEN[:2], "--hint", "i=3")
    assert refused.returncode == 4 and b"torch divides by this number when it loads the program" in refused.stderr


def test_first_converted(program, tmp_path):
    counts: collections.Counter = collections.Counter()
    for seed in range(FIRST_CONVERTED):
        check_converted(seed, program, tmp_path, counts)
    assert counts["compared"] > FIRST_CONVERTED, counts


@pytest.mark.parametrize("part", tiers.in_turn([], range(SEEDS // TOGETHER), 1))
def test_volume(program, part, tmp_path):
    counts: collections.Counter = collections.Counter()
    for seed in range(part * TOGETHER, (part + 1) * TOGETHER):
        check(seed, program, str(tmp_path / "m.pt"), counts)
    assert counts["traced"] > TOGETHER * 0.5, counts
    for seed in range(part * TOGETHER, part * TOGETHER + TOGETHER // 5):
        check_converted(seed, program, tmp_path, counts)


def main() -> None:
    """test_random_scalars.py PROGRAM FROM COUNT [convert]: prints what differs."""
    import harness

    os.environ["FXTRACE"] = os.path.abspath(sys.argv[1])
    program = harness.Program(os.environ["FXTRACE"])
    counts: collections.Counter = collections.Counter()
    first = int(sys.argv[2])
    for seed in range(first, first + int(sys.argv[3])):
        try:
            with tempfile.TemporaryDirectory() as folder:
                if "convert" in sys.argv:
                    check_converted(seed, program, pathlib.Path(folder), counts)
                else:
                    check(seed, program, os.path.join(folder, "m.pt"), counts)
        except AssertionError as error:
            counts["different"] += 1
            print(error, end="\n\n")
        except Exception as error:
            counts["broken"] += 1
            print(f"seed {seed}: {type(error).__name__} {str(error)[:1500]}\n{random_scalars.make(seed).code}")
    print(*counts.items(), sep="\n")


if __name__ == "__main__":
    main()
