"""Tests random programs that branch on their inputs: for inputs that the guards accept, the graph computes the same as the
archive."""

import collections
import copy
import sys
import warnings

import fxtrace
import pytest
import random_guards
import tiers
import torch

SEEDS, TOGETHER = 5000, 100


@pytest.fixture(autouse=True)
def installed(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


def outcome(function, inputs: tuple) -> object:
    try:
        return function(*copy.deepcopy(inputs))
    except fxtrace.GuardError:
        raise
    except Exception as error:  # of any kind: that it raises is what counts
        return f"{type(error).__name__}: {error}"


def same(one: object, other: object) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str)
    return one.dtype == other.dtype and one.device == other.device and (one.is_meta or torch.equal(one, other))


def check(seed: int, path: str, counts: collections.Counter, needless: collections.Counter) -> None:
    drawn = random_guards.make(seed)
    try:
        archive = random_guards.script(drawn.code)
    except RuntimeError:
        counts["not scripted"] += 1
        return
    torch.jit.save(archive, path)
    archive = torch.jit.load(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            collection = fxtrace.trace(path, **drawn.options)
    except fxtrace.Error as error:
        counts[f"refused: {type(error).__name__}"] += 1
        return
    if collection.failures:
        counts["failed"] += 1
        return
    counts["traced"] += 1
    guarded, open_to_all = collection.graph_module(), collection.graph_module(check=False)
    for inputs, what in zip(drawn.inputs, drawn.what, strict=True):
        expected = outcome(archive, inputs)
        try:
            actual = outcome(guarded, inputs)
        except fxtrace.GuardError as error:
            counts["guarded"] += 1
            try:
                is_right = not isinstance(expected, str) and same(outcome(open_to_all, inputs), expected)
            except fxtrace.GuardError:
                is_right = False
            if is_right:
                counts["needlessly guarded"] += 1
                text = str(error).split(": ", 1)[1].split(" does not hold")[0]
                needless["".join("#" if c.isdigit() else c for c in text.split(" (")[0])] += 1
            continue
        if isinstance(actual, str) and not isinstance(expected, str):
            counts["raised"] += 1  # an operation that torch.jit has dropped, since nobody takes its result
            continue
        counts["compared"] += 1
        assert same(actual, expected), (
            f"seed {seed}, {what}:\n{drawn.code}\noptions {drawn.options}\n"
            f"guards {[guard.expr for guard in collection.root.guards]}\ninputs {inputs}\narchive {expected}\ngraph {actual}"
        )


@pytest.mark.parametrize("first", tiers.in_turn([0], range(0, SEEDS, TOGETHER), 6))
def test_no_silent_difference(first, tmp_path, capsys):
    counts, needless = collections.Counter(), collections.Counter()
    for seed in range(first, first + TOGETHER):
        check(seed, str(tmp_path / "drawn.pt"), counts, needless)
    assert counts["traced"] > TOGETHER // 3 and counts["compared"] > 2 * counts["traced"]
    assert counts["raised"] < counts["compared"] // 10
    with capsys.disabled():
        print(f"\nguards, seeds from {first}: {dict(counts)}; needless: {needless.most_common(5)}", file=sys.stderr)
