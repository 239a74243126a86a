"""Tests that a trace only writes its own output, whatever an archive calls."""

import math

import fxtrace
import harness
import pytest
import torch
from torch import Tensor, nn

# A plain value, a tensor whose elements are known, and what a module's state is made from.


class SavesText(nn.Module):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def forward(self, x: Tensor) -> Tensor:
        torch.save("text", self.path)
        return x + 1


class SavesTensor(SavesText):
    def forward(self, x: Tensor) -> Tensor:
        torch.save(torch.tensor([1, 2]), self.path)
        return x + 1


class SavesInLeaf(nn.Module):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.inner = SavesTensor(path)

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


class SavesInState(SavesText):
    @torch.jit.export
    def __getstate__(self) -> tuple[str, bool]:
        return (self.path, self.training)

    @torch.jit.export
    def __setstate__(self, state: tuple[str, bool]) -> None:
        torch.save("text", state[0])
        self.path = state[0]
        self.training = state[1]

    def forward(self, x: Tensor) -> Tensor:
        return x + len(self.path)


@pytest.mark.parametrize("module", [SavesText, SavesTensor, SavesInLeaf, SavesInState])
@pytest.mark.parametrize(
    "command",
    [
        ["trace"],
        ["trace", "--input", "x=float32[2]"],
        ["trace", "--input", "x=float32[2]", "--leaf", "**.SavesTensor"],
        ["inspect"],
    ],
)
@pytest.mark.parametrize("isolation", [[], ["--no-isolation"]], ids=["isolated", "not isolated"])
def test_no_file_is_written(program, tmp_path, module, command, isolation):
    """Nor where no wall keeps the process from it."""
    written = tmp_path / "written"
    model = tmp_path / "model.pt"
    torch.jit.script(module(str(written))).save(str(model))
    written.unlink(missing_ok=True)
    program.stdout(command[0], str(model), *command[1:], *isolation)
    assert sorted(tmp_path.iterdir()) == [model]


def test_what_is_not_carried_out_stays_in_the_graph(program, tmp_path):
    written = tmp_path / "written"
    model = str(tmp_path / "model.pt")
    torch.jit.script(SavesText(str(written))).save(model)
    graph = program.trace(model)["graphs"][0]
    written.unlink(missing_ok=True)
    assert [node["target"] for node in graph["nodes"] if node["op"] == "call_function"][0] == "torch.save"
    # Nor does the graph in Python: what it names of torch only computes.
    with pytest.raises(fxtrace.RebuildError, match="no such function: torch.save"):
        harness.rebuild(model, graph)
    assert not written.exists()


class Seeds(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        torch.manual_seed(3)
        return x + torch.rand(2)


def test_the_seed_is_the_models_business(program, tmp_path):
    model = str(tmp_path / "model.pt")
    torch.jit.script(Seeds()).save(model)
    collection = program.trace(model)
    assert not harness.failed_modules(collection)
    harness.compare_runs(model, collection["graphs"][0], "forward", (torch.ones(2),), {})


class Divides(nn.Module):
    def forward(self, x: Tensor, a: int, b: int) -> Tensor:
        return x + a % b


class Floors(nn.Module):
    def forward(self, x: Tensor, a: int, b: int) -> Tensor:
        return x + a // b


class Factorial(nn.Module):
    def forward(self, x: Tensor, a: int, b: int) -> Tensor:
        return x + math.factorial(a)


@pytest.mark.parametrize("module", [Divides, Floors, Factorial])
@pytest.mark.parametrize("a, b", [(7, 0), (-(2**63), -1), (2**62, 3)])
def test_arithmetic_that_no_machine_does(program, tmp_path, module, a, b):
    model = str(tmp_path / "model.pt")
    torch.jit.script(module()).save(model)
    done = program.run("trace", model, f"--concrete=a={a}", f"--concrete=b={b}")
    assert done.returncode == 0, done.stderr


class Text(nn.Module):
    def forward(self, x: Tensor, n: int, names: list[int]) -> tuple[Tensor, str, int, int, int, list[str]]:
        words = f"{x.dim()} times {n}".upper().replace("T", "t").split(" ")
        return x + hash(n), "%d of %d" % (n, 9), names.count(n), names.index(n), hash(n), words


def test_python_has_a_name_for_it(program, tmp_path):
    model = str(tmp_path / "model.pt")
    torch.jit.script(Text()).save(model)
    collection = program.trace(model)
    assert not harness.failed_modules(collection)
    harness.compare_runs(model, collection["graphs"][0], "forward", (torch.ones(2), 4, [1, 4, 4]), {})
