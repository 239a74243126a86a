"""Tests `with torch.autocast(...)` in scripted models: the operators inside compute in another dtype."""

import harness
import pytest
import torch
from fxtrace import _torchscript
from torch import Tensor, nn

ENTER, EXIT = "torch.amp.autocast_mode._enter_autocast", "torch.amp.autocast_mode._exit_autocast"


class Region(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.low = nn.Parameter(torch.rand(4, 4).bfloat16())

    def forward(self, x: Tensor):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
            z = torch.mm(y, self.low)
        return y, z.float() + x.sum()


class Default(nn.Module):
    """Without a type; with a region inside that switches it off."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor):
        with torch.autocast("cpu"):
            y = self.linear(x)
            with torch.autocast("cpu", enabled=False):
                y = self.linear(y.float())
            y = y @ x.t()
        return y


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = self.linear(x)
            if bool(x.sum() > 100):
                x = x * 2
        return x


class FailsInside(nn.Module):
    """The module that fails has entered a region, which its caller is not in."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor):
        return self.linear(self.inner(x).float())


def targets(collection: dict) -> list[str]:
    return [node["target"] for node in collection["graphs"][0]["nodes"]]


@pytest.mark.parametrize("options", [(), ("--input=float32[3,4]",), ("--input=float32[n,4]",)], ids=str)
@pytest.mark.parametrize("rules", [(), ("--no-default-leaves",)], ids=["default", "no_default_leaves"])
@pytest.mark.parametrize("module", [Region, Default, FailsInside], ids=lambda module: module.__name__)
def test_regions_replay(program, tmp_path, module, rules, options):
    torch.manual_seed(0)
    path = str(tmp_path / "model.pt")
    torch.jit.script(module().eval()).save(path)
    done = program.run("trace", path, *rules, *options)
    assert done.returncode == 0 and b"raises" not in done.stderr
    collection = program.trace(path, *rules, *options)
    assert harness.failed_modules(collection) == (["inner"] if module is FailsInside else [])
    entered = {Region: 1, Default: 2, FailsInside: 0}[module]
    assert targets(collection).count(ENTER) == targets(collection).count(EXIT) == entered
    loaded = _torchscript.load(path)
    x = torch.rand(3, 4)
    with torch.no_grad():
        expected = loaded(x)
        actual = harness.rebuild(path, collection["graphs"][0], loaded)(x)
    assert harness.difference(expected, actual) is None


def test_types_inside_are_not_claimed(program, tmp_path):
    path = str(tmp_path / "model.pt")
    torch.jit.script(Region().eval()).save(path)
    nodes = program.trace(path, "--no-default-leaves", "--input=float32[3,4]")["graphs"][0]["nodes"]
    meta = {node["target"]: node["meta"] for node in nodes if node["op"] == "call_function"}
    assert meta["aten.linear.default"]["shape"] == [3, 4] and meta["aten.linear.default"]["dtype"] is None
    assert meta["aten.mm.default"]["shape"] == [3, 4]
    assert meta["aten.sum.default"]["dtype"] == "float32"
    enter = next(node for node in nodes if node["target"] == ENTER)
    assert enter["args"] == ["cpu", {"dtype": "bfloat16"}, True, None]
