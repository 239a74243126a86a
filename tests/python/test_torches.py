"""Tests that the releases of torch load what `fxtrace convert --for-torch` writes, and compute the same (scripts/torches makes them)."""

import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest
import tiers

FOLDER = pathlib.Path(os.environ.get("FXTRACE_TORCHES") or pathlib.Path(tiers.ROOT) / "build" / "torches")
RELEASES = [f"2.{minor}" for minor in range(6, 16)]
PROGRAMS = pathlib.Path(__file__).with_name("release_programs.py")
# What a release does not have, and where it ends.
REFUSED = {"float8": 7, "loop": 7, "no_gradient": 7, "number": 7}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    subprocess.run([sys.executable, PROGRAMS, "write", folder], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("release", tiers.in_turn([], RELEASES, 4))
def test_release(program, programs, tmp_path, release):
    if not (FOLDER / release / "torch").is_dir():
        pytest.skip(f"torch {release} is not in {FOLDER}: scripts/torches {release} makes it")
    refused = set()
    for file in programs.glob("*.pt2"):
        done = subprocess.run([program.path, "convert", file, "--for-torch", release, "-o", tmp_path / file.name], capture_output=True, text=True)
        if done.returncode == 4:
            refused.add(file.stem)
            assert f"torch {release} does not load it: it came with 2." in done.stderr
        else:
            assert done.returncode == 0, done.stderr
            shown = json.loads(subprocess.run([program.path, "inspect", tmp_path / file.name, "--json"], capture_output=True, check=True).stdout)
            assert int(shown["loads_with"]["since"].split(".")[1]) <= int(release.split(".")[1])
    assert refused == {name for name, first in REFUSED.items() if int(release.split(".")[1]) < first}
    run = subprocess.run([FOLDER / "run", release, PROGRAMS, "run", tmp_path, programs], capture_output=True, text=True, check=True)
    answers = dict(json.loads(line) for line in run.stdout.splitlines() if line.startswith('["'))
    assert set(answers) == {file.stem for file in tmp_path.glob("*.pt2")}
    counts = collections.Counter(answers.values())
    print(f"torch {release}: {len(answers)} loaded, {counts['equal']} equal bit for bit, {counts['close']} close, {len(refused)} refused")
    assert set(counts) <= {"equal", "close"}, answers
    assert counts["equal"] >= 20 - len(refused)
