"""Tests random programs with views and writes: the results of `remove-inplace` and `functional` compute the same."""

import importlib.util

import harness
import pytest
import random_programs
import tiers
import torch
from fxtrace import _exported

PROGRAMS, TOGETHER = 2000, 100
EXPORTED, EXPORTED_TOGETHER = 300, 20


def make_model(first: int, count: int, folder, **options: bool) -> torch.nn.Module:
    source = folder / f"programs_{first}.py"
    source.write_text(random_programs.module_source(first, count, **options), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"programs_{first}", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(first)
    return module.All().eval()


def make_archive(first: int, count: int, folder) -> str:
    path = str(folder / f"programs_{first}.pt")
    torch.jit.save(torch.jit.script(make_model(first, count, folder)), path)
    return path


def writes(collection: dict) -> int:
    names = [node["target"].split(".")[1:2] for node in harness.all_nodes(collection["graphs"][0]) if node["target"].startswith("aten.")]
    return sum(name.endswith("_") and not name.endswith("__") for (name,) in names)


@pytest.mark.parametrize("first", tiers.only([0, TOGETHER], range(0, PROGRAMS, TOGETHER)))
def test_results_inputs_and_buffers(program, tmp_path, first):
    """With known shapes and without, in turns."""
    path = make_archive(first, TOGETHER, tmp_path)
    shapes = ["--input", "float32[4,4]"] * TOGETHER if first // TOGETHER % 2 else []
    options = ["--no-default-leaves", *shapes]
    torch.manual_seed(first)
    inputs = tuple(torch.rand(4, 4) for _ in range(TOGETHER))
    before = program.trace(path, *options)
    assert not harness.failed_modules(before)
    for each in ("remove-inplace", "functional"):
        after = program.trace(path, *options, "--pass", each)
        harness.compare_graphs(path, before["graphs"][0], after["graphs"][0], inputs, {})
    assert writes(after) < 0.75 * writes(before)


@pytest.mark.parametrize("first", tiers.only([PROGRAMS], range(PROGRAMS, PROGRAMS + EXPORTED, EXPORTED_TOGETHER)))
def test_exported(program, tmp_path, first):
    """The same of torch.export."""
    path = str(tmp_path / "programs.pt2")
    model = make_model(first, EXPORTED_TOGETHER, tmp_path, same_sizes=True)
    inputs = tuple(torch.rand(4, 4) for _ in model.children())
    torch.export.save(torch.export.export(model, inputs), path)
    run = harness.ExportedRun(path, _exported.load(path), inputs, {})
    before = program.trace(path)
    after = program.trace(path, "--pass", "functional")
    run.compare(after["graphs"][0])
    assert writes(after) < 0.75 * writes(before)
