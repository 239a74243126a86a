"""Tests attributes whose names are not Python names: passes that rewrite archives put dots into names."""

import zipfile

import harness
import torch
from torch import Tensor, nn


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.b = nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.b


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a_b = nn.Parameter(torch.full((3,), 5.0))
        self.a = Inner()

    def forward(self, x: Tensor) -> Tensor:
        return self.a(x) + self.a_b


def with_a_dot(source: str, target: str) -> None:
    """The same archive with `a_b` called `a.b`, as TorchScript writes that."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("data.pkl"):
                data = data.replace(b"a_b", b"a.b")
            if entry.filename.endswith(".py"):
                data = data.replace(b"self.a_b", b'getattr(self, "a.b")')
                data = data.replace(b"  a_b : Tensor", b'  __annotations__["a.b"] = Tensor')
                data = data.replace(b'"a_b"', b'"a.b"')
            new.writestr(entry.filename, data)


def test_names_with_dots(program, tmp_path):
    plain, path = str(tmp_path / "plain.pt"), str(tmp_path / "model.pt")
    torch.jit.script(Net()).save(plain)
    with_a_dot(plain, path)
    collection = program.trace(path)
    graph = collection["graphs"][0]
    attributes = [node["target"] for node in graph["nodes"] if node["op"] == "get_attr"]
    assert sorted(attributes) == ["a.b", r"a\.b"]
    assert sorted(graph["execution"]["param_forward_order"]) == ["a.b", r"a\.b"]
    assert sorted(parameter["name"] for parameter in collection["parameters"]) == ["a.b", r"a\.b"]
    harness.compare_runs(path, graph, "forward", (torch.rand(3),), {})
    # Whose it is, everywhere that says so.
    rows = [line.split() for line in program.stdout("inspect", path).decode().splitlines() if "test_attribute_names." in line]
    assert [(row[0], row[2], row[3]) for row in rows[-2:]] == [("(root)", "3", "6"), ("a", "3", "3")]
    dot = program.stdout("render", path, "-f", "dot", "--show-parameters").decode().splitlines()
    own = next(line for line in dot if r"a\.b</B>" in line)
    assert own.startswith("  b") and r"get_attr[a\\.b]" in own  # in no module's box
    done = program.run("verify", path, "--input", "float32[3]")
    assert (done.returncode, done.stdout[:5]) == (0, b"equal")
