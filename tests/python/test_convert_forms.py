"""Tests that programs of fxtrace convert stay right in every form that torch makes of them, at several sizes."""

import pytest
import torch
from program_forms import faults

X = ["--input", "x=float32[b,4,6]"]
N = ["--input", "n=int64[]"]
PIECES = """
  y = x.split([1, 1, 2], 1)
  y.append(y[-1] * 2)
  y.insert(0, x)
  z = y.pop(1)
  y += [z, x]
  del y[-1]
  y[1] = z * 3
  y.reverse()
  w = y[1:] + list(x.chunk(2, 1))
  d = {"a": x}
  d["b"] = z
"""
SCRIPTED = {
    "lists of pieces": (f"(x: Tensor):{PIECES}  return torch.cat(w, 1) * len(y) + d['b']", X),
    "a number read twice": ("(x: Tensor, n: Tensor):\n  return x[:, :, :int(n)].sum() + x[:, :, int(n):].prod() + float(n)", X + N),
    "a number read before and after a write": ("(x: Tensor, n: Tensor):\n  k = n.clone()\n  a = int(k)\n  k.add_(1)\n  return x * a + int(k)", X + N),
    "a size that is a number": ("(x: Tensor):\n  return x.reshape(2, -1)[:, : x.size(0)]", X),
    "a size that is another": ("(x: Tensor, y: Tensor):\n  return x.reshape(2, -1)[:, : x.size(0)].sum() + y.reshape(-1, 3)[: x.size(0)].sum()", [*X, "--input", "y=float32[c,6]"]),
    "a size that three divides": ("(x: Tensor):\n  return x.reshape(-1, 9)[: x.size(0)]", X),
    "a tensor of the code in a loop": ("(x: Tensor):\n  while bool(x.sum() > 9):\n    x = x * torch.tensor([0.5, 0.25]).sum()\n  return x", X),
    "one of a branch in a loop": ("(x: Tensor):\n  while bool(x.sum() > 9):\n    if bool(x.sum() > 50):\n      x = x * torch.tensor([0.5])\n    else:\n      x = x - torch.tensor([0.25])\n  return x", X),
}


def converted(program, folder, model, options):
    path = str(folder / "model.pt")
    torch.jit.save(model, path)
    done = program.run("convert", path, "-o", path + "2", *options)
    assert done.returncode == 0, done.stderr.decode()
    return path


@pytest.mark.parametrize("name", SCRIPTED)
def test_scripted(program, tmp_path, name):
    code, options = SCRIPTED[name]
    path = converted(program, tmp_path, torch.jit.CompilationUnit(f"def f{code}\n").f, options)
    assert faults(path + "2", lambda: torch.jit.load(path)) == []


class Sizes(torch.nn.Module):
    def forward(self, x):
        rows = x.shape[0] * 4
        return torch.nn.functional.relu_(x.reshape(x.shape[0], 4, -1).transpose(0, 1).reshape(rows, -1)).reshape(rows // 2, -1)


def test_sizes_that_are_computed_as_tensors(program, tmp_path):
    path = converted(program, tmp_path, torch.jit.trace(Sizes(), torch.rand(2, 4, 6)), X)
    assert not [node for node in torch.export.load(path + "2").graph.nodes if "item" in str(node.target)]
    assert faults(path + "2", lambda: torch.jit.load(path)) == []


class Halved(torch.nn.Module):
    def forward(self, x):
        return 0.5 * x


class Looped(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.jit.trace(Halved(), torch.ones(1))

    def forward(self, x):
        while bool(x.sum() > 9):
            x = self.layer(x)
        return x


def test_constants_of_a_traced_module_in_a_loop(program, tmp_path):
    path = converted(program, tmp_path, torch.jit.script(Looped()), X)
    assert faults(path + "2", lambda: torch.jit.load(path)) == []


class Kept(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = torch.tensor([2.2])
        self.list = [torch.tensor([1.0]), torch.tensor([3.0])]
        self.constant = torch.tensor([4.0])

    def forward(self, x):
        self.plain[0] += 10
        self.list[0].mul_(2)
        return x + self.plain * self.list[0] + self.constant


@pytest.mark.parametrize("dialect", ["training", "aten"])
def test_plain_tensors_that_a_run_writes_are_buffers(program, tmp_path, dialect):
    path = converted(program, tmp_path, torch.jit.script(Kept()), [*X, "--dialect", dialect])
    made = torch.export.load(path + "2")
    kinds = [spec.kind.name for spec in made.graph_signature.input_specs]
    assert kinds == ["BUFFER", "BUFFER", "CONSTANT_TENSOR", "USER_INPUT"]
    assert "plain" not in made.state_dict
    assert faults(path + "2", lambda: torch.jit.load(path)) == []
    x, model, module = torch.rand(2, 4, 6), torch.jit.load(path), made.module()
    for _ in range(3):
        assert torch.equal(module(x), model(x))
