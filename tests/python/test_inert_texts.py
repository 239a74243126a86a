"""Tests that no text of a file runs when torch loads, calls, prints, unflattens and decomposes a program that `check --security` passes,
or that `convert` has written."""

import json
import random
import subprocess

import hostile
import planted_texts
import pytest
import test_security
import tiers
from planted_texts import PROGRAMS, leaves_a_mark
from test_security import zipped

FIRST = ("trees",)  # of the first tier


@pytest.fixture(scope="module")
def records():
    made = {}

    def get(name: str) -> planted_texts.Records:
        if name not in made:
            made[name] = planted_texts.records_of(name)
        return made[name]

    return get


def assert_inert(files: dict[str, bytes], tmp_path) -> None:
    mark = tmp_path / "mark"
    marked = [what for what, data in files.items() if leaves_a_mark(data, tmp_path / "case.pt2", mark)]
    assert marked == []


def test_the_mark_is_seen(records, tmp_path):
    """A file that runs a text leaves a mark: the test below could fail."""
    mark = tmp_path / "mark"
    cases = dict(planted_texts.planted(records("constants"), mark))
    guard = next(what for what in cases if what.endswith("graph_module.graph.inputs.[].as_string: guard lines"))
    assert leaves_a_mark(zipped(cases[guard]), tmp_path / "case.pt2", mark)
    assert not leaves_a_mark(zipped(records("constants")), tmp_path / "case.pt2", mark)


@pytest.mark.parametrize("name", tiers.only(FIRST, PROGRAMS))
def test_programs_hold_as_they_are(program, records, tmp_path, name):
    assert test_security.passes(program, tmp_path, {name: zipped(records(name))}) == [name]


SHARES = 80
DRAWN = [(name, share) for share in range(SHARES) for name in PROGRAMS]


@pytest.mark.parametrize("drawn_from", tiers.in_turn([(name, 0) for name in FIRST], DRAWN, 3), ids=str)
def test_texts_of_programs(program, records, tmp_path, drawn_from):
    """Drawn: a share of all texts in all places.  Of some that pass, what convert writes of them too."""
    name, share = drawn_from
    cases = list(planted_texts.planted(records(name), tmp_path / "mark"))
    drawn = dict(random.Random(0).sample(cases, len(cases))[share::SHARES])
    held = test_security.passes(program, tmp_path, {what: zipped(each) for what, each in drawn.items()})
    assert 0 < len(held) < len(drawn)
    files = {what: zipped(drawn[what]) for what in held}
    assert_inert(files, tmp_path)
    written = {}
    for what in held[::4]:
        source, target = tmp_path / "from.pt2", tmp_path / "to.pt2"
        source.write_bytes(files[what])
        target.unlink(missing_ok=True)
        done = program.run("convert", str(source), "-o", str(target))
        assert done.returncode in (0, 2, 3, 4), done.stderr
        if done.returncode == 0:
            written[what] = target.read_bytes()
    assert sorted(test_security.passes(program, tmp_path, written)) == sorted(written)
    assert_inert(written, tmp_path)


def test_made_texts_do_not_pass(program, records, tmp_path):
    every = {name: records(name) for name in ("names", "trees", "sizes")}
    cases = {what: zipped(each) for what, each in planted_texts.made(every, tmp_path / "mark")}
    assert len(cases) > 15
    assert test_security.passes(program, tmp_path, cases) == []
    for what, data in cases.items():
        source, target = tmp_path / "from.pt2", tmp_path / "to.pt2"
        source.write_bytes(data)
        done = program.run("convert", str(source), "-o", str(target))
        if what.startswith("a source") and done.returncode == 0:  # a record that no text names: it is not copied
            assert test_security.passes(program, tmp_path, {what: target.read_bytes()})
            target.unlink()
        else:
            assert program.run("check", "--program", str(source)).returncode == 1, what
            assert done.returncode == 4, what
            assert not target.exists()


# --- archives: what convert makes of their texts ---

CODE = """class Net(Module):
  __parameters__ = [{names}]
  __buffers__ = []
  __annotations__ = []
  __annotations__[{attribute}] = Tensor
  def forward(self: __torch__.Net,
    x: Tensor,
    mode: str={default}) -> Dict[str, Tensor]:
    y = torch.mul(x, 2)
    if torch.eq(mode, {compared}):
      z = torch.add(y, 1)
    else:
      z = y
    v = torch.einsum({equation}, [z])
    return {{{key}: v}}
"""


def archive(**given: str) -> bytes:
    """An archive of a module whose texts are given; the others are harmless."""
    plain = {"default": "mean", "compared": "mean", "equation": "ij->ji", "key": "out", "attribute": "w"}
    quoted = {name: json.dumps(text) for name, text in {**plain, **given}.items()}
    code = CODE.format(names=quoted["attribute"] + ", ", **quoted)
    data = hostile.module("__torch__.Net", {given.get("attribute", "w"): hostile.tensor((2, 2), (2, 1))})
    return hostile.archive({**hostile.records_of(code, data), "data/0": bytes(16)})


@pytest.mark.parametrize("place", tiers.only(["equation", "hint"], ["default", "compared", "equation", "key", "attribute", "concrete", "dimension", "hint"]))
def test_texts_of_archives(program, tmp_path, place):
    mark = tmp_path / "mark"
    written, refused = {}, 0
    for what, text in planted_texts.texts(mark).items():
        options = ["--input", "x=float32[b,2]"]
        given = {}
        if place == "concrete":
            options += ["--concrete", f"mode={json.dumps(text)}"]
        elif place == "dimension":
            options = ["--input", f"x=float32[{text},2]"]
        elif place == "hint":
            options += ["--hint", f"{text}=3"]
        else:
            given = {place: text}
        source, target = tmp_path / "from.pt", tmp_path / "to.pt2"
        source.write_bytes(archive(**given))
        target.unlink(missing_ok=True)
        done = subprocess.run([program.path, "convert", source, "-o", target, *options], capture_output=True, text=True, errors="replace")
        assert done.returncode in (0, 2, 3, 4), done.stderr
        if done.returncode == 0:
            written[what] = target.read_bytes()
        refused += done.returncode != 0
    assert sorted(test_security.passes(program, tmp_path, written)) == sorted(written)
    assert_inert(written, tmp_path)
    assert refused + len(written) == len(planted_texts.texts(mark))


def test_plain_texts_of_archives_are_converted(program, tmp_path):
    source, target = tmp_path / "from.pt", tmp_path / "to.pt2"
    for given in ({}, {"default": "a b"}, {"key": "k-1"}, {"attribute": "w-1"}):
        source.write_bytes(archive(**given))
        done = subprocess.run([program.path, "convert", source, "-o", target, "--input", "x=float32[b,2]"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
