"""Tests fxtrace convert on all samples and on well-known models: the properties of each program, and whether compilers accept it.

convert_counts.py prints the same as a table.
"""

import importlib.util
import os
import shutil
import subprocess
import sys

import convert_cases
import harness
import pytest
import tiers
import torch
import zoo
from test_convert import REFUSED, SAMPLES

# Of control flow in control flow that carries integers torch has no decomposition.
NOT_DECOMPOSED = {"failing_nested.pt"}


def check(found: dict[str, str], name: str) -> None:
    assert found["run"] == found["unflatten"] == found["modules"] == "", found
    assert convert_cases.close(found["decompose"]) or (name in NOT_DECOMPOSED and found["decompose"].startswith("fails")), found
    assert convert_cases.close(found.get("batch", "")) or found["batch"] == "fixed", found


@pytest.mark.parametrize("name", tiers.only(["vision_traced.pt"], sorted(SAMPLES.keys() - REFUSED.keys())))
def test_samples(program, tmp_path, name):
    sample = SAMPLES[name]
    args, kwargs = harness.make_inputs(sample["inputs"][0])
    path = harness.sample_path(sample)
    case = convert_cases.Converted(program, path, tmp_path, args, kwargs, sample["method"])
    check(convert_cases.proof(case, program, path, tmp_path, sample["method"]), name)


def of_zoo(program, zoo_archive, folder, name: str, *more: str) -> tuple[convert_cases.Converted, str]:
    path = zoo_archive(name)
    inputs = tuple(torch.load(path.removesuffix(".pt") + ".inputs.pt", weights_only=False))
    return convert_cases.Converted(program, path, folder, inputs, {}, "forward", *more), path


@pytest.mark.parametrize("name", tiers.in_turn([], zoo.names("scripted", "traced")))
def test_models(program, zoo_archive, tmp_path, name):
    case, path = of_zoo(program, zoo_archive, tmp_path, name)
    check(convert_cases.proof(case, program, path, tmp_path, "forward"), name)


# What programs are for


@pytest.mark.parametrize("name", tiers.in_turn([], ["resnet18_scripted", "mobilenet_v3_traced", "vit_scripted", "bert_traced", "gru_scripted"]))
def test_aotinductor(program, zoo_archive, tmp_path, monkeypatch, name):
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    from torch._inductor import aoti_compile_and_package, aoti_load_package

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    case, _ = of_zoo(program, zoo_archive, tmp_path, name)
    compiled = aoti_load_package(aoti_compile_and_package(case.load(), package_path=str(tmp_path / "compiled.pt2")))
    with torch.no_grad():
        torch.testing.assert_close(compiled(*case.args), case.call(*case.args), rtol=1e-4, atol=1e-4)


MOBILE = ["resnet18_scripted", "mobilenet_v3_traced", "vit_scripted"]


# In a process of its own: loading the runtime crashes one that has used much of torch.
EXECUTORCH = """
import sys
import torch
from executorch.exir import to_edge
from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer
program, inputs, results = sys.argv[1:]
lowered = to_edge(torch.export.load(program)).to_executorch().buffer
torch.save(_load_for_executorch_from_buffer(lowered).forward(torch.load(inputs)), results)
"""


@pytest.mark.volume
@pytest.mark.parametrize("name", MOBILE)
def test_executorch(program, zoo_archive, tmp_path, name):
    if importlib.util.find_spec("executorch") is None:
        pytest.skip("needs executorch")
    case, _ = of_zoo(program, zoo_archive, tmp_path, name)
    assert case.run.returncode == 0, case.run.stderr.decode()
    torch.save(list(case.args), tmp_path / "inputs.pt")
    words = [sys.executable, "-c", EXECUTORCH, case.file, str(tmp_path / "inputs.pt"), str(tmp_path / "results.pt")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with torch.no_grad():
        torch.testing.assert_close(torch.load(tmp_path / "results.pt")[0], case.call(*case.args), rtol=1e-4, atol=1e-4)


@pytest.mark.volume
@pytest.mark.parametrize("name", MOBILE)
def test_coremltools(program, zoo_archive, tmp_path, name):
    """Its converter runs anywhere, what it makes on Apple's machines alone."""
    coremltools = pytest.importorskip("coremltools")
    case, _ = of_zoo(program, zoo_archive, tmp_path, name)
    model = coremltools.convert(case.load().run_decompositions({}), convert_to="mlprogram", skip_model_load=True)
    model.save(str(tmp_path / "model.mlpackage"))
    (given,) = model.get_spec().description.input
    assert tuple(given.type.multiArrayType.shape) == tuple(case.args[0].shape)
    assert os.path.isdir(tmp_path / "model.mlpackage")
