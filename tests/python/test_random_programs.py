"""Random programs with views and writes: what `remove-inplace` and `functional` make of them computes the same."""

import importlib.util

import harness
import pytest
import random_programs
import torch

PROGRAMS, TOGETHER = 2000, 100


def make_archive(first: int, count: int, folder) -> str:
    source = folder / f"programs_{first}.py"
    source.write_text(random_programs.module_source(first, count), encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"programs_{first}", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(first)
    path = str(folder / f"programs_{first}.pt")
    torch.jit.save(torch.jit.script(module.All().eval()), path)
    return path


def writes(collection: dict) -> int:
    nodes = harness.all_nodes(collection["graphs"][0])
    return sum(node["target"].startswith("aten.") and node["target"].split(".")[1].endswith("_") for node in nodes)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, PROGRAMS, TOGETHER))
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
