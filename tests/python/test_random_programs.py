"""Random programs with views and writes: what `remove-inplace` and `functional` make of them computes the same."""

import importlib.util

import harness
import pytest
import random_programs
import torch

PROGRAMS, TOGETHER = 2000, 50


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


@pytest.mark.slow
@pytest.mark.parametrize("shapes", [False, True], ids=["nothing known", "shapes known"])
@pytest.mark.parametrize("first", range(0, PROGRAMS, TOGETHER))
def test_results_inputs_and_buffers(program, tmp_path, first, shapes):
    path = make_archive(first, TOGETHER, tmp_path)
    options = ["--no-default-leaves", *(["--input", "float32[4,4]"] * TOGETHER if shapes else [])]
    torch.manual_seed(first)
    inputs = tuple(torch.rand(4, 4) for _ in range(TOGETHER))
    before = program.trace(path, *options)
    assert not harness.failed_modules(before)
    for each in ("remove-inplace", "functional"):
        after = program.trace(path, *options, "--pass", each)
        harness.compare_graphs(path, before["graphs"][0], after["graphs"][0], inputs, {})
    left = [node for node in harness.all_nodes(after["graphs"][0]) if node["target"].split(".")[1:2] and node["target"].split(".")[1].endswith("_")]
    print(f"{len(left)} writes left of", sum(node["target"].split(".")[1:2] != [] and node["target"].split(".")[1].endswith("_") for node in before["graphs"][0]["nodes"]))
