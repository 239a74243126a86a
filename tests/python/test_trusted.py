"""fxtrace.trusted: the functions in this process give what the program gives."""

import concurrent.futures
import os

import fxtrace
import harness
import pytest
from fxtrace import trusted

MODELS = [os.path.join(harness.SAMPLES, name) for name in ("attention_exported.pt2", "nested_scripted.pt", "failing_nested.pt")]


@pytest.fixture(autouse=True)
def this_program(program, monkeypatch):
    monkeypatch.setenv("FXTRACE", program.path)


@pytest.mark.parametrize("model", MODELS)
def test_traces_are_those_of_the_program(model):
    here, there = trusted.trace(model, no_default_leaves=True), fxtrace.trace(model, no_default_leaves=True)
    assert here.to_json() == there.to_json()
    assert here.messages == there.messages


def test_other_functions():
    model = MODELS[0]
    assert trusted.summary(model) == fxtrace.summary(model)
    assert trusted.order(model).modules == fxtrace.order(model).modules
    assert trusted.check(model, max_params=1).holds is False
    assert trusted.diff(model, MODELS[1]).modules == fxtrace.diff(model, MODELS[1]).modules


def test_errors_are_the_same():
    for function in (fxtrace.trace, trusted.trace):
        with pytest.raises(fxtrace.InputError, match="no such file"):
            function("missing.pt2")
        with pytest.raises(fxtrace.UsageError, match="depth"):
            function(MODELS[0], max_depth=-1)
    with pytest.raises(fxtrace.UsageError, match="null"):
        trusted.trace("a\0b")


def test_threads_do_not_meet():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: trusted.trace(MODELS[i % 3]).to_json(), range(24)))
    assert found == [trusted.trace(MODELS[i % 3]).to_json() for i in range(24)]


def test_a_static_program_has_none(tmp_path, monkeypatch):
    alone = tmp_path / "fxtrace"
    alone.write_bytes(b"\x7fELF")
    alone.chmod(0o755)
    monkeypatch.setenv("FXTRACE", str(alone))
    trusted._library.cache_clear()
    try:
        with pytest.raises(fxtrace.ProgramNotFound, match="libfxtrace_trusted"):
            trusted.trace(MODELS[0])
    finally:
        trusted._library.cache_clear()
