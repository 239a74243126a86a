"""Compares random programs whose branches and loops depend on data with TorchScript: results and changed inputs are equal bit for
bit."""

import harness
import pytest
import random_control_flow
import tiers
import torch

SHAPES = ["--input", "x=float32[4]", "--input", "y=float32[4]", "--input", "n=int64[]"]
PROGRAMS, GROUP = 100, 10


@pytest.mark.parametrize("first", tiers.only([0], range(0, PROGRAMS, GROUP)))
def test_programs(program, tmp_path, first):
    followed = 0
    for seed in range(first, first + GROUP):
        source, module = random_control_flow.make(seed, str(tmp_path))
        torch.manual_seed(seed)
        path = str(tmp_path / "net.pt")
        torch.jit.save(torch.jit.script(module.Net().eval()), path)
        options = SHAPES if seed % 3 == 0 else ["--pass", "functional"] if seed % 3 == 1 else []
        collection = program.trace(path, "--control-flow", "subgraph", *options)
        harness.check_collection(collection)
        followed += harness.failed_modules(collection) == []
        for value in range(4):
            torch.manual_seed(value)
            args = (torch.randn(4) * (value + 1), torch.randn(4), torch.tensor(value))
            try:
                harness.compare_runs(path, collection["graphs"][0], "forward", args, {})
            except Exception as error:
                raise AssertionError(f"seed {seed}, inputs {value}\n{source}") from error
    assert followed >= GROUP * 0.8
