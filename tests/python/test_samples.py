"""Tests the sample archives themselves: complete, small, portable, and reproducible. It does not need fxtrace."""

import json
import os
import re
import subprocess
import sys
import warnings
import zipfile

import harness
import pytest
from fxtrace import _torchscript

EXPORTED = {sample["file"]: sample for sample in harness.samples("exported_program")}
SAMPLES = {sample["file"]: sample for sample in harness.samples()} | EXPORTED


def test_manifest_and_folder_agree():
    archives = {name for name in os.listdir(harness.SAMPLES) if name.endswith((".pt", ".pt2"))}
    assert archives == set(SAMPLES)
    assert len(EXPORTED) >= 16 and len(archives) - len(EXPORTED) >= 18
    stems = [name.partition(".")[0] for name in archives]
    assert len(set(stems)) == len(stems)  # test cases are named by them


@pytest.mark.parametrize("name", SAMPLES)
def test_small_and_without_a_path_of_any_machine(name):
    path = harness.sample_path(SAMPLES[name])
    assert os.path.getsize(path) < (80_000 if name in EXPORTED else 60_000)
    with zipfile.ZipFile(path) as archive:
        for record in archive.namelist():
            if not re.search(r"/(data|constants)/\d+$|/(weight|tensor)_\d+$", record):  # all but weights
                found = re.search(
                    rb"(^|[^\w.])/(usr|opt|home|root|tmp|work|var|builds?)/|site-packages|0x[0-9a-f]{6}",
                    archive.read(record),
                )
                assert not found, f"{record}: {found}"


@pytest.mark.parametrize("name", SAMPLES)
def test_runs_on_its_inputs(name):
    sample = SAMPLES[name]
    if name in EXPORTED:
        for inputs in sample["inputs"]:
            args, kwargs = harness.make_inputs(inputs)
            harness.load_exported(sample).module()(*args, **kwargs)
        return
    for inputs in sample["inputs"]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = _torchscript.load(harness.sample_path(sample))
            args, kwargs = harness.make_inputs(inputs)
            getattr(model, sample["method"])(*args, **kwargs)


@pytest.mark.volume
def test_the_generator_makes_the_same_bytes(tmp_path):
    """Only with the PyTorch that made them: others write other code."""
    import torch

    if not torch.__version__.startswith("2.13.0"):
        pytest.skip(f"the samples are made with torch 2.13.0, this is {torch.__version__}")
    subprocess.run(
        [sys.executable, os.path.join(harness.SAMPLES, "generate.py"), "-o", str(tmp_path)],
        check=True,
        capture_output=True,
    )
    for name in [*SAMPLES, "manifest.json"]:
        with open(os.path.join(harness.SAMPLES, name), "rb") as ours:
            assert ours.read() == (tmp_path / name).read_bytes(), name
    assert json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))["samples"]
